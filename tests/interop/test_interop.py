"""Graphs that go to other packages and come back, each encoding checked by hand and by the package itself."""

import importlib
import itertools
import json
import re
import string
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pgmpy.base
import pydot
import pytest
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphNode import GraphNode
from causallearn.graph.NodeType import NodeType
from causallearn.search.ConstraintBased.PC import pc
from causallearn.search.FCMBased.lingam import DirectLiNGAM
from causallearn.utils.GraphUtils import GraphUtils
from support.known_graphs import all_dags

from dcd import CPDAG, InputError, interop
from dcd.evaluation.simulate import random_dag
from dcd.graph.equivalence import dag_to_cpdag

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "hand-over.md"

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


# --- round trips -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("package", ROUND_TRIPS)
def test_random_graphs_come_back_the_same(package):
    graphs = list(random_cpdags())
    assert any(graph.directed_edges for graph in graphs)
    assert any(graph.undirected_edges for graph in graphs)
    for graph in graphs:
        found = ROUND_TRIPS[package](graph)
        assert found == graph
        assert found.names == graph.names


@pytest.mark.parametrize("package", ROUND_TRIPS)
def test_a_dag_of_the_class_comes_back_as_the_class(package):
    for graph in random_cpdags():
        chosen = graph.to_dag()
        if package in ("gcastle", "lingam"):
            matrix = getattr(interop, f"to_{package}")(chosen)
            assert getattr(interop, f"from_{package}")(matrix, graph.names) == graph
        else:
            assert ROUND_TRIPS[package](chosen) == graph


@pytest.mark.parametrize("package", ROUND_TRIPS)
def test_graphs_without_edges_keep_their_variables(package):
    for names in ((), ("alone",), ("a", "b")):
        empty = CPDAG(names, np.zeros((len(names), len(names))))
        assert ROUND_TRIPS[package](empty).names == names


@pytest.mark.parametrize("package", ROUND_TRIPS)
def test_any_text_is_a_name(package):
    names = [*NAMES, "last"]
    dag = np.zeros((len(names), len(names)), dtype=int)
    dag[range(len(NAMES)), range(1, len(names))] = 1  # a chain, and two arrows into its third node
    dag[0, 1], dag[1, 2], dag[3, 2], dag[2, 3] = 0, 1, 1, 0
    graph = CPDAG.from_dag(names, dag)
    assert graph.directed_edges
    assert graph.undirected_edges
    assert ROUND_TRIPS[package](graph) == graph


@pytest.mark.parametrize("package", THROUGH_TEXT)
@pytest.mark.parametrize("seed", range(5))
def test_random_names_come_back(package, seed):
    rng = np.random.default_rng(seed)
    signs = [*'\\"\n\r\t&;#<>_x0041F\x01\x00', "&amp;", "_x005F_", "é", "🧪", *string.printable]
    names = list({"".join(rng.choice(signs, size=rng.integers(0, 12))) for _ in range(300)})
    chain = np.eye(len(names), k=1, dtype=int)
    graph = CPDAG.from_dag(names, chain)
    assert ROUND_TRIPS[package](graph).names == tuple(names)
    assert ROUND_TRIPS[package](graph) == graph


# --- each encoding by hand, and by the package's own functions -------------------------------------------


def test_networkx_by_hand():
    assert set(interop.to_networkx(COLLIDER).edges) == {("a", "b"), ("c", "b")}
    assert set(interop.to_networkx(CHAIN).edges) == {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}
    assert interop.from_networkx(nx.DiGraph([("a", "b"), ("c", "b")])) == COLLIDER
    assert interop.from_networkx(nx.Graph([("a", "b"), ("b", "c")])) == CHAIN
    assert interop.from_networkx(nx.DiGraph([("a", "b"), ("b", "c")])) == CHAIN


def test_networkx_tells_the_same_edges():
    for graph in random_cpdags():
        theirs = interop.to_networkx(graph)
        for member in graph.names:
            ahead = {other for other in graph.names if graph.role(other, member) in ("child", "neighbour")}
            assert set(theirs.successors(member)) == ahead


