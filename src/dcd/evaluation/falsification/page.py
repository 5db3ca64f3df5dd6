"""The page of a tested graph, and its view in a notebook."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from dcd.estimators.account import SHOWN_ROWS
from dcd.evaluation.falsification.account import Account, EdgeTest, Independence, Picture, Shown
from dcd.graph.drawing import svg
from dcd.graph.drawing.layout import layered_layout
from dcd.results.model import Column
from dcd.results.report.rendering import render_template
from dcd.results.report.scatter_plots import Axis, draw_scatter
from dcd.runtime.array_types import IntArray
from dcd.runtime.text import shortened
from dcd.runtime.version import __version__

_PARTS = {
    "short": "In short",
    "graph": "Graph",
    "violated": "Violations",
    "shuffled": "Shuffled names",
    "edges": "Edges",
    "meaning": "Meaning",
    "all": "All independences",
}
_MOST_PAIRS = 12  # violated pairs in the picture of the graph
_MOST_LISTED = 60  # violated statements of the page, with a picture or without
_WIDTH, _BOTTOM = 560.0, 130.0  # of the histogram


def page(checked: Account) -> str:
    """The whole HTML file as text, with its style; it may load nothing else."""
    pairs = _violated_pairs(checked)
    shown = {"violated": bool(checked.violated), "shuffled": bool(checked.permuted)}
    findings = checked.findings()
    return render_template(
        "falsify.html.j2",
        checked=checked,
        findings=findings,
        comparison=" ".join(checked.comparison()),
        parts=[(part, words) for part, words in _PARTS.items() if shown.get(part, True)],
        picture=_graph(checked, pairs[:_MOST_PAIRS]),
        n_pairs=len(pairs),
        n_pairs_drawn=min(len(pairs), _MOST_PAIRS),
        legend=_legend(checked, bool(pairs)),
        has_undirected=any(edge.type == "-" for edge in checked.edges),
        violations=_violations(checked),
        most_rows=SHOWN_ROWS,
        histogram=_histogram(checked) if checked.permuted else "",
        edges=sorted(checked.edges, key=lambda edge: -1.0 if edge.pvalue is None else -edge.pvalue),
        independences=sorted(
            checked.independences, key=lambda one: 2.0 if one.pvalue is None else one.pvalue
        ),
        version=__version__,
    )


def notebook_html(checked: Account) -> str:
    """The findings, the violated statements and the graph."""
    picture = svg.graph_svg(checked.names, checked.adjacency, ())
    findings = checked.findings()
    return render_template("falsify_notebook.html.j2", checked=checked, findings=findings, picture=picture)


# --- the graph -------------------------------------------------------------------------------------------


def _violated_pairs(checked: Account) -> list[tuple[int, int]]:
    """The pairs of violated statements, the clearest first."""
    position = {name: index for index, name in enumerate(checked.names)}
    return list(dict.fromkeys((position[one.first], position[one.second]) for one in checked.violated))


def _graph(checked: Account, pairs: list[tuple[int, int]]) -> svg.Drawing:
    position = {name: index for index, name in enumerate(checked.names)}
    edges = [
        svg.DrawnEdge(
            position[edge.first],
            position[edge.second],
            edge.type == "->",
            title=_edge_title(edge),
            attributes={"class": f"edge {_edge_class(edge)}"},
        )
        for edge in checked.edges
    ]
    for x, y in pairs:
        title = f"{checked.names[x]} and {checked.names[y]}: independent in the graph, dependent in the data"
        edges.append(svg.DrawnEdge(x, y, False, title=title, attributes={"class": "edge violated"}))
    cells = 18 if len(checked.names) <= 20 else 13
    nodes = [
        svg.DrawnNode(shortened(name.strip() or "(no name)", cells), name, {"class": "node"}, in_page=True)
        for name in checked.names
    ]
    label = "Picture of the graph; the tables below say the same in text"
    return svg.draw_graph(
        checked.adjacency,
        nodes,
        edges,
        layout=layered_layout(checked.adjacency, _matrix(pairs, len(checked.names))),
        attributes={"class": "graph", "role": "img", "aria-label": label},
    )


def _matrix(pairs: list[tuple[int, int]], n_nodes: int) -> IntArray:
    matrix = np.zeros((n_nodes, n_nodes), dtype=np.int8)
    for x, y in pairs:
        matrix[x, y] = matrix[y, x] = 1
    return matrix


def _edge_class(edge: EdgeTest) -> str:
    kind = "arrow" if edge.type == "->" else "line"
    return f"{kind} needless" if edge.needed is False else kind


def _edge_title(edge: EdgeTest) -> str:
    if edge.needed is None:
        return f"{edge}: the data cannot decide whether it is needed"
    return f"{edge}: the data {'support it' if edge.needed else 'do not support it'}"


def _legend(checked: Account, has_pairs: bool) -> list[tuple[str, bool, float, str]]:
    """`(classes, directed, width, words)` of each kind of edge in the picture."""
    drawn = {_edge_class(edge) for edge in checked.edges}
    entries = [
        ("arrow", True, "cause → effect"),
        ("line", False, "edge whose direction the graph leaves open"),
        ("arrow needless", True, "not supported by the data"),
        ("line needless", False, "not supported, direction open"),
        ("violated", False, "independent in the graph, dependent in the data"),
    ]
    drawn |= {"violated"} if has_pairs else set()
    return [(classes, directed, 1.8, words) for classes, directed, words in entries if classes in drawn]


# --- violated statements ---------------------------------------------------------------------------------


def _violations(checked: Account) -> list[tuple[Independence, list[tuple[str, Markup]]]]:
    """Each violated statement with its two pictures, if there are any."""
    pictures = {checked.independences[picture.statement]: picture for picture in checked.pictures}
    return [(one, _panels(one, pictures.get(one))) for one in checked.violated[:_MOST_LISTED]]


def _panels(one: Independence, picture: Picture | None) -> list[tuple[str, Markup]]:
    if picture is None:
        return []
    panels = [("As measured", picture.measured)]
    if one.given:
        panels.append((f"Adjusted for {shortened(', '.join(one.given), 30)}", picture.adjusted))
    return [
        (words, draw_scatter(_axis(one.first, x), _axis(one.second, y), None, f"{one}: {words.lower()}"))
        for words, (x, y) in panels
    ]


def _axis(name: str, shown: Shown) -> Axis:
    column = Column(name, "continuous" if shown.levels is None else "nominal", "", 0, shown.levels)
    return Axis(column, np.array(shown.values))


# --- relabelled graphs -----------------------------------------------------------------------------------


def _histogram(checked: Account) -> Markup:
    """How many relabelled graphs violate how many statements, with a mark for the graph itself."""
    n_statements = max(max(checked.permuted), len(checked.violated), 1)
    counts = np.bincount(checked.permuted, minlength=n_statements + 1)
    step = _WIDTH / len(counts)
    heights = np.where(counts > 0, np.maximum(110 * counts / counts.max(), 2.0), 0.0)
    bars = [
        (round(at * step + 0.1 * step, 1), round(_BOTTOM - height, 1), round(0.8 * step, 1), round(height, 1))
        for at, height in enumerate(heights.tolist())
        if height
    ]
    n_own = len(checked.violated)
    label = f"Histogram of violated statements, from {min(checked.permuted)} to {max(checked.permuted)}"
    ticks: list[tuple[float, str, str]] = [(step / 2, "0", "middle"), (_WIDTH, str(n_statements), "end")]
    if 0.08 < n_own / n_statements < 0.92:
        ticks.append((round((n_own + 0.5) * step, 1), str(n_own), "middle"))
    own = round((n_own + 0.5) * step, 1)
    return render_template(
        "counts.svg.j2", width=_WIDTH, bottom=_BOTTOM, bars=bars, own=own, ticks=ticks, label=label
    )
