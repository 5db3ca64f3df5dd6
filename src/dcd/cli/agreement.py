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
_TURNED = {"->": "<-", "<-": "->", "-": "-", "": ""}


@dataclass(frozen=True)
class Answers:
    """The graphs that methods found, and why others found none.

    Attributes
    ----------
    methods : all that were asked, in order.
    names : the variables.
    graphs, seconds : of those that gave a graph.
    reasons : of those that gave none.
    """

    methods: tuple[str, ...]
    names: tuple[str, ...]
    graphs: Mapping[str, CPDAG]
    reasons: Mapping[str, str]
    seconds: Mapping[str, float | None]


def marks(answers: Answers) -> list[tuple[str, str, dict[str, str], int]]:
    """`(a, b, {method: mark}, agree)` for each pair with an edge in some graph, most agreed on first.

    A mark is `->`, `<-`, `-` or empty. `agree` counts the methods that draw the most frequent edge; `a` and
    `b` are turned so that this is never `<-`.
    """
    rows = []
    for a, b in combinations(answers.names, 2):
        found = {method: _MARKS[graph.role(a, b)] for method, graph in answers.graphs.items()}
        drawn = Counter(mark for mark in found.values() if mark)
        if not drawn:
            continue
        mark, agree = max(drawn.items(), key=lambda item: (item[1], item[0] == "->", item[0] == "-"))
        if mark == "<-":
            turned = {method: _TURNED[own] for method, own in found.items()}
            rows.append((b, a, turned, agree))
        else:
            rows.append((a, b, found, agree))
    return sorted(rows, key=lambda row: -row[3])


def pair_counts(answers: Answers) -> list[dict[str, Any]]:
    """For every two methods: edges that are the same, drawn otherwise, and of one method only."""
    rows = marks(answers)
    return [
        {
            "first": first,
            "second": second,
            "same": sum(found[first] == found[second] != "" for _, _, found, _ in rows),
            "otherwise": sum("" != found[first] != found[second] != "" for _, _, found, _ in rows),
            "first_only": sum(found[first] != "" == found[second] for _, _, found, _ in rows),
            "second_only": sum(found[first] == "" != found[second] for _, _, found, _ in rows),
        }
        for first, second in combinations(answers.graphs, 2)
    ]


def shd_matrix(answers: Answers) -> dict[str, dict[str, int]]:
    """`[first][second]`: the pairs of variables on which two graphs differ in any way."""
    from dcd.evaluation.metrics import compare

    return {
        first: {second: compare(graph, other).shd_c for second, other in answers.graphs.items()}
        for first, graph in answers.graphs.items()
    }
