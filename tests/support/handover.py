"""Graphs to convert for other packages, difficult names, and round trips."""

import warnings

import pydot

from dcd import CPDAG, interop
from dcd.evaluation.simulate import random_dag

COLLIDER = CPDAG(("a", "b", "c"), [[0, 1, 0], [0, 0, 0], [0, 1, 0]])  # a -> b <- c
CHAIN = CPDAG(("a", "b", "c"), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # a - b - c

ROUND_TRIPS = {
    "networkx": lambda graph: interop.from_networkx(interop.to_networkx(graph)),
    "causal-learn": lambda graph: interop.from_causal_learn(interop.to_causal_learn(graph)),
    "pgmpy": lambda graph: interop.from_pgmpy(interop.to_pgmpy(graph)),
    "gcastle": lambda graph: interop.from_gcastle(interop.to_gcastle(graph), graph.names),
    "lingam": lambda graph: interop.from_lingam(interop.to_lingam(graph), graph.names),
    "dot": lambda graph: interop.from_dot(interop.to_dot(graph)),
    "graphml": lambda graph: interop.from_graphml(interop.to_graphml(graph)),
}
THROUGH_TEXT = ("dot", "graphml")

NAMES = [
    'say "hi"',
    "back\\slash",
    "ends in \\",
    "\\n is not a line break",
    "line\nbreak",
    "carriage\rreturn\ttab",
    "<b>&amp;</b>",
    "&lt; &#65; &",
    "R&D; a&b;",
    "emoji 🧪👩‍🔬",
    "n" * 200,
    "control \x00\x01\x1f\x7f",
    "_x0041_ and _x0041\x01",
    "half \ud83d of a pair",
    "node",
    "subgraph",
    "-> b [dir=none]; }",
    "",
    " ",
    "--",
    "]]><!--",
    "'; DROP TABLE",
]


def read_by_pydot(text):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydot calls pyparsing by names that are deprecated
        (graph,) = pydot.graph_from_dot_data(text)
    return graph


def random_cpdags():
    for seed in range(30):
        kind, degree = [("scale-free", 2), ("erdos-renyi", 2), ("erdos-renyi", 4)][seed % 3]
        size = 5 + seed % 8
        dag = random_dag(size, graph=kind, degree=degree, random_state=seed)
        yield CPDAG.from_dag([f"v{i}" for i in range(size)], dag)
