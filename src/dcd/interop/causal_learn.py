"""causal-learn: a `GeneralGraph`.

`graph[i, j] = -1` is a tail at i and `graph[i, j] = 1` an arrowhead at i, of the edge between i and j. So
`graph[i, j] = -1, graph[j, i] = 1` is `i -> j`, and both -1 is `i - j`.
"""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from dcd.graph.cpdag import CPDAG
from dcd.interop.edge_lists import Graph, check_type, class_of_matrix, foreign_mark, load, names_and_edges
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    from causallearn.graph.GeneralGraph import GeneralGraph

_NONE, _TAIL, _ARROW, _CIRCLE = 0, -1, 1, 2
_SIGNS = {_TAIL: ("-", "-"), _ARROW: ("<", ">"), _CIRCLE: ("o", "o")}


def to_causal_learn(graph: Graph) -> GeneralGraph:
    """A `GeneralGraph` of causal-learn."""
    names, arrows, lines = names_and_edges(graph)
    edge = load("causallearn.graph.Edge", "causal-learn").Edge
    mark = load("causallearn.graph.Endpoint", "causal-learn").Endpoint
    nodes = {name: load("causallearn.graph.GraphNode", "causal-learn").GraphNode(name) for name in names}
    converted = _general_graph()(list(nodes.values()))
    for cause, effect in arrows:
        converted.add_edge(edge(nodes[cause], nodes[effect], mark.TAIL, mark.ARROW))
    for a, b in lines:
        converted.add_edge(edge(nodes[a], nodes[b], mark.TAIL, mark.TAIL))
    return converted


def from_causal_learn(graph: GeneralGraph) -> CPDAG:
    """The CPDAG of a `GeneralGraph` of causal-learn: `pc(...).G`, `ges(...)["G"]`."""
    check_type(graph, _general_graph(), "Pass pc(...).G or ges(...)['G'].")
    names = [node.get_name() for node in graph.get_nodes()]
    latent = load("causallearn.graph.NodeType", "causal-learn").NodeType.LATENT
    for node in graph.get_nodes():
        if node.get_node_type() == latent:
            raise InputError(f"variable {node.get_name()!r}", "is hidden", "Leave it out of the graph.")
    marks = np.asarray(graph.graph)
    adjacency = np.zeros(marks.shape, dtype=np.int8)
    for i, j in combinations(range(len(names)), 2):
        at_i, at_j = int(marks[i, j]), int(marks[j, i])
        if (at_i, at_j) == (_NONE, _NONE):
            continue
        if (at_i, at_j) not in ((_TAIL, _ARROW), (_ARROW, _TAIL), (_TAIL, _TAIL)):
            raise _foreign(names[i], names[j], at_i, at_j)
        adjacency[i, j] = at_i == _TAIL
        adjacency[j, i] = at_j == _TAIL
    return class_of_matrix(names, adjacency)


def _general_graph() -> Any:
    return load("causallearn.graph.GeneralGraph", "causal-learn").GeneralGraph


def _foreign(a: str, b: str, at_a: int, at_b: int) -> InputError:
    sign = f"{_SIGNS.get(at_a, ('?', '?'))[0]}-{_SIGNS.get(at_b, ('?', '?'))[1]}"
    both_arrows = at_a == at_b == _ARROW
    mark = "bidirected" if both_arrows else "of a PAG" if _CIRCLE in (at_a, at_b) else "of more than one kind"
    return foreign_mark(f"{a!r} {sign} {b!r}", mark)
