"""From the output of any method (cyclic weights, partial graphs that no DAG extends) to a CPDAG.

The skeleton is kept, except for the weakest edges of cyclic weights; arrows are kept unless they contradict
each other.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from dcd.graph.adjacency import check_adjacency, directed_part, topological_order, undirected_part
from dcd.graph.equivalence import consistent_extension, contradictory_core, dag_to_cpdag
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray


def prune_cycles(weights: FloatArray) -> IntArray:
    """The DAG of a weighted matrix, `weights[i, j]` for `i -> j`, zero for no edge.

    While there is a cycle, the edge with the smallest absolute weight on any cycle is removed.
    """
    strength = np.abs(np.asarray(weights, dtype=np.float64))
    np.fill_diagonal(strength, 0.0)
    while (on_cycle := _within_cycles(strength > 0)).any():
        weakest = np.where(on_cycle, strength, np.inf).argmin()
        strength.flat[weakest] = 0.0
    return (strength > 0).astype(np.int8)


def to_cpdag(partial: npt.ArrayLike) -> IntArray:
    """The CPDAG of a partially directed graph, with the same skeleton.

    If the graph has a consistent extension, the result is its equivalence class. Otherwise arrows on directed
    cycles become undirected; if there is still no extension, undirected edges of the contradictory part are
    directed along a topological order of the arrows.
    """
    graph = check_adjacency(partial, "partial")
    dag = consistent_extension(graph)
    if dag is None:
        on_cycle = _within_cycles(directed_part(graph))
        graph[on_cycle | on_cycle.T] = 1
        dag = consistent_extension(_settled(graph))
        assert dag is not None  # the core is directed now, and acyclic
    return dag_to_cpdag(dag)


def _settled(graph: IntArray) -> IntArray:
    """The graph with undirected edges of its contradictory core directed along a topological order."""
    settled = graph.copy()
    position = np.argsort(topological_order(directed_part(graph)))
    undirected = undirected_part(graph)
    for a, b in permutations(contradictory_core(graph), 2):
        if undirected[a, b] and position[a] < position[b]:
            settled[b, a] = 0
    return settled


def _within_cycles(arrows: BoolArray) -> BoolArray:
    """The arrows that lie on a directed cycle: those within a strongly connected component."""
    _, component = connected_components(arrows, directed=True, connection="strong")
    return arrows & (component[:, None] == component[None, :])