def test_causal_learn_by_hand():
    assert interop.to_causal_learn(COLLIDER).graph.tolist() == [[0, -1, 0], [1, 0, 1], [0, -1, 0]]
    assert interop.to_causal_learn(CHAIN).graph.tolist() == [[0, -1, 0], [-1, 0, -1], [0, -1, 0]]
    nodes = [GraphNode(name) for name in "abc"]
    graph = GeneralGraph(nodes)
    graph.add_directed_edge(nodes[0], nodes[1])
    graph.add_directed_edge(nodes[2], nodes[1])
    assert interop.from_causal_learn(graph) == COLLIDER


def test_causal_learn_tells_the_same_edges():
    for graph in random_cpdags():
        theirs = interop.to_causal_learn(graph)
        assert theirs.get_node_names() == list(graph.names)
        for a in graph.names:
            for b in graph.names:
                one, other = theirs.get_node(a), theirs.get_node(b)
                assert theirs.is_parent_of(one, other) == (graph.role(a, b) == "parent")
                assert theirs.is_undirected_from_to(one, other) == (graph.role(a, b) == "neighbour")


def test_pc_of_causal_learn_comes_in():
    a, c, noise = np.random.default_rng(0).standard_normal((3, 2000))
    found = pc(np.column_stack([a, a + c + noise, c]), show_progress=False, node_names=["a", "b", "c"]).G
    assert interop.from_causal_learn(found) == COLLIDER


def test_pgmpy_by_hand():
    assert interop.to_pgmpy(COLLIDER).directed_edges == {("a", "b"), ("c", "b")}
    assert interop.to_pgmpy(CHAIN).undirected_edges == {("a", "b"), ("b", "c")}
    assert interop.from_pgmpy(pgmpy.base.DAG([("a", "b"), ("c", "b")])) == COLLIDER
    assert interop.from_pgmpy(pgmpy.base.DAG([("a", "b"), ("b", "c")])) == CHAIN
    partial = pgmpy.base.PDAG(directed_ebunch=[("a", "b")], undirected_ebunch=[("b", "c")])
    assert interop.from_pgmpy(partial) == CHAIN


def test_pgmpy_tells_the_same_edges():
    for graph in random_cpdags():
        theirs = interop.to_pgmpy(graph)
        assert isinstance(theirs, pgmpy.base.PDAG)
        chosen = graph.to_dag()
        dag = interop.to_pgmpy(chosen)
        assert type(dag) is pgmpy.base.DAG
        for name in graph.names:
            roles = {other: graph.role(other, name) for other in graph.names}
            assert theirs.directed_parents(name) == {other for other in roles if roles[other] == "parent"}
            assert theirs.undirected_neighbors(name) == {o for o in roles if roles[o] == "neighbour"}
            assert set(dag.get_parents(name)) == {o for o in roles if chosen.adjacency.loc[o, name]}
        assert interop.from_pgmpy(dag.to_pdag()) == graph  # pgmpy's own way from a DAG to its class


