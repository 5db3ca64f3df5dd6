"""The sections of the page, but for those of single variables."""

from __future__ import annotations

import json

from dcd.report import prose
from dcd.report.confidence import Scale
from dcd.report.graph import draw_graph
from dcd.report.markup import Markup, join, name_of, tag
from dcd.report.variables import pictures_of, variable_section
from dcd.report.words import NONE, count, findings, listed, number, percent, pvalue, sentence
from dcd.results.model import Column, Edge, Result

_MANY_COLUMNS = 15


def section(identity: str, heading: str, *children: object, class_: str | None = None) -> Markup:
    """A part of the page with a heading."""
    return tag(
        "section",
        tag("h2", heading, id=f"{identity}-heading"),
        *children,
        id=identity,
        class_=class_,
        aria_labelledby=f"{identity}-heading",
    )


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
        tag("p", first, class_="lede"),
        tag("ul", [tag("li", text) for text in others], class_="findings"),
        tag(
            "dl", [tag("div", tag("dt", what), tag("dd", value)) for what, value in figures], class_="figures"
        ),
    )


# --- the graph -------------------------------------------------------------------------------------------


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
        tag("label", "Least confidence of edges", for_="confidence"),
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
    entries = [
        (_sample("arrow firm", True), "cause → effect")
        if any(e.type == "->" for e in result.edges)
        else None,
        (_sample("line firm", False), "related, direction unknown")
        if any(e.type == "-" for e in result.edges)
        else None,
        (_sample("given firm", True), "direction given as knowledge (K)")
        if any(e.background for e in result.edges)
        else None,
        *(
            (_sample(f"line {grade}", False), scale.words(grade))
            for grade in ("firm", "fair", "weak")
            if any(scale.grade(edge) == grade for edge in result.edges)
        ),
    ]
    items = [
        tag("li", picture, tag("span", words)) for entry in entries if entry for picture, words in [entry]
    ]
    if result.colliders:
        items.append(
            tag("li", tag("span", class_="swatch collider"), tag("span", "collider: two causes that meet"))
        )
    if any(len(conflict.variables) == 2 for conflict in result.conflicts):
        items.append(
            tag("li", tag("span", "!", class_="swatch clash"), tag("span", "the data contradict themselves"))
        )
    return tag("ul", items, class_="legend", aria_label="Legend")


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


def edges(result: Result, scale: Scale) -> Markup:
    """The table that says the same as the picture."""
    place = {name: index for index, name in enumerate(result.names)}
    has_evidence = any(edge.evidence is not None for edge in result.edges)
    ordered = sorted(enumerate(result.edges), key=lambda item: -(scale.strength(item[1]) or 0.0))
    head = [
        tag("th", "Edge", scope="col"),
        tag("th", "Direction", scope="col"),
        tag("th", "p-value", scope="col", class_="number"),
        tag("th", "Evidence of direction", scope="col", class_="number") if has_evidence else None,
        tag("th", "In resamples", scope="col") if result.resampling else None,
    ]
    rows = [_edge_row(index, edge, scale, place, has_evidence, result) for index, edge in ordered]
    body: object = tag("p", "No edges were found.")
    if rows:
        table = tag(
            "table",
            tag("caption", "All edges, the surest first"),
            tag("thead", tag("tr", head)),
            tag("tbody", rows),
        )
        body = tag(
            "div", table, class_="scroll", tabindex="0", role="region", aria_label="Table of all edges"
        )
    return section("edges", "The edges one by one", body, _how_p(result))


def _edge_row(
    index: int, edge: Edge, scale: Scale, place: dict[str, int], has_evidence: bool, result: Result
) -> Markup:
    symbol = " → " if edge.type == "->" else " — "
    direction = "given as knowledge" if edge.background else "known" if edge.type == "->" else "unknown"
    ends = [tag("a", name_of(name), href=f"#v{place[name]}") for name in (edge.first, edge.second)]
    return tag(
        "tr",
        tag("th", ends[0], symbol, ends[1], scope="row"),
        tag("td", direction),
        tag("td", pvalue(edge.pvalue), class_="number"),
        tag("td", NONE if edge.evidence is None else f"{edge.evidence:.1f}", class_="number")
        if has_evidence
        else None,
        tag("td", _bar(edge), class_="resamples") if result.resampling else None,
        data_edge=index,
        data_strength=scale.strength(edge),
    )


def _bar(edge: Edge) -> Markup | None:
    """Shares of the resamples with each kind of edge, as a bar and in words."""
    found = edge.frequencies
    if found is None:
        return None
    shares = {"forward": found.forward, "backward": found.backward, "undirected": found.undirected}
    symbols = {"forward": "→", "backward": "←", "undirected": "—"}
    parts, start = [], 0.0
    for kind, share in shares.items():
        parts.append(
            tag("rect", x=round(120 * start, 1), width=round(120 * share, 1), y=0, height=10, class_=kind)
        )
        start += share
    words = ", ".join(f"{symbols[kind]} {percent(share)}" for kind, share in shares.items() if share > 0)
    picture = tag(
        "svg", parts, viewBox="0 0 120 10", width="120", height="10", class_="bar", aria_hidden="true"
    )
    return join(tag("strong", percent(found.edge)), picture, tag("span", words or "never", class_="detail"))


