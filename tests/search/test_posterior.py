"""Posterior probabilities of edges against enumeration; the graph of least expected error."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.integrate import quad
from support.brute_force import all_dags, random_dag
from support.score_models import score_of
from support.searches import Oracle
from support.tables import linear

from dcd.features.gram_columns import columns_of, family_gram
from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.graph.probabilities import ABSENT, FORWARD
from dcd.runtime.parallel import Shared, as_done
from dcd.search import posterior
from dcd.search.base import GraphTask, Posterior
from dcd.search.best_graph import BestGraph
from dcd.search.calibration import Traits
from dcd.search.graph_class import class_types, loss_of
from dcd.search.posterior import least_error_dag, sample_posterior, types_with_best_graph
from dcd.search.score_model import score_model
from dcd.table.reading import read_table

NAMES = tuple("abcd")


def task_of(values, *, subsampled=True, seed=0, **stated):
    """A task, and the best graphs of its model."""
    dataset = read_table(values)
    columns = columns_of(dataset)
    task = GraphTask(
        names=dataset.names,
        gram=family_gram(columns),
        categories=None,
        test=Oracle(np.zeros((len(dataset.names),) * 2)),  # nobody asks it
        level=0.05,
        knowledge=bind_knowledge(Knowledge(**stated) if stated else None, dataset.names),
        rng=np.random.default_rng(seed),
        columns=columns if subsampled else None,
    )
    known = task.knowledge
    model = score_model(task.gram, None, allowed=~known.forbidden, required=known.required)
    return task, BestGraph(model, task.rng, 2)


def weak(seed, d=4, n=110):
    """Linear relations that are unclear with few rows."""
    dag = np.zeros((d, d))
    dag[0, 2] = dag[1, 2] = dag[2, d - 1] = 1
    return linear(dag, seed, n=n, weight=0.3)


# --- probabilities ---------------------------------------------------------------------------------------


def exact_types(model, dags, oriented):
    """By enumeration, with the prior as integrals over shares, as the module defines it."""
    temper, price = posterior._TEMPER, posterior._LINEAR_EDGE_PRICE
    model = model._replace(edge_price=temper * price, collider_price=0.0)
    d = len(oriented)
    n_pairs = d * (d - 1) // 2
    logs = []
    for dag in dags:
        n_edges, n_shared = dag.sum(), np.maximum(dag.sum(axis=0) - 1, 0).sum()
        joined, _ = quad(lambda s, n=n_edges: s**n * (1 - s) ** (n_pairs - n), 0, 1)
        shared, _ = quad(lambda s, n=n_edges, v=n_shared: s**v * (1 - s) ** (n - v), 0, 0.5)
        scores = sum(score_of(model, v, np.flatnonzero(dag[:, v]).tolist()) for v in range(d))
        logs.append(scores / temper + np.log(joined) + np.log(shared))
    types = np.array([class_types(dag, oriented) for dag in dags])
    weights = np.exp(np.array(logs) - max(logs))
    return np.array([np.tensordot(weights, types == one, 1) for one in range(4)]) / weights.sum()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("stated", [{}, {"required": [("x2", "x1")], "roots": ["x0"]}])
def test_on_all_rows_they_are_those_of_enumeration(seed, stated):
    task, best = task_of(weak(seed), subsampled=False, **stated)
    # With lines alone a family has one form, so its score is known.
    nothing = np.zeros(4, dtype=np.int64)
    best.model = best.model._replace(may_curve=nothing > 0, may_cross=nothing)
    best.best()
    found, starts = sample_posterior(task, best, 60)
    known = task.knowledge
    dags = [dag for dag in all_dags(4) if not (dag & known.forbidden).any() and (dag >= known.required).all()]
    exact = exact_types(best.model, dags, known.forbidden.T & ~known.forbidden)
    # 60 chains of 100 graphs each: were they independent, the error of a half would be 0.0065.
    np.testing.assert_allclose(found.sampled, exact, atol=0.04)
    assert not found.subsampled
    assert len(starts) == found.n_chains == 60
    if stated:
        assert found.types[FORWARD, found.names.index("x2"), found.names.index("x1")] == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_parts_of_the_rows_make_them_less_certain_and_not_different(seed):
    values = weak(seed, n=150)
    whole, parts = (
        sample_posterior(*task_of(values, subsampled=subsampled), 16)[0] for subsampled in (False, True)
    )
    assert parts.subsampled
    assert np.abs(whole.types - parts.types).max() < 0.5
    assert np.abs(whole.types - parts.types).mean() < 0.1


def test_the_work_of_a_chain_does_not_carry_the_table(monkeypatch):
    """It is sent to clusters: sums over parts of the rows, whose size does not grow with the rows."""
    sizes = []

    def measured(work, items, *, shared, **options):
        sizes.append(len(pickle.dumps(shared)))
        return as_done(work, items, shared=shared, **options)

    monkeypatch.setattr(posterior, "as_done", measured)
    for n in (500, 20_000):
        sample_posterior(*task_of(weak(0, n=n)), 1)
    few, many = sizes
    assert abs(many - few) < 80_000  # a product more or less may be kept
    assert many < 20_000 * 4 * 8  # what the table has


@pytest.mark.parametrize("subsampled", [True, False])
def test_chains_do_not_write_to_shared_arrays(monkeypatch, subsampled):
    """Processes of Ray receive read-only arrays, and threads share them."""
    expected, _ = sample_posterior(*task_of(weak(0), subsampled=subsampled), 2)

    def read_only(work, items, *, shared, **options):
        sent = pickle.loads(pickle.dumps(shared.value()))
        for array in [*sent.model, sent.order, sent.oriented]:
            if isinstance(array, np.ndarray):
                array.setflags(write=False)
        return as_done(work, items, shared=Shared(sent), **options)

    monkeypatch.setattr(posterior, "as_done", read_only)
    found, _ = sample_posterior(*task_of(weak(0), subsampled=subsampled), 2)
    np.testing.assert_array_equal(found.types, expected.types)


def test_they_are_probabilities_that_agree_in_both_orders_of_a_pair():
    found, starts = sample_posterior(*task_of(weak(0)), 4)
    np.testing.assert_allclose(found.types.sum(axis=0), 1.0)
    np.testing.assert_allclose(found.types[0], found.types[1].T)
    np.testing.assert_allclose(found.types[2:], found.types[2:].transpose(0, 2, 1))
    assert (found.types >= 0).all()
    assert (found.types[ABSENT].diagonal() == 1).all()
    assert 0 <= found.drift <= 1
    assert all(dag.dtype == np.int8 for dag in starts)


def test_the_frame_has_a_row_for_each_pair_in_the_order_asked_for():
    found, _ = sample_posterior(*task_of(weak(0)), 2)
    frame = found.to_frame(["x3", "x0", "x1", "x2"])
    pairs = list(zip(frame["first"], frame["second"], strict=True))
    assert pairs == [
        ("x3", "x0"),
        ("x3", "x1"),
        ("x3", "x2"),
        ("x0", "x1"),
        ("x0", "x2"),
        ("x1", "x2"),
    ]
    three, zero = found.names.index("x3"), found.names.index("x0")
    row = frame.loc[0, ["forward", "backward", "undirected", "absent"]]
    np.testing.assert_array_equal(row.to_numpy(dtype=float), found.types[:, three, zero])
    assert found.types[0, three, zero] == found.types[1, zero, three]


def test_graphs_never_join_what_was_separated_but_tests_can_be_wrong():
    task, best = task_of(weak(1))
    best.best()
    best.forbid([(0, 2)])
    found, starts = sample_posterior(task, best, 4)
    assert found.sampled[ABSENT, 0, 2] == found.sampled[ABSENT, 2, 0] == 1
    np.testing.assert_allclose(found.types[:3, 0, 2], found.types[0, 0, 2])
    assert 0.1 < 1 - found.types[ABSENT, 0, 2] < 0.7
    assert not any(dag[0, 2] or dag[2, 0] for dag in starts)


def test_an_edge_without_others_beside_it_has_no_direction():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    values = np.column_stack([x, x + rng.standard_normal(300), rng.standard_normal((300, 2))])
    separate = [("x0", "x2"), ("x0", "x3"), ("x1", "x2"), ("x1", "x3")]
    found, _ = sample_posterior(*task_of(values, no_edge=separate), 4)
    one, other = found.names.index("x0"), found.names.index("x1")
    shares = [types[:3, one, other] / types[:3, one, other].sum() for types in (found.types, found.sampled)]
    np.testing.assert_allclose(*shares)
    assert found.types[2, one, other] > 0.98


def test_where_no_edge_is_possible_none_is_probable():
    pairs = [(f"x{i}", f"x{j}") for i in range(4) for j in range(i)]
    found, _ = sample_posterior(*task_of(weak(0), no_edge=pairs), 2)
    assert (found.types[ABSENT] == 1).all()
    assert found.drift == 0


# --- the prior and the pairs of steps --------------------------------------------------------------------


@pytest.mark.parametrize(("n_edges", "n_shared"), [(0, 0), (1, 0), (3, 1), (6, 3), (10, 6)])
def test_the_prior_is_an_integral_over_shares(n_edges, n_shared):
    joined, _ = quad(lambda s: s**n_edges * (1 - s) ** (10 - n_edges), 0, 1)
    shared, _ = quad(lambda s: s**n_shared * (1 - s) ** (n_edges - n_shared), 0, 0.5)
    table = posterior._log_prior(5, 0)
    assert table.shape == (11, 11)
    assert table[n_edges, n_shared] == pytest.approx(np.log(joined) + np.log(shared), rel=1e-6)


def test_the_prior_has_room_for_the_graph_that_a_chain_starts_from():
    """Of 60 variables with 1,000 edges, more than a sparse graph has."""
    table = posterior._log_prior(60, 1000)
    assert len(table) > 1001
    assert np.isfinite(table[1000, 941])
    np.testing.assert_array_equal(table[:300, :300], posterior._log_prior(60, 0)[:300, :300])
    assert len(posterior._log_prior(4, 6)) == 7  # there are only six pairs


@pytest.mark.parametrize("d", [2, 12, 15])
def test_steps_concern_all_pairs_of_few_variables_and_else_those_that_matter(d):
    rng = np.random.default_rng(d)
    dag = random_dag(d, rng, 0.15).astype(np.int8)
    task, best = task_of(linear(dag, 0, n=300), forbidden=[("x0", "x1")], no_edge=[("x0", f"x{d - 1}")])
    model = best.model
    pairs = posterior._pairs_of_steps(model, dag * model.allowed, np.zeros((d, d), bool))
    chosen = {(int(a), int(b)) for a, b in pairs}
    assert len(chosen) == len(pairs)
    assert pairs.flags.c_contiguous  # like a single pair: one layout, so that the chain is compiled once
    assert all(a < b for a, b in chosen)
    last = task.names.index(f"x{d - 1}")
    assert tuple(sorted((task.names.index("x0"), last))) not in chosen
    if d <= 12:
        assert len(chosen) == d * (d - 1) // 2 - 1
    else:
        assert len(chosen) < d * (d - 1) // 2 - 1
        joined = np.argwhere(dag * model.allowed)
        assert all((min(a, b), max(a, b)) in chosen for a, b in joined.tolist())


# --- the graph of least expected error -------------------------------------------------------------------


def random_posterior(n, rng, allowed, required):
    """The types of some random graphs that respect what is known, and these graphs."""
    graphs = []
    while len(graphs) < 4:
        dag = random_dag(n, rng, 0.5) & allowed | required
        if np.linalg.matrix_power(np.eye(n) + dag, n).diagonal().max() == 1:
            graphs.append(dag)
    oriented = allowed & ~allowed.T
    weights = rng.dirichlet(np.ones(4))
    types = sum(
        weight * np.array([class_types(dag, oriented) == one for one in range(4)])
        for weight, dag in zip(weights, graphs, strict=True)
    )
    return types, [dag.astype(np.int8) for dag in graphs]


def asked(**stated):
    """The arguments of `least_error_dag` from a model and a task."""
    known = bind_knowledge(Knowledge(**stated) if stated else None, NAMES)
    allowed = ~known.forbidden & ~np.eye(4, dtype=bool)
    return SimpleNamespace(allowed=allowed), SimpleNamespace(knowledge=known)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "stated",
    [{}, {"required": [("b", "a")], "no_edge": [("c", "d")]}, {"roots": ["d"], "forbidden": [("a", "c")]}],
)
def test_it_is_nearly_always_the_best_graph_and_never_worse_than_its_starts(seed, stated):
    """A local search from the best start; only that it never ends above that start is guaranteed."""
    rng = np.random.default_rng(seed)
    model, task = asked(**stated)
    known, oriented = task.knowledge, posterior.oriented(task)
    dags = [dag for dag in all_dags(4) if (dag <= model.allowed).all() and (dag >= known.required).all()]
    best = 0
    for _ in range(12):
        types, starts = random_posterior(4, rng, model.allowed, known.required)
        found = least_error_dag(types, starts, model, task)
        assert found.dtype == np.int8
        assert (found <= model.allowed).all()
        assert (found >= known.required).all()
        loss = loss_of(found.astype(bool), 1.0 - types, oriented)
        assert loss <= min(loss_of(dag.astype(bool), 1.0 - types, oriented) for dag in starts) + 1e-9
        least = min(loss_of(dag, 1.0 - types, oriented) for dag in dags)
        assert loss >= least - 1e-9
        best += loss < least + 1e-8
    assert best >= 8


def certain(cpdag_of, n=4):
    types = class_types(cpdag_of, np.zeros((n, n), dtype=bool))
    return np.array([types == one for one in range(4)], dtype=float)


def test_a_confirmed_graph_is_left_only_where_the_posterior_is_clear():
    chain = np.zeros((4, 4), dtype=bool)
    chain[0, 1] = chain[1, 2] = True
    collider = np.zeros((4, 4), dtype=bool)
    collider[0, 1] = collider[2, 1] = True
    model, task = asked()
    traits = Traits(0.3, 0.0, 0.0, 0.0)
    for share, expected in ((0.6, chain), (0.95, collider)):
        types = share * certain(collider) + (1 - share) * certain(chain)
        sampled = Posterior(("a", "b", "c", "d"), types, types, traits, 0.0, 1, True)
        counted = types_with_best_graph(sampled, chain.astype(np.int8), task)
        np.testing.assert_allclose(counted.sum(axis=0), 1.0)
        found = least_error_dag(counted, [chain.astype(np.int8), collider.astype(np.int8)], model, task)
        np.testing.assert_array_equal(certain(found.astype(bool)), certain(expected))


def test_of_a_certain_posterior_it_is_that_graph():
    for dag in all_dags(4)[::20]:
        found = least_error_dag(certain(dag), [dag.astype(np.int8)], *asked())
        np.testing.assert_array_equal(certain(found.astype(bool)), certain(dag))


def test_an_edge_that_no_graph_of_the_posterior_has_is_left_out():
    """Also if all graphs to start from have it."""
    truth, start = np.zeros((2, 4, 4), dtype=bool)
    truth[0, 1] = start[0, 1] = start[2, 3] = True
    found = least_error_dag(certain(truth), [start.astype(np.int8)], *asked())
    assert (found | found.T).sum() == 2
    assert found[0, 1] or found[1, 0]


def test_pairs_that_became_forbidden_are_taken_out_of_the_starts():
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    model, task = asked()
    model.allowed[0, 1] = model.allowed[1, 0] = False
    found = least_error_dag(certain(dag), [dag.astype(np.int8)], model, task)
    assert not found[0, 1]
    assert not found[1, 0]
    assert found[1, 2] or found[2, 1]
