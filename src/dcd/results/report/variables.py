"""One section for each variable: its Markov boundary, what decoupling did, and the rows behind each edge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from dcd.results.model import Boundary, Member, Result, View
from dcd.results.origin import given_in
from dcd.results.report.frame import scrolling
from dcd.results.report.markup import join, name_of, tag
from dcd.results.report.scatter import Axis, draw_scatter, draw_weights
from dcd.results.report.words import NONE, ROLES, STATUS, count, number, percent, pvalue, times
from dcd.runtime.array_types import FloatArray
from dcd.runtime.text import with_names_isolated

_MUCH_LEFT = 2.0
_MOST_DOTS = 120_000  # in the whole page, to keep it small


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
        tag("h3", name_of(boundary.target, 400), id=f"v{index}-name", tabindex="-1"),
        _in_words(result, boundary),
        _members(result, boundary, with_strengths=pictures is None) if boundary.members else None,
        _decoupling(boundary.view) if boundary.view is not None else None,
        _small_multiples(result, boundary, pictures) if pictures is not None else None,
        _remarks(result, boundary.target),
        tag("p", tag("a", "Back to the graph", href="#graph"), class_="back"),
        class_="variable",
        id=f"v{index}",
        aria_labelledby=f"v{index}-name",
    )


def _in_words(result: Result, boundary: Boundary) -> Markup:
    target = name_of(boundary.target)
    if not boundary.members:
        return tag("p", "No relation of ", target, " with another variable was seen.")
    adjacent = sum(member.role != "spouse" for member in boundary.members)
    spouses = sum(_share_effect(result, boundary.target, member) for member in boundary.members)
    others = len(boundary.members) - adjacent - spouses
    told = [target, f" is directly related to {count(adjacent, 'variable')}"]
    if spouses:
        told.append(f", and shares an effect with {count(spouses, 'other')}")
    if others:
        told.append(f"; {count(others, 'other')} told something of it as well, but no edge was drawn")
    return tag(
        "p",
        *told,
        f". Once {'this is' if len(boundary.members) == 1 else 'these are'} known, nothing else in the table "
        "was seen to tell more about it.",
    )


def _share_effect(result: Result, target: str, member: Member) -> bool:
    """Whether a member without an edge acts on something that the target acts on, in the graph."""
    effects = [
        {effect for cause, effect in result.cpdag.directed_edges if cause == name}
        for name in (target, member.name)
    ]
    return member.role == "spouse" and bool(effects[0] & effects[1])


def _role(result: Result, target: str, member: Member) -> str:
    if member.role == "spouse" and not _share_effect(result, target, member):
        return "no edge drawn"
    return ROLES[member.role]


def _members(result: Result, boundary: Boundary, *, with_strengths: bool) -> Markup:
    """The boundary as a table; the strengths are with the pictures where there are any."""
    place = {name: index for index, name in enumerate(result.names)}
    given = given_in(result)
    found = {
        frozenset((edge.first, edge.second)): edge.frequencies
        for edge in result.edges
        if not given.drew(edge)
    }
    heads = [("Variable", None), ("It is", None), ("p-value", "number")]
    if result.resampling:
        heads.append(("In resamples", "number"))
    if with_strengths:
        heads += [("Association", None), ("As measured", "number"), ("Weighted", "number")]
    rows = []
    for member in boundary.members:
        cells = [tag("th", tag("a", name_of(member.name), href=f"#v{place[member.name]}"), scope="row")]
        role = _role(result, boundary.target, member)
        cells += [tag("td", role), tag("td", pvalue(member.pvalue), class_="number")]
        if result.resampling:
            often = found.get(frozenset((member.name, boundary.target)))
            cells.append(tag("td", NONE if often is None else percent(often.edge), class_="number"))
        if with_strengths:
            cells.append(tag("td", member.measure))
            cells += [tag("td", _signed(value), class_="number") for value in (member.before, member.after)]
        rows.append(tag("tr", cells))
    head = tag("tr", [tag("th", words, scope="col", class_=kind) for words, kind in heads])
    caption = tag("caption", "Markov boundary of ", name_of(boundary.target))
    table = tag("table", caption, tag("thead", head), tag("tbody", rows))
    return scrolling(table, f"Markov boundary of {boundary.target}")


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
    if view.dependence_before <= 1 and view.dependence == view.dependence_before:
        return f"The {around} around it are as good as independent as they are, so all rows count alike."
    before, after = times(view.dependence_before), times(view.dependence)
    told = (
        f"Weights make the {around} around it independent of each other: their dependence goes from {before} "
        f"to {after} times what chance leaves ({STATUS.get(view.status, view.status)}). "
    )
    if view.dependence > _MUCH_LEFT:
        return told + "Some is left, so part of what is seen may still come by way of the others."
    return told + "What then still goes along with it does so by itself."


def _small_multiples(result: Result, boundary: Boundary, pictures: Pictures) -> Markup | None:
    if not boundary.members:
        return None
    weighted = boundary.view is not None and len(boundary.view.decoupled) > 1
    weights = pictures.weights.get(boundary.target) if weighted else None
    rows = [_pair(result, boundary.target, member, pictures, weights) for member in boundary.members]
    return join(tag("h4", "The rows behind it"), tag("div", rows, class_="multiples"))


def _pair(
    result: Result, target: str, member: Member, pictures: Pictures, weights: FloatArray | None
) -> Markup:
    x, y = pictures.axes[member.name], pictures.axes[target]
    panels = [_panel(x, y, None, "As measured", member.before)]
    if weights is not None:
        panels.append(_panel(x, y, weights, "Weighted", member.after))
    return tag(
        "figure",
        tag(
            "figcaption",
            name_of(member.name),
            tag("span", f" {_role(result, target, member)}", class_="role"),
        ),
        tag("div", panels, class_="panels"),
        tag("p", "↑ ", name_of(target), "   → ", name_of(member.name), f"   {member.measure}", class_="axes"),
        class_="pair",
    )


def _panel(x: Axis, y: Axis, weights: FloatArray | None, caption: str, strength: float | None) -> Markup:
    title = tag("p", caption, tag("span", _signed(strength), class_="strength"), class_="panel-title")
    if np.isnan(x.values).all() or np.isnan(y.values).all():
        return tag("div", title, tag("p", "No values in the sample."), class_="panel")
    label = f"{y.column.name} against {x.column.name}, {caption.lower()}"
    return tag("div", title, draw_scatter(x, y, weights, label), class_="panel")


def _remarks(result: Result, target: str) -> Markup | None:
    found = [
        with_names_isolated(caution.text, caution.variables)
        for caution in result.cautions
        if target in caution.variables
    ]
    found += [
        with_names_isolated(f"{conflict.problem} {conflict.action}", conflict.variables)
        for conflict in result.conflicts
        if target in conflict.variables
    ]
    if not found:
        return None
    return join(
        tag("h4", "To keep in mind"), tag("ul", [tag("li", text) for text in found], class_="remarks")
    )