def test_gcastle_by_hand():
    assert interop.to_gcastle(COLLIDER).tolist() == [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    assert interop.to_gcastle(CHAIN).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert interop.from_gcastle([[0, 0.5, 0], [0, 0, 0], [0, -2.0, 0]], "abc") == COLLIDER


@pytest.mark.slow
def test_gcastle_simulates_and_finds_the_same_edges():
    """In a process of its own: gCastle changes global state when it is imported."""
    script = """
import json, sys, warnings
warnings.simplefilter("ignore")
import numpy as np
from castle.algorithms import PC, DirectLiNGAM
from castle.datasets import IIDSimulation
np.random.seed(0)
matrix = np.array(json.loads(sys.argv[1]))
table = IIDSimulation(W=2.0 * matrix, n=2000, method="linear", sem_type="exp").X
lingam, pc = DirectLiNGAM(), PC()
lingam.learn(table)
pc.learn(table)
correlations = np.corrcoef(table, rowvar=False)
chain = np.random.standard_normal((2000, 3)).cumsum(axis=1)
undirected = PC()
undirected.learn(chain)
answer = [lingam.weight_causal_matrix, pc.causal_matrix, correlations, undirected.causal_matrix]
print("ANSWER" + json.dumps([np.asarray(part).tolist() for part in answer]))
"""
    sent = json.dumps(interop.to_gcastle(COLLIDER).tolist())
    done = subprocess.run([sys.executable, "-c", script, sent], capture_output=True, text=True, check=True)
    weights, partial, correlations, chain = json.loads(done.stdout.partition("ANSWER")[2])
    assert abs(correlations[0][2]) < 0.1 < correlations[0][1]  # a and c are causes, not effects
    assert interop.from_gcastle(weights, "abc", threshold=0.3) == COLLIDER
    assert interop.from_gcastle(partial, "abc") == COLLIDER
    assert interop.from_gcastle(chain, "abc") == CHAIN


def test_lingam_by_hand():
    assert interop.to_lingam(COLLIDER).tolist() == [[0, 0, 0], [1, 0, 1], [0, 0, 0]]
    assert interop.to_lingam(CHAIN).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    assert interop.from_lingam([[0, 0, 0], [0.5, 0, -2.0], [0, 0, 0]], "abc") == COLLIDER


def test_lingam_finds_the_same_edges():
    """By the form of lingam that causal-learn brings along; for lingam itself see lingam_roundtrip.py."""
    a, c, noise = np.random.default_rng(0).exponential(size=(3, 3000))
    model = DirectLiNGAM()
    model.fit(np.column_stack([a, a + c + noise, c]))
    assert interop.from_lingam(model.adjacency_matrix_, "abc", threshold=0.1) == COLLIDER


def test_dot_by_hand():
    assert interop.to_dot(COLLIDER) == 'digraph {\n  "a";\n  "b";\n  "c";\n  "a" -> "b";\n  "c" -> "b";\n}\n'
    assert '"a" -> "b" [dir=none];\n  "b" -> "c" [dir=none];' in interop.to_dot(CHAIN)


def test_pydot_reads_the_same_edges():
    for graph in [*random_cpdags()][::4]:
        theirs = read_by_pydot(interop.to_dot(graph))
        edges = [
            (e.get_source().strip('"'), e.get_destination().strip('"'), e.get("dir"))
            for e in theirs.get_edges()
        ]
        assert {(a, b) for a, b, way in edges if way is None} == set(graph.directed_edges)
        assert {(a, b) for a, b, way in edges if way == "none"} == set(graph.undirected_edges)
        assert [node.get_name().strip('"') for node in theirs.get_nodes()] == list(graph.names)


def test_pydot_reads_any_name_as_one_name():
    names = [name for name in NAMES if name.strip()]
    graph = CPDAG(names, np.zeros((len(names), len(names))))
    theirs = read_by_pydot(interop.to_dot(graph))
    assert len(theirs.get_nodes()) == len(names)
    assert not theirs.get_edges()


@pytest.mark.parametrize("graph", [COLLIDER, CHAIN])
def test_dot_of_pydot_networkx_and_causal_learn_comes_in(graph):
    theirs = read_by_pydot(interop.to_dot(graph))
    assert interop.from_dot(theirs.to_string()) == graph
    assert interop.from_dot(nx.nx_pydot.to_pydot(interop.to_networkx(graph)).to_string()) == graph
    drawn = GraphUtils.to_pydot(interop.to_causal_learn(graph)).to_string()
    assert interop.from_dot(drawn, names="label") == graph


def test_dot_of_many_forms():
    text = """
    // a comment
    strict DiGraph "name" {
        # another
        graph [rankdir=LR]; node [shape=box, style="filled"]
        edge [arrowhead=vee]
        rankdir = LR  /* a third */
        1 -> b [label="1.5" color=red; weight]
        3 [label="the third"]
        b -> 3 [dir=back]
    }"""
    assert interop.from_dot(text) == CPDAG(("1", "b", "3"), COLLIDER.adjacency)
    assert interop.from_dot(text, names="label").names == ("1", "b", "the third")
    assert interop.from_dot("graph { a -- b -- c }") == CHAIN
    assert (
        interop.from_dot("digraph { { rank=same; a; c } subgraph cluster_1 { a -> b } c -> b }") == COLLIDER
    )
    assert interop.from_dot("digraph { { edge [dir=none] d -> e } a -> b; c -> b }").undirected_edges == (
        ("d", "e"),
    )
    assert interop.from_dot("digraph { a -> b -> c; c -> b; }") == CHAIN
    assert (
        interop.from_dot("digraph { a -> b [dir=both arrowtail=none]; c -> b [arrowhead=normal] }")
        == COLLIDER
    )


def test_graphml_by_hand():
    rows = interop.to_graphml(COLLIDER).splitlines()
    assert [row.strip() for row in rows if "edge " in row] == [
        '<edge source="a" target="b" />', '<edge source="c" target="b" />',
    ]  # fmt: skip
    assert interop.to_graphml(CHAIN).count("<edge ") == 4


def test_networkx_reads_and_writes_the_same_graphml():
    for graph in [*random_cpdags(), CPDAG(NAMES[:11], np.zeros((11, 11)))]:
        theirs = nx.parse_graphml(interop.to_graphml(graph))
        assert list(theirs.nodes) == list(graph.names)
        assert set(theirs.edges) == set(interop.to_networkx(graph).edges)
        assert interop.from_graphml("\n".join(nx.generate_graphml(theirs))) == graph


def test_graphml_of_many_forms():
    text = """<?xml version="1.0"?>
    <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="v_name" for="node" attr.name="name" attr.type="string"/>
      <graph edgedefault="undirected">
        <node id="n0"><data key="v_name">a</data><data key="other">A</data></node>
        <node id="n1"><data key="v_name">b</data></node>
        <node id="n2"><data key="v_name">c</data></node>
        <edge source="n0" target="n1" EXTRA/>
        <edge source="n2" target="n1" EXTRA/>
      </graph>
    </graphml>"""
    assert interop.from_graphml(text.replace("EXTRA", ""), names="name") == CHAIN
    assert interop.from_graphml(text.replace("EXTRA", 'directed="true"'), names="name") == COLLIDER
    assert interop.from_graphml(text.replace("EXTRA", "")).names == ("n0", "n1", "n2")


# --- what is refused -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (
            [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")],
            "'a' -> 'b', 'b' -> 'c', 'c' -> 'a': make a directed cycle",
        ),
        ([("a", "a")], "edge 'a' -> 'a': is a loop"),
        (
            [(x, y) for pair in ("ab", "bc", "cd", "da") for x, y in (pair, pair[::-1])] + [("a", "e")],
            "'a' - 'b', 'a' - 'd', 'b' - 'c', 'c' - 'd': fit no DAG",
        ),
    ],
    ids=["cycle", "loop", "ring"],
)
def test_a_graph_that_no_dag_fits_is_refused_by_its_edges(edges, message):
    graph = nx.DiGraph(edges)
    for refused in (
        lambda: interop.from_networkx(graph),
        lambda: interop.from_graphml("\n".join(nx.generate_graphml(graph))),
        lambda: interop.from_dot(nx.nx_pydot.to_pydot(graph).to_string()),
        lambda: interop.from_gcastle(nx.to_pandas_adjacency(graph)),
        lambda: interop.from_lingam(nx.to_pandas_adjacency(graph).T),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            refused()


@pytest.mark.parametrize("seed", range(10))
def test_a_cycle_in_a_large_graph_is_named_quickly(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(60)
    graph = nx.DiGraph(
        (int(order[i]), int(order[j])) for i in range(60) for j in range(i + 1, 60) if rng.random() < 0.1
    )
    inside = [int(order[i]) for i in (10, 20, 30, 40)]
    nx.add_cycle(graph, inside)
    with pytest.raises(InputError, match="make a directed cycle") as caught:
        interop.from_networkx(graph)
    named = re.findall(r"'(\d+)' -> '(\d+)'", caught.value.subject)
    assert all(graph.has_edge(int(a), int(b)) for a, b in named)
    assert all(one[1] == two[0] for one, two in itertools.pairwise(named))
    assert "..." in caught.value.subject or named[-1][1] == named[0][0]


@pytest.mark.parametrize("size", [5, 100])
def test_a_ring_of_any_size_is_refused_by_its_edges(size):
    ring = nx.relabel_nodes(nx.cycle_graph(size), str)
    with pytest.raises(InputError, match="fit no DAG") as caught:
        interop.from_networkx(ring)
    named = re.findall(r"'(\d+)' - '(\d+)'", caught.value.subject)
    assert len(named) == min(size, 8)
    assert all(ring.has_edge(a, b) for a, b in named)


def test_a_text_cannot_ask_for_all_memory():
    text = "digraph {" + ";".join(f"n{i}" for i in range(6000)) + "}"
    with pytest.raises(InputError, match="has 6000 nodes"):
        interop.from_dot(text)


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ((Endpoint.ARROW, Endpoint.ARROW), "'a' <-> 'b': is bidirected"),
        ((Endpoint.CIRCLE, Endpoint.ARROW), "'a' o-> 'b': is of a PAG"),
        ((Endpoint.CIRCLE, Endpoint.CIRCLE), "'a' o-o 'b': is of a PAG"),
    ],
)
def test_marks_of_a_pag_are_refused(ends, message):
    nodes = [GraphNode("a"), GraphNode("b")]
    graph = GeneralGraph(nodes)
    graph.add_edge(Edge(*nodes, *ends))
    with pytest.raises(InputError, match=message):
        interop.from_causal_learn(graph)
    with pytest.raises(InputError, match=r"edge '0'.*'1'"):
        interop.from_dot(GraphUtils.to_pydot(graph).to_string())


