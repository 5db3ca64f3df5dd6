"""Markov equivalence classes: Meek's rules, DAG to CPDAG, and CPDAG to DAG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
import numpy.typing as npt

from dcd.graph.adjacency import (
    check_adjacency,
    directed_part,
    skeleton_of,
    topological_order,
    undirected_part,
    unshielded_colliders,
)
from dcd.runtime.array_types import BoolArray, IntArray


def apply_meek_rules(adjacency: npt.ArrayLike) -> IntArray:
    """Orient every undirected edge whose direction the arrows of a partially directed graph imply.

    Meek (1995), rules 1 to 4: `a - b` becomes `a -> b` where `b -> a` would make a new unshielded collider
    or a directed cycle.
    """
    graph = check_adjacency(adjacency)
    pending = [(int(a), int(b)) for a, b in np.argwhere(undirected_part(graph))]
    changed = True
    while changed:
        changed = False
        arrows, undirected = directed_part(graph), undirected_part(graph)
        adjacent = arrows | arrows.T | undirected
        for a, b in pending:
            if undirected[a, b] and _is_implied(a, b, arrows, undirected, adjacent):
                graph[b, a] = 0
                arrows[a, b] = changed = True
                undirected[a, b] = undirected[b, a] = False
    return graph


def _is_implied(a: int, b: int, arrows: BoolArray, undirected: BoolArray, adjacent: BoolArray) -> bool:
    """Whether one of Meek's rules directs `a - b` as `a -> b`."""
    if (arrows[:, a] & ~adjacent[:, b]).any():  # rule 1: c -> a, c and b apart
        return True
    if (arrows[a] & arrows[:, b]).any():  # rule 2: a -> c -> b
        return True
    middle = np.flatnonzero(undirected[a] & arrows[:, b])  # a - c -> b
    if any(not adjacent[c, d] for c, d in combinations(middle, 2)):  # rule 3: two such, apart
        return True
    middle = np.flatnonzero(adjacent[a] & arrows[:, b])  # rule 4: a - d -> c -> b, d and b apart
    return any((undirected[a] & arrows[:, c] & ~adjacent[:, b]).any() for c in middle)


def dag_to_cpdag(dag: npt.ArrayLike) -> IntArray:
    """The CPDAG of a DAG: its skeleton, its unshielded colliders, and what these imply."""
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    pattern = skeleton_of(matrix).astype(np.int8)
    for x, z, y in unshielded_colliders(matrix):
        pattern[z, x] = pattern[z, y] = 0
    return apply_meek_rules(pattern)


def with_arrows(cpdag: IntArray, arrows: Sequence[tuple[int, int]]) -> IntArray:
    """A CPDAG with some edges directed, closed under Meek's rules."""
    graph = cpdag.copy()
    for i, j in arrows:
        graph[j, i] = 0
    return apply_meek_rules(graph)


def consistent_extension(adjacency: npt.ArrayLike) -> IntArray | None:
    """A DAG with the edges, arrows and unshielded colliders of a partially directed graph, if there is one.

    Arrows may come from colliders, background knowledge or Meek's rules.
    Dor and Tarsi (1992): take a node without outgoing arrows whose undirected neighbours are adjacent to all
    its other neighbours, point its edges at it, set it aside, repeat.
    """
    dag, core = _set_sinks_aside(adjacency)
    return None if core else dag


def contradictory_core(adjacency: npt.ArrayLike) -> list[int]:
    """The nodes that rule out a consistent extension of a partially directed graph; none if it has one."""
    return _set_sinks_aside(adjacency)[1]


def _set_sinks_aside(adjacency: npt.ArrayLike) -> tuple[IntArray, list[int]]:
    """Dor and Tarsi's elimination: the arrows so far, and the nodes of which none can be removed."""
    graph = check_adjacency(adjacency)
    dag = directed_part(graph).astype(np.int8)
    remaining = list(range(len(graph)))
    while (sink := next((node for node in remaining if _can_be_set_aside(node, graph)), None)) is not None:
        dag[graph[:, sink].astype(bool), sink] = 1
        graph[sink, :] = graph[:, sink] = 0
        remaining.remove(sink)
    return dag, remaining


def _can_be_set_aside(node: int, graph: IntArray) -> bool:
    """Whether all edges of `node` can point at it without reversing an arrow or adding a collider."""
    adjacent = skeleton_of(graph)
    if directed_part(graph)[node].any():
        return False
    around = np.flatnonzero(adjacent[node])
    return all(
        adjacent[neighbour, other]
        for neighbour in np.flatnonzero(undirected_part(graph)[node])
        for other in around
        if other != neighbour
    )
