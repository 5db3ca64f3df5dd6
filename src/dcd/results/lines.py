"""Why edges of a result are drawn as lines, and how far directions can be relied on."""

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


def doubt_about_directions(result: Result) -> str:
    """What the probabilities of directions leave out; empty if no direction of an edge rests on the data."""
    known = given_in(result)
    told = [
        edge
        for edge in result.edges
        if not known.directed(edge) and reason_for_line(result, edge) != "undirected"
    ]
    if result.posterior is None or not told:
        return ""
    return (
        "Probabilities were calibrated on simulated tables. In real tables directions are often wrong, "
        "however probable: check each against what you know."
    )