def test_hidden_variables_and_other_classes_are_refused():
    with pytest.raises(InputError, match="variable 'u': is hidden"):
        interop.from_pgmpy(pgmpy.base.DAG([("u", "a")], latents={"u"}))
    node = GraphNode("u")
    node.set_node_type(NodeType.LATENT)
    with pytest.raises(InputError, match="variable 'u': is hidden"):
        interop.from_causal_learn(GeneralGraph([node]))
    with pytest.raises(InputError, match="edge 'b', 'a': is not a number"):
        interop.from_lingam([[0, 0], [np.nan, 0]], "ab")
    with pytest.raises(InputError, match="must be causallearn's GeneralGraph, got CPDAG"):
        interop.from_causal_learn(CHAIN)
    with pytest.raises(InputError, match="must be pgmpy's DAG or pgmpy's PDAG, got DiGraph"):
        interop.from_pgmpy(nx.DiGraph())
    with pytest.raises(InputError, match="must be networkx's Graph, got str"):
        interop.from_networkx("digraph {}")
    with pytest.raises(InputError, match="multigraph"):
        interop.from_networkx(nx.MultiDiGraph())
    with pytest.raises(InputError, match="must be a CPDAG, got DataFrame"):
        interop.to_networkx(CHAIN.to_frame())
    with pytest.raises(InputError, match="variable '1': is there more than once"):
        interop.from_networkx(nx.DiGraph([(1, "1")]))


