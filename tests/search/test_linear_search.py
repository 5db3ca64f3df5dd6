"""Neighbours by a search over orders where all relations are linear."""

from itertools import combinations, islice, permutations

import numpy as np
import pytest
from support.known_graphs import all_dags, random_dag

import dcd
from dcd.graph.adjacency import skeleton_of
from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.search.linear import LinearRegressions
from dcd.search.linear_search import LinearOrders, search_linear

MANY = 10**7  # rows, so that the correlations of the model are as good as known


def population(dag, rng):
    """Correlations of a linear model with random coefficients."""
    n_variables = len(dag)
    coefficients = np.asarray(dag) * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1, 1], dag.shape)
    total = np.linalg.inv(np.eye(n_variables) - coefficients)
    covariance = total.T @ np.diag(rng.uniform(0.5, 2.0, n_variables)) @ total
    scale = np.sqrt(np.diag(covariance))
    return covariance / np.outer(scale, scale)


def skeleton_found(regressions, seed=0):
    names = [str(v) for v in range(regressions.n_variables)]
    known = bind_knowledge(None, names)
    outcome = search_linear(regressions, names, np.random.default_rng(seed), known)
    skeleton = np.zeros((len(names), len(names)), dtype=bool)
    for t, search in enumerate(outcome.searches):
        skeleton[t, [int(name) for name in search.neighbours]] = True
    return skeleton


@pytest.mark.parametrize("every", [12, pytest.param(1, marks=pytest.mark.slow)])
def test_with_known_correlations_all_small_graphs(every):
    """All 543 DAGs on 4 nodes: the best order has the true skeleton, and the search finds it nearly always.

    Random coefficients are faithful, but some nearly are not; hence so many rows.
    """
    missed = 0
    everything, nothing = ~np.eye(4, dtype=bool), np.zeros((4, 4), dtype=bool)
    for index, dag in islice(enumerate(map(np.asarray, all_dags(4))), 0, None, every):
        regressions = LinearRegressions(population(dag, np.random.default_rng(index)), MANY, 1e-4)
        orders = LinearOrders(regressions, everything, nothing)
        best = max(permutations(range(4)), key=orders.score)
        skeleton = np.zeros((4, 4), dtype=bool)
        for v, parents in enumerate(orders.parents(best)):
            skeleton[v, list(parents)] = True
        assert np.array_equal(skeleton | skeleton.T, skeleton_of(dag).astype(bool)), dag
        missed += not np.array_equal(skeleton_found(regressions), skeleton | skeleton.T)
    assert missed <= 2


@pytest.mark.parametrize(("n_graphs", "most_missed"), [(3, 0), pytest.param(40, 2, marks=pytest.mark.slow)])
def test_with_known_correlations_random_graphs(n_graphs, most_missed):
    missed = 0
    for seed in range(n_graphs):
        rng = np.random.default_rng(seed)
        dag = np.asarray(random_dag(8, rng))
        found = skeleton_found(LinearRegressions(population(dag, rng), MANY, 1e-4))
        missed += not np.array_equal(found, skeleton_of(dag).astype(bool))
    assert missed <= most_missed


@pytest.mark.parametrize(("n_tables", "fewest"), [(3, 2), pytest.param(12, 10, marks=pytest.mark.slow)])
def test_the_best_of_all_orders_is_found(n_tables, fewest):
    """On samples of 6 variables, against all 720 orders; 8 starts find the best in most cases."""
    found = 0
    for seed in range(n_tables):
        rng = np.random.default_rng(seed)
        dag = np.asarray(random_dag(6, rng))
        values = rng.multivariate_normal(np.zeros(6), population(dag, rng), 200)
        regressions = LinearRegressions(np.corrcoef(values.T), 200, 0.01)
        orders = LinearOrders(regressions, ~np.eye(6, dtype=bool), np.zeros((6, 6), dtype=bool))
        best = max(orders.score(order)[0] for order in permutations(range(6)))
        reached = max(orders.score(orders.improved(rng.permutation(6).tolist(), rng))[0] for _ in range(8))
        assert reached <= best + 1e-9
        found += reached > best - 1e-6
    assert found >= fewest


@pytest.mark.parametrize("n_variables", [30, *(pytest.param(d, marks=pytest.mark.slow) for d in (50, 100))])
def test_independent_variables_have_about_one_false_edge(n_variables):
    """At most one on average, by the level; 5 tables have more than 13 with a chance of 0.1 %."""
    n_edges = 0
    for seed in range(5):
        values = np.random.default_rng(seed).standard_t(3, (500, n_variables))
        model = dcd.RobustDCD(progress=False).fit(values)
        assert model.diagnostics_.all_linear
        n_edges += len(model.cpdag_.directed_edges) + len(model.cpdag_.undirected_edges)
    assert n_edges <= 13


def linear_table(seed, n_samples=1000, n_variables=30):
    rng = np.random.default_rng(seed)
    dag = dcd.simulate.random_dag(n_variables, graph="erdos-renyi", random_state=rng)
    values = rng.multivariate_normal(np.zeros(n_variables), population(dag, rng), n_samples)
    return dag, values


def test_a_linear_table_end_to_end():
    for seed in range(3):
        dag, values = linear_table(seed)
        model = dcd.RobustDCD(progress=False).fit(values)
        assert model.diagnostics_.all_linear
        assert "All relations are linear" in str(model.diagnostics_)
        assert dcd.metrics.compare(dcd.graph.dag_to_cpdag(dag), model.cpdag_.adjacency).skeleton_f1 > 0.9


def test_same_result_for_any_order_and_scale_of_columns():
    _, values = linear_table(0)
    names = [f"v{v}" for v in range(30)]
    found = dcd.RobustDCD(progress=False).fit(values).adjacency_matrix_.to_numpy()
    shuffled = np.random.default_rng(1).permutation(30)
    bent = np.exp(values[:, shuffled])  # ranks are all that counts
    again = dcd.RobustDCD(progress=False).fit(bent).adjacency_matrix_.to_numpy()
    assert np.array_equal(again, found[np.ix_(shuffled, shuffled)]), names


def test_knowledge_is_kept_and_told():
    dag, values = linear_table(0)
    edges = np.argwhere(dag)
    cause, effect = (f"x{v}" for v in edges[0])
    far = next((i, j) for i, j in combinations(range(30), 2) if not (dag | dag.T)[i, j])
    knowledge = Knowledge(no_edge=[(cause, effect)], required=[(f"x{far[0]}", f"x{far[1]}")])
    model = dcd.RobustDCD(progress=False, knowledge=knowledge).fit(values)
    names = list(model.adjacency_matrix_.columns)
    found = model.adjacency_matrix_.to_numpy()
    place = {name: names.index(name) for name in names}
    assert model.diagnostics_.all_linear
    assert found[place[cause], place[effect]] == found[place[effect], place[cause]] == 0
    assert found[far] == 1
    assert found[far[::-1]] == 0
    assert any(cause in str(c) and effect in str(c) for c in model.conflicts_)
