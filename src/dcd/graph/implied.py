"""The independences that a DAG implies, pair by pair, and the claim of each of its edges.

By the local Markov property a variable is independent of its non-descendants given its parents. Pair by pair,
this is one statement for each variable and each non-descendant that is not a parent. Every DAG of an
equivalence class implies the same independences, but the local property lists different ones for each.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.graph.adjacency import check_adjacency, topological_order
from dcd.runtime.array_types import BoolArray, IntArray


class Statement(NamedTuple):
    """A statement about x and y given a set, by position: x < y, and `given` is in increasing order."""

    x: int
    y: int
    given: tuple[int, ...]

    def relabelled(self, positions: npt.NDArray[np.intp]) -> Statement:
        """The statement with other variables: `positions[i]` in place of i."""
        x, y, *given = (int(positions[node]) for node in (self.x, self.y, *self.given))
        return Statement(min(x, y), max(x, y), tuple(sorted(given)))


def implied_independences(dag: npt.ArrayLike) -> list[Statement]:
    """The independence of each variable and each of its non-descendants given its parents, each listed once.

    Every pair that is not adjacent is in at least one statement: the variable that is later in a topological
    order has the other among its non-descendants.
    """
    matrix = check_adjacency(dag, "dag")
    descends = _descendants(matrix)
    found = {
        Statement(min(node, other), max(node, other), _parents(matrix, node)): None
        for node in range(len(matrix))
        for other in range(len(matrix))
        if other != node and not descends[node, other] and not matrix[other, node]
    }
    return sorted(found)


def edge_statements(dag: npt.ArrayLike) -> dict[tuple[int, int], Statement]:
    """For each edge `(cause, effect)` the independence that would make it unnecessary.

    If the two are independent given the other parents of the effect, the DAG without the edge implies only
    independences that hold.
    """
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    edges = [(int(cause), int(effect)) for cause, effect in np.argwhere(matrix)]
    return {
        (cause, effect): Statement(
            min(cause, effect),
            max(cause, effect),
            tuple(node for node in _parents(matrix, effect) if node != cause),
        )
        for cause, effect in edges
    }


def _parents(dag: IntArray, node: int) -> tuple[int, ...]:
    return tuple(np.flatnonzero(dag[:, node]).tolist())


def _descendants(dag: IntArray) -> BoolArray:
    """`[i, j]` is true if a directed path leads from i to j."""
    descends = np.zeros(dag.shape, dtype=bool)
    for node in reversed(topological_order(dag)):
        children = dag[node].astype(bool)
        descends[node] = children | descends[children].any(axis=0)
    return descends
