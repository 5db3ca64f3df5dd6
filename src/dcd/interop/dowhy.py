"""DoWhy: a graph for `dowhy.CausalModel(graph=...)`, if the CPDAG identifies the effect.

DoWhy needs one DAG, a CPDAG represents many. The effect of x on y is the same in all of them unless a
possibly directed path from x to y begins with an undirected edge (Perković, 2020, *Identifying causal effects
in maximally oriented partially directed acyclic graphs*). Otherwise any DAG of the class gives the effect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import breadth_first_order

from dcd.graph.adjacency import undirected_part
from dcd.graph.cpdag import CPDAG
from dcd.interop.edge_lists import Edge
from dcd.interop.networkx import to_networkx
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    import networkx as nx


def to_dowhy(cpdag: CPDAG, *, treatment: str, outcome: str) -> nx.DiGraph:
    """The DAG for `dowhy.CausalModel(data, treatment, outcome, graph=...)`.

    Arrows whose direction was chosen arbitrarily have the attribute `arbitrary=True`; the effect does not
    depend on them. An `InputError` is raised if the effect depends on an undirected edge at the treatment.
    """
    if not isinstance(cpdag, CPDAG):
        raise InputError("parameter 'cpdag'", f"must be a CPDAG, got {type(cpdag).__name__}", "Pass .cpdag_.")
    if cpdag.index(treatment) == cpdag.index(outcome):
        raise InputError("parameter 'outcome'", f"is the treatment, {treatment!r}", "Name another variable.")
    undecided = _undecided(cpdag, treatment, outcome)
    if undecided:
        edges = ", ".join(f"{a!r} - {b!r}" for a, b in undecided)
        raise InputError(
            f"edge{'s' * (len(undecided) > 1)} {edges}",
            f"can go either way, and the effect of {treatment!r} on {outcome!r} depends on it",
            "Settle its direction by background knowledge. To try one direction anyway, pass "
            "interop.to_networkx(cpdag.to_dag()) to DoWhy and report that the direction was a choice.",
        )
    chosen = cpdag.to_dag()
    graph = to_networkx(chosen)
    for edge in chosen.arbitrary:
        graph.edges[edge]["arbitrary"] = True
    return graph


def _undecided(cpdag: CPDAG, treatment: str, outcome: str) -> list[Edge]:
    """The undirected edges at the treatment that begin a possibly directed path to the outcome."""
    x, y = cpdag.index(treatment), cpdag.index(outcome)
    without_treatment = cpdag.adjacency.copy()
    without_treatment[x, :] = without_treatment[:, x] = 0
    neighbours = np.flatnonzero(undirected_part(cpdag.adjacency)[x])
    leads_to_outcome = breadth_first_order(without_treatment.T, y, return_predecessors=False)
    return [(treatment, cpdag.names[i]) for i in neighbours if i in leads_to_outcome]
