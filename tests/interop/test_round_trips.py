"""Graphs survive a round trip to other packages, under any names."""

import string

import numpy as np
import pytest
from support.handover import NAMES, ROUND_TRIPS, THROUGH_TEXT, random_cpdags

from dcd import CPDAG, interop


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
    found = ROUND_TRIPS[package](graph)
    assert found.names == tuple(names)
    assert found == graph
