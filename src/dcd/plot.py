"""Pictures of graphs with matplotlib; no graphviz is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dcd.arrays import FloatArray, IntArray
from dcd.graph import CPDAG, skeleton_of, topological_order
from dcd.validation import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's palette, told apart with any kind of colour vision; style and label carry the meaning too.
_RIGHT, _WRONG_WAY, _EXTRA, _MISSING = "#0072B2", "#E69F00", "#D55E00", "#999999"
_PLAIN = "#333333"
_ALONE_IN_A_ROW = 6


def plot_cpdag(cpdag: CPDAG, *, truth: CPDAG | None = None, ax: Axes | None = None) -> Axes:
    """Draw a CPDAG in layers, causes above effects; undirected edges have no arrowhead.

    Parameters
    ----------
    cpdag : the graph.
    truth : draw the edges in comparison with this graph: same, other direction or type, extra, missing.
    ax : axes to draw on; a new figure without it.

    Returns
    -------
    The axes.
    """
    for parameter, given in {"cpdag": cpdag, "truth": cpdag if truth is None else truth}.items():
        if not isinstance(given, CPDAG):
            found = type(given).__name__
            raise InputError(f"parameter '{parameter}'", f"must be a CPDAG, got {found}", "Pass .cpdag_.")
    try:
        import matplotlib.pyplot as plt
        from matplotlib.lines import Line2D
    except ImportError as error:
        raise ImportError("plots need matplotlib: pip install 'dcd[plot]'") from error
    other = None if truth is None else truth.reorder(cpdag.names).adjacency
    places = layered_positions(cpdag, other)
    if ax is None:
        width, height = np.ptp(places, axis=0) + np.array([1.8, 1.4])
        inches = 0.5 + 0.075 * max(len(_short(name)) for name in cpdag.names)  # room for the longest name
        figure = plt.figure(figsize=(max(inches * width, 4.5), 0.9 * height))
        ax = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    shown: dict[str, tuple[str, str]] = {}
    for i, j, style in _edges(cpdag.adjacency, other):
        label, colour, line = style
        shown[label] = (colour, line)
        graph = cpdag.adjacency if label != "missing" or other is None else other
        _draw_edge(ax, graph, i, j, places, colour, line)
    for name, (x, y) in zip(cpdag.names, places, strict=True):
        box = {"boxstyle": "round,pad=0.35", "facecolor": "white", "edgecolor": _PLAIN}
        # parse_math=False: a column name is text, never markup.
        ax.text(x, y, _short(name), ha="center", va="center", bbox=box, parse_math=False, zorder=3)
    if truth is not None:
        handles = [Line2D([], [], color=c, ls=s, lw=1.6, label=label) for label, (c, s) in shown.items()]
        ax.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize="small")
    ax.set_axis_off()
    (left, bottom), (right, top) = places.min(axis=0), places.max(axis=0)
    ax.set(xlim=(left - 0.9, right + 0.9), ylim=(bottom - (0.5 if truth is None else 0.9), top + 0.5))
    return ax


def layered_positions(cpdag: CPDAG, also: IntArray | None = None) -> FloatArray:
    """(d, 2) coordinates: one DAG of the class in layers, nodes of a layer near their neighbours.

    Edges of the graph `also` pull at the nodes of a layer, but make no layers.
    """
    dag = cpdag.to_dag().adjacency.to_numpy()
    layer = np.zeros(len(dag), dtype=int)
    for node in topological_order(dag):
        parents = np.flatnonzero(dag[:, node])
        layer[node] = layer[parents].max() + 1 if len(parents) else 0
    linked = skeleton_of(dag) if also is None else skeleton_of(dag) | skeleton_of(also)
    alone = np.flatnonzero(~linked.any(axis=0))  # to the bottom, in rows
    first_row = layer.max() + 1 if linked.any() else 0
    layer[alone] = first_row + np.arange(len(alone)) // _ALONE_IN_A_ROW
    members = [np.flatnonzero(layer == level).tolist() for level in range(layer.max() + 1)]
    position = np.zeros(len(dag))
    for _sweep in range(8):  # sweeps of the barycentre heuristic; more change nothing on graphs one can read
        for nodes in members:
            nodes.sort(key=lambda node: (position[linked[node]].mean() if linked[node].any() else 0.0, node))
            for rank, node in enumerate(nodes):
                position[node] = rank - (len(nodes) - 1) / 2
    return np.column_stack([1.4 * position, -1.0 * layer])


def _edges(estimated: IntArray, truth: IntArray | None) -> list[tuple[int, int, tuple[str, str, str]]]:
    """Each edge of either graph once, with (label, colour, line style)."""
    union = skeleton_of(estimated) if truth is None else skeleton_of(estimated) | skeleton_of(truth)
    styled = []
    for i, j in np.argwhere(np.triu(union)):
        here = (estimated[i, j], estimated[j, i])
        there = here if truth is None else (truth[i, j], truth[j, i])
        if truth is None:
            style = ("edge", _PLAIN, "solid")
        elif here == there:
            style = ("right", _RIGHT, "solid")
        elif not any(here):
            style = ("missing", _MISSING, "dotted")
        elif not any(there):
            style = ("extra", _EXTRA, "dashed")
        else:
            style = ("other direction or type", _WRONG_WAY, "solid")
        styled.append((int(i), int(j), style))
    return styled


def _draw_edge(ax: Axes, graph: IntArray, i: int, j: int, places: FloatArray, colour: str, line: str) -> None:
    directed = graph[i, j] != graph[j, i]
    start, end = (i, j) if graph[i, j] else (j, i)
    ax.annotate(
        "",
        xy=places[end],
        xytext=places[start],
        arrowprops={
            "arrowstyle": "-|>" if directed else "-",
            "color": colour,
            "linestyle": line,
            "linewidth": 1.6,
            "shrinkA": 16,
            "shrinkB": 16,
            "connectionstyle": f"arc3,rad={_bend(start, end, places)}",
        },
        zorder=2,
    )


def _bend(start: int, end: int, places: FloatArray) -> float:
    """The smallest of a few bends at which an edge keeps clear of the nodes between its ends."""
    others = np.delete(places, [start, end], axis=0)
    (x0, y0), (x1, y1) = places[start], places[end]
    along = np.linspace(0.1, 0.9, 25)[:, None]
    best, best_clearance = 0.0, -np.inf
    for bend in (0.0, 0.15, -0.15, 0.3, -0.3, 0.45, -0.45):
        control = np.array([(x0 + x1) / 2 + bend * (y1 - y0), (y0 + y1) / 2 - bend * (x1 - x0)])
        curve = (1 - along) ** 2 * places[start] + 2 * along * (1 - along) * control + along**2 * places[end]
        distances = np.linalg.norm(curve[:, None] - others[None], axis=2)
        clearance = float(distances.min(initial=np.inf))
        if clearance > 0.4:
            return bend
        if clearance > best_clearance:
            best, best_clearance = bend, clearance
    return best


def _short(name: str, longest: int = 24) -> str:
    return name if len(name) <= longest else name[: longest - 1] + "…"
