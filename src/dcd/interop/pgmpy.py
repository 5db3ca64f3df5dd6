"""pgmpy: a `PDAG` for a CPDAG, a `DAG` for a chosen DAG."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dcd.graph.cpdag import CPDAG, ChosenDAG
from dcd.interop.edge_lists import Graph, both_ways, check_type, class_of_edges, load, names_and_edges
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    from pgmpy.base import DAG, PDAG


def to_pgmpy(graph: Graph) -> Any:
    """A `pgmpy.base.PDAG` of a CPDAG, a `pgmpy.base.DAG` of what `CPDAG.to_dag()` chose."""
    names, arrows, lines = names_and_edges(graph)
    base = load("pgmpy.base", "pgmpy")
    converted = base.DAG() if isinstance(graph, ChosenDAG) else base.PDAG()
    converted.add_nodes_from(names)  # first, to keep their order
    converted.add_edges_from(both_ways(arrows, lines))
    if not isinstance(graph, ChosenDAG):
        converted.directed_edges, converted.undirected_edges = set(arrows), set(lines)
    return converted


def from_pgmpy(graph: DAG | PDAG) -> CPDAG:
    """The CPDAG of a `DAG` (also a `DiscreteBayesianNetwork` and the like) or a `PDAG` of pgmpy."""
    base = load("pgmpy.base", "pgmpy")
    check_type(graph, (base.DAG, base.PDAG), "Graphs with hidden variables (MAG, ADMG) cannot be converted.")
    for hidden in sorted(map(str, graph.latents)):
        raise InputError(f"variable {hidden!r}", "is hidden", "Leave it out of the graph.")
    return class_of_edges(graph.nodes, graph.edges)
