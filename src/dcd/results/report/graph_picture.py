"""The graph of a result as SVG: nodes are links to their sections, edges show how certain they are."""

from __future__ import annotations

from dcd.graph.drawing import svg
from dcd.graph.probabilities import LineReason
from dcd.results.changes import Change, Changes
from dcd.results.lines import reason_for_line
from dcd.results.model import Edge, Result
from dcd.results.report.confidence import Scale
from dcd.results.report.phrases import arrow, probability, pvalue
from dcd.runtime.text import percent, shortened
from dcd.search.conflicts import is_with_knowledge

_LABEL = "Graph of links to the variables; the table of edges says the same in text"


def draw_graph(result: Result, scale: Scale, changes: Changes | None = None) -> svg.Drawing:
    """The whole picture; edges that changed since an earlier result are marked."""
    changed = {frozenset((one.first, one.second)): one for one in changes.edges} if changes else {}
    position = {name: index for index, name in enumerate(result.names)}
    contradictions, colliders = contradicted(result), {collider.middle for collider in result.colliders}
    edges = [
        svg.DrawnEdge(
            position[edge.first],
            position[edge.second],
            edge.type == "->",
            title=_described(edge, scale, reason_for_line(result, edge)),
            width=scale.width(edge),
            head=_head(edge),
            label=_label(edge),
            badges=_badges(edge, scale, contradictions, changed.get(frozenset((edge.first, edge.second)))),
            attributes={
                "class": f"edge {edge_class(edge, scale)}",
                "data-edge": index,
                "data-strength": scale.strength(edge),
            },
        )
        for index, edge in enumerate(result.edges)
    ]
    nodes = [_node(index, name, len(result.names), name in colliders) for name, index in position.items()]
    attributes = {"class": "graph", "role": "group", "aria-label": _LABEL}
    return svg.draw_graph(result.cpdag.drawn, nodes, edges, attributes=attributes)


def _node(index: int, name: str, n_nodes: int, is_collider: bool) -> svg.DrawnNode:
    return svg.DrawnNode(
        shortened(name.strip() or "(no name)", 18 if n_nodes <= 20 else 13),
        name,
        {
            "class": "node collider" if is_collider else "node",
            "href": f"#v{index}",
            "data-variable": index,
            "aria-label": f"{name}{', a collider' if is_collider else ''}",
        },
        in_page=True,
    )


def _badges(
    edge: Edge, scale: Scale, contradictions: set[frozenset[str]], change: Change | None
) -> list[svg.Badge]:
    badges = []
    if change is not None:
        badges.append(svg.Badge("Δ", "changed", f"changed: {change.before} before"))
    if frozenset((edge.first, edge.second)) in contradictions:
        badges.append(svg.Badge("!", "clash", "the data contradict themselves"))
    if scale.knowledge.directed(edge):
        badges.append(svg.Badge("K", "known", "by knowledge"))
    return badges


def contradicted(result: Result) -> set[frozenset[str]]:
    """The edges on which the data contradict themselves; edges against knowledge are drawn as required."""
    pairs = {frozenset(clash.variables) for clash in result.conflicts if not is_with_knowledge(clash)}
    return pairs & {frozenset((edge.first, edge.second)) for edge in result.edges}


def edge_class(edge: Edge, scale: Scale) -> str:
    """The kind of an edge and how certain it is."""
    kind = "given" if scale.knowledge.directed(edge) else "arrow" if edge.type == "->" else "line"
    return f"{kind} {scale.grade(edge) or 'required'}"


def _head(edge: Edge) -> float:
    """The size of an arrowhead, by the probability of the arrow."""
    return 1.0 if edge.probabilities is None else round(0.6 + 0.6 * edge.probabilities.forward, 2)


def _label(edge: Edge) -> str:
    """The probability of an edge as drawn: that of the arrow, or for a line that of any edge."""
    found = edge.probabilities
    return "" if found is None else percent(found.forward if edge.type == "->" else found.edge)


def _described(edge: Edge, scale: Scale, reason: LineReason | None) -> str:
    words = (arrow(edge), probability(edge, reason), f"p-value {pvalue(edge.pvalue)}")
    parts = [part for part in words if part]
    if scale.knowledge.drew(edge):
        return ", ".join([*parts, "required as knowledge: the data show no edge"])
    if edge.frequencies is not None:
        parts.append(f"in {percent(edge.frequencies.edge)} of resamples")
    if scale.knowledge.directed(edge):
        parts.append("direction from knowledge")
    return ", ".join(parts)
