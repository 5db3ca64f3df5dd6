"""Plots of a `CPDAG` with matplotlib, in layers, causes above effects."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from dcd.graph.adjacency import directed_part, skeleton_of
from dcd.graph.cpdag import CPDAG
from dcd.graph.drawing.layout import Layout, layered_layout, smooth
from dcd.graph.drawing.pyplot import import_pyplot
from dcd.graph.stability import Stability
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError, suggest
from dcd.runtime.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_CELLS = 24  # the longest label, in widths of an "n"
# Okabe and Ito's palette, distinct for any kind of colour vision; line style and label carry the meaning too.
_RIGHT, _WRONG_WAY, _EXTRA, _MISSING = "#0072B2", "#E69F00", "#D55E00", "#999999"
_PLAIN = "#333333"
_TARGET, _MEMBER, _OUTSIDE = "#F0E442", "#CFE8F7", "#999999"
_SHOWN_SHARES = (1.0, 0.5, 0.1)
_LEGEND_COLUMNS = 4


@dataclass(frozen=True)
class _Style:
    label: str
    colour: str
    line: str


_UNCOMPARED = _Style("edge", _PLAIN, "solid")
_KNOWN = _Style("by knowledge", _PLAIN, "dashdot")


def plot_cpdag(
    cpdag: CPDAG,
    *,
    truth: CPDAG | None = None,
    stability: Stability | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a CPDAG in layers, causes above effects; undirected edges have no arrowhead.

    Parameters
    ----------
    cpdag : the graph. Arrows that follow from knowledge alone are dash-dotted.
    truth : compare with this graph: edges are the same, of other direction or type, extra or missing.
    stability : what `dcd.stability` returns; edges that more resamples have are wider and darker.
    target : highlight this variable and its Markov boundary.
    ax : axes to draw on; a new figure by default.
    """
    _check_graphs(cpdag, truth)
    marks = _marks(cpdag, target)
    shares = None if stability is None else _shares(cpdag, stability)
    other = None if truth is None else truth.reorder(cpdag.names).adjacency
    layout = layered_layout(cpdag.adjacency, other)
    labels = [shortened(name, LABEL_CELLS) for name in cpdag.names]
    if ax is None:
        legend_width = 5.0 if truth is None and stability is None else 6.6
        ax = _new_axes(layout, max(map(len, labels)), legend_width)
    boxes = [
        _draw_node(ax, position, label, *mark)
        for label, position, mark in zip(labels, layout.positions, marks, strict=True)
    ]
    styles = _edge_styles(cpdag, other)
    if target is not None and truth is None:
        styles = _with_grey(styles, marks)
    for (i, j), style in styles.items():
        graph = other if style.label == "missing" and other is not None else cpdag.adjacency
        start, end = (i, j) if graph[i, j] else (j, i)
        share = None if shares is None else float(shares[i, j])
        path, ends = layout.path(start, end), (boxes[start], boxes[end])
        _draw_edge(ax, path, ends, style, directed=not graph[end, start], share=share)
    entries = _legend_entries(list(styles.values()), compared=truth is not None, weighted=shares is not None)
    if entries:
        ax.legend(handles=entries, loc="lower center", ncols=_LEGEND_COLUMNS, frameon=False, fontsize="small")
    _set_limits(ax, layout, legend_rows=-(-len(entries) // _LEGEND_COLUMNS))
    return ax


def _check_graphs(cpdag: object, truth: object) -> None:
    for parameter, graph in {"cpdag": cpdag, "truth": cpdag if truth is None else truth}.items():
        if not isinstance(graph, CPDAG):
            problem = f"must be a CPDAG, got {type(graph).__name__}"
            raise InputError(f"parameter '{parameter}'", problem, "Pass .cpdag_.")


def _shares(cpdag: CPDAG, stability: object) -> FloatArray:
    """The share of resamples with an edge between two variables, in the order of the graph."""
    if not isinstance(stability, Stability):
        problem = f"must be a Stability, got {type(stability).__name__}"
        raise InputError("parameter 'stability'", problem, "Pass what dcd.stability returns.")
    missing = [name for name in cpdag.names if name not in stability.names]
    if missing:
        raise InputError(
            "parameter 'stability'", f"has no variable {missing[0]!r}", suggest(missing[0], stability.names)
        )
    order = [stability.names.index(name) for name in cpdag.names]
    return stability.edge[np.ix_(order, order)]


def _marks(cpdag: CPDAG, target: str | None) -> list[tuple[str, str]]:
    """Fill and line colour of each node."""
    if target is None:
        return [("white", _PLAIN)] * len(cpdag.names)
    position = cpdag.index(target)
    children = directed_part(cpdag.adjacency)[position]
    spouses = directed_part(cpdag.adjacency)[:, children].any(axis=1)
    boundary = skeleton_of(cpdag.adjacency)[position] | spouses
    marks = [(_MEMBER, _PLAIN) if is_in else ("white", _OUTSIDE) for is_in in boundary]
    marks[position] = (_TARGET, _PLAIN)
    return marks


def _with_grey(
    styles: dict[tuple[int, int], _Style], marks: list[tuple[str, str]]
) -> dict[tuple[int, int], _Style]:
    """Edges of grey nodes in grey."""
    outside = {index for index, (_, colour) in enumerate(marks) if colour == _OUTSIDE}
    return {
        edge: replace(style, colour=_OUTSIDE) if outside & set(edge) else style
        for edge, style in styles.items()
    }


def _edge_styles(cpdag: CPDAG, truth: IntArray | None) -> dict[tuple[int, int], _Style]:
    """Each edge of either graph once, with its style."""
    estimated = cpdag.adjacency
    known = {frozenset((cpdag.index(cause), cpdag.index(effect))) for cause, effect in cpdag.background}
    union = skeleton_of(estimated) if truth is None else skeleton_of(estimated) | skeleton_of(truth)
    styles = {}
    for i, j in np.argwhere(np.triu(union)).tolist():
        edge = (estimated[i, j], estimated[j, i])
        true_edge = edge if truth is None else (truth[i, j], truth[j, i])
        if truth is None:
            styles[i, j] = _KNOWN if frozenset((i, j)) in known else _UNCOMPARED
        elif edge == true_edge:
            styles[i, j] = _Style("right", _RIGHT, "solid")
        elif not any(edge):
            styles[i, j] = _Style("missing", _MISSING, "dotted")
        elif not any(true_edge):
            styles[i, j] = _Style("extra", _EXTRA, "dashed")
        else:
            styles[i, j] = _Style("other direction or type", _WRONG_WAY, "solid")
    return styles


# --- drawing ---------------------------------------------------------------------------------------------


def _new_axes(layout: Layout, longest: int, least_width: float) -> Axes:
    """Axes that fit the boxes; wide graphs get more space between layers."""
    across, down = np.ptp(layout.points, axis=0) + np.array([1.3, 1.4])
    width = max(across * (0.55 + 0.09 * longest), least_width)
    height = max(down * np.clip(0.45 * width / down, 0.8, 1.4), 1.8)
    figure: Figure = import_pyplot().figure(figsize=(width, height))
    return figure.add_axes((0.0, 0.0, 1.0, 1.0))


def _draw_node(ax: Axes, position: FloatArray, label: str, fill: str, colour: str) -> Any:
    box = {"boxstyle": "round,pad=0.35", "facecolor": fill, "edgecolor": colour}
    x, y = position
    # parse_math=False: a column name is text, never markup.
    text = ax.text(x, y, label, ha="center", va="center", color=colour, bbox=box, parse_math=False, zorder=3)
    return text.get_bbox_patch()


def _draw_edge(
    ax: Axes, path: FloatArray, boxes: tuple[Any, Any], style: _Style, *, directed: bool, share: float | None
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    width, alpha = (1.6, 1.0) if share is None else _weight_of_line(share)
    start_box: Any = boxes[0]
    if len(path) > 2:  # the curve goes under the boxes; its straight last segment is the arrow
        curve, start_box = smooth(path)[:-3], None
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)]
        line = {"ec": style.colour, "lw": width, "ls": style.line, "alpha": alpha, "capstyle": "butt"}
        ax.add_patch(PathPatch(Path(curve, codes), fill=False, zorder=1, **line))
    ax.annotate(
        "",
        xy=path[-1],
        xytext=path[-2],
        arrowprops={
            "arrowstyle": "-|>" if directed else "-",
            "color": style.colour,
            "alpha": alpha,
            "linestyle": style.line,
            "linewidth": width,
            "capstyle": "butt",
            "mutation_scale": 11 + 2 * width,
            "patchA": start_box,
            "patchB": boxes[1],
            "shrinkA": 0,
            "shrinkB": 1 if directed else 0,
        },
        zorder=4,  # drawn after the boxes, which clip it and whose size is known only then
    )


def _weight_of_line(share: float) -> tuple[float, float]:
    """Width and opacity of an edge that this share of resamples has."""
    return 0.8 + 2.7 * share, 0.35 + 0.65 * share


def _legend_entries(styles: list[_Style], *, compared: bool, weighted: bool) -> list[Any]:
    from matplotlib.lines import Line2D

    entries = []
    if compared or any(style.label == _KNOWN.label for style in styles):
        by_label = {style.label: style for style in reversed(styles)}
        entries += [
            Line2D([], [], color=style.colour, ls=style.line, lw=1.6, label=label)
            for label, style in sorted(by_label.items())
        ]
    if weighted:
        for share in _SHOWN_SHARES:
            width, alpha = _weight_of_line(share)
            label = f"in {share:.0%} of resamples"
            entries.append(Line2D([], [], color=_PLAIN, lw=width, alpha=alpha, label=label))
    return entries


def _set_limits(ax: Axes, layout: Layout, legend_rows: int) -> None:
    (x_min, y_min), (x_max, y_max) = layout.points.min(axis=0), layout.points.max(axis=0)
    ax.set(xlim=(x_min - 0.65, x_max + 0.65), ylim=(y_min - 0.5 - 0.33 * legend_rows, y_max + 0.5))
    ax.set_axis_off()
