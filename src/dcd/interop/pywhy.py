"""pywhy-graphs: its `CPDAG`, one networkx graph for the arrows and one for the undirected edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcd.graph.cpdag import CPDAG
from dcd.interop.edge_lists import Graph, check_type, class_of_edges, foreign_mark, load, names_and_edges

if TYPE_CHECKING:
    import pywhy_graphs


def to_pywhy(graph: Graph) -> pywhy_graphs.CPDAG:
    """A `pywhy_graphs.CPDAG`."""
    names, arrows, lines = names_and_edges(graph)
    kind = load("pywhy_graphs", "pywhy-graphs").CPDAG
    nx = load("networkx", "networkx")
    directed, undirected = nx.DiGraph(), nx.Graph()
    directed.add_nodes_from(names)
    undirected.add_nodes_from(names)
    directed.add_edges_from(arrows)
    undirected.add_edges_from(lines)
    return kind(incoming_directed_edges=directed, incoming_undirected_edges=undirected)


def from_pywhy(graph: pywhy_graphs.CPDAG) -> CPDAG:
    """The CPDAG of a `pywhy_graphs.CPDAG`; a DAG is a `networkx.DiGraph` there, see `from_networkx`."""
    kind = load("pywhy_graphs", "pywhy-graphs").CPDAG
    for mark in ("bidirected", "circle"):
        for a, b in getattr(graph, f"{mark}_edges", ()):
            raise foreign_mark(f"{str(a)!r}, {str(b)!r}", mark)
    check_type(graph, kind, "Pass a pywhy_graphs.CPDAG; for a networkx.DiGraph use from_networkx.")
    return class_of_edges(graph.nodes, graph.directed_edges, graph.undirected_edges)