@pytest.mark.parametrize(
    ("matrix", "options", "message"),
    [
        (np.zeros((2, 3)), {}, "must be square"),
        ([["a", "b"], ["c", "d"]], {}, "not a matrix of numbers"),
        (np.zeros((2, 2)), {"names": "abc"}, "must be 2 names, got 3"),
        (np.zeros((2, 2)), {"threshold": -1}, "'threshold'"),
        (pd.DataFrame(np.zeros((2, 2)), index=list("ab"), columns=list("ba")), {}, "different labels"),
    ],
)
def test_matrices_that_are_none_are_refused(matrix, options, message):
    for read in (interop.from_gcastle, interop.from_lingam):
        with pytest.raises(InputError, match=message):
            read(matrix, **options)


def test_matrices_are_named_as_tables_are():
    assert interop.from_gcastle(np.zeros((2, 2))).names == ("x0", "x1")
    assert interop.from_lingam(
        pd.DataFrame(np.zeros((2, 2)), index=list("ab"), columns=list("ab"))
    ).names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph { a -> {b c} }", "line 1 of the DOT text: has '{' where a name should be"),
        ("digraph {\n { a } -> b }", "line 2 of the DOT text: has '->' where a name should be"),
        ("digraph " + 5000 * "{ ", "line 1 of the DOT text: has a group within a group"),
        ("digraph { a -> subgraph }", "has 'subgraph' where a name should be"),
        ("digraph { a -> b [arrowhead=odot] }", "edge 'a', 'b': is marked by arrowhead='odot'"),
        ("digraph { a:n -> b }", "cannot read ':n"),
        ("digraph { <b>x</b> }", "cannot read '<b>"),
        ('digraph { "a" + "b" }', "cannot read '+"),
        ("digraph { a -- b }", "has '--' after 'a' in a digraph"),
        ("graph { a -> b }", "has '->' after 'a' in a graph"),
        ("digraph { a <-> b }", "edge 'a' <-> 'b': is bidirected"),
        ("digraph { a -> b [dir=both] }", "edge 'a' <-> 'b': is bidirected"),
        ("digraph { a -> b [dir=sideways] }", "has dir='sideways'"),
        ("dag { a -> b }", "must begin with 'digraph' or 'graph', not 'dag'"),
        ("digraph { a -> b", "ends too early"),
        ('digraph { "a -> b }', "cannot read"),
        ("digraph { a } digraph { b }", "after the graph"),
        ("digraph { a [x=] }", "has ']' where a name should be"),
        ("", "where 'a word' should be"),
        (b"digraph {}", "must be text, got bytes"),
    ],
)
def test_dot_that_cannot_be_read_says_where(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        interop.from_dot(text)


BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
<graphml><graph edgedefault="directed"><node id="&c;"/></graph></graphml>"""
OPENS_A_FILE = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY file SYSTEM "file:///etc/passwd">]>
<graphml><graph edgedefault="directed"><node id="n"><data key="k">&file;</data></node></graph></graphml>"""
OPENS_A_DTD = (
    '<!DOCTYPE graphml SYSTEM "http://localhost/x.dtd"><graphml><graph edgedefault="directed"/></graphml>'
)


@pytest.mark.parametrize("text", [BILLION_LAUGHS, OPENS_A_FILE, OPENS_A_DTD])
def test_graphml_with_declarations_is_refused(text):
    with pytest.raises(InputError, match="declares a document type"):
        interop.from_graphml(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml>", "is not XML"),
        ("no xml", "is not XML"),
        ("\ud800", "is not XML"),
        ("<graphml/>", "has no graph"),
        ("<graphml><graph/></graphml>", "has a graph without 'edgedefault'"),
        ('<graph edgedefault="directed"><node/></graph>', "has a node without 'id'"),
        (
            '<graph edgedefault="directed"><edge source="a" target="b"/></graph>',
            "edge 'a', 'b': has no node 'a'",
        ),
        ('<graph edgedefault="directed"><hyperedge/></graph>', "has a hyperedge"),
        ('<graph edgedefault="directed"><graph edgedefault="directed"/></graph>', "a graph within or after"),
        (b"<graphml/>", "must be text, got bytes"),
    ],
)
def test_graphml_that_cannot_be_read_says_why(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        interop.from_graphml(text)


def test_labels_have_to_tell_nodes_apart():
    with pytest.raises(InputError, match="two nodes have the same label"):
        interop.from_dot("digraph { a [label=x]; b [label=x]; }", names="label")
    with pytest.raises(InputError, match="must be one of 'id', 'label'"):
        interop.from_dot("digraph { }", names="lable")
    with pytest.raises(InputError, match="node 'a': has no attribute 'name'"):
        interop.from_graphml(interop.to_graphml(CHAIN), names="name")


@pytest.mark.parametrize(
    ("module", "extra", "call"),
    [
        ("networkx", "networkx", lambda: interop.to_networkx(CHAIN)),
        ("networkx", "networkx", lambda: interop.to_dowhy(COLLIDER, treatment="a", outcome="b")),
        ("causallearn.graph.GeneralGraph", "causal-learn", lambda: interop.to_causal_learn(CHAIN)),
        ("pgmpy.base", "pgmpy", lambda: interop.to_pgmpy(CHAIN)),
        ("pywhy_graphs", "pywhy-graphs", lambda: interop.to_pywhy(CHAIN)),
    ],
)
def test_a_missing_package_says_what_to_install(monkeypatch, module, extra, call):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"pip install 'dcd\[{extra}\]'"):
        call()


