r"""Which unshielded triples are colliders? Decided for the whole skeleton at once, by likelihood.

For a triple x - z - y, "x and y are independent" (collider) stands against "x and y are independent given z"
(chain or fork). With few samples or much noise neither test rejects, and single tests contradict each other.
So all orientations of the skeleton are compared by one likelihood: each variable is a block of three scores
(`dcd.features.rank_scores`), jointly Gaussian,

.. math:: \ell(G) = -\tfrac n2 \sum_i \log \frac{|\Sigma_{i, \mathrm{pa}(i)}|}{|\Sigma_{\mathrm{pa}(i)}|} .

All orientations have the same number of parameters, and Markov equivalent ones the same likelihood, so what
it decides is colliders and nothing else. For one triple alone it is n times the difference of two mutual
informations, I(x; y | z) - I(x; y).

**Prior.** An arm is one end of an edge at a variable z that could be part of a collider there: x - z with
some y - z, x and y not adjacent. The share of the N arms that are part of one is unknown, and uniform up to a
half: a graph with V such arms has prior probability :math:`\int_0^{1/2} s^V (1 - s)^{N - V} ds`. Where many
arms could and none clearly is, this asks much of the first collider (trees stay undirected); where many are
clear, the next needs little more than its own evidence. Arms, not triples, are counted, for ten parents of
one variable make 45 colliders by ten decisions. Since scores are not Gaussian, the log-likelihood counts at a
reduced rate, 1 / temper.

**Search.** An order of the variables makes a DAG of the skeleton; one variable at a time moves to its best
place, ties broken at random, by way of graphs at fixed prices for a collider. Each collider of the best graph
carries its evidence: by how much the best graph without it is worse.

**Knowledge.** Arrows that may not be are a constraint of the search: it starts at orders that have none of
them, and a move that makes one costs more than anything. An end that may not point at z is no arm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import betaln, logsumexp

from dcd.features.rank_scores import BULK_CUBE, LINEAR, SQUARE, Grams
from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, check_number, make_generator
from dcd.runtime.threads import one_blas_thread

Triple = tuple[int, int, int]
Parents = tuple[int, ...]
Likelihood = Callable[[int, Parents], float]
Local = Callable[[int, Parents], tuple[float, int]]
Prior = Callable[[int], float]

_BLOCK = (LINEAR, SQUARE, BULK_CUBE)
_PRICES = (16.0, 8.0, 4.0, 2.0, 1.0, 0.0)
_STARTS, _SWEEPS, _IDLE_SWEEPS = 2, 30, 4
_FORBIDDEN, _IMPOSSIBLE = 1e9, 1e15  # a collider not wanted, an arrow that may not be
_RIDGE = 1e-6
_MOST_SAMPLES = 20_000  # beyond, more samples show how wrong a Gaussian model is, not where colliders are


@dataclass(frozen=True)
class ColliderEvidence:
    """Orientation by likelihood, as a strategy.

    Attributes
    ----------
    temper : the log-likelihood counts 1 / temper of its value; all of it in a straight table.
    min_evidence : colliders with less evidence (in units of the log posterior) are not believed: the best
        graph without them is taken, if the skeleton allows for one.
    """

    temper: float = 1.5
    min_evidence: float = 0.0

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("temper", self.temper, above=0, suggestion=1.5)
        check_number("min_evidence", self.min_evidence, at_least=0, suggestion=0.0)

    def colliders(
        self,
        scores: Grams,
        skeleton: BoolArray,
        random_state: int | np.random.Generator | None = None,
        *,
        forbidden: BoolArray | None = None,
        order: Sequence[int] | None = None,
    ) -> dict[Triple, float]:
        """The colliders `(x, z, y)`, x < y, of a skeleton, each with its evidence.

        `forbidden[i, j]` is true for arrows `i -> j` that may not be; some DAG of the skeleton must be free
        of them. The evidence of a collider that every such DAG has is infinite. For a straight table
        (`linear`) `order` is the best order that is known (`order_search`): a variable is its line alone,
        the likelihood is right and counts in full, and the search starts there as well.
        """
        rng = make_generator(random_state)
        if forbidden is None:
            forbidden = np.zeros_like(skeleton)
        with one_blas_thread():
            likelihood = BlockLikelihood(scores, _BLOCK if order is None else (LINEAR,))
            temper = self.temper if order is None else 1.0
            search = _Search(skeleton, likelihood, temper, rng, forbidden, order)
            return search.colliders_with_evidence(self.min_evidence)


@cache
def log_prior(n_taken: int, n_arms: int) -> float:
    """Log of the integral of s^V (1 - s)^(N - V) over the shares s from 0 to a half."""
    # The incomplete beta function at a half is the chance of V + 1 heads or more in N + 1 throws of a coin.
    heads = np.arange(n_taken + 1, n_arms + 2)
    log_chance = -betaln(heads + 1, n_arms - heads + 2) - np.log(n_arms + 2) - (n_arms + 1) * np.log(2.0)
    return float(betaln(n_taken + 1, n_arms - n_taken + 1) + logsumexp(log_chance))


def _fixed_price(price: float) -> Prior:
    return lambda n_taken: -price * n_taken


class BlockLikelihood:
    """`likelihood(i, parents)`: the part of the log-likelihood that variable i has; `block` stands for it."""

    def __init__(self, scores: Grams, block: Sequence[int] = _BLOCK) -> None:
        self._n_samples = min(scores.ess, _MOST_SAMPLES)
        # A variable of few values has a column for each but one of them instead.
        gram, self._rows = scores.gram(block)
        self._gram = gram + _RIDGE * np.eye(len(gram))
        self._log_determinants: dict[Parents, float] = {(): 0.0}
        self._values: dict[tuple[int, Parents], float] = {}

    def __call__(self, variable: int, parents: Parents) -> float:
        """The value, computed once for each pair of arguments."""
        key = (variable, parents)
        if key not in self._values:
            family = tuple(sorted((variable, *parents)))
            ratio = self._log_determinant(family) - self._log_determinant(parents)
            self._values[key] = -0.5 * self._n_samples * ratio
        return self._values[key]

    def _log_determinant(self, variables: Parents) -> float:
        if variables not in self._log_determinants:
            rows = [row for variable in variables for row in self._rows[variable]]
            self._log_determinants[variables] = float(np.linalg.slogdet(self._gram[np.ix_(rows, rows)])[1])
        return self._log_determinants[variables]


@dataclass(frozen=True)
class _Orientation:
    order: list[int]
    log_posterior: float
    colliders: frozenset[Triple]


class _Search:
    """Orders of the variables, the graphs they make of one skeleton, and the best of them."""

    def __init__(
        self,
        skeleton: BoolArray,
        likelihood: Likelihood,
        temper: float,
        rng: np.random.Generator,
        forbidden: BoolArray,
        start: Sequence[int] | None = None,
    ) -> None:
        self._neighbours = [frozenset(np.flatnonzero(row).tolist()) for row in skeleton]
        self._connected = [v for v, others in enumerate(self._neighbours) if others]
        self._likelihood, self._temper, self._rng = likelihood, temper, rng
        self._no_parents = [frozenset(np.flatnonzero(column).tolist()) for column in (forbidden & skeleton).T]
        # Where arrows may not be, only orders without them are starts.
        given = [] if start is None or (forbidden & skeleton).any() else [start]
        self._given = [[v for v in order if self._neighbours[v]] for order in given]
        self._n_arms = sum(self._arms(self._neighbours[z] - self._no_parents[z]) for z in self._connected)

    def colliders_with_evidence(self, min_evidence: float = 0.0) -> dict[Triple, float]:
        """The colliders of the best graph, and how much worse the best without each of them is.

        As long as one has less than `min_evidence`, the best graph without those is looked for.
        """
        if not self._n_arms:
            return {}
        forbidden: frozenset[Triple] = frozenset()
        while True:
            fresh = [*self._given, *(self._random_order() for _ in range(_STARTS))]
            best, tried = self._best(fresh, forbidden)
            best, evidence = self._weighed(best, tried, forbidden)
            doubtful = {triple for triple, worth in evidence.items() if worth < min_evidence}
            if doubtful <= forbidden:  # none left, or the skeleton fits no DAG without them
                return evidence
            forbidden |= doubtful

    def _random_order(self) -> list[int]:
        """A random order without forbidden arrows."""
        waiting: list[int] = self._rng.permutation(self._connected).tolist()
        order: list[int] = []
        while waiting:
            # What may not be a parent of a waiting variable has to come after it.
            free = (v for v in waiting if not any(v in self._no_parents[other] for other in waiting))
            first = next(free, None)
            if first is None:
                raise InputError(
                    "parameter 'forbidden'",
                    "leaves no DAG of the skeleton",
                    "Forbid less, or leave an edge out.",
                )
            order.append(first)
            waiting.remove(first)
        return order

    def _weighed(
        self, best: _Orientation, tried: Sequence[list[int]], forbidden: frozenset[Triple]
    ) -> tuple[_Orientation, dict[Triple, float]]:
        """The evidence of each collider; if a graph without one turns out better, that of its colliders."""
        evidence: dict[Triple, float] = {}
        for triple in sorted(best.colliders):
            other, _ = self._best(tried, forbidden | {triple}, prices=())
            if other.log_posterior > best.log_posterior + 1e-9:
                return self._weighed(other, [*tried, other.order], forbidden)
            unavoidable = triple in other.colliders
            evidence[triple] = np.inf if unavoidable else max(best.log_posterior - other.log_posterior, 0.0)
        return best, evidence

    def _best(
        self,
        starts: Sequence[list[int]],
        forbidden: frozenset[Triple],
        prices: Sequence[float] = _PRICES,
    ) -> tuple[_Orientation, list[list[int]]]:
        """The most probable graph that the starts lead to, and the orders at which the ways ended.

        The prior falls steeply at the first collider and hardly later, so that one collider alone may not
        pay where several do: graphs at fixed prices are the stepping stones.
        """
        local = self._local(forbidden)
        orders = list(starts)
        for price in prices:
            at_price = [self._improve(order, local, _fixed_price(price)) for order in starts]
            orders += at_price
            starts = at_price
        ends = [self._improve(order, local, lambda v: log_prior(v, self._n_arms)) for order in orders]
        found = [self._orientation(order, local) for order in ends]
        best = max(found, key=lambda orientation: orientation.log_posterior)
        distinct = {orientation.colliders: orientation.order for orientation in found}
        return best, list(distinct.values())

    def _orientation(self, order: list[int], local: Local) -> _Orientation:
        place = {v: index for index, v in enumerate(order)}
        colliders = frozenset((x, z, y) for z in order for x, y in self._apart(self._parents(z, place)))
        fit, n_taken = self._totals(order, local)
        return _Orientation(order, fit + log_prior(n_taken, self._n_arms), colliders)

    def _local(self, forbidden: frozenset[Triple]) -> Local:
        """For a variable and its parents, the tempered log-likelihood and the number of arms in colliders.

        A forbidden collider or arrow costs more than anything.
        """
        known: dict[tuple[int, Parents], tuple[float, int]] = {}

        def local(variable: int, parents: Parents) -> tuple[float, int]:
            key = (variable, parents)
            if key not in known:
                made = [(x, variable, y) for x, y in self._apart(parents)]
                fit = self._likelihood(variable, parents) / self._temper
                fit -= _FORBIDDEN * sum(triple in forbidden for triple in made)
                allowed = [parent for parent in parents if parent not in self._no_parents[variable]]
                fit -= _IMPOSSIBLE * (len(parents) - len(allowed))
                known[key] = (fit, self._arms(allowed))
            return known[key]

        return local

    def _improve(self, order: list[int], local: Local, prior: Prior) -> list[int]:
        """Move one variable at a time to its best place until nothing has improved for some sweeps."""
        idle = 0
        fit, n_taken = self._totals(order, local)
        for _ in range(_SWEEPS):
            before = fit + prior(n_taken)
            for variable in self._rng.permutation(self._connected).tolist():
                order, fit, n_taken = self._moved(order, variable, local, prior, fit, n_taken)
            idle = 0 if fit + prior(n_taken) > before + 1e-6 else idle + 1
            if idle == _IDLE_SWEEPS:
                break
        return order

    def _moved(
        self, order: list[int], variable: int, local: Local, prior: Prior, fit: float, n_taken: int
    ) -> tuple[list[int], float, int]:
        """The order with one variable at its best place among its neighbours, ties broken at random.

        `fit` and `n_taken` are those of all variables; they are returned for the new order.
        """
        neighbours = self._neighbours[variable]
        place = {v: index for index, v in enumerate(order)}
        rest = [v for v in order if v != variable]
        slots = [0, *(index + 1 for index, v in enumerate(rest) if v in neighbours)]
        other_parents = {v: [u for u in self._parents(v, place) if u != variable] for v in neighbours}
        without = {v: local(v, tuple(parents)) for v, parents in other_parents.items()}
        with_it = {v: local(v, tuple(sorted([*p, variable]))) for v, p in other_parents.items()}
        now = [local(variable, self._parents(variable, place))]
        now += [with_it[v] if place[v] > place[variable] else without[v] for v in neighbours]
        fit -= sum(part[0] for part in now)
        n_taken -= sum(part[1] for part in now)
        before: list[int] = []
        choices = []
        for slot in slots:
            if slot:
                before.append(rest[slot - 1])
            parts = [local(variable, tuple(sorted(before)))]
            parts += [without[v] if v in before else with_it[v] for v in neighbours]
            total = fit + sum(part[0] for part in parts), n_taken + sum(part[1] for part in parts)
            choices.append((total[0] + prior(total[1]) + 1e-7 * self._rng.random(), slot, *total))
        _, slot, fit, n_taken = max(choices)
        return [*rest[:slot], variable, *rest[slot:]], fit, n_taken

    def _totals(self, order: list[int], local: Local) -> tuple[float, int]:
        place = {v: index for index, v in enumerate(order)}
        parts = [local(v, self._parents(v, place)) for v in order]
        return sum(part[0] for part in parts), sum(part[1] for part in parts)

    def _parents(self, variable: int, place: dict[int, int]) -> Parents:
        own = place[variable]
        return tuple(sorted(v for v in self._neighbours[variable] if place[v] < own))

    def _arms(self, ends: Sequence[int] | frozenset[int]) -> int:
        """How many of the neighbours of a variable are not adjacent to another of them."""
        return len({end for pair in self._apart(ends) for end in pair})

    def _apart(self, ends: Sequence[int] | frozenset[int]) -> Iterator[tuple[int, int]]:
        """Pairs of neighbours of a variable that are not neighbours of each other."""
        return ((x, y) for x, y in combinations(sorted(ends), 2) if y not in self._neighbours[x])
