"""networkx: a `DiGraph` with undirected edges in both directions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dcd.graph.cpdag import CPDAG
from dcd.interop.edge_lists import Graph, both_ways, check_type, class_of_edges, load, names_and_edges
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(graph: Graph) -> nx.DiGraph:
    """A `networkx.DiGraph`; an undirected edge appears in both directions."""
    names, arrows, lines = names_and_edges(graph)
    converted = load("networkx", "networkx").DiGraph()
    converted.add_nodes_from(names)
    converted.add_edges_from(both_ways(arrows, lines))
    return converted


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
    arrows, lines = (graph.edges, ()) if graph.is_directed() else ((), graph.edges)
    return class_of_edges(graph.nodes, arrows, lines)
