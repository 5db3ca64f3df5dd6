"""A graph as a small SVG picture, made by hand: what notebooks show, without any library.

Names are data: they are escaped, cut to a length that fits, and given in full where the pointer rests.
"""

from __future__ import annotations

import unicodedata
from html import escape

import numpy as np

from dcd.graph.cpdag import CPDAG
from dcd.graph.layout import layered_layout, smooth, way_of_edge
from dcd.runtime.array_types import FloatArray

_LONGEST = 24
_FONT, _BOX_HEIGHT = 12, 24
_ROW, _TALL_ROW = 62, 110  # pixels between layers; a wide graph gets more
_GAP = 18  # pixels between the boxes of a layer, at least
_MARGIN = 10
LEFT_TO_RIGHT = "\u200e"  # a mark of no width


def graph_html(cpdag: CPDAG) -> str:
    """The picture with its edges as text below, to be opened."""
    text = escape(visible(str(cpdag)))
    return (
        f'<div class="dcd-graph">{graph_svg(cpdag)}'
        f"<details><summary>{escape(_counts(cpdag))}</summary><pre>{text}</pre></details></div>"
    )


def graph_svg(cpdag: CPDAG) -> str:
    """The picture: causes above effects, undirected edges without a head, knowledge's arrows dashed."""
    layout = layered_layout(cpdag)
    labels = [short(visible(name)) for name in cpdag.names]
    widths = [_width(label) + 16 for label in labels]
    corner = np.array([_MARGIN + max(widths) / 2, _MARGIN + _BOX_HEIGHT / 2])
    points = [layout.positions, *(np.array(route) for route in layout.routes.values() if route)]
    everything = np.vstack(points)
    across, down = np.ptp(everything, axis=0)
    column = max(widths) + _GAP
    row = np.clip(0.45 * column * across / max(down, 1.0), _ROW, _TALL_ROW)
    unit = np.array([column, -row])
    origin = np.array([everything[:, 0].min(), everything[:, 1].max()])

    def to_pixels(places: FloatArray) -> FloatArray:
        pixels: FloatArray = (places - origin) * unit + corner
        return pixels

    background = set(cpdag.background)
    lines = [
        _edge(
            to_pixels(way_of_edge(layout, cpdag.index(a), cpdag.index(b))), widths[cpdag.index(b)], head, dash
        )
        for edges, head in ((cpdag.directed_edges, True), (cpdag.undirected_edges, False))
        for a, b in edges
        for dash in [(a, b) in background]
    ]
    nodes = [
        _node(place, width, label, name)
        for place, width, label, name in zip(
            to_pixels(layout.positions), widths, labels, cpdag.names, strict=True
        )
    ]
    width, height = to_pixels(everything).max(axis=0) + corner
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" role="img" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" style="max-width:100%;height:auto" '
        f'font-family="sans-serif" font-size="{_FONT}"><title>{escape(_counts(cpdag))}</title>'
        f"<desc>{escape(visible(_described(cpdag)))}</desc>{''.join(lines)}{''.join(nodes)}</svg>"
    )


def short(name: str, longest: int = _LONGEST) -> str:
    """A name cut to a length that fits into a box."""
    return name if len(name) <= longest else name[: longest - 1] + "…"


def _counts(cpdag: CPDAG) -> str:
    arrows, lines = len(cpdag.directed_edges), len(cpdag.undirected_edges)
    return (
        f"Graph of {len(cpdag.names)} variables with {arrows} directed and {lines} undirected "
        f"edge{'' if arrows + lines == 1 else 's'}"
    )


def _described(cpdag: CPDAG) -> str:
    arrows = [f"{a} to {b}" for a, b in cpdag.directed_edges]
    lines = [f"{a} and {b}" for a, b in cpdag.undirected_edges]
    return f"Directed: {'; '.join(arrows) or 'none'}. Undirected: {'; '.join(lines) or 'none'}."


def _node(place: FloatArray, width: float, label: str, name: str) -> str:
    x, y = place
    return (
        f'<g><title>{escape(visible(name))}</title><rect x="{x - width / 2:.1f}" '
        f'y="{y - _BOX_HEIGHT / 2:.1f}" width="{width:.1f}" height="{_BOX_HEIGHT}" rx="6" fill="#ffffff" '
        f'stroke="#333333"/><text x="{x:.1f}" y="{y:.1f}" dy="0.35em" text-anchor="middle" fill="#111111">'
        f"<tspan>{escape(label)}</tspan></text></g>"
    )


def _edge(way: FloatArray, end_width: float, head: bool, dashed: bool) -> str:
    way = way.copy()
    if head:
        way[-1] = _at_border(way[-2], way[-1], end_width / 2 + 1, _BOX_HEIGHT / 2 + 1)
    start, *rest = smooth(way)
    pieces = " ".join(f"{x:.1f},{y:.1f}" for x, y in rest)
    style = ' stroke-dasharray="5 3"' if dashed else ""
    line = (
        f'<path d="M{start[0]:.1f},{start[1]:.1f} C{pieces}" fill="none" stroke="#666666" '
        f'stroke-width="1.5"{style}/>'
    )
    return line + (_head(way[-2], way[-1]) if head else "")


def _head(before: FloatArray, tip: FloatArray) -> str:
    along = (tip - before) / max(float(np.linalg.norm(tip - before)), 1e-9)
    across = np.array([-along[1], along[0]])
    corners = [tip, tip - 9 * along + 4 * across, tip - 9 * along - 4 * across]
    return f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}" fill="#666666"/>'


def _at_border(outside: FloatArray, centre: FloatArray, half_width: float, half_height: float) -> FloatArray:
    """Where the line from a point to the centre of a box enters the box."""
    away = outside - centre
    share = np.abs(away) / np.array([half_width, half_height])
    entry: FloatArray = centre + away / max(float(share.max()), 1.0)
    return entry


def _width(label: str) -> float:
    """About how wide a text is drawn, in pixels."""
    wide = sum(unicodedata.east_asian_width(character) in "WF" for character in label)
    return 0.62 * _FONT * (len(label) + 0.8 * wide)


def visible(text: str) -> str:
    """The text with a � for every character that XML does not allow, or that hides or turns around others."""
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(character: str) -> str:
    kind = unicodedata.category(character)
    if character in "\n\r\t" or character.isprintable() or (character.isspace() and kind != "Cc"):
        return character
    # Joiners are part of words and of emoji, the mark holds an arrow beside a word in its direction.
    return character if character in f"\u200c\u200d{LEFT_TO_RIGHT}" or kind == "Co" else "\ufffd"
