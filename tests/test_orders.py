"""Neighbours of straight tables by a search over orders."""

from itertools import combinations, permutations

import numpy as np
import pytest
from known_graphs import all_dags, random_dag

import dcd
from dcd.graph import skeleton_of
from dcd.knowledge import Knowledge, bind_knowledge
from dcd.lines import Lines
from dcd.orders import Orders, search_orders

MANY = 10**7  # rows, so that the correlations of the model are as good as known


def population(dag, rng):
    """Correlations of a linear model with random coefficients."""
    n_variables = len(dag)
    coefficients = np.asarray(dag) * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1, 1], dag.shape)
    total = np.linalg.inv(np.eye(n_variables) - coefficients)
    covariance = total.T @ np.diag(rng.uniform(0.5, 2.0, n_variables)) @ total
    scale = np.sqrt(np.diag(covariance))
    return covariance / np.outer(scale, scale)


def skeleton_found(lines, seed=0, knowledge=None):
    names = [str(v) for v in range(lines.n_variables)]
    known = None if knowledge is None else bind_knowledge(knowledge, names)
    searches, _ = search_orders(lines, names, np.random.default_rng(seed), knowledge=known)
    found = np.zeros((len(names), len(names)), dtype=bool)
    for t, search in enumerate(searches):
        found[t, [int(name) for name in search.neighbours]] = True
    return found, searches


def test_with_known_correlations_all_small_graphs():
    """All 543 DAGs on 4 nodes; random coefficients are faithful."""
    for index, dag in enumerate(all_dags(4)):
        dag = np.asarray(dag)
        lines = Lines(population(dag, np.random.default_rng(index)), MANY, 1e-4)
        found, _ = skeleton_found(lines)
        assert np.array_equal(found, skeleton_of(dag).astype(bool)), dag


def test_with_known_correlations_random_graphs():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        dag = np.asarray(random_dag(8, rng))
        found, _ = skeleton_found(Lines(population(dag, rng), MANY, 1e-4))
        assert np.array_equal(found, skeleton_of(dag).astype(bool))


def test_the_best_of_all_orders_is_found():
    """On samples of 6 variables, against all 720 orders."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        dag = np.asarray(random_dag(6, rng))
        values = rng.multivariate_normal(np.zeros(6), population(dag, rng), 200)
        lines = Lines(np.corrcoef(values.T), 200, 0.01)
        near = ~np.eye(6, dtype=bool)
        orders = Orders(lines, near, np.zeros((6, 6), dtype=bool))
        best = max(orders.fit(order) for order in permutations(range(6)))
        starts = [rng.permutation(6).tolist() for _ in range(4)]
        assert max(orders.fit(orders.improved(start, rng)) for start in starts) == pytest.approx(best)


@pytest.mark.parametrize("n_variables", [50, 100])
def test_independent_variables_have_about_one_false_edge(n_variables):
    """At most one on average, by the level; 8 tables have more than 18 with a chance below 0.1 %."""
    n_edges = 0
    for seed in range(8):
        values = np.random.default_rng(seed).standard_t(3, (500, n_variables))
        model = dcd.RobustDCD(progress=False).fit(values)
        assert model.diagnostics_.straight
        n_edges += len(model.cpdag_.directed_edges) + len(model.cpdag_.undirected_edges)
    assert n_edges <= 18


def linear_table(seed, n_samples=1000, n_variables=30):
    rng = np.random.default_rng(seed)
    dag = dcd.simulate.random_dag(n_variables, graph="erdos-renyi", random_state=rng)
    values = rng.multivariate_normal(np.zeros(n_variables), population(dag, rng), n_samples)
    return dag, values


def test_a_straight_table_end_to_end():
    for seed in range(3):
        dag, values = linear_table(seed)
        model = dcd.RobustDCD(progress=False).fit(values)
        assert model.diagnostics_.straight
        assert "Lines are all there is" in str(model.diagnostics_)
        assert dcd.metrics.compare(dcd.dag_to_cpdag(dag), model.cpdag_.adjacency).skeleton_f1 > 0.9


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
    assert model.diagnostics_.straight
    assert found[place[cause], place[effect]] == found[place[effect], place[cause]] == 0
    assert found[far] == 1
    assert found[far[::-1]] == 0
    assert any(cause in str(c) and effect in str(c) for c in model.conflicts_)
