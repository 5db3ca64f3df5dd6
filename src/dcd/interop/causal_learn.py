"""causal-learn: a `GeneralGraph`.

`graph[i, j] = -1` is a tail at i and `graph[i, j] = 1` an arrowhead at i, of the edge between i and j. So
`graph[i, j] = -1, graph[j, i] = 1` is `i -> j`, and both -1 is `i - j`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dcd.graph.cpdag import CPDAG
from dcd.interop.common import Graph, class_of_matrix, foreign_mark, load, names_and_edges
from dcd.runtime.errors import InputError, check_type

if TYPE_CHECKING:
    from causallearn.graph.GeneralGraph import GeneralGraph

_NONE, _TAIL, _ARROW, _CIRCLE = 0, -1, 1, 2
_IN_A_CPDAG = ((_NONE, _NONE), (_TAIL, _ARROW), (_ARROW, _TAIL), (_TAIL, _TAIL))
_SIGNS = {_TAIL: ("-", "-"), _ARROW: ("<", ">"), _CIRCLE: ("o", "o")}


def _class(name: str) -> Any:
    """A causal-learn class, whose module has the same name."""
    return getattr(load(f"causallearn.graph.{name}", "causal-learn"), name)


def to_causal_learn(graph: Graph) -> GeneralGraph:
    """A causal-learn `GeneralGraph`."""
    names, arrows, lines = names_and_edges(graph)
    edge, mark, node = _class("Edge"), _class("Endpoint"), _class("GraphNode")
    nodes = {name: node(name) for name in names}
    converted = _class("GeneralGraph")(list(nodes.values()))
    for edges, end in ((arrows, mark.ARROW), (lines, mark.TAIL)):
        for a, b in edges:
            converted.add_edge(edge(nodes[a], nodes[b], mark.TAIL, end))
    return converted


def from_causal_learn(graph: GeneralGraph) -> CPDAG:
    """The CPDAG of a causal-learn `GeneralGraph`, such as `pc(...).G` or `ges(...)["G"]`."""
    check_type("graph", graph, _class("GeneralGraph"), "Pass pc(...).G or ges(...)['G'].")
    names = [node.get_name() for node in graph.get_nodes()]
    for node in graph.get_nodes():
        if node.get_node_type() == _class("NodeType").LATENT:
            raise InputError(f"variable {node.get_name()!r}", "is hidden", "Leave it out of the graph.")
    marks = np.asarray(graph.graph)
    for i, j in combinations(range(len(names)), 2):
        if (marks[i, j], marks[j, i]) not in _IN_A_CPDAG:
            raise _foreign(names[i], names[j], int(marks[i, j]), int(marks[j, i]))
    return class_of_matrix(names, (marks == _TAIL).astype(np.int8))


def _foreign(a: str, b: str, at_a: int, at_b: int) -> InputError:
    sign = f"{_SIGNS.get(at_a, ('?', '?'))[0]}-{_SIGNS.get(at_b, ('?', '?'))[1]}"
    both_arrows = at_a == at_b == _ARROW
    mark = "bidirected" if both_arrows else "of a PAG" if _CIRCLE in (at_a, at_b) else "of more than one kind"
    return foreign_mark(f"{a!r} {sign} {b!r}", mark)
