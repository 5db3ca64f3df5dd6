r"""Neighbours where all relations are linear: by a search over orders of the variables.

An order of the variables makes a DAG: each variable is regressed on its predecessors, and the regressors that
are worth their price are its parents (`linear`). The fit of an order is that of its DAG,

.. math:: -\tfrac12 \sum_i \bigl( n \log \mathrm{RSS}_i + \mathrm{price} \cdot |\mathrm{pa}(i)| \bigr) ,

and `order_search` looks for the order of best fit. Each relation is so judged once, given the parents of one
end, whereas a search for separating sets loses a weak relation if any of many tests fails to see it. With all
independences known, the sparsest DAG of any order has the skeleton of the truth (Raskutti and Uhler 2018).

Only variables in the boundary of each other are ever parents, so a move concerns few regressions. The search
starts at trees of the strongest correlations, spread from a random root (on a tree that is the answer), and
at random.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.runtime.array_types import BoolArray
from dcd.search.base import SearchOutcome, target_searches
from dcd.search.linear import LinearRegressions
from dcd.search.order_search import OrderSearch, Predecessors, positions

_STARTS = 4  # of each kind


def search_linear(
    regressions: LinearRegressions, names: Sequence[str], rng: np.random.Generator, knowledge: BoundKnowledge
) -> SearchOutcome:
    """Boundaries and neighbours of all variables, and the best order."""
    variables = range(len(names))
    boundaries = [regressions.select(t, [v for v in variables if v != t])[0] for t in variables]
    joined, apart = knowledge.joined, knowledge.apart
    order, parents = _best(regressions, boundaries, joined, apart, rng)
    overruled = np.zeros_like(joined)
    if joined.any() or apart.any():
        nothing = np.zeros_like(joined)
        alone = _skeleton(_best(regressions, boundaries, nothing, nothing, rng)[1])
        overruled = np.where(alone, apart, joined)
    edges = {}
    for child, own in enumerate(parents):
        for parent in own:
            log_pvalue = regressions.log_pvalue(parent, child, [v for v in own if v != parent])
            edges[min(parent, child), max(parent, child)] = float(np.exp(log_pvalue))
    pairs = {(i, j) for i, j in np.argwhere(np.triu(overruled)).tolist()}
    return SearchOutcome(target_searches(names, boundaries, edges, pairs), order)


def _best(
    regressions: LinearRegressions,
    boundaries: Sequence[Sequence[int]],
    joined: BoolArray,
    apart: BoolArray,
    rng: np.random.Generator,
) -> tuple[list[int], list[tuple[int, ...]]]:
    """The best order, and the parents of every variable in its DAG."""
    adjacent = joined.copy()
    for target, members in enumerate(boundaries):
        adjacent[target, members] = adjacent[members, target] = True
    adjacent &= ~apart
    orders = LinearOrders(regressions, adjacent, joined)
    starts = [_spread_from_a_root(regressions, adjacent, rng) for _ in range(_STARTS)]
    starts += [rng.permutation(regressions.n_variables).tolist() for _ in range(_STARTS)]
    best = max([orders.improved(start, rng) for start in starts], key=orders.score)
    return best, orders.parents(best)


class LinearOrders(OrderSearch):
    """Orders scored by linear regressions.

    `adjacent` (d, d) tells which two variables may be adjacent, `joined` which two have to be.
    """

    def __init__(self, regressions: LinearRegressions, adjacent: BoolArray, joined: BoolArray) -> None:
        rows = [frozenset(np.flatnonzero(row).tolist()) for row in adjacent]
        super().__init__(rows, self._local_fit, idle_sweeps=3, tolerance=1e-5)
        self._regressions = regressions
        self._joined = [frozenset(np.flatnonzero(row).tolist()) for row in joined]
        self._known: dict[tuple[int, Predecessors], tuple[tuple[float, int], tuple[int, ...]]] = {}

    def parents(self, order: Sequence[int]) -> list[tuple[int, ...]]:
        """The parents of each variable in the DAG of an order."""
        position = positions(order)
        return [
            self._regression(v, self.predecessors(v, position))[1]
            for v in range(self._regressions.n_variables)
        ]

    def _local_fit(self, variable: int, predecessors: Predecessors) -> tuple[float, int]:
        return self._regression(variable, predecessors)[0]

    def _regression(
        self, variable: int, predecessors: Predecessors
    ) -> tuple[tuple[float, int], tuple[int, ...]]:
        """Its fit (nothing is counted) and its regressors."""
        key = (variable, predecessors)
        if key not in self._known:
            required = predecessors & self._joined[variable]
            members, variance = self._regressions.select(variable, predecessors, required)
            paid = self._regressions.n_samples * np.log(variance) + self._regressions.price * len(members)
            self._known[key] = ((float(-0.5 * paid), 0), tuple(members))
        return self._known[key]


def _spread_from_a_root(
    regressions: LinearRegressions, adjacent: BoolArray, rng: np.random.Generator
) -> list[int]:
    """An order along trees of the strongest correlations of what may be adjacent, from random roots."""
    strength = np.where(adjacent, np.abs(regressions.correlations), 0.0)
    order: list[int] = []
    for start in rng.permutation(regressions.n_variables).tolist():
        if start in order:
            continue
        reached = strength[start].copy()  # Prim's method, within what is connected with the start
        order.append(start)
        while True:
            reached[order] = 0.0
            following = int(np.argmax(reached))
            if reached[following] == 0.0:
                break
            order.append(following)
            reached = np.maximum(reached, strength[following])
    return order


def _skeleton(parents: Sequence[Sequence[int]]) -> BoolArray:
    skeleton = np.zeros((len(parents), len(parents)), dtype=bool)
    for child, own in enumerate(parents):
        skeleton[list(own), child] = skeleton[child, list(own)] = True
    return skeleton
