"""Whatever methods return becomes a CPDAG with the same skeleton."""

from itertools import islice

import numpy as np
import pytest
from support.known_graphs import all_dags

from dcd import CPDAG
from dcd.graph.adjacency import is_acyclic, skeleton_of
from dcd.graph.equivalence import dag_to_cpdag, prune_cycles, to_cpdag


@pytest.mark.parametrize("dag", list(all_dags(4))[::7], ids=str)
def test_a_dag_and_its_cpdag_become_the_cpdag(dag):
    truth = dag_to_cpdag(dag)
    assert np.array_equal(to_cpdag(dag), truth)
    assert np.array_equal(to_cpdag(truth), truth)


def every_mixed_graph(d):
    pairs = np.triu_indices(d, k=1)
    for code in np.ndindex(*[4] * len(pairs[0])):
        graph = np.zeros((d, d), dtype=np.int8)
        graph[pairs] = np.array(code) & 1
        graph.T[pairs] = np.array(code) >> 1
        yield graph


@pytest.mark.parametrize(("d", "every"), [(3, 1), (4, 11), pytest.param(4, 1, marks=pytest.mark.slow)])
def test_every_small_mixed_graph_becomes_a_cpdag_with_its_skeleton(d, every):
    for graph in islice(every_mixed_graph(d), 0, None, every):
        cpdag = to_cpdag(graph)
        CPDAG(tuple("abcd"[:d]), cpdag)  # raises unless it is one
        assert np.array_equal(skeleton_of(cpdag), skeleton_of(graph))


@pytest.mark.parametrize("seed", range(20))
def test_larger_mixed_graphs_too(seed):
    rng = np.random.default_rng(seed)
    graph = (rng.random((9, 9)) < 0.35).astype(np.int8)
    np.fill_diagonal(graph, 0)
    cpdag = to_cpdag(graph)
    CPDAG(tuple("abcdefghi"), cpdag)
    assert np.array_equal(skeleton_of(cpdag), skeleton_of(graph))


def test_a_ring_keeps_its_skeleton_though_no_dag_fits_it():
    ring = np.zeros((4, 4), dtype=np.int8)
    for a, b in [(0, 1), (1, 2), (2, 3), (3, 0)]:
        ring[a, b] = ring[b, a] = 1
    assert to_cpdag(ring).sum() < 8  # some edge got a direction: a ring of four needs a collider


def test_the_weakest_edge_of_a_cycle_goes():
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2], weights[2, 0], weights[2, 3] = 3.0, -0.5, 2.0, 0.1
    expected = weights != 0
    expected[1, 2] = False  # weaker ones off the cycle stay
    assert np.array_equal(prune_cycles(weights), expected)


@pytest.mark.parametrize("seed", range(10))
def test_pruning_ends_without_cycles_and_leaves_dags_alone(seed):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(8, 8)) * (rng.random((8, 8)) < 0.4)
    assert is_acyclic(prune_cycles(weights))
    dag = np.triu(weights, k=1)
    assert np.array_equal(prune_cycles(dag), dag != 0)
