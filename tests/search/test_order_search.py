"""The search over orders, against all graphs on a few variables."""

import ctypes

import numpy as np
import pytest
from support.brute_force import NAMES, any_knowledge
from support.known_graphs import all_dags, random_dag
from support.score_models import best_total, counted_model, model_of, score_of, total_of_dag
from support.tables import linear

from dcd.graph.adjacency import is_acyclic
from dcd.search.family_score import native_model
from dcd.search.native import library, pointer
from dcd.search.order_search import OrderSearch, dag_of, empty_memo, native_memo, native_states, state_of


def some_values(seed, d=4, n=200):
    """Random graphs with lines and curves, and a product."""
    rng = np.random.default_rng(seed)
    values = linear(random_dag(d, rng), seed, n=n, weight=0.6)
    if seed % 2:
        values[:, 0] += 0.5 * np.square(values[:, 1]) + 0.5 * values[:, 2] * values[:, 3]
    return values


def some_categories(seed, d=4, n=300):
    return (some_values(seed, d, n) > 0).astype(np.int64)


def searched(model, seed=0, restarts=5):
    """The score of the best order that a search finds, and its graph."""
    search = OrderSearch(len(model.allowed), model.required, np.random.default_rng(seed))
    total = search.run(model, restarts)
    dag = dag_of(search.families)
    assert total == pytest.approx(search.families.scores.sum())
    return total, dag


def test_the_best_last_variable_of_every_set_makes_the_best_of_all_graphs():
    """The witness of the tests below, against all 543 graphs on 4 variables."""
    for model in (model_of(some_values(1)), counted_model(some_categories(0))):
        everything = max(total_of_dag(model, dag) for dag in all_dags(4))
        assert best_total(model) == pytest.approx(everything)


@pytest.mark.parametrize("d", [4, 5])
@pytest.mark.parametrize(
    "make",
    [lambda *args: model_of(some_values(*args)), lambda *args: counted_model(some_categories(*args))],
    ids=["numbers", "categories"],
)
def test_it_finds_the_best_of_all_graphs(make, d):
    """Growing and shrinking may occasionally miss a family."""
    missed = 0
    for seed in range(16 if d == 4 else 8):
        model = make(seed, d)
        best, (found, dag) = best_total(model), searched(model)
        assert found <= best + 1e-6
        assert found <= total_of_dag(model, dag) + 1e-6
        missed += found < best - 1e-6
    assert missed <= 1


def test_a_price_of_colliders_is_part_of_what_is_best():
    for seed in range(6):
        model = model_of(some_values(seed))._replace(collider_price=4.0)
        assert searched(model)[0] == pytest.approx(best_total(model), abs=1e-6)


def test_the_same_seed_takes_the_same_way():
    model = model_of(some_values(3, d=8))
    first, second = searched(model, seed=4, restarts=1), searched(model, seed=4, restarts=1)
    assert first[0] == second[0]
    np.testing.assert_array_equal(first[1], second[1])


def test_more_restarts_never_make_it_worse():
    for seed in range(4):
        model = model_of(some_values(seed, d=8))
        totals = [searched(model, restarts=restarts)[0] for restarts in (0, 2, 6)]
        assert totals == sorted(totals)


@pytest.mark.parametrize("seed", range(3))
def test_what_is_known_is_always_respected(seed):
    """Random statements, mostly contrary to the data."""
    rng = np.random.default_rng(seed)
    values = some_values(seed, d=6)
    for _ in range(12):
        known = any_knowledge(6, rng).bind(NAMES[:6])
        model = model_of(values, ~known.forbidden, known.required)
        _, dag = searched(model, seed=int(rng.integers(100)), restarts=1)
        assert is_acyclic(dag)
        assert not (dag & known.forbidden).any()
        assert dag[known.required].all()


def test_within_what_is_known_it_finds_the_best_too():
    rng = np.random.default_rng(0)
    missed = 0
    for seed in range(10):
        known = any_knowledge(4, rng).bind(NAMES[:4])
        model = model_of(some_values(seed), ~known.forbidden, known.required)
        best, (found, _) = best_total(model), searched(model)
        assert found <= best + 1e-5
        missed += found < best - 1e-5
    assert missed <= 1


def changed(function, model, states, memo, positions):
    """States after some moves in compiled code; the first is the present one."""
    steps, total = np.array(positions, dtype=np.int64), ctypes.c_double()
    arguments = ctypes.byref(native_model(model)), native_states(states), ctypes.byref(native_memo(memo))
    assert not function(*arguments, pointer(steps, np.int64), len(steps), ctypes.byref(total))
    return states, total.value


def grow(model, order, memo):
    """The families of an order: a climb without moves."""
    return changed(library().climb, model, [state_of(order) for _ in range(3)], memo, [])[0]


@pytest.mark.parametrize("counted", [False, True])
def test_exchanges_keep_scores_that_are_those_of_the_families(counted):
    """After any exchanges in an order: the scores from scratch, parents before children, about as good."""
    behind = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        model = counted_model(some_categories(seed, 6)) if counted else model_of(some_values(seed, 6))
        order, memo = rng.permutation(6), empty_memo(6)
        states = grow(model, order, memo)
        before = states[0].scores.sum()
        (families, *_), change = changed(
            library().exchange_neighbours, model, states, memo, rng.integers(5, size=30)
        )
        assert families.scores.sum() - before == pytest.approx(change, abs=1e-7)
        order = families.order
        place = np.argsort(order)
        for child in range(6):
            count = families.n_parents[child]
            parents, curved = families.parents[child, :count], families.curved[child, :count]
            assert (place[parents] < place[child]).all()
            anew = score_of(model, child, parents, curved, crossed=int(families.crossed[child]))
            assert families.scores[child] == pytest.approx(anew, abs=1e-7)
        fresh, *_ = grow(model, order, empty_memo(6))
        behind.append(fresh.scores.sum() - families.scores.sum())
    assert np.median(np.abs(behind)) < 1e-6
    assert max(behind) < 5.0


@pytest.mark.parametrize("seed", range(3))
def test_families_remembered_from_earlier_runs_are_those_of_the_model(seed):
    """Runs at other prices, with other allowed arrows and unwanted pairs, share their cache."""
    values, rng = some_values(seed, d=6), np.random.default_rng(seed)
    model = model_of(values)
    search = OrderSearch(6, model.required, np.random.default_rng(seed))
    for price in (8.0, 0.0, 8.0, 2.0, 0.0):
        allowed = rng.random((6, 6)) < 0.8
        unwanted = np.full((6, 1, 2), -1)
        unwanted[rng.integers(6), 0] = rng.permutation(6)[:2]
        changed = model._replace(collider_price=price, allowed=allowed & model.allowed, unwanted=unwanted)
        total, families = search.run(changed, 1), search.families
        dag = dag_of(families)
        assert is_acyclic(dag)
        assert not dag[~changed.allowed].any()
        for child in range(6):
            count = families.n_parents[child]
            forms = families.curved[child, :count]
            anew = score_of(
                changed, child, families.parents[child, :count], forms, crossed=int(families.crossed[child])
            )
            assert families.scores[child] == pytest.approx(anew, abs=1e-7)
        assert total == pytest.approx(families.scores.sum())


@pytest.mark.parametrize("n", [1, 2])
def test_one_and_two_variables(n):
    values = np.random.default_rng(0).standard_normal((200, n))
    total, dag = searched(model_of(values))
    assert (total, dag.sum()) == (0.0, 0)
    if n == 2:
        values[:, 1] += values[:, 0]
        assert searched(model_of(values))[1].sum() == 1
