"""networkx: a `DiGraph` in which an undirected edge is there in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcd.graph.cpdag import CPDAG
from dcd.interop.common import Graph, arrows_and_lines, check_type, class_of_edges, load, names_and_adjacency
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(graph: Graph) -> nx.DiGraph:
    """A `networkx.DiGraph`; an undirected edge appears in both directions."""
    names, _ = names_and_adjacency(graph)
    arrows, lines = arrows_and_lines(graph)
    found = load("networkx", "networkx").DiGraph()
    found.add_nodes_from(names)
    found.add_edges_from([*arrows, *lines, *((b, a) for a, b in lines)])
    return found


def from_networkx(graph: nx.Graph) -> CPDAG:
    """The CPDAG of a `networkx.DiGraph`; an edge in both directions, or of a plain `Graph`, is undirected."""
    nx = load("networkx", "networkx")
    check_type(graph, nx.Graph, "Pass a networkx.DiGraph.")
    if graph.is_multigraph():
        raise InputError(
            "parameter 'graph'",
            "is a multigraph, whose parallel edges mean different things to different tools",
            "Pass networkx.DiGraph(graph) if they mean the same edge.",
        )
    lines = () if graph.is_directed() else graph.edges
    return class_of_edges(graph.nodes, graph.edges if graph.is_directed() else (), lines)
