"""Whatever a method returns to the CPDAG it stands for.

Methods return weights with cycles, partial graphs that no DAG fits, arrows both ways. What can be kept is
kept: the skeleton always (but for the weakest edge of a cycle of weights), the arrows as far as they do not
contradict each other.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components

from dcd.graph.adjacency import check_adjacency, directed_part, topological_order, undirected_part
from dcd.graph.equivalence import consistent_extension, contradictory_core, dag_to_cpdag
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray


def prune_cycles(weights: FloatArray) -> IntArray:
    """The DAG of a weighted matrix, `weights[i, j]` for `i -> j`, zero for no edge.

    While there is a cycle, the edge of smallest absolute weight among those on cycles goes.
    """
    strength = np.abs(np.asarray(weights, dtype=np.float64))
    np.fill_diagonal(strength, 0.0)
    while (on_cycle := _within_cycles(strength > 0)).any():
        weakest = np.where(on_cycle, strength, np.inf).argmin()
        strength.flat[weakest] = 0.0
    return (strength > 0).astype(np.int8)


def to_cpdag(partial: npt.ArrayLike) -> IntArray:
    """The CPDAG of a partially directed graph with its skeleton.

    If a DAG fits the graph (all its arrows, no other unshielded collider), it is the class of that DAG.
    Otherwise arrows on a directed cycle lose their direction, and where the rest still fits no DAG, its
    undirected edges are directed along an order that the arrows agree with.
    """
    graph = check_adjacency(partial, "partial")
    dag = consistent_extension(graph)
    if dag is None:
        on_cycle = _within_cycles(directed_part(graph))
        graph[on_cycle | on_cycle.T] = 1
        dag = consistent_extension(_settled(graph))
        assert dag is not None  # every edge of the core has a direction now, without a cycle
    return dag_to_cpdag(dag)


def _settled(graph: IntArray) -> IntArray:
    """The graph with the undirected edges of its contradictory core directed along a topological order."""
    core = contradictory_core(graph)
    settled = graph.copy()
    position = np.argsort(topological_order(directed_part(graph)))
    undirected = undirected_part(graph)
    for a in core:
        for b in core:
            if undirected[a, b] and position[a] < position[b]:
                settled[b, a] = 0
    return settled


def _within_cycles(arrows: BoolArray) -> BoolArray:
    """The arrows that lie on a directed cycle: those within a strongly connected component."""
    _, component = connected_components(arrows, directed=True, connection="strong")
    return arrows & (component[:, None] == component[None, :])