# --- DoWhy -----------------------------------------------------------------------------------------------


@cache
def classes_of_four():
    """Every CPDAG on four nodes with the DAGs of its class."""
    classes = {}
    for dag in all_dags(4):
        classes.setdefault(dag_to_cpdag(dag).tobytes(), []).append(dag)
    return list(classes.values())


def effects(dags, covariance, x, y):
    """The effect of x on y that each DAG reads from one covariance, by adjusting for the parents of x."""
    for dag in dags:
        causes = [x, *np.flatnonzero(dag[:, x])]
        given = covariance[np.ix_(causes, causes)]
        yield 0.0 if y in causes else float(np.linalg.solve(given, covariance[causes, y])[0])


def test_an_effect_goes_to_dowhy_exactly_if_all_dags_of_the_class_agree_on_it():
    rng = np.random.default_rng(0)
    refused = 0
    for dags in classes_of_four():
        weights = dags[0] * rng.uniform(0.5, 1.5, size=(4, 4))
        mixing = np.linalg.inv(np.eye(4) - weights)
        covariance = mixing.T @ mixing
        cpdag = CPDAG.from_dag("abcd", dags[0])
        for x, y in np.argwhere(~np.eye(4, dtype=bool)):
            found = list(effects(dags, covariance, x, y))
            agreed = np.ptp(found) < 1e-9
            asked = {"treatment": "abcd"[x], "outcome": "abcd"[y]}
            if agreed:
                assert interop.from_networkx(interop.to_dowhy(cpdag, **asked)) == cpdag
            else:
                refused += 1
                with pytest.raises(InputError, match=f"edges? '{'abcd'[x]}' - "):
                    interop.to_dowhy(cpdag, **asked)
    assert refused > 100


