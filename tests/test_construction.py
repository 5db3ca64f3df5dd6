from itertools import combinations, product

import numpy as np
import pytest

import dcd
from dcd.construction import exclusions
from dcd.graph import consistent_extension, dag_to_cpdag, is_acyclic, oracle


def all_dags(n):
    """Every DAG on n labelled nodes, by trying absent, forward and backward for each pair."""
    pairs = list(combinations(range(n), 2))
    for choice in product((0, 1, 2), repeat=len(pairs)):
        dag = np.zeros((n, n), dtype=np.int8)
        for (i, j), direction in zip(pairs, choice, strict=True):
            if direction:
                dag[(i, j) if direction == 1 else (j, i)] = 1
        if is_acyclic(dag):
            yield dag


def random_dense_dag(n, rng):
    order = rng.permutation(n)
    dag = np.triu(rng.random((n, n)) < rng.uniform(0.1, 0.6), k=1).astype(np.int8)
    return dag[np.ix_(order, order)]


def names_of(dag):
    return [f"v{index}" for index in range(len(dag))]


def assert_recovers(dag):
    names = names_of(dag)
    result = dcd.construct_cpdag(names, oracle(dag, names))
    np.testing.assert_array_equal(result.cpdag.adjacency, dag_to_cpdag(dag), err_msg=str(dag))
    assert result.conflicts == ()
    assert result.cuts == ()


@pytest.mark.parametrize(("n", "count"), [(3, 25), (4, 543)])
def test_theorem_2_on_all_small_dags(n, count):
    dags = list(all_dags(n))
    assert len(dags) == count
    for dag in dags:
        assert_recovers(dag)


@pytest.mark.slow
def test_theorem_2_on_all_dags_of_five_nodes():
    count = 0
    for dag in all_dags(5):
        assert_recovers(dag)
        count += 1
    assert count == 29281


@pytest.mark.slow
def test_theorem_2_on_random_larger_dags():
    rng = np.random.default_rng(2026)
    for _ in range(1000):
        assert_recovers(random_dense_dag(int(rng.integers(6, 10)), rng))