def _how_p(result: Result) -> Markup:
    parts = [prose.PVALUE, f"Edges are drawn below {result.level:.2g}."]
    if any(edge.evidence is not None for edge in result.edges):
        parts.append(prose.EVIDENCE)
    if result.resampling:
        parts.append(
            f"The last column is how often the two had an edge in {number(result.resampling.n_resamples)} fits "
            f"on resampled rows ({result.resampling.scheme}), and of which type."
        )
    return tag("p", " ".join(parts), class_="note")


# --- variables -------------------------------------------------------------------------------------------


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


# --- doubts, meaning, data, reproduction -----------------------------------------------------------------


def care(result: Result) -> Markup:
    """Cautions and conflicts in words."""
    cautions = [tag("li", caution.text) for caution in result.cautions]
    conflicts = [
        tag("li", conflict.problem, " ", tag("em", conflict.action)) for conflict in result.conflicts
    ]
    return section(
        "care",
        "Reasons for care",
        tag("ul", cautions, class_="cautions")
        if cautions
        else tag("p", "Nothing unusual was noticed on the way."),
        tag("h3", "Where the data contradict themselves"),
        tag("ul", conflicts, class_="conflicts") if conflicts else tag("p", "Nowhere."),
    )


def meaning(result: Result) -> Markup:
    """What one may read out of the graph and what not."""
    terms = [join(tag("dt", term), tag("dd", meant)) for term, meant in prose.TERMS]
    assumptions = [tag("li", tag("strong", what), " ", why) for what, why in prose.ASSUMPTIONS]
    return section(
        "meaning",
        "What arrows and lines mean",
        tag("dl", terms, class_="meaning"),
        tag("p", "All of this rests on assumptions that no such data can confirm:"),
        tag("ul", assumptions),
        tag("p", prose.HYPOTHESIS),
        _knowledge(result),
    )


def _knowledge(result: Result) -> Markup | None:
    if not result.knowledge:
        return None
    statements = [tag("li", statement) for statement in result.knowledge]
    return join(tag("h3", "Knowledge that was given"), tag("ul", statements))


def data(result: Result) -> Markup:
    """The table at a glance."""
    given = result.data
    used = (
        "all of them used"
        if given.n_rows == given.n_rows_used
        else f"{number(given.n_rows_used)} of them used"
    )
    told = f"{number(given.n_rows)} rows, {used}. {_columns_in_words(given.columns)}"
    if given.weighted:
        told += " Rows were weighted."
    dropped = [tag("li", name_of(name), f": {why}") for name, why in given.dropped.items()]
    listing: object = tag(
        "div",
        _column_table(given.columns),
        class_="scroll",
        tabindex="0",
        role="region",
        aria_label="Columns",
    )
    if len(given.columns) > _MANY_COLUMNS and _uniform(given.columns):
        listing = tag("details", tag("summary", f"All {len(given.columns)} columns"), listing)
    return section(
        "data",
        "The data",
        tag("p", sentence(told)),
        listing,
        join(tag("h3", "Columns left out"), tag("ul", dropped)) if dropped else None,
    )


def _uniform(columns: tuple[Column, ...]) -> bool:
    """Whether one sentence says all there is to say."""
    return len({column.kind for column in columns}) == 1 and not any(c.n_missing or c.levels for c in columns)


def _columns_in_words(columns: tuple[Column, ...]) -> str:
    kinds = [column.kind for column in columns]
    shares = [f"{number(kinds.count(kind))} {kind}" for kind in dict.fromkeys(kinds)]
    missing = sum(column.n_missing for column in columns)
    lacking = "no values missing" if not missing else f"{number(missing)} values missing"
    return f"{sentence(count(len(columns), 'column'))} ({listed(shares)}), {lacking}."


def _column_table(columns: tuple[Column, ...]) -> Markup:
    has_levels = any(column.levels for column in columns)
    head = [
        tag("th", "Column", scope="col"),
        tag("th", "Kind", scope="col"),
        tag("th", "Missing", scope="col", class_="number"),
        tag("th", "Levels", scope="col") if has_levels else None,
    ]
    rows = [_column_row(column, index, has_levels) for index, column in enumerate(columns)]
    return tag("table", tag("caption", "Columns"), tag("thead", tag("tr", head)), tag("tbody", rows))


def _column_row(column: Column, index: int, has_levels: bool) -> Markup:
    levels = column.levels or ()
    shown = ", ".join(levels[:6]) + (f" and {len(levels) - 6} more" if len(levels) > 6 else "")
    return tag(
        "tr",
        tag("th", tag("a", name_of(column.name), href=f"#v{index}"), scope="row"),
        tag("td", column.kind, tag("span", f" {column.why}", class_="detail") if column.why else None),
        tag("td", number(column.n_missing), class_="number"),
        tag("td", shown or NONE) if has_levels else None,
    )


def again(result: Result) -> Markup:
    """How to reproduce it."""
    how = result.reproduction
    facts = [
        ("Estimator", how.estimator),
        ("Seed", "none" if how.seed is None else str(how.seed)),
        ("Versions", ", ".join(f"{name} {version}" for name, version in how.versions.items())),
        ("SHA-256 of the data", result.data.fingerprint),
    ]
    return section(
        "again",
        "How to get this again",
        tag("dl", [tag("div", tag("dt", what), tag("dd", value)) for what, value in facts], class_="facts"),
        tag("pre", tag("code", how.code), tabindex="0", role="region", aria_label="Python code"),
        tag(
            "details",
            tag("summary", "All parameters"),
            tag(
                "pre",
                tag("code", json.dumps(how.parameters, indent=2, ensure_ascii=False)),
                tabindex="0",
                role="region",
                aria_label="Parameters",
            ),
        ),
    )
