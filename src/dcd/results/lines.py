"""Why edges of a result are drawn as lines."""

from __future__ import annotations

from dcd.graph.probabilities import LineReason
from dcd.results.model import Edge, Result


def reason_for_line(result: Result, edge: Edge) -> LineReason | None:
    """Why an edge is drawn as a line; None for an arrow."""
    if edge.type == "->":
        return None
    if edge.probabilities is None or result.posterior is None:
        return "undirected"
    return edge.probabilities.reason_for_line(edge.uncertain, result.posterior.arrow_probability)
