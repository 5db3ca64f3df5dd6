"""The values of every section of the page; `templates/` holds the markup, one file for each section."""

from __future__ import annotations

from typing import Any

from dcd.results.changes import Changes, changes_since
from dcd.results.lines import reason_for_line
from dcd.results.model import Column, Edge, Result
from dcd.results.questions import doubts
from dcd.results.report.confidence import GRADES, WIDTHS, Scale, scale_of
from dcd.results.report.findings import findings
from dcd.results.report.graph_picture import contradicted, draw_graph, edge_class
from dcd.results.report.phrases import (
    count,
    direction,
    likelier_arrow,
    listed,
    number,
    other_types,
    percent_below,
    sentence,
    share_bar,
)
from dcd.results.report.rendering import render_template
from dcd.results.report.variable_details import variable_details
from dcd.runtime.text import percent, toml_entry
from dcd.search.conflicts import is_with_knowledge

_MANY_COLUMNS = 15
_MOST_BESIDE = 18  # rows of the table of edges beside other sections
_MOST_MISSED = 50  # pairs without an edge in the table of the probable ones
_KINDS = {
    "arrow": "cause → effect",
    "line": "related, direction unknown",
    "given": "direction from knowledge (K)",
}


def page(result: Result, before: Result | None = None) -> str:
    """The whole HTML file as text, with its style and script; it may load nothing else.

    `before` is an earlier result on the same table, to show the changes.
    """
    scale = scale_of(result)
    changes = None if before is None else changes_since(before, result)
    return render_template(
        "page.html.j2",
        result=result,
        positions={name: index for index, name in enumerate(result.names)},
        findings=findings(result, scale.knowledge),
        **_graph(result, scale, changes),
        **variable_details(result, scale.knowledge),
        edges=_edges(result, scale),
        most_beside=_MOST_BESIDE,
        missed=_missed(result),
        own_conflicts=[clash for clash in result.conflicts if not is_with_knowledge(clash)],
        knowledge_conflicts=[clash for clash in result.conflicts if is_with_knowledge(clash)],
        has_knowledge_arrows=bool(scale.knowledge.arrows),
        changes=changes,
        **_questions(result),
        **_data(result),
    )


def _graph(result: Result, scale: Scale, changes: Changes | None) -> dict[str, Any]:
    """The picture, the stops of its slider, and its legend: kinds of edges, and how sure they are."""
    classes = {edge_class(edge, scale) for edge in result.edges}
    kinds = {drawn.split()[0] for drawn in classes}
    grades = {scale.grade(edge) for edge in result.edges}
    legend = [(f"{kind} fair", words) for kind, words in _KINDS.items() if kind in kinds]
    if "given required" in classes:
        legend.append(("given required", "required as knowledge, not seen in the data"))
    return {
        "picture": draw_graph(result, scale, changes),
        "stops": scale.slider_stops(result),
        "legend": legend,
        "sureness": [(grade, WIDTHS[grade], scale.words(grade)) for grade in GRADES if grade in grades],
        "has_contradictions": bool(contradicted(result)),
    }


def _edges(result: Result, scale: Scale) -> list[dict[str, Any]]:
    """The rows of the table of edges, with the same content as the picture, the most certain first."""
    rows: list[dict[str, Any]] = []
    for index, edge in enumerate(result.edges):
        row = {"edge": edge, "index": index, "strength": scale.strength(edge)}
        frequencies = None if scale.knowledge.drew(edge) else edge.frequencies
        row["frequencies"] = (
            None if frequencies is None else share_bar(frequencies, percent(frequencies.edge))
        )
        rows.append({**row, **_probabilities(edge, result), "direction": _direction(edge, scale, result)})
    return sorted(rows, key=lambda row: 1.0 if row["strength"] is None else -row["strength"])


def _probabilities(edge: Edge, result: Result) -> dict[str, str]:
    """The probabilities of an edge: of any edge, of its arrow, and of the other types."""
    found, posterior = edge.probabilities, result.posterior
    if found is None or posterior is None:
        return {}
    if edge.type == "-" and not edge.uncertain:
        return likelier_arrow(edge)
    arrow = percent(found.forward)
    if edge.uncertain:
        arrow = f"{direction(edge)} {percent_below(found.forward, posterior.arrow_probability)}"
    return {"edge_share": percent(found.edge), "arrow": arrow, "others": other_types(found)}


def _missed(result: Result) -> list[dict[str, Any]]:
    """Pairs that may have an edge but have none in the graph, the most probable first."""
    drawn = {frozenset((edge.first, edge.second)) for edge in result.edges}
    pairs = result.posterior.pairs if result.posterior is not None else ()
    missed = [pair for pair in pairs if frozenset((pair.first, pair.second)) not in drawn]
    missed.sort(key=lambda pair: pair.probabilities.absent)
    return [{"pair": pair, **likelier_arrow(pair)} for pair in missed[:_MOST_MISSED]]


def _questions(result: Result) -> dict[str, Any]:
    """Each question with its answers, and the line that each adds to a knowledge file."""
    asked: dict[str, list[dict[str, Any]]] = {"root": [], "direction": []}
    for question in result.questions:
        answers = [(answer, toml_entry(answer.names)) for answer in question.answers]
        asked[question.kind].append({"question": question, "answers": answers})
    return {
        "root_questions": asked["root"],
        "direction_questions": asked["direction"],
        "in_doubt": doubts(result),
    }


def _direction(edge: Edge, scale: Scale, result: Result) -> str:
    if scale.knowledge.drew(edge):
        return "required as knowledge; the data show no edge"
    if scale.knowledge.directed(edge):
        return "given as knowledge" if edge.background else "follows from knowledge"
    reason = reason_for_line(result, edge)
    if reason == "improbable" and result.posterior is not None:
        return f"uncertain: below the required {percent(result.posterior.arrow_probability)}"
    if reason == "undirected":
        return "undirected: either direction fits the graph"
    return {True: "confirmed by tests", False: "not confirmed by tests", None: "as drawn"}[edge.confirmed]


def _data(result: Result) -> dict[str, Any]:
    """A summary of the table."""
    data, columns = result.data, result.data.columns
    used = "all" if data.n_rows == data.n_rows_used else number(data.n_rows_used)
    is_partial = used == "all" and any(column.n_missing for column in columns)
    partly = ", each for the variables that it has" if is_partial else ""
    text = f"{number(data.n_rows)} rows, {used} of them used{partly}. {_columns_in_words(columns)}"
    has_levels = any(column.levels for column in columns)
    return {
        "data_in_words": sentence(
            text
            + (" Rows were weighted." if data.weighted else "")
            + ("" if data.n_groups is None else f" Rows belong to {number(data.n_groups)} groups.")
        ),
        "has_levels": has_levels,
        "columns_folded": len(columns) > _MANY_COLUMNS,
    }


def _columns_in_words(columns: tuple[Column, ...]) -> str:
    kinds = [column.kind for column in columns]
    shares = [f"{number(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds)]
    n_missing = sum(column.n_missing for column in columns)
    missing = f"{number(n_missing)} values missing" if n_missing else "no values missing"
    return f"{sentence(count(len(columns), 'column'))} ({listed(shares)}), {missing}."
