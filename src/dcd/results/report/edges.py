"""The table that says the same as the picture."""

from __future__ import annotations

from markupsafe import Markup

from dcd.results.model import Edge, Result
from dcd.results.report import prose
from dcd.results.report.confidence import Scale
from dcd.results.report.frame import scrolling, section
from dcd.results.report.markup import join, name_of, tag
from dcd.results.report.words import NONE, number, percent, pvalue


def edges(result: Result, scale: Scale) -> Markup:
    """The table that says the same as the picture."""
    place = {name: index for index, name in enumerate(result.names)}
    has_evidence = any(edge.evidence is not None and not scale.given.directed(edge) for edge in result.edges)
    ordered = sorted(enumerate(result.edges), key=lambda item: _least_sure_last(scale.strength(item[1])))
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
        body = scrolling(table, "All edges")
    return section("edges", "The edges one by one", body, _how_p(result, has_evidence))


def _least_sure_last(strength: float | None) -> float:
    return 1.0 if strength is None else -strength


def _direction(edge: Edge, scale: Scale) -> str:
    if scale.given.drew(edge):
        return "required as knowledge; the data show no edge"
    if scale.given.directed(edge):
        return "given as knowledge" if edge.background else "follows from knowledge"
    return "known" if edge.type == "->" else "unknown"


def _edge_row(
    index: int, edge: Edge, scale: Scale, place: dict[str, int], has_evidence: bool, result: Result
) -> Markup:
    symbol = " → " if edge.type == "->" else " — "
    evidence = None if scale.given.directed(edge) else edge.evidence
    often = None if scale.given.drew(edge) else _bar(edge)
    ends = [tag("a", name_of(name), href=f"#v{place[name]}") for name in (edge.first, edge.second)]
    return tag(
        "tr",
        tag("th", ends[0], symbol, ends[1], scope="row"),
        tag("td", _direction(edge, scale)),
        tag("td", pvalue(edge.pvalue), class_="number"),
        tag("td", NONE if evidence is None else f"{evidence:.1f}", class_="number") if has_evidence else None,
        tag("td", often or NONE, class_="resamples") if result.resampling else None,
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


def _how_p(result: Result, has_evidence: bool) -> Markup:
    shared = ", alpha shared by the tests of one boundary" if result.level * 1.5 < _alpha(result) else ""
    parts = [prose.PVALUE, f"Edges are drawn below {result.level:.2g}{shared}."]
    if has_evidence:
        parts.append(prose.EVIDENCE)
    if result.resampling:
        parts.append(
            "The last column is how often the two had an edge, and of which type, in "
            f"{number(result.resampling.n_resamples)} fits on resampled rows ({result.resampling.scheme})."
        )
    return tag("p", " ".join(parts), class_="note")


def _alpha(result: Result) -> float:
    alpha = result.reproduction.parameters.get("alpha")
    return alpha if isinstance(alpha, float) else result.level
