"""Where the graphs of several methods agree."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dcd.graph.cpdag import CPDAG

_MARKS = {"parent": "->", "child": "<-", "neighbour": "-", None: ""}
_REVERSED = {"->": "<-", "<-": "->", "-": "-", "": ""}


@dataclass(frozen=True)
class Answers:
    """The graphs of several methods, and the reasons of those without one.

    Attributes
    ----------
    methods : all methods, in order.
    names : the variables.
    graphs, seconds : of the methods with a graph.
    reasons : of the methods without one.
    """

    methods: tuple[str, ...]
    names: tuple[str, ...]
    graphs: Mapping[str, CPDAG]
    reasons: Mapping[str, str]
    seconds: Mapping[str, float | None]


def marks(answers: Answers) -> list[tuple[str, str, dict[str, str], int]]:
    """`(a, b, {method: mark}, agree)` for each pair with an edge in some graph, sorted by agreement.

    A mark is `->`, `<-`, `-` or empty. `agree` counts methods with the most frequent mark; `a` and `b` are
    ordered such that this is never `<-`.
    """
    rows = []
    for a, b in combinations(answers.names, 2):
        by_method = {method: _MARKS[graph.role(a, b)] for method, graph in answers.graphs.items()}
        drawn = Counter(mark for mark in by_method.values() if mark)
        if not drawn:
            continue
        mark, agree = max(drawn.items(), key=lambda item: (item[1], item[0] == "->", item[0] == "-"))
        if mark == "<-":
            reversed_marks = {method: _REVERSED[m] for method, m in by_method.items()}
            rows.append((b, a, reversed_marks, agree))
        else:
            rows.append((a, b, by_method, agree))
    return sorted(rows, key=lambda row: -row[3])


def pair_counts(answers: Answers) -> list[dict[str, Any]]:
    """For each pair of methods: edges that are the same, different, and of one method only."""
    rows = [by_method for _, _, by_method, _ in marks(answers)]
    return [
        {
            "first": first,
            "second": second,
            "same": sum(m[first] == m[second] != "" for m in rows),
            "otherwise": sum("" != m[first] != m[second] != "" for m in rows),
            "first_only": sum(m[first] != "" == m[second] for m in rows),
            "second_only": sum(m[first] == "" != m[second] for m in rows),
        }
        for first, second in combinations(answers.graphs, 2)
    ]


def shd_matrix(answers: Answers) -> dict[str, dict[str, int]]:
    """`[first][second]`: the pairs of variables on which two graphs differ."""
    from dcd.evaluation.metrics import compare

    return {
        first: {second: compare(graph, other).shd_c for second, other in answers.graphs.items()}
        for first, graph in answers.graphs.items()
    }
