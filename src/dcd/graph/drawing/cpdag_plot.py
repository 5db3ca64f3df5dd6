"""Plots of a `CPDAG` with matplotlib, in layers, causes above effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dcd.graph.adjacency import directed_part, skeleton_of
from dcd.graph.cpdag import CPDAG
from dcd.graph.drawing.layout import Layout, layered_layout, smooth
from dcd.graph.probabilities import pair_probabilities
from dcd.graph.stability import Stability
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError, check_contract, check_type, suggest
from dcd.runtime.text import shortened

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LABEL_CELLS = 24  # the longest label, in widths of an "n"
# Okabe and Ito's palette, distinct for any kind of colour vision; line style and label carry the meaning too.
_PLAIN = "#333333"
_STYLES = {  # label of an edge: colour, line style
    "edge": (_PLAIN, "solid"),
    "by knowledge": (_PLAIN, "dashdot"),
    "right": ("#0072B2", "solid"),
    "other direction or type": ("#E69F00", "solid"),
    "extra": ("#D55E00", "dashed"),
    "missing": ("#999999", "dotted"),
}
_TARGET, _MEMBER, _OUTSIDE = "#F0E442", "#CFE8F7", "#999999"
_LEGEND_COLUMNS = 4


def plot_cpdag(
    cpdag: CPDAG,
    *,
    truth: CPDAG | None = None,
    probabilities: pd.DataFrame | None = None,
    stability: Stability | None = None,
    target: str | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw a CPDAG in layers. Arrows point down; lines are undirected, and their position has no meaning.

    Parameters
    ----------
    cpdag : the graph. Arrows that follow from knowledge alone are dash-dotted.
    truth : graph to compare with: edges are marked as right, of another direction or type, extra or missing.
    probabilities : `model.probabilities_`; the more probable an edge, the wider and darker it is.
    stability : the result of `dcd.stability`; the more resamples contain an edge, the wider and darker it is.
        Takes precedence over `probabilities`.
    target : highlight this variable and its Markov boundary.
    ax : axes to draw on; a new figure by default.
    """
    _check_graphs(cpdag, truth)
    if ax is not None:
        check_contract("ax", ax, methods=("add_patch", "legend", "text"), example="ax=None")
    marks = _marks(cpdag, target)
    shares, measure = _shares(cpdag, probabilities, stability)
    other = None if truth is None else truth.reorder(cpdag.names).adjacency
    layout = layered_layout(cpdag.drawn, other)
    labels = [shortened(name, LABEL_CELLS) for name in cpdag.names]
    if ax is None:
        legend_width = 5.0 if truth is None and shares is None else 6.6
        ax = _new_axes(layout, max(map(len, labels)), legend_width)
    boxes = [
        _draw_node(ax, position, label, *mark)
        for label, position, mark in zip(labels, layout.positions, marks, strict=True)
    ]
    legend: dict[str, tuple[str, str]] = {}
    for (i, j), label in _edge_labels(cpdag, other).items():
        colour, line = _STYLES[label]
        if truth is None and _OUTSIDE in (marks[i][1], marks[j][1]):
            colour = _OUTSIDE
        legend.setdefault(label, (colour, line))
        graph = other if label == "missing" and other is not None else cpdag.drawn
        start, end = (i, j) if graph[i, j] else (j, i)
        width, alpha = (1.6, 1.0) if shares is None else _weight_of_line(shares[i, j])
        style = {"color": colour, "linestyle": line, "linewidth": width, "alpha": alpha, "capstyle": "butt"}
        path, ends = layout.path(start, end), (boxes[start], boxes[end])
        _draw_edge(ax, path, ends, style, directed=not graph[end, start])
    entries = _legend_entries(legend, measure if shares is not None else "")
    if entries:
        ax.legend(handles=entries, loc="lower center", ncols=_LEGEND_COLUMNS, frameon=False, fontsize="small")
    _set_limits(ax, layout, legend_rows=-(-len(entries) // _LEGEND_COLUMNS))
    return ax


def _check_graphs(cpdag: object, truth: object) -> None:
    for parameter, graph in {"cpdag": cpdag, "truth": cpdag if truth is None else truth}.items():
        check_type(parameter, graph, CPDAG, "Pass .cpdag_.")


def _shares(
    cpdag: CPDAG, probabilities: pd.DataFrame | None, stability: Stability | None
) -> tuple[FloatArray | None, str]:
    """How certain each edge is, in the order of the graph, and the words for a share."""
    if stability is not None:
        check_type("stability", stability, Stability, "Pass the result of dcd.stability.")
        order = [_position(name, stability.names, "stability") for name in cpdag.names]
        return stability.edge[np.ix_(order, order)], "in {:.0%} of resamples"
    if probabilities is None:
        return None, ""
    pairs = pair_probabilities(probabilities)
    known = list(dict.fromkeys(name for pair in pairs for name in pair))
    order = [_position(name, known, "probabilities") for name in cpdag.names]
    shares = np.zeros((len(known), len(known)))
    for (first, second), found in pairs.items():
        shares[known.index(first), known.index(second)] = found.edge
    return shares[np.ix_(order, order)], "edge {:.0%}"


def _position(name: str, known: Sequence[str], parameter: str) -> int:
    if name not in known:
        raise InputError(f"parameter '{parameter}'", f"has no variable {name!r}", suggest(name, known))
    return known.index(name)


def _marks(cpdag: CPDAG, target: str | None) -> list[tuple[str, str]]:
    """Fill and line colour of each node."""
    if target is None:
        return [("white", _PLAIN)] * len(cpdag.names)
    position = cpdag.index(target)
    children = directed_part(cpdag.drawn)[position]
    spouses = directed_part(cpdag.drawn)[:, children].any(axis=1)
    boundary = skeleton_of(cpdag.adjacency)[position] | spouses
    marks = [(_MEMBER, _PLAIN) if is_in else ("white", _OUTSIDE) for is_in in boundary]
    marks[position] = (_TARGET, _PLAIN)
    return marks


def _edge_labels(cpdag: CPDAG, truth: IntArray | None) -> dict[tuple[int, int], str]:
    """Each edge of either graph once, with the label of its style."""
    estimated, names = cpdag.drawn, cpdag.names
    true = estimated if truth is None else truth
    labels = {}
    for i, j in np.argwhere(np.triu(skeleton_of(estimated | true))).tolist():
        edge, true_edge = (estimated[i, j], estimated[j, i]), (true[i, j], true[j, i])
        if truth is None:
            known = {(names[i], names[j]), (names[j], names[i])} & set(cpdag.background)
            labels[i, j] = "by knowledge" if known else "edge"
        elif edge == true_edge:
            labels[i, j] = "right"
        elif not any(edge):
            labels[i, j] = "missing"
        elif not any(true_edge):
            labels[i, j] = "extra"
        else:
            labels[i, j] = "other direction or type"
    return labels


def import_pyplot() -> Any:
    """`matplotlib.pyplot`, loaded when a plot needs it, or an error that names the extra to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'causal-dcd[plot]'") from error
    return plt


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
    ax: Axes, path: FloatArray, boxes: tuple[Any, Any], style: dict[str, Any], *, directed: bool
) -> None:
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if len(path) > 2:  # the curve goes under the boxes; its straight last segment is the arrow
        curve = smooth(path)[:-3]
        codes = [Path.MOVETO, *[Path.CURVE4] * (len(curve) - 1)]
        ax.add_patch(PathPatch(Path(curve, codes), fill=False, zorder=1, **style))
    ax.annotate(
        "",
        xy=path[-1],
        xytext=path[-2],
        arrowprops={
            **style,
            "arrowstyle": "-|>" if directed else "-",
            "mutation_scale": 11 + 2 * style["linewidth"],
            "patchA": boxes[0] if len(path) == 2 else None,
            "patchB": boxes[1],
            "shrinkA": 0,
            "shrinkB": 1 if directed else 0,
        },
        zorder=4,  # drawn after the boxes, which clip it and whose size is known only then
    )


def _weight_of_line(share: float) -> tuple[float, float]:
    """Width and opacity of an edge that this share of resamples contains, or that has this probability."""
    return 0.8 + 2.7 * share, 0.35 + 0.65 * share


def _legend_entries(styles: dict[str, tuple[str, str]], measure: str) -> list[Any]:
    """Lines for the legend: of the styles, unless all edges are plain, and of shares, if there are any."""
    from matplotlib.lines import Line2D

    entries = []
    if styles.keys() - {"edge"}:
        entries += [
            Line2D([], [], color=colour, ls=line, lw=1.6, label=label)
            for label, (colour, line) in sorted(styles.items())
        ]
    for share in (1.0, 0.5, 0.1) if measure else ():
        width, alpha = _weight_of_line(share)
        entries.append(Line2D([], [], color=_PLAIN, lw=width, alpha=alpha, label=measure.format(share)))
    return entries


def _set_limits(ax: Axes, layout: Layout, legend_rows: int) -> None:
    (x_min, y_min), (x_max, y_max) = layout.points.min(axis=0), layout.points.max(axis=0)
    ax.set(xlim=(x_min - 0.65, x_max + 0.65), ylim=(y_min - 0.5 - 0.33 * legend_rows, y_max + 0.5))
    ax.set_axis_off()
