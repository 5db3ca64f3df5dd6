"""The chain over DAGs, against the distribution that enumerating all DAGs gives."""

from itertools import combinations

import numpy as np
import pytest
from support.brute_force import all_dags, random_dag
from support.score_models import best_form as best_of_all_forms
from support.score_models import counted_model, model_of, score_of

from dcd.graph.probabilities import ABSENT, FORWARD
from dcd.search.graph_chain import Plan, chain_state, partner_scores, preferred_curves, run_chain
from dcd.search.graph_class import class_types

N_CHAINS, N_STEPS, N_KEPT = 24, 4_000, 1_000


def linear_values(seed, d, n=40):
    """Weak linear relations of few rows, so that many graphs are probable."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, d))
    for v in range(1, d):
        values[:, v] += 0.5 * values[:, v - 1] * rng.choice([-1, 1])
    values[:, -1] += 0.3 * values[:, 0] * (d > 2)
    return values


def curved_values(seed, d, n=90):
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, d))
    for v in range(1, d):
        values[:, v] += np.square(values[:, v - 1])
    return values


def free_pairs(d):
    return np.array(list(combinations(range(d), 2)), dtype=np.int64).reshape(-1, 2)


def random_prior(d, rng):
    """Any function of the numbers of edges and of parents beyond the first."""
    size = d * (d - 1) // 2 + 1
    return rng.uniform(-2.0, 0.0, (size, size)) - 0.5 * np.arange(size)[:, None]


def started(model, curves, dag, log_prior, temper):
    """A chain without steps: its families are scored by the code of all chains."""
    state, nowhere = chain_state(dag), np.zeros(dag.shape, dtype=bool)
    plan = Plan(curves, free_pairs(1), log_prior, nowhere, temper)
    run_chain(model, state, plan, 0, 1, np.random.default_rng(0))
    return state


def log_probability(model, curves, dag, log_prior, temper):
    """Of a DAG, up to a constant; written from the definition."""
    total = started(model, curves, dag, log_prior, temper).scores.sum()
    n_parents = dag.sum(axis=0)
    return total / temper + log_prior[n_parents.sum(), np.maximum(n_parents - 1, 0).sum()]


def exact_types(model, dags, log_prior, temper, oriented):
    """(4, d, d) the probability of each type of each pair, over these DAGs."""
    curves = preferred_curves(model)
    logs = np.array([log_probability(model, curves, dag, log_prior, temper) for dag in dags])
    types = np.array([class_types(dag, oriented) for dag in dags])
    weights = np.exp(logs - logs.max())
    return (
        np.array([(weights @ (types == one).reshape(len(dags), -1)) for one in range(4)]).reshape(
            4, *dags[0].shape
        )
        / weights.sum()
    )


def chain_types(model, start, log_prior, temper, oriented, seed, pairs=None):
    """(k, 4, d, d) the frequencies in each of k chains."""
    curves = preferred_curves(model)
    pairs = free_pairs(len(start)) if pairs is None else pairs
    found = []
    for index in range(N_CHAINS):
        rng = np.random.default_rng([seed, index])
        state = chain_state(start)
        plan = Plan(curves, pairs, log_prior, oriented, temper)
        counts = run_chain(model, state, plan, N_STEPS, N_KEPT, rng)
        found.append(counts.sum(axis=0) / counts.sum(axis=(0, 1)))
    return np.array(found)


def assert_same_distribution(frequencies, exact):
    """Up to five standard errors, by the differences between chains."""
    error = frequencies.std(axis=0, ddof=1) / np.sqrt(len(frequencies))
    assert error.max() < 0.02  # so that the comparison is meaningful
    # A type that no chain has seen may have a probability of some per mille.
    assert (np.abs(frequencies.mean(axis=0) - exact) < 5.0 * error + 0.002).all()


def assert_exact(model, dags, log_prior, temper, seed, *, start=None, oriented=None, pairs=None):
    d = len(dags[0])
    oriented = np.zeros((d, d), dtype=bool) if oriented is None else oriented
    start = np.zeros((d, d), dtype=np.int8) if start is None else start
    exact = exact_types(model, dags, log_prior, temper, oriented)
    assert_same_distribution(chain_types(model, start, log_prior, temper, oriented, seed, pairs), exact)
    return exact


# --- the stationary distribution -------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("d", [2, 3, 4])
def test_linear_tables(d, seed):
    rng = np.random.default_rng(seed)
    model = model_of(linear_values(seed, d))._replace(edge_price=1.0)
    assert_exact(model, all_dags(d), random_prior(d, rng), 1.5, seed)


@pytest.mark.parametrize("temper", [1.0, 3.0])
def test_any_temper(temper):
    model = model_of(linear_values(5, 3))._replace(edge_price=0.5)
    assert_exact(model, all_dags(3), np.zeros((4, 4)), temper, 7)


@pytest.mark.parametrize("seed", [0, 1, 100, 107])
def test_curved_tables(seed):
    """For squares, the best form of a single parent may be far from the best of two parents."""
    model = model_of(curved_values(seed, 3))._replace(edge_price=1.0)
    assert model.may_curve.any()
    assert_exact(model, all_dags(3), np.zeros((4, 4)), 4.0, seed)


def test_tables_of_categories():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, (60, 3))
    codes[:, 2] = np.where(rng.random(60) < 0.4, codes[:, 0], codes[:, 2])
    assert_exact(counted_model(codes)._replace(edge_price=1.0), all_dags(3), np.zeros((4, 4)), 2.0, 0)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("d", [3, 4])
def test_what_is_required_and_forbidden_holds_throughout(d, seed):
    """0 -> 1 is required; the last variable is not a cause; an arrow 2 -> 0 is not allowed."""
    required, allowed = np.zeros((2, d, d), dtype=bool)
    required[0, 1] = True
    allowed[:] = ~np.eye(d, dtype=bool)
    allowed[1, 0] = allowed[2, 0] = False
    allowed[-1, :] = False
    oriented = ~allowed.T & allowed
    model = model_of(linear_values(seed, d), allowed, required)._replace(edge_price=1.0)
    dags = [dag for dag in all_dags(d) if (dag <= allowed).all() and (dag >= required).all()]
    exact = assert_exact(
        model, dags, np.zeros((7, 7)), 1.5, seed, start=required.astype(np.int8), oriented=oriented
    )
    assert exact[FORWARD, 0, 1] == pytest.approx(1.0)


def test_pairs_that_steps_do_not_concern_are_not_joined():
    model = model_of(linear_values(1, 4))._replace(edge_price=1.0)
    pairs = free_pairs(4)[[0, 2, 3, 5]]
    joinable = np.zeros((4, 4), dtype=bool)
    joinable[pairs[:, 0], pairs[:, 1]] = True
    joinable |= joinable.T
    dags = [dag for dag in all_dags(4) if (dag <= joinable).all()]
    assert_exact(model, dags, np.zeros((7, 7)), 1.5, 0, pairs=pairs)


def test_a_prior_without_room_for_more_edges_limits_them():
    model = model_of(linear_values(2, 4))._replace(edge_price=0.0)
    dags = [dag for dag in all_dags(4) if dag.sum() <= 2]
    assert_exact(model, dags, np.zeros((3, 3)), 1.5, 0)


def test_it_does_not_depend_on_where_it_starts():
    model = model_of(linear_values(3, 4))._replace(edge_price=1.0)
    full = np.triu(np.ones((4, 4), dtype=np.int8), k=1)
    assert_exact(model, all_dags(4), np.zeros((7, 7)), 1.5, 0, start=full)
    assert_exact(model, all_dags(4), np.zeros((7, 7)), 1.5, 1, start=full[::-1, ::-1].copy())


# --- its parts -------------------------------------------------------------------------------------------


def run(seed, d=5, n_steps=3_000):
    rng = np.random.default_rng(seed)
    model = model_of(curved_values(seed, d))
    state, curves, log_prior = chain_state(random_dag(d, rng)), preferred_curves(model), random_prior(d, rng)
    plan = Plan(curves, free_pairs(d), log_prior, np.zeros((d, d), bool), 1.5)
    counts = run_chain(model, state, plan, n_steps, 100, rng)
    return model, state, curves, log_prior, counts


@pytest.mark.parametrize("seed", range(3))
def test_at_the_end_all_that_is_kept_belongs_to_the_graph(seed):
    _, state, _, log_prior, counts = run(seed)
    n_parents = state.dag.sum(axis=0)
    assert np.linalg.matrix_power(np.eye(5) + state.dag, 5).diagonal().max() == 1
    np.testing.assert_array_equal(state.n_parents, n_parents)
    assert state.counts.tolist() == [n_parents.sum(), np.maximum(n_parents - 1, 0).sum()]
    assert state.totals[0] == pytest.approx(state.scores.sum() / 1.5 + log_prior[tuple(state.counts)])
    assert counts.shape == (2, 4, 5, 5)
    np.testing.assert_array_equal(counts.sum(axis=1), 50.0)  # graphs of each half
    np.testing.assert_array_equal(counts[:, 0], counts[:, 1].transpose(0, 2, 1))
    np.testing.assert_array_equal(counts[:, 2:], counts[:, 2:].transpose(0, 1, 3, 2))


@pytest.mark.parametrize("seed", range(3))
def test_scores_that_were_kept_are_those_that_are_made_anew(seed):
    """A chain that begins at the last graph of another has the same total."""
    model, state, curves, log_prior, _ = run(seed)
    again = started(model, curves, state.dag.astype(np.int8), log_prior, 1.5)
    np.testing.assert_allclose(again.scores, state.scores, atol=1e-9)
    assert again.totals[0] == pytest.approx(state.totals[0])


def test_the_same_seed_gives_the_same_chain():
    np.testing.assert_array_equal(run(4)[-1], run(4)[-1])


@pytest.mark.parametrize("seed", range(3))
def test_a_family_is_scored_in_a_form_that_it_can_have(seed):
    """Between the score with the best separate forms and that of the best of all forms."""
    model = model_of(curved_values(seed, 4, n=200))
    curves = preferred_curves(model)
    reached = []
    for child in range(4):
        others = [v for v in range(4) if v != child]
        for size in range(4):
            for members in combinations(others, size):
                forms = [bool(curves[u, child]) for u in members]
                least = score_of(model, child, list(members), forms)
                dag = np.zeros((4, 4), dtype=np.int8)
                dag[list(members), child] = 1
                score = started(model, curves, dag, np.zeros((7, 7)), 1.0).scores[child]
                most = best_of_all_forms(model, child, list(members))
                assert least - 1e-9 <= score <= most + 1e-9
                reached.append(score > most - 1e-6)
                if size == 1:
                    assert score == pytest.approx(most)
    assert np.mean(reached) > 0.8


def test_without_pairs_nothing_is_joined():
    model = model_of(linear_values(0, 3))
    plan = Plan(preferred_curves(model), free_pairs(1), np.zeros((4, 4)), np.zeros((3, 3), bool), 1.5)
    counts = run_chain(model, chain_state(np.zeros((3, 3), np.int8)), plan, 0, 100, np.random.default_rng(0))
    assert (counts[:, ABSENT] == 1).all()
    assert (counts[:, :ABSENT] == 0).all()


def test_gains_by_another_parent_are_scores_of_families():
    model = model_of(linear_values(1, 4), allowed=np.arange(4)[:, None] != 3)
    dag = np.zeros((4, 4), dtype=bool)
    dag[0, 1] = dag[1, 2] = True
    further, alone = partner_scores(model, dag, preferred_curves(model))
    assert further[2, 1] == pytest.approx(score_of(model, 1, [0, 2]))
    assert further[0, 3] == pytest.approx(score_of(model, 3, [0]))
    assert alone[2, 1] == pytest.approx(score_of(model, 1, [2]))
    assert further[0, 1] == -np.inf  # it is already a parent
    assert alone[0, 1] == pytest.approx(score_of(model, 1, [0]))
    assert (np.diag(alone) == -np.inf).all()
    assert (further[3] == -np.inf).all()
    assert (alone[3] == -np.inf).all()
