"""networkx, and the packages that use networkx graphs: pgmpy, pywhy-graphs and DoWhy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.sparse.csgraph import breadth_first_order

from dcd.graph.adjacency import undirected_part
from dcd.graph.adjustment_sets import RULES, class_adjustments
from dcd.graph.cpdag import CPDAG, ChosenDAG
from dcd.interop import common
from dcd.interop.common import Edge, Graph
from dcd.runtime.errors import InputError, check_type

if TYPE_CHECKING:
    import networkx as nx
    import pywhy_graphs
    from pgmpy.base import DAG, PDAG


def to_networkx(graph: Graph) -> nx.DiGraph:
    """A `networkx.DiGraph`; an undirected edge appears in both directions."""
    names, arrows, lines = common.names_and_edges(graph)
    return _filled(common.load("networkx", "networkx").DiGraph(), names, common.both_ways(arrows, lines))


def _filled(graph: Any, names: tuple[str, ...], edges: list[Edge]) -> Any:
    graph.add_nodes_from(names)  # first, to keep their order
    graph.add_edges_from(edges)
    return graph


def from_networkx(graph: nx.Graph, *, as_given: bool = False) -> CPDAG:
    """The CPDAG of a `networkx.DiGraph`; an edge in both directions, or of a plain `Graph`, is undirected.

    With `as_given`, all arrows are kept, as background knowledge, not only those of the class.
    """
    return common.class_of_frame(read_networkx(graph), as_given=as_given)


def read_networkx(graph: nx.Graph) -> pd.DataFrame:
    """The labelled adjacency matrix of a networkx graph, with its arrows as given."""
    check_type("graph", graph, common.load("networkx", "networkx").Graph, "Pass a networkx.DiGraph.")
    if graph.is_multigraph():
        raise InputError(
            "parameter 'graph'",
            "is a multigraph, whose parallel edges mean different things to different tools",
            "Pass networkx.DiGraph(graph) if they mean the same edge.",
        )
    arrows, lines = (graph.edges, ()) if graph.is_directed() else ((), graph.edges)
    return common.frame_of_edges(graph.nodes, arrows, lines)


def to_pgmpy(graph: Graph) -> Any:
    """A `pgmpy.base.PDAG` for a CPDAG, a `pgmpy.base.DAG` for the DAG chosen by `CPDAG.to_dag()`."""
    names, arrows, lines = common.names_and_edges(graph)
    base = common.load("pgmpy.base", "pgmpy")
    if isinstance(graph, ChosenDAG):
        return _filled(base.DAG(), names, arrows)
    converted = _filled(base.PDAG(), names, common.both_ways(arrows, lines))
    converted.directed_edges, converted.undirected_edges = set(arrows), set(lines)
    return converted


def from_pgmpy(graph: DAG | PDAG) -> CPDAG:
    """The CPDAG of a pgmpy `DAG` (including `DiscreteBayesianNetwork` and the like) or `PDAG`."""
    base = common.load("pgmpy.base", "pgmpy")
    remedy = "Graphs with hidden variables (MAG, ADMG) cannot be converted."
    check_type("graph", graph, (base.DAG, base.PDAG), remedy)
    for hidden in sorted(map(str, graph.latents)):
        raise InputError(f"variable {hidden!r}", "is hidden", "Leave it out of the graph.")
    return common.class_of_edges(graph.nodes, graph.edges)


def to_pywhy(graph: Graph) -> pywhy_graphs.CPDAG:
    """A `pywhy_graphs.CPDAG`: one networkx graph for the arrows and one for the undirected edges."""
    names, arrows, lines = common.names_and_edges(graph)
    kind = common.load("pywhy_graphs", "pywhy-graphs").CPDAG
    nx = common.load("networkx", "networkx")
    return kind(
        incoming_directed_edges=_filled(nx.DiGraph(), names, arrows),
        incoming_undirected_edges=_filled(nx.Graph(), names, lines),
    )


def from_pywhy(graph: pywhy_graphs.CPDAG) -> CPDAG:
    """The CPDAG of a `pywhy_graphs.CPDAG`; a DAG is a `networkx.DiGraph` there, see `from_networkx`."""
    kind = common.load("pywhy_graphs", "pywhy-graphs").CPDAG
    for mark in ("bidirected", "circle"):
        for a, b in getattr(graph, f"{mark}_edges", ()):
            raise common.foreign_mark(f"{str(a)!r}, {str(b)!r}", mark)
    check_type("graph", graph, kind, "Pass a pywhy_graphs.CPDAG; for a networkx.DiGraph use from_networkx.")
    return common.class_of_edges(graph.nodes, graph.directed_edges, graph.undirected_edges)


def to_dowhy(cpdag: CPDAG, *, treatment: str, outcome: str) -> nx.DiGraph:
    """The DAG for `dowhy.CausalModel(data, treatment, outcome, graph=...)`, if all give the same effect.

    DoWhy needs one DAG; a CPDAG represents many, with uncertain arrows in either direction. If no adjustment
    set is valid for all of them, or in some the treatment does not cause the outcome, an `InputError` is
    raised: use `dcd.effect` for the range. Otherwise every DAG gives the same effect. Arrows whose direction
    was chosen arbitrarily have the attribute `arbitrary=True`; the effect does not depend on them.
    """
    check_type("cpdag", cpdag, CPDAG, "Pass .cpdag_.")
    if cpdag.index(treatment) == cpdag.index(outcome):
        raise InputError("parameter 'outcome'", f"is the treatment, {treatment!r}", "Name another variable.")
    answers = [class_adjustments(cpdag, treatment, outcome, rule) for rule in RULES]  # any one is enough
    if all(len(answer.shares) > 1 or not answer.complete for answer in answers):
        undecided = _undecided(cpdag, treatment, outcome)
        edges = ", ".join(f"{a!r} - {b!r}" for a, b in undecided)
        raise InputError(
            f"edge{'s' * (len(undecided) > 1)} {edges}",
            f"can have either direction, and the effect of {treatment!r} on {outcome!r} depends on it",
            f"dcd.effect(cpdag, table, {treatment!r}, {outcome!r}) gives its range. Background knowledge can "
            "settle the direction. To try one direction anyway, pass interop.to_networkx(cpdag.to_dag()) to "
            "DoWhy and report that the direction was a choice.",
        )
    chosen = cpdag.to_dag()
    graph = to_networkx(chosen)
    for edge in chosen.arbitrary:
        graph.edges[edge]["arbitrary"] = True
    return graph


def _undecided(cpdag: CPDAG, treatment: str, outcome: str) -> list[Edge]:
    """The lines at the treatment that may begin a path to the outcome, and uncertain arrows elsewhere."""
    x, y = cpdag.index(treatment), cpdag.index(outcome)
    without_treatment = cpdag.drawn.copy()
    without_treatment[x, :] = without_treatment[:, x] = 0
    neighbours = np.flatnonzero(undirected_part(cpdag.drawn)[x])
    leads_to_outcome = breadth_first_order(without_treatment.T, y, return_predecessors=False)
    lines = [(treatment, cpdag.names[i]) for i in neighbours if i in leads_to_outcome]
    return lines + [arrow for arrow in cpdag.uncertain if treatment not in arrow]
