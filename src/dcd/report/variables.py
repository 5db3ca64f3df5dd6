"""One section for each variable: its Markov boundary, what decoupling did, and the rows behind each edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcd.arrays import FloatArray
from dcd.report.markup import Markup, join, name_of, tag
from dcd.report.scatter import Axis, draw_scatter, draw_weights
from dcd.report.words import NONE, ROLES, STATUS, count, number, percent, pvalue, sentence, times
from dcd.results.model import Boundary, Member, Result, View

_MOST_DOTS = 200_000  # in the whole page, to keep it small


@dataclass(frozen=True)
class Pictures:
    """The sample as arrays, thinned if there are very many pictures."""

    axes: dict[str, Axis]
    weights: dict[str, FloatArray]


def pictures_of(result: Result) -> Pictures | None:
    """What the scatters are drawn from; None without rows."""
    sample = result.sample
    if sample is None or not sample.rows:
        return None
    n_pictures = 2 * sum(len(boundary.members) for boundary in result.boundaries)
    kept = min(len(sample.rows), max(60, _MOST_DOTS // max(n_pictures, 1)))
    step = -(-len(sample.rows) // kept)
    axes = {
        column.name: Axis(column, np.array(sample.values[column.name], dtype=np.float64)[::step])
        for column in result.data.columns
    }
    weights = {name: np.array(given, dtype=np.float64)[::step] for name, given in sample.weights.items()}
    return Pictures(axes, weights)


def variable_section(result: Result, index: int, pictures: Pictures | None) -> Markup:
    """The section of one variable."""
    boundary = result.boundaries[index]
    return tag(
        "article",
        tag("h3", name_of(boundary.target), id=f"v{index}-name", tabindex="-1"),
        _in_words(boundary),
        _members(result, boundary) if boundary.members else None,
        _decoupling(boundary.view) if boundary.view is not None else None,
        _small_multiples(boundary, pictures) if pictures is not None else None,
        _remarks(result, boundary.target),
        tag("p", tag("a", "Back to the graph", href="#graph"), class_="back"),
        class_="variable",
        id=f"v{index}",
        aria_labelledby=f"v{index}-name",
    )


def _in_words(boundary: Boundary) -> Markup:
    target = name_of(boundary.target)
    if not boundary.members:
        return tag("p", "No relation of ", target, " with another variable was seen.")
    adjacent = sum(member.role != "spouse" for member in boundary.members)
    spouses = len(boundary.members) - adjacent
    told = [target, f" is directly related to {count(adjacent, 'variable')}"]
    if spouses:
        told.append(f", and shares an effect with {count(spouses, 'other')}")
    return tag(
        "p",
        *told,
        f". Once {'this is' if len(boundary.members) == 1 else 'these are'} known, nothing else in the table "
        "was seen to tell more about it.",
    )


def _members(result: Result, boundary: Boundary) -> Markup:
    place = {name: index for index, name in enumerate(result.names)}
    measures = {member.measure for member in boundary.members}
    head = sentence(measures.pop()) if len(measures) == 1 else "Association"
    weighted = boundary.view is not None and len(boundary.view.decoupled) > 1
    rows = [
        _member_row(member, place[member.name], result, boundary.target, weighted)
        for member in boundary.members
    ]
    return tag(
        "div",
        tag(
            "table",
            tag("caption", "Markov boundary of ", name_of(boundary.target)),
            tag(
                "thead",
                tag(
                    "tr",
                    tag("th", "Variable", scope="col"),
                    tag("th", "It is", scope="col"),
                    tag("th", "p-value", scope="col", class_="number"),
                    tag("th", head, scope="col", class_="number"),
                    tag("th", "Weighted", scope="col", class_="number") if weighted else None,
                    tag("th", "In resamples", scope="col", class_="number") if result.resampling else None,
                ),
            ),
            tag("tbody", rows),
        ),
        class_="scroll",
    )


def _member_row(member: Member, index: int, result: Result, target: str, weighted: bool) -> Markup:
    found = next(
        (
            e.frequencies
            for e in result.edges
            if {e.first, e.second} == {member.name, target} and e.frequencies
        ),
        None,
    )
    return tag(
        "tr",
        tag("th", tag("a", name_of(member.name), href=f"#v{index}"), scope="row"),
        tag("td", ROLES[member.role]),
        tag("td", pvalue(member.pvalue), class_="number"),
        tag("td", _signed(member.before), class_="number"),
        tag("td", _signed(member.after), class_="number") if weighted else None,
        tag("td", NONE if found is None else percent(found.edge), class_="number")
        if result.resampling
        else None,
    )


def _signed(value: float | None) -> str:
    return NONE if value is None else f"{value:.2f}".replace("-", "\u2212")


def _decoupling(view: View) -> Markup:
    heading = tag("h4", "What decoupling did")
    if len(view.decoupled) < 2:
        only = name_of(view.decoupled[0])
        return join(heading, tag("p", "There is only ", only, " to look at, so nothing had to be decoupled."))
    return join(
        heading,
        tag("p", _effect(view)),
        tag(
            "figure",
            draw_weights(view),
            tag(
                "figcaption",
                f"Weights of the {number(view.n_rows)} rows. Together they count like ",
                tag("strong", f"{number(view.ess)} rows"),
                " of equal weight (the effective sample size).",
            ),
            class_="histogram",
        ),
    )


def _effect(view: View) -> str:
    around = count(len(view.decoupled), "variable")
    before, after = times(view.dependence_before), times(view.dependence)
    return (
        f"Weights make the {around} around it independent of each other: their dependence goes from {before} "
        f"to {after} times what chance leaves ({STATUS.get(view.status, view.status)}). What then still goes "
        "along with it does so by itself."
    )


def _small_multiples(boundary: Boundary, pictures: Pictures) -> Markup | None:
    if not boundary.members:
        return None
    weighted = boundary.view is not None and len(boundary.view.decoupled) > 1
    weights = pictures.weights.get(boundary.target) if weighted else None
    rows = [_pair(boundary.target, member, pictures, weights) for member in boundary.members]
    return join(tag("h4", "The rows behind it"), tag("div", rows, class_="multiples"))


def _pair(target: str, member: Member, pictures: Pictures, weights: FloatArray | None) -> Markup:
    x, y = pictures.axes[member.name], pictures.axes[target]
    panels = [_panel(x, y, None, "All rows alike", f"{target} against {member.name}, all rows alike")]
    if weights is not None:
        panels.append(
            _panel(x, y, weights, "Weighted", f"{target} against {member.name}, dots by decoupling weight")
        )
    return tag(
        "figure",
        tag("figcaption", name_of(member.name), tag("span", f" {ROLES[member.role]}", class_="role")),
        tag("div", panels, class_="panels"),
        tag("p", "↑ ", name_of(target), "   → ", name_of(member.name), class_="axes"),
        class_="pair",
    )


def _panel(x: Axis, y: Axis, weights: FloatArray | None, caption: str, label: str) -> Markup:
    if np.isnan(x.values).all() or np.isnan(y.values).all():
        return tag("p", "No values in the sample.")
    return tag(
        "div", tag("p", caption, class_="panel-title"), draw_scatter(x, y, weights, label), class_="panel"
    )


def _remarks(result: Result, target: str) -> Markup | None:
    found = [caution.text for caution in result.cautions if target in caution.variables]
    found += [
        f"{conflict.problem} {conflict.action}"
        for conflict in result.conflicts
        if target in conflict.variables
    ]
    if not found:
        return None
    return join(
        tag("h4", "To keep in mind"), tag("ul", [tag("li", text) for text in found], class_="remarks")
    )
