import numpy as np
import pytest
from scipy.optimize import minimize

import dcd
from dcd.features.rank_scores import make_scores
from dcd.weights.convex import BalanceColumns, ConvexWeights, optimality_gap, solve


def dependent(seed, n=400, d=3):
    rng = np.random.default_rng(seed)
    common = rng.standard_normal(n)
    return np.column_stack([common + rng.standard_normal(n) for _ in range(d)])


@pytest.mark.parametrize("seed", range(5))
def test_weights_keep_their_constraints_and_decouple(seed):
    result = dcd.weights.convex_weights(dependent(seed))
    assert (result.weights >= 0).all()
    assert result.weights.sum() == pytest.approx(400)
    assert result.ess == pytest.approx(400**2 / np.square(result.weights).sum())
    assert result.ess >= 0.4 * 400
    assert result.status == "balanced"
    assert result.dependence <= 1 < 3 < result.dependence_before
    assert result.gap < 1e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ridge", [0.3, 30.0])
def test_the_solution_is_that_of_a_general_solver(seed, ridge):
    matrix = BalanceColumns.of(make_scores(dependent(seed, n=60, d=2)), [0, 1])
    ours, _ = solve(matrix, ridge, np.zeros(matrix.n_columns), np.full(60, 1 / 60))
    columns = matrix.part(slice(0, 60))

    def objective(p):
        return np.square(columns.T @ p).sum() + ridge * p @ p

    theirs = minimize(
        objective,
        np.full(60, 1 / 60),
        jac=lambda p: 2 * (columns @ (columns.T @ p) + ridge * p),
        bounds=[(0, 1)] * 60,
        constraints={"type": "eq", "fun": lambda p: p.sum() - 1, "jac": np.ones_like},
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-14},
    )
    assert objective(ours) <= objective(theirs.x) * (1 + 1e-6)
    np.testing.assert_allclose(ours, theirs.x, atol=2e-4)
    assert optimality_gap(matrix, ours, ridge, np.full(60, 1 / 60)) < 1e-8


def test_the_gap_bounds_the_distance_to_the_optimum():
    matrix = BalanceColumns.of(make_scores(dependent(0, n=80, d=2)), [0, 1])
    best, _ = solve(matrix, 1.0, np.zeros(matrix.n_columns), np.full(80, 1 / 80))
    columns = matrix.part(slice(0, 80))
    rng = np.random.default_rng(0)

    def objective(p):
        return np.square(columns.T @ p).sum() + p @ p

    for _ in range(20):
        p = 0.5 * best + 0.5 * rng.dirichlet(np.ones(80))
        excess = (objective(p) - objective(best)) / objective(p)
        assert 0 <= excess <= optimality_gap(matrix, p, 1.0, np.full(80, 1 / 80))


@pytest.mark.parametrize("seed", range(5))
def test_independent_variables_keep_almost_all_of_the_sample(seed):
    values = np.random.default_rng(seed).standard_normal((500, 3))
    assert dcd.weights.convex_weights(values).ess > 450


def test_the_floor_is_kept_used_and_told():
    n = 400
    common = np.random.default_rng(0).standard_normal(n)
    noise = np.random.default_rng(1).standard_normal((n, 3))
    result = dcd.weights.convex_weights(common[:, None] + 0.15 * noise, keep=0.5)
    assert result.status == "ess_floor"
    assert 0.5 * n <= result.ess < 0.7 * n
    assert result.dependence > 1


def test_less_is_asked_for_with_a_higher_dependence():
    values = dependent(2)
    strict, loose = dcd.weights.convex_weights(values), dcd.weights.convex_weights(values, dependence=5.0)
    assert loose.ess > strict.ess
    assert loose.dependence > strict.dependence


def test_one_variable_needs_no_weights():
    scores = make_scores(dependent(0))
    result = ConvexWeights().learn(scores, [1])
    assert result.status == "nothing_to_decouple"
    np.testing.assert_array_equal(result.weights, 1)


@pytest.mark.parametrize(("parameter", "value"), [("keep", 1.0), ("keep", -0.1), ("dependence", -1)])
def test_parameters_out_of_range_are_refused(parameter, value):
    with pytest.raises(dcd.InputError, match=parameter):
        dcd.weights.convex_weights(dependent(0), **{parameter: value})
