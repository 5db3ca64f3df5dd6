r"""Neighbours by a search over orders of the variables, if all relations are linear.

An order of the variables makes a DAG: the parents of a variable are the regressors selected among its
predecessors (`linear`). The score of an order is that of its DAG,

.. math:: -\tfrac12 \sum_i \bigl( n \log \mathrm{RSS}_i + \mathrm{price} \cdot |\mathrm{pa}(i)| \bigr) ,

and `order_search` finds the best order. Each relation is tested once, given the parents of one end, whereas a
search for separating sets loses a weak relation if any of many tests misses it. With perfect tests, the
sparsest DAG over all orders has the true skeleton (Raskutti and Uhler 2018).

Parents are chosen from boundaries, so a move changes few regressions. The search starts at spanning trees of
the strongest correlations from random roots (exact if the truth is a tree), and at random orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations

import numpy as np

from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.pattern import VariablePair
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
    edges = {}
    for (i, j), (child, parent) in _pairs(parents).items():
        edges[i, j] = _pvalue(regressions, parent, child, parents[child])
    overruled = set()
    if joined.any() or apart.any():
        nothing = np.zeros_like(joined)
        alone = _pairs(_best(regressions, boundaries, nothing, nothing, rng)[1])
        overruled = {p for p in combinations(variables, 2) if (apart if p in alone else joined)[p]}
    searches = target_searches(names, boundaries, edges, overruled)
    pvalues = [
        {names[v]: _pvalue(regressions, v, t, boundaries[t]) for v in boundaries[t]} for t in variables
    ]
    tested = tuple(replace(search, pvalues=own) for search, own in zip(searches, pvalues, strict=True))
    return SearchOutcome(tested, order)


def _pvalue(regressions: LinearRegressions, member: int, target: int, members: Sequence[int]) -> float:
    """The p-value of a member in the regression of a target on all members."""
    others = [v for v in members if v != member]
    return float(np.exp(regressions.log_pvalue(member, target, others)))


def _pairs(parents: Sequence[Sequence[int]]) -> dict[VariablePair, tuple[int, int]]:
    """The adjacent pairs of a DAG, with `(child, parent)` of each."""
    return {(min(v, p), max(v, p)): (v, p) for v, of_v in enumerate(parents) for p in of_v}


def _best(
    regressions: LinearRegressions,
    boundaries: Sequence[Sequence[int]],
    joined: BoolArray,
    apart: BoolArray,
    rng: np.random.Generator,
) -> tuple[list[int], list[list[int]]]:
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

    `adjacent` (d, d) is true for pairs that may be adjacent, `joined` for those that must be.
    """

    def __init__(self, regressions: LinearRegressions, adjacent: BoolArray, joined: BoolArray) -> None:
        rows, required = (
            [frozenset(np.flatnonzero(row).tolist()) for row in matrix] for matrix in (adjacent, joined)
        )

        @cache
        def regression(variable: int, predecessors: Predecessors) -> tuple[tuple[float, int], list[int]]:
            members, variance = regressions.select(variable, predecessors, predecessors & required[variable])
            paid = regressions.n_samples * np.log(variance) + regressions.price * len(members)
            return (float(-0.5 * paid), 0), members  # nothing is counted

        super().__init__(rows, lambda *family: regression(*family)[0], idle_sweeps=3, tolerance=1e-5)
        self._regression = regression

    def parents(self, order: Sequence[int]) -> list[list[int]]:
        """The parents of each variable in the DAG of an order."""
        position = positions(order)
        return [self._regression(v, self.predecessors(v, position))[1] for v in sorted(order)]


def _spread_from_a_root(
    regressions: LinearRegressions, adjacent: BoolArray, rng: np.random.Generator
) -> list[int]:
    """An order along maximum spanning trees of the allowed correlations, from random roots."""
    strength = np.where(adjacent, np.abs(regressions.correlations), 0.0)
    order: list[int] = []
    for start in rng.permutation(regressions.n_variables).tolist():
        if start in order:
            continue
        reached = strength[start].copy()  # Prim's algorithm, within one component
        order.append(start)
        while True:
            reached[order] = 0.0
            following = int(np.argmax(reached))
            if reached[following] == 0.0:
                break
            order.append(following)
            reached = np.maximum(reached, strength[following])
    return order
