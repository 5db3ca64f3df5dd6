"""pgmpy: a `PDAG` for a class, a `DAG` for one DAG of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dcd.graph.cpdag import CPDAG, ChosenDAG
from dcd.interop.common import Graph, arrows_and_lines, check_type, class_of_edges, load, names_and_adjacency
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    from pgmpy.base import DAG, PDAG


def to_pgmpy(graph: Graph) -> Any:
    """A `pgmpy.base.PDAG` of a CPDAG, a `pgmpy.base.DAG` of what `CPDAG.to_dag()` chose."""
    names, _ = names_and_adjacency(graph)
    arrows, lines = arrows_and_lines(graph)
    base = load("pgmpy.base", "pgmpy")
    made = base.DAG() if isinstance(graph, ChosenDAG) else base.PDAG()
    made.add_nodes_from(names)  # first, because the nodes of edges that are given as sets come in any order
    made.add_edges_from([*arrows, *lines, *((b, a) for a, b in lines)])
    if not isinstance(graph, ChosenDAG):
        made.directed_edges, made.undirected_edges = set(arrows), set(lines)
    return made


def from_pgmpy(graph: DAG | PDAG) -> CPDAG:
    """The CPDAG of a `DAG` (also a `DiscreteBayesianNetwork` and the like) or a `PDAG` of pgmpy."""
    base = load("pgmpy.base", "pgmpy")
    check_type(graph, (base.DAG, base.PDAG), "Graphs with hidden variables (MAG, ADMG) are not taken over.")
    for hidden in sorted(map(str, graph.latents)):
        raise InputError(f"variable {hidden!r}", "is hidden", "Leave it out of the graph.")
    return class_of_edges(graph.nodes, graph.edges)
