"""Graphs as SVG, for notebooks and the report.

Nodes are labelled boxes. An edge leaves the bottom of the upper box, passes the bend points of the layout
vertically, and enters the top of the lower box. Colours are presentation attributes, so style sheets can
override them. The markup is in `graph.svg.j2`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from markupsafe import Markup

from dcd.graph.adjacency import directed_part, undirected_part
from dcd.graph.drawing.edge_labels import Box, Point, label_places, points_of_curve
from dcd.graph.drawing.layout import Layout, layered_layout
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.text import shortened, text_width

if TYPE_CHECKING:
    from jinja2 import Environment

_CELL = 8.9  # width of an "n" at the size of the labels in DejaVu Sans, the widest of the usual fonts
_HEIGHT, _LAYER, _GAP, _MARGIN = 34.0, 88.0, 22.0, 14.0  # of a box, between layers, between boxes, around all
_HEAD = 9.0
_BADGE, _BADGE_STEP = 7.5, 18.0  # radius of a badge, and distance between two of an edge
_PADDING = 6.0  # between a label and the sides of its box, at least
_NOTEBOOK_SCALE, _NOTEBOOK_CELLS, _NOTEBOOK_TALLEST = 0.85, 24, 130.0
_NOTEBOOK_ATTRIBUTES = {
    "xmlns": "http://www.w3.org/2000/svg",
    "role": "img",
    "style": "max-width:100%;height:auto",
    "font-family": "sans-serif",
    "font-size": 14,
}


class Drawing(Markup):
    """An svg element, and its width in pixels."""

    width: float


@dataclass(frozen=True)
class DrawnNode:
    """A node to draw: its label, full name, and attributes of its element (a link if it has `href`).

    Within a page (`in_page`) the label is HTML: whatever font a browser has, text that is wider than its box
    ends in an ellipsis.
    """

    label: str
    title: str
    attributes: Mapping[str, Any] = field(default_factory=dict)
    in_page: bool = False


@dataclass(frozen=True)
class Badge:
    """A letter in a circle on an edge."""

    letter: str
    kind: str
    title: str


@dataclass(frozen=True)
class DrawnEdge:
    """An edge to draw between two nodes, with a title as a tooltip.

    Attributes
    ----------
    width : of the line.
    head : size of the arrowhead, relative to the usual one.
    label : short text beside the edge, where it covers least of the rest of the picture.
    """

    first: int
    second: int
    directed: bool
    title: str | None = None
    dashed: bool = False
    width: float = 1.8
    head: float = 1.0
    label: str = ""
    badges: Sequence[Badge] = ()
    attributes: Mapping[str, Any] = field(default_factory=dict)


def draw_graph(
    adjacency: npt.ArrayLike,
    nodes: Sequence[DrawnNode],
    edges: Sequence[DrawnEdge],
    *,
    attributes: Mapping[str, Any],
    layout: Layout | None = None,
    scale: float = 1.0,
    tallest_layer: float = _LAYER,
    **texts: str,
) -> Drawing:
    """Draw a CPDAG.

    Parameters
    ----------
    adjacency : of the CPDAG.
    nodes, edges : what to draw, nodes in the order of the matrix.
    attributes : of the svg element.
    layout : of a larger graph, with a route for each edge, so that several pictures agree; by default
        computed from this graph. Arrows may point up in it.
    scale : size relative to the report, where labels have 14 pixels.
    tallest_layer : largest distance between layers in pixels, used for wide graphs.
    texts : `summary` and `description` for screen readers.
    """
    layout = layout or layered_layout(adjacency)
    widths = [max(54.0, _CELL * text_width(node.label) + 2 * _PADDING + 4.0) for node in nodes]
    to_page = _Page(layout, max(widths), tallest_layer)
    centres = to_page(layout.positions)
    boxes = [
        {"x": x, "left": x - width / 2, "top": y - _HEIGHT / 2, "y": y, "width": width, "height": _HEIGHT}
        for (x, y), width in zip(centres.tolist(), widths, strict=True)
    ]
    paths = _paths(edges, layout, widths, to_page)
    labels = label_places(
        [edge.label for edge in edges],
        [points_of_curve(path) for path in paths],
        [_around(box) for box in boxes]
        + [_around_badges(edge, path) for edge, path in zip(edges, paths, strict=True) if edge.badges],
        to_page.size,
    )
    markup = _render(
        "graph.svg.j2",
        nodes=list(zip(nodes, boxes, strict=True)),
        edges=[
            (edge, _shapes(edge, path, label, upwards=(edge.first, edge.second) not in layout.routes))
            for edge, path, label in zip(edges, paths, labels, strict=True)
        ],
        attributes=attributes,
        size=to_page.size.round(),
        scale=scale,
        padding=_PADDING,
        **texts,
    )
    drawing = Drawing(markup)
    drawing.width = float((scale * to_page.size[0]).round())
    return drawing


class _Page:
    """From the units of a layout to pixels."""

    def __init__(self, layout: Layout, widest: float, tallest_layer: float) -> None:
        across, down = np.ptp(layout.points, axis=0)
        layer = np.clip(0.45 * (widest + _GAP) * across / max(down, 1.0), _LAYER, tallest_layer)
        self.unit = np.array([widest + _GAP, -layer])
        self.origin = np.array([layout.points[:, 0].min(), layout.points[:, 1].max()])
        self.corner = np.array([widest / 2 + _MARGIN, _HEIGHT / 2 + _MARGIN])
        self.size = self(layout.points).max(axis=0) + self.corner

    def __call__(self, points: FloatArray) -> FloatArray:
        pixels: FloatArray = (points - self.origin) * self.unit + self.corner
        return pixels


def _paths(
    edges: Sequence[DrawnEdge], layout: Layout, widths: Sequence[float], to_page: _Page
) -> list[FloatArray]:
    """The points of each edge, from the bottom of one box to the top of another."""
    ends = [
        pair if (pair := (edge.first, edge.second)) in layout.routes else (edge.second, edge.first)
        for edge in edges
    ]
    paths = [to_page(layout.path(*pair)) for pair in ends]
    for side, sign in ((0, 1), (-1, -1)):
        for node, width in enumerate(widths):
            incident = [index for index, pair in enumerate(ends) if pair[side] == node]
            incident.sort(key=lambda index: _slant(paths[index], side))
            spacing = min(16.0, 0.7 * width / max(len(incident) - 1, 1))
            for rank, index in enumerate(incident):
                paths[index][side] += spacing * (rank - (len(incident) - 1) / 2), sign * _HEIGHT / 2
    return paths


def _slant(path: FloatArray, side: int) -> float:
    """The horizontal slope of an edge at this end."""
    across, down = path[1 if side == 0 else -2] - path[side]
    return float(across / max(abs(down), 1.0))


def _middle(path: FloatArray) -> FloatArray:
    middle: FloatArray = path[len(path) // 2 - 1 : len(path) // 2 + 1].mean(axis=0)
    return middle


def _around(box: Mapping[str, float]) -> Box:
    """The left, top, right and bottom of a node."""
    return box["left"], box["top"], box["left"] + box["width"], box["top"] + box["height"]


def _around_badges(edge: DrawnEdge, path: FloatArray) -> Box:
    """The same of the badges of an edge, one above the other."""
    x, y = _middle(path).tolist()
    height = _BADGE_STEP * len(edge.badges)
    return x - _BADGE, y + _BADGE - height, x + _BADGE, y + _BADGE


def _shapes(edge: DrawnEdge, path: FloatArray, label: Point, *, upwards: bool) -> dict[str, Any]:
    """The curve of an edge, its arrowhead, and the positions of its label and badges; the path goes down."""
    end, sign = (0, -1) if upwards else (-1, 1)
    x, y = path[end]
    middle = _middle(path)
    length = _HEAD * edge.head
    if edge.directed:
        path[end, 1] -= sign * (length - 1)
    return {
        "curve": _curve(path.tolist()),
        "head": f"M{x:.1f} {y:.1f}l-{length / 2:g} {-sign * length:g}h{length:g}z" if edge.directed else None,
        "label": label,
        "badges": [
            (badge, middle.round(1) - np.array([0, _BADGE_STEP * index]))
            for index, badge in enumerate(edge.badges)
        ],
    }


def _curve(path: Sequence[Sequence[float]]) -> str:
    """A Bézier curve that is vertical at every point."""
    pieces = [f"M{path[0][0]:.1f} {path[0][1]:.1f}"]
    for (x0, y0), (x1, y1) in pairwise(path):
        middle = (y0 + y1) / 2
        pieces.append(f"C{x0:.1f} {middle:.1f} {x1:.1f} {middle:.1f} {x1:.1f} {y1:.1f}")
    return "".join(pieces)


# --- notebooks -------------------------------------------------------------------------------------------


def graph_html(
    names: Sequence[str], adjacency: IntArray, background: Sequence[tuple[str, str]], *, text: str
) -> str:
    """The picture, with the edges as text in a collapsible block below."""
    picture = graph_svg(names, adjacency, background)
    return _render("graph.html.j2", picture=picture, summary=_summary(adjacency), text=text)


def notebook_html(
    title: str = "",
    *,
    picture: Markup | None = None,
    lines: Sequence[str] = (),
    header: Sequence[str] = (),
    rows: Sequence[Sequence[str]] = (),
    more: str = "",
) -> str:
    """The view of an object in a notebook: a title, a picture, sentences, a table, and a last sentence."""
    values = {"title": title, "picture": picture, "lines": lines, "header": header, "rows": rows}
    return _render("notebook.html.j2", **values, more=more)


def graph_svg(names: Sequence[str], adjacency: IntArray, background: Sequence[tuple[str, str]]) -> Drawing:
    """Draw a CPDAG: causes above effects, arrows from background knowledge dashed."""
    arrows = np.argwhere(directed_part(adjacency)).tolist()
    lines = np.argwhere(np.triu(undirected_part(adjacency))).tolist()
    edges = [DrawnEdge(i, j, True, dashed=(names[i], names[j]) in background) for i, j in arrows]
    edges += [DrawnEdge(i, j, False) for i, j in lines]
    directed = "; ".join(f"{names[i]} to {names[j]}" for i, j in arrows) or "none"
    undirected = "; ".join(f"{names[i]} and {names[j]}" for i, j in lines) or "none"
    return draw_graph(
        adjacency,
        [DrawnNode(shortened(name, _NOTEBOOK_CELLS), name, {"class": "node"}) for name in names],
        edges,
        attributes=_NOTEBOOK_ATTRIBUTES,
        scale=_NOTEBOOK_SCALE,
        tallest_layer=_NOTEBOOK_TALLEST,
        summary=_summary(adjacency),
        description=f"Directed: {directed}. Undirected: {undirected}.",
    )


def _summary(adjacency: IntArray) -> str:
    n_arrows, n_lines = directed_part(adjacency).sum(), undirected_part(adjacency).sum() // 2
    return (
        f"Graph of {len(adjacency)} variables with {n_arrows} directed and {n_lines} undirected "
        f"edge{'' if n_arrows + n_lines == 1 else 's'}"
    )


def _render(template: str, **values: Any) -> Markup:
    return Markup(_templates().get_template(template).render(values))


@cache
def _templates() -> Environment:
    from dcd.runtime.templates import template_environment  # Jinja2 is loaded for the first picture only

    return template_environment("graph/drawing")