def test_arbitrary_arrows_are_marked():
    #  a -> t <- b, t -> y, b - c
    dag = np.zeros((5, 5), dtype=int)
    dag[0, 1] = dag[2, 1] = dag[1, 3] = dag[2, 4] = 1
    graph = interop.to_dowhy(CPDAG.from_dag(["a", "t", "b", "y", "c"], dag), treatment="t", outcome="y")
    marked = [frozenset(edge) for edge in graph.edges if graph.edges[edge].get("arbitrary")]
    assert marked == [frozenset("bc")]


def test_dowhy_is_asked_with_names_of_the_graph():
    with pytest.raises(InputError, match="edge 'b' - 'a': can go either way"):
        interop.to_dowhy(CHAIN, treatment="b", outcome="a")
    with pytest.raises(InputError, match="variable 'A': is not in the graph"):
        interop.to_dowhy(COLLIDER, treatment="A", outcome="b")
    with pytest.raises(InputError, match="is the treatment"):
        interop.to_dowhy(COLLIDER, treatment="a", outcome="a")
    with pytest.raises(InputError, match="must be a CPDAG, got ChosenDAG"):
        interop.to_dowhy(COLLIDER.to_dag(), treatment="a", outcome="b")


# --- in environments of their own ------------------------------------------------------------------------


@pytest.mark.parametrize("checks", ["pywhy_roundtrip", "lingam_roundtrip", "dowhy_effect"])
def test_packages_that_need_an_environment_of_their_own(checks):
    found = vars(importlib.import_module(checks))  # skips where the package is missing
    ours = [check for name, check in found.items() if name.startswith("test_")]
    assert ours
    for check in ours:
        check()


def test_the_guide_runs_up_to_dowhy(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    without = [block for block in blocks if "dowhy" not in block]
    assert blocks[: len(without)] == without
    namespace = {}
    for block in without:
        exec(compile(block, str(GUIDE), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "dose -> response" in printed
    assert "make a directed cycle" in printed
    assert "1 of 5 directions chosen arbitrarily" in printed
