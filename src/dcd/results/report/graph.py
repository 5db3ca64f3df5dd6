"""The graph as SVG: layers from `layout`, edges as smooth curves, nodes as links to their sections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from dcd.graph.layout import Layout, layered_layout
from dcd.results.model import Edge, Result
from dcd.results.origin import is_with_knowledge
from dcd.results.report.confidence import Scale
from dcd.results.report.markup import Markup, shortened, tag, text_width
from dcd.results.report.words import arrow, percent, pvalue

_CELL = 8.9  # width of an "n" at the size of the labels in DejaVu Sans, the widest of the usual fonts
_HEIGHT, _LAYER, _GAP, _MARGIN = 34.0, 88.0, 22.0, 14.0
_HEAD = 9.0
_PADDING = 6.0  # between a label and the sides of its box, at least
Point = tuple[float, float]
CONTRADICTION = "the data contradict themselves"


@dataclass(frozen=True)
class Box:
    """A node as drawn: centre and width."""

    x: float
    y: float
    width: float


def draw_graph(result: Result, scale: Scale) -> Markup:
    """The whole picture."""
    layout = layered_layout(result.cpdag)
    labels = [
        shortened(name.strip() or "(no name)", 18 if len(result.names) <= 20 else 13) for name in result.names
    ]
    boxes, (width, height) = _boxes(layout, labels)
    ways = _ways(result, layout, boxes)
    marked = contradicted(result)
    middles = colliders_seen(result, scale)
    edges = [
        _draw_edge(index, edge, ways[index], scale, clash=frozenset((edge.first, edge.second)) in marked)
        for index, edge in enumerate(result.edges)
    ]
    nodes = [
        _draw_node(index, name, label, box, name in middles)
        for index, (name, label, box) in enumerate(zip(result.names, labels, boxes, strict=True))
    ]
    return tag(
        "svg",
        tag("g", edges, class_="edges", aria_hidden="true"),
        tag("g", nodes, class_="nodes"),
        class_="graph",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=f"{width:.0f}",
        height=f"{height:.0f}",
        role="group",
        aria_label="Graph of links to the variables; the table of edges says the same in text",
    )


def colliders_seen(result: Result, scale: Scale) -> set[str]:
    """Variables in which two arrows meet that are not by knowledge."""
    given = scale.given.arrows
    return {
        found.middle
        for found in result.colliders
        if not {(found.first, found.middle), (found.second, found.middle)} & given
    }


def _boxes(layout: Layout, labels: Sequence[str]) -> tuple[list[Box], Point]:
    widths = [max(54.0, _CELL * text_width(label) + 2 * _PADDING + 4.0) for label in labels]
    unit = max(widths) + _GAP
    points = [*layout.positions.tolist(), *(point for route in layout.routes.values() for point in route)]
    left, top = min(x for x, _ in points), max(y for _, y in points)
    right, bottom = max(x for x, _ in points), min(y for _, y in points)
    margin = max(widths) / 2 + _MARGIN
    boxes = [
        Box(margin + unit * (x - left), _MARGIN + _HEIGHT / 2 + _LAYER * (top - y), width)
        for (x, y), width in zip(layout.positions.tolist(), widths, strict=True)
    ]
    return boxes, (2 * margin + unit * (right - left), 2 * _MARGIN + _HEIGHT + _LAYER * (top - bottom))


# --- edges -----------------------------------------------------------------------------------------------


def _ways(result: Result, layout: Layout, boxes: Sequence[Box]) -> list[list[Point]]:
    """For each edge the points it passes, from the lower side of one box to the upper side of another."""
    place = {name: index for index, name in enumerate(result.names)}
    inner = _to_page(layout, boxes)
    ends = []
    for edge in result.edges:
        first, second = place[edge.first], place[edge.second]
        ends.append((first, second) if (first, second) in inner else (second, first))
    ways = [[(boxes[u].x, boxes[u].y), *inner[u, v], (boxes[v].x, boxes[v].y)] for u, v in ends]
    for side in (0, 1):
        for node, box in enumerate(boxes):
            here = [index for index, pair in enumerate(ends) if pair[side] == node]
            here.sort(key=lambda index: (_towards(ways[index], side), index))
            for rank, index in enumerate(here):
                room = min(16.0, 0.7 * box.width / max(len(here) - 1, 1))
                x = box.x + room * (rank - (len(here) - 1) / 2)
                ways[index][-side] = (x, box.y + (_HEIGHT / 2) * (1 - 2 * side))
    return ways


def _towards(way: list[Point], side: int) -> float:
    """How far to the right an edge leaves its end."""
    (x, y), (other_x, other_y) = way[-side], way[1 - 3 * side]
    return (other_x - x) / max(abs(other_y - y), 1.0)


def _to_page(layout: Layout, boxes: Sequence[Box]) -> dict[tuple[int, int], list[Point]]:
    """Routes in the coordinates of the page."""
    points = [*layout.positions.tolist(), *(point for route in layout.routes.values() for point in route)]
    left, top = min(x for x, _ in points), max(y for _, y in points)
    widest = max(box.width for box in boxes)
    unit, margin = widest + _GAP, widest / 2 + _MARGIN
    return {
        edge: [(margin + unit * (x - left), _MARGIN + _HEIGHT / 2 + _LAYER * (top - y)) for x, y in route]
        for edge, route in layout.routes.items()
    }


def edge_class(edge: Edge, scale: Scale) -> str:
    """Of the drawn edge: what it is and how sure."""
    kind = "given" if scale.given.directed(edge) else "arrow" if edge.type == "->" else "line"
    return f"{kind} {scale.grade(edge) or 'required'}"


def _draw_edge(index: int, edge: Edge, way: list[Point], scale: Scale, *, clash: bool) -> Markup:
    directed = edge.type == "->"
    middle = len(way) // 2
    mark = ((way[middle - 1][0] + way[middle][0]) / 2, (way[middle - 1][1] + way[middle][1]) / 2)
    tip = way[-1]
    if directed:
        way = [*way[:-1], (tip[0], tip[1] - _HEAD + 1)]
    given = scale.given.directed(edge)
    return tag(
        "g",
        tag("title", _told(edge, scale)),
        tag("path", d=_curve(way), class_="hit"),
        tag("path", d=_curve(way), class_="way"),
        tag("path", d=_head(tip), class_="head") if directed else None,
        _badge(mark, "!", "clash", CONTRADICTION) if clash else None,
        _badge((mark[0], mark[1] - (18 if clash else 0)), "K", "known", "by knowledge") if given else None,
        class_=f"edge {edge_class(edge, scale)}",
        data_edge=index,
        data_strength=scale.strength(edge),
    )


def _curve(way: Sequence[Point]) -> str:
    """Upright at every point, so that edges leave and enter boxes and pass layers straight."""
    parts = [f"M{way[0][0]:.1f} {way[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(way):
        middle = (y0 + y1) / 2
        parts.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
    return "".join(parts)


def _head(tip: Point) -> str:
    x, y = tip
    return f"M{x:.1f} {y:.1f}l-4.5 -{_HEAD:g}h9z"


def _badge(at: Point, letter: str, kind: str, meant: str) -> Markup:
    x, y = at
    return tag(
        "g",
        tag("title", meant),
        tag("circle", cx=round(x, 1), cy=round(y, 1), r=7.5),
        tag("text", letter, x=round(x, 1), y=round(y + 3.8, 1)),
        class_=f"badge {kind}",
    )


def _told(edge: Edge, scale: Scale) -> str:
    parts = [arrow(edge), f"p-value {pvalue(edge.pvalue)}"]
    if scale.given.drew(edge):
        return ", ".join([*parts, "required as knowledge: the data show no edge"])
    if edge.frequencies is not None:
        parts.append(f"in {percent(edge.frequencies.edge)} of resamples")
    if edge.evidence is not None and not scale.given.directed(edge):
        parts.append(f"evidence of the direction {edge.evidence:.1f}")
    if scale.given.directed(edge):
        parts.append("direction by knowledge")
    return ", ".join(parts)


def contradicted(result: Result) -> set[frozenset[str]]:
    """The edges where the data contradict themselves; an edge against knowledge is drawn as required."""
    pairs = {frozenset(found.variables) for found in result.conflicts if not is_with_knowledge(found)}
    return pairs & {frozenset((edge.first, edge.second)) for edge in result.edges}


# --- nodes -----------------------------------------------------------------------------------------------


def _draw_node(index: int, name: str, label: str, box: Box, is_collider: bool) -> Markup:
    return tag(
        "a",
        tag("title", name),
        tag(
            "rect",
            x=round(box.x - box.width / 2, 1),
            y=round(box.y - _HEIGHT / 2, 1),
            width=round(box.width, 1),
            height=_HEIGHT,
            rx=8,
        ),
        _label(label, box),
        class_="node collider" if is_collider else "node",
        href=f"#v{index}",
        data_variable=index,
        aria_label=f"{name}{', a collider' if is_collider else ''}",
    )


def _label(label: str, box: Box) -> Markup:
    """HTML within SVG: whatever font a browser has, text that is wider than its box ends in an ellipsis."""
    return tag(
        "foreignObject",
        tag("div", label, class_="label"),
        x=round(box.x - box.width / 2 + _PADDING, 1),
        y=round(box.y - _HEIGHT / 2, 1),
        width=round(box.width - 2 * _PADDING, 1),
        height=_HEIGHT,
    )
