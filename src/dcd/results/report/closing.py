"""The end of the page: reasons for care, what it means, the data, and how to get it again."""

from __future__ import annotations

import json
from collections.abc import Sequence

from markupsafe import Markup

from dcd.results.model import Column, Conflict, Result
from dcd.results.origin import given_in, is_with_knowledge
from dcd.results.report import prose
from dcd.results.report.frame import scrolling, section
from dcd.results.report.markup import join, name_of, tag
from dcd.results.report.words import NONE, count, listed, number, sentence
from dcd.runtime.text import shortened, with_names_isolated

_MANY_COLUMNS = 15
_LEVELS_SHOWN = 6


def care(result: Result) -> Markup:
    """Cautions and conflicts in words."""
    cautions = [
        tag("li", with_names_isolated(caution.text, caution.variables)) for caution in result.cautions
    ]
    with_knowledge = [conflict for conflict in result.conflicts if is_with_knowledge(conflict)]
    others = [conflict for conflict in result.conflicts if not is_with_knowledge(conflict)]
    return section(
        "care",
        "Reasons for care",
        tag("ul", cautions, class_="cautions")
        if cautions
        else tag("p", "Nothing unusual was noticed on the way."),
        tag("h3", "Where the data contradict themselves"),
        _conflicts(others) or tag("p", "Nowhere."),
        tag("h3", "Where the data contradict what was given") if with_knowledge else None,
        _conflicts(with_knowledge),
    )


def _conflicts(conflicts: Sequence[Conflict]) -> Markup | None:
    items = [
        tag("li", with_names_isolated(found.problem, found.variables), " ", tag("em", found.action))
        for found in conflicts
    ]
    return tag("ul", items, class_="conflicts") if items else None


def meaning(result: Result) -> Markup:
    """What one may read out of the graph and what not."""
    told = prose.TERMS + ((prose.BY_KNOWLEDGE,) if given_in(result).arrows else ())
    terms = [join(tag("dt", term), tag("dd", meant)) for term, meant in told]
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
    statements = [tag("li", with_names_isolated(statement, result.names)) for statement in result.knowledge]
    return join(tag("h3", "Knowledge that was given"), tag("ul", statements))


def data(result: Result) -> Markup:
    """The table at a glance."""
    given = result.data
    used = "all" if given.n_rows == given.n_rows_used else number(given.n_rows_used)
    complete = (
        ""
        if used != "all" or not any(column.n_missing for column in given.columns)
        else (", each for the variables that it has")
    )
    told = f"{number(given.n_rows)} rows, {used} of them used{complete}. {_columns_in_words(given.columns)}"
    if given.weighted:
        told += " Rows were weighted."
    dropped = [tag("li", name_of(name), f": {why}") for name, why in given.dropped.items()]
    listing: object = scrolling(_column_table(given.columns), "Columns")
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
    shown = ", ".join(shortened(level, 24) for level in levels[:_LEVELS_SHOWN])
    if len(levels) > _LEVELS_SHOWN:
        shown += f" and {len(levels) - _LEVELS_SHOWN} more"
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
