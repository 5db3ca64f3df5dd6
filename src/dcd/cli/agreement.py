"""Where the graphs of several methods agree, their distances, and where they contradict knowledge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcd.graph.bound_knowledge import BoundKnowledge
    from dcd.graph.cpdag import CPDAG


@dataclass(frozen=True)
class Distance:
    """A distance between two graphs: its heading, and the function; the first graph is that of the row."""

    heading: str
    between: Callable[[CPDAG, CPDAG], float]


def _shd(first: CPDAG, second: CPDAG) -> float:
    from dcd.evaluation.metrics import compare

    return compare(first, second).shd_c


def _adjustment(first: CPDAG, second: CPDAG) -> float:
    from dcd.evaluation.metrics import adjustment_distances

    return adjustment_distances(first, second).ancestor


# Each is a key of the JSON, a table in the terminal and one on the page. A new distance is a line here.
DISTANCES = {"shd": Distance("Pairs of variables on which two methods differ (SHD)", _shd)}
if find_spec("gadjid") is not None:
    DISTANCES["ancestor_aid"] = Distance(
        "Effects that the method in the column gets wrong if the graph in the row is true "
        "(ancestor adjustment distance)",
        _adjustment,
    )

_MARKS = {"parent": "->", "child": "<-", "neighbour": "-", None: ""}
_REVERSED = {"->": "<-", "<-": "->", "-": "-", "": ""}


def agreement(graphs: Mapping[str, CPDAG], names: Sequence[str]) -> dict[str, Any]:
    """The edges with the mark of each method, how pairs of methods agree, and the distances of their graphs.

    `graphs` are by method, over the variables `names`. `edges` has an entry for each two variables `a`, `b`
    with an edge in some graph, sorted by agreement: its `marks` are `->`, `<-`, `-` or empty, `agree` counts
    the methods with the most frequent mark, and `a` and `b` are ordered such that this is never `<-`.
    `pairs` counts for two methods the edges that are the same, drawn differently, or drawn by one only.
    Each of `DISTANCES` has its matrix: `shd[first][second]` is the number of pairs of variables on which
    their graphs differ.
    """
    edges = [edge for a, b in combinations(names, 2) if (edge := _edge(graphs, a, b)) is not None]
    marks = [edge["marks"] for edge in edges]
    return {
        "edges": sorted(edges, key=lambda edge: -edge["agree"]),
        "pairs": [
            {
                "first": first,
                "second": second,
                "same": sum(m[first] == m[second] != "" for m in marks),
                "otherwise": sum("" != m[first] != m[second] != "" for m in marks),
                "first_only": sum(m[first] != "" == m[second] for m in marks),
                "second_only": sum(m[first] == "" != m[second] for m in marks),
            }
            for first, second in combinations(graphs, 2)
        ],
        **{key: _matrix(graphs, distance) for key, distance in DISTANCES.items()},
    }


def _matrix(graphs: Mapping[str, CPDAG], distance: Distance) -> dict[str, dict[str, float]]:
    return {
        first: {second: distance.between(graph, other) for second, other in graphs.items()}
        for first, graph in graphs.items()
    }


def against_knowledge(graph: CPDAG, known: BoundKnowledge) -> list[str]:
    """Arrows of a graph that are forbidden, and required edges that it lacks, with the statement behind each.

    An undirected edge contradicts nothing: some DAGs of the class have the right direction.
    """
    sentences = []
    for i, cause in enumerate(graph.names):
        for j, effect in enumerate(graph.names):
            role = graph.role(cause, effect) if i != j else None
            if role == "parent" and known.forbidden[i, j]:
                sentences.append(f"{cause} -> {effect}, but {known.reason(i, j)}")
            elif role is None and known.required[i, j]:
                sentences.append(f"no edge between {cause} and {effect}, but {known.reason(i, j)}")
    return sentences


def _edge(graphs: Mapping[str, CPDAG], a: str, b: str) -> dict[str, Any] | None:
    """The edge of each method between two variables; None if no method draws one."""
    marks = {method: _MARKS[graph.role(a, b)] for method, graph in graphs.items()}
    drawn = Counter(mark for mark in marks.values() if mark)
    if not drawn:
        return None
    mark, agree = max(drawn.items(), key=lambda item: (item[1], item[0] == "->", item[0] == "-"))
    if mark == "<-":
        a, b, marks = b, a, {method: _REVERSED[mark] for method, mark in marks.items()}
    return {"a": a, "b": b, "marks": marks, "agree": agree}
