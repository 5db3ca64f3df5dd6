"""Why edges of a result are drawn as lines, and how far its arrows can be relied on."""

from __future__ import annotations

from dcd.graph.probabilities import LineReason
from dcd.results.model import Edge, Result
from dcd.results.origin import given_in


def reason_for_line(result: Result, edge: Edge) -> LineReason | None:
    """Why an edge is drawn as a line; None for an arrow."""
    if edge.type == "->":
        return None
    if edge.probabilities is None or result.posterior is None:
        return "undirected"
    return edge.probabilities.reason_for_line(edge.uncertain, result.posterior.arrow_probability)


def doubt_about_arrows(result: Result) -> str:
    """What the probabilities of arrows leave out; empty if the data alone give no arrow a probability."""
    known = given_in(result)
    if result.posterior is None or not any(
        edge.type == "->" and not known.directed(edge) for edge in result.edges
    ):
        return ""
    return (
        "Probabilities were calibrated on simulated tables. Directions in real tables are less certain: "
        "check each arrow against what you know."
    )
