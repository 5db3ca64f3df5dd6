"""Markov equivalence classes: Meek's rules, DAG to CPDAG, CPDAG to DAG, and any other graph to a CPDAG."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, permutations

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from dcd.graph.adjacency import (
    check_adjacency,
    directed_part,
    skeleton_of,
    topological_order,
    undirected_part,
    unshielded_colliders,
    weight_matrix,
    with_directions,
)
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray


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
    """The CPDAG of a DAG: its skeleton, its unshielded colliders, and the arrows that these imply."""
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    pattern = skeleton_of(matrix).astype(np.int8)
    for x, z, y in unshielded_colliders(matrix):
        pattern[z, x] = pattern[z, y] = 0
    return apply_meek_rules(pattern)


def with_arrows(cpdag: IntArray, arrows: Sequence[tuple[int, int]]) -> IntArray:
    """A CPDAG with some edges directed, closed under Meek's rules."""
    return apply_meek_rules(with_directions(cpdag, arrows))


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
    """Dor and Tarsi's elimination: the arrows so far, and the nodes that cannot be removed."""
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
    if directed_part(graph)[node].any():
        return False
    adjacent = skeleton_of(graph)
    around = np.flatnonzero(adjacent[node])
    return all(
        adjacent[neighbour, other]
        for neighbour in np.flatnonzero(undirected_part(graph)[node])
        for other in around
        if other != neighbour
    )


# --- from the output of any method -----------------------------------------------------------------------


def to_cpdag(partial: npt.ArrayLike) -> IntArray:
    """The CPDAG of a partially directed graph, with the same skeleton.

    If the graph has a consistent extension, the result is its equivalence class. Otherwise arrows on directed
    cycles become undirected; if there is still no extension, undirected edges of the contradictory part are
    directed along a topological order of the arrows.
    """
    graph = check_adjacency(partial, "partial")
    dag = consistent_extension(graph)
    if dag is None:
        on_cycle = _on_cycles(directed_part(graph))
        graph[on_cycle | on_cycle.T] = 1
        position = np.argsort(topological_order(directed_part(graph)))
        undirected = undirected_part(graph)
        for a, b in permutations(contradictory_core(graph), 2):
            if undirected[a, b] and position[a] < position[b]:
                graph[b, a] = 0
        dag = consistent_extension(graph)
        assert dag is not None  # the core is directed now, and acyclic
    return dag_to_cpdag(dag)


def prune_cycles(weights: FloatArray) -> IntArray:
    """The DAG of a weighted matrix, `weights[i, j]` for `i -> j`, zero for no edge.

    While there is a cycle, the edge with the smallest absolute weight on any cycle is removed.
    """
    strength = np.abs(weight_matrix(weights, "weights"))
    np.fill_diagonal(strength, 0.0)
    while (on_cycle := _on_cycles(strength > 0)).any():
        weakest = np.where(on_cycle, strength, np.inf).argmin()
        strength.flat[weakest] = 0.0
    return (strength > 0).astype(np.int8)


def _on_cycles(arrows: BoolArray) -> BoolArray:
    """The arrows that lie on a directed cycle: those within a strongly connected component."""
    _, component = connected_components(arrows, directed=True, connection="strong")
    return arrows & (component[:, None] == component[None, :])
