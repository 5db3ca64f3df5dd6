"""The beginning of the page: the findings, the picture, and the variables."""

from __future__ import annotations

import json

from markupsafe import Markup

from dcd.results.model import Result
from dcd.results.report.confidence import GRADES, Scale
from dcd.results.report.frame import section
from dcd.results.report.graph_picture import (
    CONTRADICTION,
    contradicted,
    draw_graph,
    edge_class,
    supported_colliders,
)
from dcd.results.report.markup import tag
from dcd.results.report.variables import pictures_of, variable_section
from dcd.results.report.words import findings, number, sentence


def in_short(result: Result) -> Markup:
    """The findings in sentences, and the key figures."""
    arrows = sum(edge.type == "->" for edge in result.edges)
    figures = [
        ("rows used", number(result.data.n_rows_used)),
        ("variables", number(len(result.names))),
        ("arrows", number(arrows)),
        ("lines", number(len(result.edges) - arrows)),
        ("contradictions", number(len(result.conflicts))),
        ("reasons for care", number(len(result.cautions))),
    ]
    first, *others = findings(result)
    return section(
        "short",
        "In short",
        tag(
            "div",
            tag("p", first, class_="lede"),
            tag("ul", [tag("li", text) for text in others], class_="findings"),
        ),
        tag(
            "dl", [tag("div", tag("dt", what), tag("dd", value)) for what, value in figures], class_="figures"
        ),
    )


def graph(result: Result, scale: Scale) -> Markup:
    """The picture with its controls and legend."""
    return section(
        "graph",
        "The graph",
        tag(
            "p",
            "Causes are above their effects. Choose a variable to see what it is directly related to, and "
            "the rows behind each edge.",
        ),
        _controls(result, scale),
        tag("a", "Skip the picture", href="#variables", class_="skip"),
        tag(
            "div",
            draw_graph(result, scale),
            class_="canvas",
            tabindex="0",
            role="region",
            aria_label="Picture of the graph",
        ),
        _legend(result, scale),
        class_="card",
    )


def _controls(result: Result, scale: Scale) -> Markup | None:
    steps = scale.steps(result)
    if len(steps) < 2:
        return None
    total = len(result.edges)
    return tag(
        "div",
        tag("label", "Edges at least this sure", for_="confidence"),
        tag(
            "input",
            type="range",
            id="confidence",
            min="0",
            max=str(len(steps) - 1),
            value="0",
            step="1",
            aria_valuetext=f"{steps[0][1]}, {total} of {total} edges shown",
            data_steps=json.dumps([least for least, _ in steps]),
            data_words=json.dumps([words for _, words in steps]),
        ),
        tag("output", f"{sentence(steps[0][1])}: {total} of {total} shown", for_="confidence", id="shown"),
        tag("button", "Fit to width", type="button", id="fit", aria_pressed="false"),
        class_="controls",
        hidden=True,
    )


def _legend(result: Result, scale: Scale) -> Markup:
    classes = {edge_class(edge, scale) for edge in result.edges}
    kinds = {drawn.split()[0] for drawn in classes}
    words = {
        "arrow": "cause → effect",
        "line": "related, direction unknown",
        "given": "direction by knowledge that was given (K)",
    }
    items = [_entry(_sample(f"{kind} firm", kind != "line"), words[kind]) for kind in words if kind in kinds]
    if "given required" in classes:
        items.append(_entry(_sample("given required", True), "required as knowledge, not seen in the data"))
    grades = {scale.grade(edge) for edge in result.edges}
    items += [
        _entry(_sample(f"line {grade}", False), scale.words(grade)) for grade in GRADES if grade in grades
    ]
    if supported_colliders(result, scale):
        items.append(_entry(tag("span", class_="swatch collider"), "collider: two causes that meet"))
    if contradicted(result):
        items.append(_entry(tag("span", "!", class_="swatch clash"), CONTRADICTION))
    return tag("ul", items, class_="legend", aria_label="Legend")


def _entry(mark: Markup, words: str) -> Markup:
    return tag("li", mark, tag("span", words))


def _sample(kind: str, directed: bool) -> Markup:
    return tag(
        "svg",
        tag(
            "g",
            tag("path", d="M2 8H32" if directed else "M2 8H40", class_="way"),
            tag("path", d="M40 8l-9 -4.5v9z", class_="head") if directed else None,
            class_=f"edge {kind}",
        ),
        viewBox="0 0 42 16",
        width="42",
        height="16",
        aria_hidden="true",
    )


def variables(result: Result) -> Markup:
    """A section for each variable; with JavaScript one at a time is shown."""
    pictures = pictures_of(result)
    options = [
        tag("option", name or "(no name)", value=str(index)) for index, name in enumerate(result.names)
    ]
    chooser = tag(
        "div",
        tag("label", "Variable", for_="variable"),
        tag("select", options, id="variable"),
        tag("button", "Show all", type="button", id="all", aria_pressed="false"),
        class_="controls",
        hidden=True,
    )
    articles = [variable_section(result, index, pictures) for index in range(len(result.names))]
    note = (
        None
        if pictures
        else tag("p", "This report was made without rows of the data, so it has no scatter plots.")
    )
    return section("variables", "Variable by variable", chooser, note, articles, class_="card")
