"""The values of every section of the page; `templates/` holds the markup, one file for each section."""

from __future__ import annotations

from typing import Any

from dcd.results.model import Column, Edge, Frequencies, Result
from dcd.results.origin import is_with_knowledge
from dcd.results.report.confidence import GRADES, Scale, scale_of
from dcd.results.report.findings import findings
from dcd.results.report.graph_picture import contradicted, draw_graph, edge_class
from dcd.results.report.phrases import count, listed, number, percent, sentence
from dcd.results.report.rendering import render_template
from dcd.results.report.variable_details import variable_details

_MANY_COLUMNS = 15
_SYMBOLS = {"forward": "→", "backward": "←", "undirected": "—"}
_BAR_WIDTH = 120
_KINDS = {
    "arrow": "cause → effect",
    "line": "related, direction unknown",
    "given": "direction by knowledge that was given (K)",
}


def page(result: Result) -> str:
    """The whole HTML file as text: its style and script are inside, and it may load nothing."""
    scale = scale_of(result)
    return render_template(
        "page.html.j2",
        result=result,
        positions={name: index for index, name in enumerate(result.names)},
        findings=findings(result, scale.knowledge),
        **_graph(result, scale),
        **variable_details(result, scale.knowledge),
        edges=_edges(result, scale),
        own_conflicts=[clash for clash in result.conflicts if not is_with_knowledge(clash)],
        knowledge_conflicts=[clash for clash in result.conflicts if is_with_knowledge(clash)],
        has_knowledge_arrows=bool(scale.knowledge.arrows),
        **_data(result),
    )


def _graph(result: Result, scale: Scale) -> dict[str, Any]:
    """The picture, the stops of its slider, and its legend as `(classes, directed, words)`."""
    classes = {edge_class(edge, scale) for edge in result.edges}
    kinds = {drawn.split()[0] for drawn in classes}
    grades = {scale.grade(edge) for edge in result.edges}
    legend = [(f"{kind} firm", kind != "line", words) for kind, words in _KINDS.items() if kind in kinds]
    if "given required" in classes:
        legend.append(("given required", True, "required as knowledge, not seen in the data"))
    legend += [(f"line {grade}", False, scale.words(grade)) for grade in GRADES if grade in grades]
    return {
        "picture": draw_graph(result, scale),
        "stops": scale.slider_stops(result),
        "legend": legend,
        "has_contradictions": bool(contradicted(result)),
    }


def _edges(result: Result, scale: Scale) -> list[dict[str, Any]]:
    """The rows of the table of edges, which says the same as the picture: the surest edge first."""
    rows: list[dict[str, Any]] = []
    for index, edge in enumerate(result.edges):
        row = {"edge": edge, "index": index, "strength": scale.strength(edge)}
        frequencies = None if scale.knowledge.drew(edge) else edge.frequencies
        bar = {} if frequencies is None else _bar(frequencies)
        rows.append({**row, "direction": _direction(edge, scale), "frequencies": frequencies, **bar})
    return sorted(rows, key=lambda row: 1.0 if row["strength"] is None else -row["strength"])


def _direction(edge: Edge, scale: Scale) -> str:
    if scale.knowledge.drew(edge):
        return "required as knowledge; the data show no edge"
    if scale.knowledge.directed(edge):
        return "given as knowledge" if edge.background else "follows from knowledge"
    return "known" if edge.type == "->" else "unknown"


def _bar(frequencies: Frequencies) -> dict[str, Any]:
    """Shares of the resamples with each type of edge, as a bar and in words."""
    bars, start, words = [], 0.0, []
    for kind, sign in _SYMBOLS.items():
        share = getattr(frequencies, kind)
        bars.append((kind, round(_BAR_WIDTH * start, 1), round(_BAR_WIDTH * share, 1)))
        start += share
        if share > 0:
            words.append(f"{sign} {percent(share)}")
    return {"bars": bars, "shares": ", ".join(words)}


def _data(result: Result) -> dict[str, Any]:
    """The table at a glance."""
    data, columns = result.data, result.data.columns
    used = "all" if data.n_rows == data.n_rows_used else number(data.n_rows_used)
    is_partial = used == "all" and any(column.n_missing for column in columns)
    partly = ", each for the variables that it has" if is_partial else ""
    text = f"{number(data.n_rows)} rows, {used} of them used{partly}. {_columns_in_words(columns)}"
    has_levels = any(column.levels for column in columns)
    one_sentence_says_all = len({c.kind for c in columns}) == 1 and not any(c.n_missing for c in columns)
    return {
        "data_in_words": sentence(text + (" Rows were weighted." if data.weighted else "")),
        "has_levels": has_levels,
        "columns_folded": len(columns) > _MANY_COLUMNS and one_sentence_says_all and not has_levels,
    }


def _columns_in_words(columns: tuple[Column, ...]) -> str:
    kinds = [column.kind for column in columns]
    shares = [f"{number(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds)]
    n_missing = sum(column.n_missing for column in columns)
    missing = f"{number(n_missing)} values missing" if n_missing else "no values missing"
    return f"{sentence(count(len(columns), 'column'))} ({listed(shares)}), {missing}."
