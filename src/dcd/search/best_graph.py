r"""The best graph by family scores and a prior on colliders.

Scores come from a Gram matrix (`family_score`), the best graph from a search over orders (`order_search`).

**Prior on colliders.** Noise and misfit suggest false colliders, and a single one can reverse many edges. Let
N be the number of edges and V the number of parents beyond the first, summed over all variables. The share s
of edges that lead from such parents has a uniform prior between 0 and a half, so the graph has prior weight
:math:`\int_0^{1/2} s^V (1 - s)^{N - V} ds`. Without clear colliders the first needs strong evidence, and
trees stay trees; with many, the next needs little. A sum of family scores cannot express this, so the search
is repeated at decreasing prices for each parent beyond the first, and the prior chooses among the results.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaln

from dcd.features.family_gram import Categories, FamilyGram
from dcd.graph.pattern import Triple, VariablePair
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.search.family_score import ScoreModel
from dcd.search.order_search import OrderSearch, dag_of
from dcd.search.score_model import MOST_SAMPLES, score_model

COLLIDER_PRICES = (8.0, 4.0, 2.0, 1.0, 0.0)
# If all relations are linear or all columns categories: the factor on restarts at the last price is 4 d for
# d variables, at most 10,000 / d, because the time of a restart grows with d. On 16 samples of ecoli70 with
# 500 rows, 368 restarts instead of 20 reduced SHD_c from 18.4 to 17.1; on 60 dense linear graphs of ten
# variables, 80 instead of 4 reduced it from 2.0 to 1.7.
_TIMES_A_VARIABLE, _TIMES_IN_ALL = 4, 10_000
# Beyond this many, searches after the first use one price, and the first parts of all tests come first.
MANY_VARIABLES = 40


def best_dag(
    gram: FamilyGram,
    categories: Categories | None = None,
    *,
    rng: np.random.Generator,
    allowed: BoolArray | None = None,
    restarts: int = 2,
    most_samples: float = MOST_SAMPLES,
) -> IntArray:
    """The best graph by scores and prior alone, with `allowed` arrows `[cause, effect]`."""
    anything = np.ones((len(gram.n_line),) * 2, dtype=bool)
    allowed = anything if allowed is None else allowed
    model = score_model(gram, categories, allowed=allowed, required=~anything, most_samples=most_samples)
    return BestGraph(model, rng, restarts).best()


def collider_log_prior(n_shared: npt.ArrayLike, n_edges: npt.ArrayLike) -> FloatArray:
    """Log of the integral of s^V (1 - s)^(N - V) over the shares s from 0 to a half; -inf if V > N."""
    shared, edges = np.asarray(n_shared, dtype=float), np.asarray(n_edges, dtype=float)
    others = np.maximum(edges - shared, 0.0)
    # If the incomplete beta function underflows, nearly all of its integral is at a half.
    below_half = betainc(shared + 1.0, others + 1.0, 0.5)
    at_half = -(edges + 1.0) * np.log(2.0) - np.log(edges + 1.0)
    with np.errstate(divide="ignore"):
        log_prior = np.maximum(betaln(shared + 1.0, others + 1.0) + np.log(below_half), at_half)
    return np.where(shared <= edges, log_prior, -np.inf)


class BestGraph:
    """The best graph, updated as edges are forbidden; each search starts at the order of the last."""

    def __init__(
        self,
        model: ScoreModel,
        rng: np.random.Generator,
        restarts: int,
        prices: Sequence[float] = COLLIDER_PRICES,
        order: Positions | None = None,
    ) -> None:
        self.model, self._restarts, self._prices = model, restarts, prices
        self._orders = OrderSearch(len(model.required), model.required, rng)
        if order is not None:
            self._orders.order = order.copy()
        self.separated: tuple[VariablePair, ...] = ()
        self._latest: float | None = None  # the price of the best graph
        self._refused: list[Triple] = []

    @property
    def order(self) -> Positions:
        """The best order so far."""
        return self._orders.order

    def forbid(self, pairs: Sequence[VariablePair]) -> None:
        """Forbid edges between these pairs."""
        allowed = self.model.allowed.copy()
        for x, y in pairs:
            allowed[x, y] = allowed[y, x] = False
        self.model = self.model._replace(allowed=allowed)
        self.separated += tuple(pairs)

    def refuse(self, colliders: Sequence[Triple]) -> None:
        """Forbid these colliders `(x, z, y)`."""
        self._refused += list(colliders)
        most = max(Counter(z for _, z, _ in self._refused).values())
        unwanted = np.full((len(self.model.allowed), most, 2), -1, dtype=np.int64)
        count: Counter[int] = Counter()
        for x, z, y in self._refused:
            unwanted[z, count[z]] = x, y
            count[z] += 1
        self.model = self.model._replace(unwanted=unwanted)

    def best(self) -> IntArray:
        """The best graph by family scores and the prior on colliders."""
        found: list[tuple[float, IntArray, Positions, float]] = []
        for price in self._prices if self._latest is None else (self._latest,):
            total = self._orders.run(self.model._replace(collider_price=price), self._n_restarts(price))
            dag = dag_of(self._orders.families)
            n_shared, n_edges = n_shared_parents(dag), int(dag.sum())
            prior = float(collider_log_prior(n_shared, n_edges))
            posterior = total + price * n_shared + prior
            found.append((posterior, dag, self._orders.order, price))
        _, dag, self._orders.order, price = max(found, key=lambda one: one[0])
        if len(dag) > MANY_VARIABLES:  # a few forbidden edges hardly change how many colliders there are
            self._latest = price
        return dag

    def _n_restarts(self, price: float) -> int:
        """Random restarts at the first and the last price; in between, orders change little.

        With curves they are costly, so only the first search has them. If all relations are linear or all
        columns categories they are cheap, and grow with the number of variables, as local optima do.
        """
        if price not in (self._prices[0], self._prices[-1]):
            return 0
        if self.model.may_curve.any() or self.model.may_cross.any():
            return 0 if self.separated or self._refused else self._restarts
        if price > 0:
            return self._restarts
        n_variables = len(self.model.allowed)
        return self._restarts * max(min(_TIMES_A_VARIABLE * n_variables, _TIMES_IN_ALL // n_variables), 1)


def n_shared_parents(dag: IntArray) -> int:
    """The number of parents beyond the first, summed over all variables."""
    return int(np.maximum(dag.sum(axis=0) - 1, 0).sum())
