"""The encodings of other packages, each checked by hand and by the package itself."""

import json
import subprocess
import sys

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GeneralGraph import GeneralGraph
from causallearn.graph.GraphNode import GraphNode
from causallearn.graph.NodeType import NodeType
from causallearn.search.ConstraintBased.PC import pc
from causallearn.search.FCMBased.lingam import DirectLiNGAM
from causallearn.utils.GraphUtils import GraphUtils
from support.handover import CHAIN, COLLIDER, random_cpdags

from dcd import InputError, interop


@pytest.fixture
def pgmpy_base():
    """pgmpy loads PyTorch, so it is not imported while the tests are collected."""
    import pgmpy.base

    return pgmpy.base


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


def test_pgmpy_by_hand(pgmpy_base):
    assert interop.to_pgmpy(COLLIDER).directed_edges == {("a", "b"), ("c", "b")}
    assert interop.to_pgmpy(CHAIN).undirected_edges == {("a", "b"), ("b", "c")}
    assert interop.from_pgmpy(pgmpy_base.DAG([("a", "b"), ("c", "b")])) == COLLIDER
    assert interop.from_pgmpy(pgmpy_base.DAG([("a", "b"), ("b", "c")])) == CHAIN
    partial = pgmpy_base.PDAG(directed_ebunch=[("a", "b")], undirected_ebunch=[("b", "c")])
    assert interop.from_pgmpy(partial) == CHAIN


def test_pgmpy_tells_the_same_edges(pgmpy_base):
    for graph in random_cpdags():
        theirs = interop.to_pgmpy(graph)
        assert isinstance(theirs, pgmpy_base.PDAG)
        chosen = graph.to_dag()
        dag = interop.to_pgmpy(chosen)
        assert type(dag) is pgmpy_base.DAG
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
    """With the version of lingam that causal-learn includes; for lingam itself see lingam_roundtrip.py."""
    a, c, noise = np.random.default_rng(0).exponential(size=(3, 3000))
    model = DirectLiNGAM()
    model.fit(np.column_stack([a, a + c + noise, c]))
    assert interop.from_lingam(model.adjacency_matrix_, "abc", threshold=0.1) == COLLIDER


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


def test_hidden_variables_and_other_classes_are_refused(pgmpy_base):
    with pytest.raises(InputError, match="variable 'u': is hidden"):
        interop.from_pgmpy(pgmpy_base.DAG([("u", "a")], latents={"u"}))
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
    with pytest.raises(InputError, match="variable '1': occurs more than once"):
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
    with pytest.raises(ImportError, match=rf"pip install 'causal-dcd\[{extra}\]'"):
        call()
