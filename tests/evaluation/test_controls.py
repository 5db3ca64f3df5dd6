"""Controls: their results, and that they do no better than documented."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.evaluation.baselines import controls
from dcd.graph.adjacency import topological_order


def linear_table(dag, rng, n=4000):
    values = rng.standard_normal((n, len(dag)))
    weights = dag * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1.0, 1.0], dag.shape)
    for node in topological_order(dag):
        values[:, node] += values @ weights[:, node]
    return values


@pytest.mark.parametrize("seed", range(5))
def test_the_spanning_tree_of_a_tree_is_its_skeleton(seed):
    rng = np.random.default_rng(seed)
    dag = dcd.simulate.random_dag(8, random_state=rng)
    values = np.sin(1.2 * linear_table(dag, rng))  # of ranks, so that any growing function is the same
    tree = controls.spanning_tree(linear_table(dag, rng), seed=0)
    assert (tree == (dag | dag.T)).all()
    assert controls.spanning_tree(values, seed=0).sum() == 14


@pytest.mark.parametrize("seed", range(5))
def test_the_spanning_tree_is_that_of_networkx(seed):
    rng = np.random.default_rng(seed)
    values = linear_table(
        dcd.simulate.random_dag(7, graph="erdos-renyi", degree=4, random_state=rng), rng, 300
    )
    codes = [controls._in_bins(column, 7) for column in values.T]
    graph = nx.Graph()
    graph.add_weighted_edges_from(
        (i, j, controls._information(codes[i], codes[j])) for i in range(7) for j in range(i)
    )
    expected = {frozenset(edge) for edge in nx.maximum_spanning_tree(graph).edges}
    found = controls.spanning_tree(values, seed=0)
    assert {frozenset(map(int, edge)) for edge in np.argwhere(found)} == expected


@pytest.mark.parametrize("seed", range(3))
def test_information_is_that_of_scikit_learn_and_about_zero_under_independence(seed):
    from sklearn.metrics import mutual_info_score

    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 6, (2, 500))
    corrected = controls._information(first, second) + 25 / 1000
    assert corrected == pytest.approx(mutual_info_score(first, second))
    draws = [controls._information(*rng.integers(0, 6, (2, 500))) for _ in range(300)]
    assert abs(np.mean(draws)) < 4 * np.std(draws) / np.sqrt(300)


@pytest.mark.parametrize("seed", range(5))
def test_the_true_order_gives_the_true_parents(seed):
    rng = np.random.default_rng(seed)
    dag = dcd.simulate.random_dag(8, graph="erdos-renyi", degree=4, random_state=rng)
    ranks = np.argsort(topological_order(dag)).astype(float)
    found = controls.sort_and_regress(linear_table(dag, rng), ranks)
    assert (found[dag == 1] == 1).all()
    assert found.sum() - dag.sum() <= 2  # of some eight that are not there
    assert not controls.sort_and_regress(linear_table(dag, rng), -ranks)[dag == 1].any()


def test_sorting_follows_its_criterion():
    rng = np.random.default_rng(0)
    values = linear_table(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]]), rng) * [1.0, 5.0, 0.1]
    assert controls.sort_variance(values, seed=0).tolist() == [[0, 1, 0], [0, 0, 0], [1, 1, 0]]
    rising, falling = controls.sort_r2(values, seed=0), controls.sort_falling_r2(values, seed=0)
    assert rising[:, 1].sum() == 2  # the middle of a chain is predicted best and comes last
    assert falling[1].sum() == 2


@pytest.fixture(scope="module")
def worker():
    with dcd.baselines.Worker() as worker:
        yield worker


def test_the_empty_graph_and_categories(worker):
    table = pd.DataFrame({"a": list("pqr") * 40, "b": np.arange(120.0), "c": list("pqrqrp") * 20})
    assert not worker.solve("empty", table).cpdag.adjacency.any()
    assert worker.solve("spanning-tree", table).cpdag.adjacency.sum() == 4
    with pytest.raises(dcd.InputError, match="unordered categories"):
        worker.solve("sort-r2", table)


@pytest.mark.parametrize("method", ["sort-variance", "sort-r2", "sort-falling-r2"])
def test_more_variables_than_rows_bear_are_refused(method, worker):
    with pytest.raises(dcd.InputError, match="rows"):
        worker.solve(method, np.random.default_rng(0).standard_normal((12, 12)))
