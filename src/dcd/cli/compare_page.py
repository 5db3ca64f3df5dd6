"""The page of `dcd compare`: the graphs of all methods in one layout, edge by edge, and their distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dcd.cli.agreement import DISTANCES

if TYPE_CHECKING:
    from markupsafe import Markup

    from dcd.graph.cpdag import CPDAG
    from dcd.graph.drawing.layout import Layout
    from dcd.table.dataset import TableSummary

_PARTS = (
    ("short", "In short"),
    ("graphs", "Graphs"),
    ("edges", "Edges"),
    ("distances", "Distances"),
    ("methods", "Methods"),
)
_LEAST = {"graphs": 1, "edges": 1, "distances": 2}  # graphs that a part needs
_MARKS = {"->": "→", "<-": "←", "-": "—", "": "·"}


def compare_page(
    answer: Mapping[str, Any], graphs: Mapping[str, CPDAG], table: TableSummary, title: str
) -> str:
    """One self-contained HTML file; names from the data are escaped."""
    from dcd.evaluation.baselines import METHODS
    from dcd.results.report.rendering import render_template
    from dcd.runtime.version import __version__

    pictures = _pictures(graphs, answer["edges"])
    return render_template(
        "compare.html.j2",
        answer=answer,
        title=title,
        names=table.names,
        labels={method: METHODS[method].label for method in answer["methods"]},
        ran=list(graphs),
        failed={name: told["failed"] for name, told in answer["methods"].items() if "failed" in told},
        n_shared=sum(edge["agree"] == len(graphs) for edge in answer["edges"]),
        informed=bool(answer["knowledge"]),
        has_background=any(graph.background for graph in graphs.values()),
        pictures=pictures,
        marks=_MARKS,
        most_of=_most_frequent,
        distances=[(key, distance.heading) for key, distance in DISTANCES.items()],
        parts=[part for part in _PARTS if len(graphs) >= _LEAST.get(part[0], 0)],
        version=__version__,
    )


def _most_frequent(edge: Mapping[str, Any]) -> str:
    """The mark that most methods draw."""
    marks = list(edge["marks"].values())
    return next(mark for mark in ("->", "-", "<-") if marks.count(mark) == edge["agree"])


def _pictures(graphs: Mapping[str, CPDAG], edges: list[dict[str, Any]]) -> dict[str, Markup]:
    """A picture of each graph, all with the variables in the same places."""
    import numpy as np

    from dcd.graph.drawing.layout import layered_layout

    if not graphs:
        return {}
    first, *others = [graph.drawn for graph in graphs.values()]
    also = np.any(others, axis=0).astype(np.int8) if others else None
    layout = layered_layout(first, also)
    drawn_alike = {frozenset((edge["a"], edge["b"])): edge for edge in edges}
    return {method: _picture(method, graph, layout, drawn_alike) for method, graph in graphs.items()}


def _picture(method: str, graph: CPDAG, layout: Layout, edges: Mapping[frozenset[str], Any]) -> Markup:
    from dcd.graph.drawing import svg
    from dcd.runtime.text import shortened

    drawn = []
    pairs = [(a, b, True) for a, b in graph.directed_edges]
    pairs += [(a, b, False) for a, b in graph.undirected_edges]
    for a, b, directed in pairs:
        marks = edges[frozenset((a, b))]["marks"]
        n_alike = sum(mark == marks[method] for mark in marks.values())
        kind = "alone" if n_alike == 1 < len(marks) else "arrow" if directed else "line"
        title = f"{a} {'→' if directed else '—'} {b}: drawn this way by {n_alike} of {len(marks)}"
        known = (a, b) in graph.background
        attributes = {"class": f"edge {kind}{' known' if known else ''}"}
        drawn.append(
            svg.DrawnEdge(graph.index(a), graph.index(b), directed, title=title, attributes=attributes)
        )
    nodes = [
        svg.DrawnNode(shortened(name.strip() or "(no name)", 13), name, {"class": "node"}, in_page=True)
        for name in graph.names
    ]
    label = f"Graph of {method}; the table of edges says the same in text"
    return svg.draw_graph(
        graph.drawn,
        nodes,
        drawn,
        layout=layout,
        attributes={"class": "graph", "role": "img", "aria-label": label},
    )
