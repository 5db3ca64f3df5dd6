"""The table of edges, which says the same as the picture."""

from __future__ import annotations

from typing import Any

from dcd.results.model import Edge, Frequencies, Result
from dcd.results.report.confidence import Scale
from dcd.results.report.phrases import percent, pvalue

_SYMBOLS = {"forward": "→", "backward": "←", "undirected": "—"}
_BAR_WIDTH = 120


def edge_table(result: Result, scale: Scale) -> dict[str, Any]:
    """Values for the table: its columns and its rows, the surest edge first."""
    columns = [("Edge", None), ("Direction", None), ("p-value", "number")]
    if result.resampling:
        columns.append(("In resamples", None))
    position = {name: index for index, name in enumerate(result.names)}
    rows = [_row(index, edge, scale, position) for index, edge in enumerate(result.edges)]
    return {
        "edges": sorted(rows, key=lambda row: 1.0 if row["strength"] is None else -row["strength"]),
        "edge_columns": columns,
    }


def _row(index: int, edge: Edge, scale: Scale, position: dict[str, int]) -> dict[str, Any]:
    frequencies = None if scale.knowledge.drew(edge) else edge.frequencies
    return {
        "index": index,
        "strength": scale.strength(edge),
        "first": edge.first,
        "first_index": position[edge.first],
        "symbol": "→" if edge.type == "->" else "—",
        "second": edge.second,
        "second_index": position[edge.second],
        "direction": _direction(edge, scale),
        "pvalue": pvalue(edge.pvalue),
        "frequencies": frequencies,
        **({} if frequencies is None else _bar(frequencies)),
    }


def _direction(edge: Edge, scale: Scale) -> str:
    if scale.knowledge.drew(edge):
        return "required as knowledge; the data show no edge"
    if scale.knowledge.directed(edge):
        return "given as knowledge" if edge.background else "follows from knowledge"
    return "known" if edge.type == "->" else "unknown"


def _bar(frequencies: Frequencies) -> dict[str, Any]:
    """Shares of the resamples with each type of edge, as a bar and in words."""
    bars, start, words = [], 0.0, []
    for kind, symbol in _SYMBOLS.items():
        share = getattr(frequencies, kind)
        bars.append((kind, round(_BAR_WIDTH * start, 1), round(_BAR_WIDTH * share, 1)))
        start += share
        if share > 0:
            words.append(f"{symbol} {percent(share)}")
    return {"bars": bars, "shares": ", ".join(words)}
