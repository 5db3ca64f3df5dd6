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
    """What the probabilities of directions leave out; empty if none that rests on the data is told."""
    known = given_in(result)
    if not any(_has_direction(edge, result) for edge in result.edges if not known.directed(edge)):
        return ""
    return (
        "Probabilities rest on a model. In real tables directions are often wrong, however probable: check "
        "each against what you know."
    )


def _has_direction(edge: Edge, result: Result) -> bool:
    """Whether a direction of an edge has a probability that is told."""
    found = edge.probabilities
    if found is None or result.posterior is None:
        return False
    return (
        reason_for_line(result, edge) != "undirected" or max(found.forward, found.backward) > found.undirected
    )
