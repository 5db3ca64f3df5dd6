"""Hand-over to and from pywhy-graphs, checked in an environment of its own: `make test-pywhy`.

pywhy-graphs 0.1.0 requires NumPy below 2, which the other packages of the tests do not support. The main
suite imports these checks if pywhy-graphs is installed; otherwise it skips them with the reason.
"""

import networkx as nx
import numpy as np
import pytest

from dcd import CPDAG, InputError, interop
from dcd.evaluation.simulate import random_dag

pywhy_graphs = pytest.importorskip(
    "pywhy_graphs", reason="pywhy-graphs asks for NumPy below 2: make test-pywhy"
)

COLLIDER = CPDAG(("a", "b", "c"), [[0, 1, 0], [0, 0, 0], [0, 1, 0]])  # a -> b <- c
CHAIN = CPDAG(("a", "b", "c"), [[0, 1, 0], [1, 0, 1], [0, 1, 0]])  # a - b - c


def random_cpdags():
    for seed in range(30):
        size = 5 + seed % 8
        dag = random_dag(size, graph="erdos-renyi", degree=2 + 2 * (seed % 2), random_state=seed)
        yield CPDAG.from_dag([f"v{i}" for i in range(size)], dag)


def test_by_hand():
    collider, chain = interop.to_pywhy(COLLIDER), interop.to_pywhy(CHAIN)
    assert set(collider.directed_edges) == {("a", "b"), ("c", "b")}
    assert not collider.undirected_edges
    assert {frozenset(edge) for edge in chain.undirected_edges} == {frozenset("ab"), frozenset("bc")}
    assert not chain.directed_edges
    made = pywhy_graphs.CPDAG(nx.DiGraph([("a", "b"), ("c", "b")]))
    assert interop.from_pywhy(made) == COLLIDER
    assert interop.from_pywhy(pywhy_graphs.CPDAG(None, nx.Graph([("a", "b"), ("b", "c")]))) == CHAIN


def test_it_tells_the_same_edges():
    for graph in random_cpdags():
        theirs = interop.to_pywhy(graph)
        assert isinstance(theirs, pywhy_graphs.CPDAG)
        assert list(theirs.nodes) == list(graph.names)
        for name in graph.names:
            roles = {other: graph.role(other, name) for other in graph.names}
            assert set(theirs.parents(name)) == {other for other in roles if roles[other] == "parent"}
            assert set(theirs.children(name)) == {other for other in roles if roles[other] == "child"}
            assert set(theirs.possible_parents(name)) == {o for o in roles if roles[o] == "neighbour"}


def test_random_graphs_come_back_the_same():
    graphs = list(random_cpdags())
    assert any(graph.undirected_edges for graph in graphs)
    for graph in graphs:
        found = interop.from_pywhy(interop.to_pywhy(graph))
        assert found == graph
        assert found.names == graph.names
        assert interop.from_pywhy(interop.to_pywhy(graph.to_dag())) == graph


def test_graphs_without_edges_keep_their_variables():
    for names in ((), ("alone",), ("a", "b")):
        empty = CPDAG(names, np.zeros((len(names), len(names))))
        assert interop.from_pywhy(interop.to_pywhy(empty)).names == names


def test_an_edge_oriented_by_pywhy_comes_back_as_the_class():
    theirs = interop.to_pywhy(CHAIN)
    theirs.orient_uncertain_edge("a", "b")
    assert interop.from_pywhy(theirs) == CHAIN  # a -> b - c has the same class
    theirs.orient_uncertain_edge("c", "b")
    assert interop.from_pywhy(theirs) == COLLIDER


def test_graphs_of_hidden_variables_are_refused():
    pag = pywhy_graphs.PAG()
    pag.add_edge("a", "b", pag.circle_edge_name)
    with pytest.raises(InputError, match="edge 'a', 'b': is circle"):
        interop.from_pywhy(pag)
    admg = pywhy_graphs.ADMG()
    admg.add_edge("a", "b", admg.bidirected_edge_name)
    with pytest.raises(InputError, match="edge 'a', 'b': is bidirected"):
        interop.from_pywhy(admg)
    with pytest.raises(InputError, match="must be pywhy_graphs's CPDAG, got DiGraph"):
        interop.from_pywhy(nx.DiGraph())
