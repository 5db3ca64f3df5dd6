"""Where the graphs of several methods agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcd.graph.cpdag import CPDAG

_MARKS = {"parent": "->", "child": "<-", "neighbour": "-", None: ""}
_REVERSED = {"->": "<-", "<-": "->", "-": "-", "": ""}


def agreement(graphs: Mapping[str, CPDAG], names: Sequence[str]) -> dict[str, Any]:
    """The edges with the mark of each method, how pairs of methods agree, and the distances of their graphs.

    `graphs` are by method, over the variables `names`. `edges` has an entry for each two variables `a`, `b`
    with an edge in some graph, sorted by agreement: its `marks` are `->`, `<-`, `-` or empty, `agree` counts
    the methods with the most frequent mark, and `a` and `b` are ordered such that this is never `<-`.
    `pairs` counts for two methods the edges that are the same, drawn otherwise, and of one method only;
    `shd[first][second]` is the number of pairs of variables on which their graphs differ.
    """
    from dcd.evaluation.metrics import compare

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
        "shd": {
            first: {second: compare(graph, other).shd_c for second, other in graphs.items()}
            for first, graph in graphs.items()
        },
    }


def _edge(graphs: Mapping[str, CPDAG], a: str, b: str) -> dict[str, Any] | None:
    """What each method draws between two variables; None if no method draws an edge."""
    marks = {method: _MARKS[graph.role(a, b)] for method, graph in graphs.items()}
    drawn = Counter(mark for mark in marks.values() if mark)
    if not drawn:
        return None
    mark, agree = max(drawn.items(), key=lambda item: (item[1], item[0] == "->", item[0] == "-"))
    if mark == "<-":
        a, b, marks = b, a, {method: _REVERSED[mark] for method, mark in marks.items()}
    return {"a": a, "b": b, "marks": marks, "agree": agree}
