r"""Colliders by likelihood, for the whole skeleton at once.

An unshielded triple x - z - y is a collider if x and y are independent, and not if they are independent given
z. With few samples or much noise neither test rejects, and single tests contradict each other. So the
orientations of the skeleton are compared by likelihood, with each variable a block of three jointly Gaussian
scores (`dcd.features.rank_scores`),

.. math:: \ell(G) = -\tfrac n2 \sum_i \log \frac{|\Sigma_{i, \mathrm{pa}(i)}|}{|\Sigma_{\mathrm{pa}(i)}|} .

All orientations have the same number of parameters, and Markov equivalent ones the same likelihood, so only
colliders matter. For a single triple the difference is n (I(x; y | z) - I(x; y)).

**Prior.** An arm is an edge x - z that can be part of a collider at z: there is y - z with x and y not
adjacent. The share of the N arms that are part of a collider is uniform up to a half: a graph with V such
arms has prior probability :math:`\int_0^{1/2} s^V (1 - s)^{N - V} ds`. Without clear colliders, the first
needs strong evidence (trees stay undirected); with many, the next needs little. Arms are counted, not
triples, because ten parents of one variable make 45 colliders. The scores are not Gaussian, so the
log-likelihood is divided by `temper`.

**Search.** An order of the variables makes a DAG of the skeleton. `order_search` finds the best one, passing
through graphs at fixed prices for a collider. The evidence for a collider is how much worse the best graph
without it is.

**Knowledge.** The search starts at orders without forbidden arrows, and a move that makes one has a
prohibitive cost. An end that may not point at z is not an arm.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np
from scipy.special import betaln, logsumexp

from dcd.features.rank_scores import BULK_CUBE, LINEAR, SQUARE, Grams
from dcd.graph.pattern import Triple, VariablePair
from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, check_number, make_generator
from dcd.runtime.threads import one_blas_thread
from dcd.search.order_search import CountPrior, LocalScore, OrderSearch, Predecessors, positions

Parents = tuple[int, ...]
Likelihood = Callable[[int, Parents], float]

_BLOCK = (LINEAR, SQUARE, BULK_CUBE)
_PRICES = (16.0, 8.0, 4.0, 2.0, 1.0, 0.0)
_STARTS = 2
_UNWANTED, _FORBIDDEN = 1e9, 1e15  # price of an unwanted collider, of a forbidden arrow
_RIDGE = 1e-6
_MOST_SAMPLES = 20_000  # with more, the misfit of the Gaussian model dominates


@dataclass(frozen=True)
class ColliderEvidence:
    """Strategy: orientation by likelihood.

    Attributes
    ----------
    temper : divisor of the log-likelihood, unless all relations are linear.
    min_evidence : colliders with less evidence (in units of the log posterior) are not accepted: the result
        is the best graph without them, if the skeleton allows one.
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

        `forbidden[i, j]` is true for forbidden arrows `i -> j`; some DAG of the skeleton must have none of
        them. A collider of all such DAGs has infinite evidence. If all relations are linear, `order` is the
        best known order (`linear_search`) and a further start; a variable is then its normal score alone,
        and the likelihood is not tempered.
        """
        rng = make_generator(random_state)
        if forbidden is None:
            forbidden = np.zeros_like(skeleton)
        with one_blas_thread():
            likelihood = BlockLikelihood(scores, _BLOCK if order is None else (LINEAR,))
            temper = self.temper if order is None else 1.0
            search = _OrientationSearch(skeleton, likelihood, temper, rng, forbidden, order)
            return search.colliders_with_evidence(self.min_evidence)


@cache
def log_prior(n_taken: int, n_arms: int) -> float:
    """Log of the integral of s^V (1 - s)^(N - V) over the shares s from 0 to a half."""
    # The incomplete beta function at a half is the probability of at least V + 1 heads in N + 1 tosses.
    heads = np.arange(n_taken + 1, n_arms + 2)
    log_chance = -betaln(heads + 1, n_arms - heads + 2) - np.log(n_arms + 2) - (n_arms + 1) * np.log(2.0)
    return float(betaln(n_taken + 1, n_arms - n_taken + 1) + logsumexp(log_chance))


def _fixed_price(price: float) -> CountPrior:
    return lambda n_taken: -price * n_taken


class BlockLikelihood:
    """`likelihood(i, parents)`: the log-likelihood term of variable i, represented by the scores `block`."""

    def __init__(self, scores: Grams, block: Sequence[int] = _BLOCK) -> None:
        self._n_samples = min(scores.ess, _MOST_SAMPLES)
        # Categorical variables have indicator columns instead.
        gram, self._rows = scores.gram(block)
        self._gram = gram + _RIDGE * np.eye(len(gram))
        self._log_determinants: dict[Parents, float] = {(): 0.0}

    def __call__(self, variable: int, parents: Parents) -> float:
        """Log-density of the variable given its parents, summed over samples."""
        family = tuple(sorted((variable, *parents)))
        ratio = self._log_determinant(family) - self._log_determinant(parents)
        return -0.5 * self._n_samples * ratio

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


class _OrientationSearch:
    """Search for the best orientation of one skeleton over orders of the variables."""

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
        # With forbidden arrows, only random orders without them are starts.
        starts = [] if start is None or (forbidden & skeleton).any() else [start]
        self._known_starts = [[v for v in order if self._neighbours[v]] for order in starts]
        self._n_arms = sum(self._arms(self._neighbours[z] - self._no_parents[z]) for z in self._connected)

    def colliders_with_evidence(self, min_evidence: float = 0.0) -> dict[Triple, float]:
        """The colliders of the best graph with their evidence.

        While one has less than `min_evidence`, the search is repeated without it.
        """
        if not self._n_arms:
            return {}
        unwanted: frozenset[Triple] = frozenset()
        while True:
            starts = [*self._known_starts, *(self._random_order() for _ in range(_STARTS))]
            best, ends = self._best(starts, unwanted)
            evidence = self._evidence(best, ends, unwanted)
            doubtful = {triple for triple, worth in evidence.items() if worth < min_evidence}
            if doubtful <= unwanted:  # none, or every DAG of the skeleton has them
                return evidence
            unwanted |= doubtful

    def _random_order(self) -> list[int]:
        """A random order without forbidden arrows."""
        waiting: list[int] = self._rng.permutation(self._connected).tolist()
        order: list[int] = []
        while waiting:
            # A forbidden parent of a waiting variable has to come after it.
            free = (v for v in waiting if not any(v in self._no_parents[other] for other in waiting))
            first = next(free, None)
            if first is None:
                remedy = "Forbid less, or leave an edge out."
                raise InputError("parameter 'forbidden'", "leaves no DAG of the skeleton", remedy)
            order.append(first)
            waiting.remove(first)
        return order

    def _evidence(
        self, best: _Orientation, ends: Sequence[list[int]], unwanted: frozenset[Triple]
    ) -> dict[Triple, float]:
        """The evidence for each collider; if a graph without one is better, for that graph's colliders."""
        evidence: dict[Triple, float] = {}
        for triple in sorted(best.colliders):
            other, _ = self._best(ends, unwanted | {triple}, prices=())
            if other.log_posterior > best.log_posterior + 1e-9:
                return self._evidence(other, [*ends, other.order], unwanted)
            unavoidable = triple in other.colliders
            evidence[triple] = np.inf if unavoidable else max(best.log_posterior - other.log_posterior, 0.0)
        return evidence

    def _best(
        self, starts: Sequence[list[int]], unwanted: frozenset[Triple], prices: Sequence[float] = _PRICES
    ) -> tuple[_Orientation, list[list[int]]]:
        """The most probable graph reached from the starts, and the final orders.

        The prior falls steeply at the first collider, so one collider may not pay where several do: graphs
        at fixed prices serve as intermediate steps.
        """
        search = OrderSearch(self._neighbours, self._local(unwanted), idle_sweeps=4, tolerance=1e-6)
        orders = list(starts)
        for price in prices:
            starts = [search.improved(order, self._rng, _fixed_price(price)) for order in starts]
            orders += starts
        ends = [search.improved(order, self._rng, self._log_prior) for order in orders]
        orientations = [self._orientation(search, order) for order in ends]
        best = max(orientations, key=lambda orientation: orientation.log_posterior)
        distinct = {orientation.colliders: orientation.order for orientation in orientations}
        return best, list(distinct.values())

    def _log_prior(self, n_taken: int) -> float:
        return log_prior(n_taken, self._n_arms)

    def _orientation(self, search: OrderSearch, order: list[int]) -> _Orientation:
        position = positions(order)
        colliders = frozenset(
            (x, z, y) for z in order for x, y in self._apart(search.predecessors(z, position))
        )
        fit, n_taken = search.score(order)
        return _Orientation(order, fit + self._log_prior(n_taken), colliders)

    def _local(self, unwanted: frozenset[Triple]) -> LocalScore:
        """The tempered log-likelihood of a variable given its parents, and its arms in colliders."""

        @cache
        def local(variable: int, parents: Predecessors) -> tuple[float, int]:
            fit = self._likelihood(variable, tuple(sorted(parents))) / self._temper
            fit -= _UNWANTED * sum((x, variable, y) in unwanted for x, y in self._apart(parents))
            allowed = parents - self._no_parents[variable]
            return fit - _FORBIDDEN * (len(parents) - len(allowed)), self._arms(allowed)

        return local

    def _arms(self, ends: Collection[int]) -> int:
        """How many neighbours of a variable are not adjacent to another of them."""
        return len({end for pair in self._apart(ends) for end in pair})

    def _apart(self, ends: Collection[int]) -> Iterator[VariablePair]:
        """Pairs of neighbours that are not adjacent."""
        return ((x, y) for x, y in combinations(sorted(ends), 2) if y not in self._neighbours[x])
