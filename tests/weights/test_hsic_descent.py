import numpy as np
import pytest
from causallearn.utils.KCI.KCI import KCI_UInd
from scipy.optimize import approx_fprime
from sklearn.metrics.pairwise import rbf_kernel
from threadpoolctl import threadpool_limits

import dcd
from dcd.features.kernels import kernel_features, median_bandwidth, rbf_features
from dcd.runtime.rows import effective_sample_size
from dcd.weights.descent import DirectDescent, softmax
from dcd.weights.hsic_descent import HSICDescent, descend, learn_weights
from dcd.weights.objective import DenseObjective, LowRankObjective, choose_objective, pairwise_hsic

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
SEEDS = range(4)
OBJECTIVES = [DenseObjective, LowRankObjective]


def correlated_table(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, d)) + 1.2 * rng.standard_normal((n, 1))


def exact_features(table):
    """Features to machine precision, so that comparison with explicit sums tests only the formula."""
    return [rbf_features(column, median_bandwidth(column), 1e-15) for column in table.T]


def kernels_of(table):
    return [rbf_kernel(x[:, None], gamma=0.5 / median_bandwidth(x) ** 2) for x in table.T]


def hsic_by_explicit_sums(left, right, p):
    """sum_kl p_k p_l A_kl B_kl + sum_klqr p_k p_l p_q p_r A_kl B_qr - 2 sum_klq p_k p_l p_q A_kl B_kq."""
    n = range(len(p))
    joint = sum(p[k] * p[m] * left[k, m] * right[k, m] for k in n for m in n)
    apart = sum(p[k] * p[m] * left[k, m] for k in n for m in n) * sum(
        p[k] * p[m] * right[k, m] for k in n for m in n
    )
    mixed = sum(p[k] * p[m] * p[q] * left[k, m] * right[k, q] for k in n for m in n for q in n)
    return joint + apart - 2 * mixed


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_equals_the_definition(seed):
    table = correlated_table(12, 3, seed)
    p = softmax(np.random.default_rng(seed).standard_normal(12))
    kernels, features = kernels_of(table), exact_features(table)
    pairs = np.array([[hsic_by_explicit_sums(a, b, p) for b in kernels] for a in kernels])
    np.testing.assert_allclose(pairwise_hsic(features, p), pairs, rtol=0, atol=1e-10)
    loss = pairs.sum() - np.trace(pairs)
    for objective in OBJECTIVES:
        assert objective(features).value_and_gradient(p)[0] == pytest.approx(loss, abs=1e-10)


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_weights_give_the_usual_biased_hsic(seed):
    """Against causal-learn, whose statistic is the trace of the centred kernels' product, n² times ours."""
    table = correlated_table(80, 2, seed)
    trace, _, _ = KCI_UInd().HSIC_V_statistic(*kernels_of(table))
    ours = pairwise_hsic(exact_features(table), np.full(80, 1 / 80))[0, 1]
    assert ours == pytest.approx(trace / 80**2, abs=1e-12)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_equals_finite_differences(objective, seed):
    table = correlated_table(40, 4, seed)
    loss = objective(exact_features(table))
    theta = 0.3 * np.random.default_rng(seed).standard_normal(40)
    p = softmax(theta)
    gradient = loss.value_and_gradient(p)[1]
    by_theta = p * (gradient - p @ gradient)
    numeric = approx_fprime(theta, lambda t: loss.value_and_gradient(softmax(t))[0], 1e-6)
    np.testing.assert_allclose(by_theta, numeric, rtol=0, atol=1e-5 * np.abs(numeric).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_both_forms_learn_the_same_weights(seed):
    features = [kernel_features(column) for column in correlated_table(200, 5, seed).T]
    shares = np.full(200, 1 / 200)
    (dense, dense_path, _), (low_rank, low_rank_path, _) = (
        descend(DirectDescent(objective(features), np.zeros(200), 0.5, shares), 50, 0.0)
        for objective in (DenseObjective, LowRankObjective)
    )
    np.testing.assert_allclose(200 * dense, 200 * low_rank, rtol=0, atol=1e-6)
    np.testing.assert_allclose(dense_path, low_rank_path, rtol=1e-9)


@pytest.mark.parametrize("seed", SEEDS)
def test_variables_of_all_sizes_together(seed):
    """A truth value has 2 features, heavy tails have many; both forms agree with HSIC pair by pair."""
    rng = np.random.default_rng(seed)
    table = correlated_table(150, 4, seed)
    heavy = kernel_features(np.exp(2.0 * table[:, 0]))
    features = [
        kernel_features(table[:, 1]),
        heavy,
        kernel_features((table[:, 2] > 0).astype(float), "nominal"),
        kernel_features(table[:, 3]),
    ]
    p = softmax(rng.standard_normal(150))
    pairs = pairwise_hsic(features, p)
    dense, low_rank = (objective(features).value_and_gradient(p) for objective in OBJECTIVES)
    for value in (dense[0], low_rank[0]):
        assert value == pytest.approx(pairs.sum() - np.trace(pairs), rel=1e-9)
    by_theta = [p * (gradient - p @ gradient) for _, gradient in (dense, low_rank)]
    np.testing.assert_allclose(*by_theta, rtol=0, atol=1e-10 * np.abs(by_theta[0]).max())


def test_the_cheaper_form_is_chosen():
    few = [np.ones((800, 15)), np.ones((800, 15))]
    many = [np.ones((800, 20))] * 10
    long = [np.ones((10_000, 20))] * 3
    assert isinstance(choose_objective(few), LowRankObjective)
    assert isinstance(choose_objective(many), DenseObjective)
    assert isinstance(choose_objective(long), LowRankObjective)


@pytest.mark.parametrize("seed", SEEDS)
def test_result_keeps_its_constraints(seed):
    result = dcd.weights.decoupling_weights(correlated_table(150, 4, seed), min_ess=0.5)
    assert result.weights.min() >= 0
    assert result.weights.sum() == pytest.approx(150)
    assert result.ess == pytest.approx(effective_sample_size(result.weights))
    assert result.ess >= 0.5 * 150
    assert result.loss_path[-1] < result.loss_path[0]
    off_diagonal = ~np.eye(4, dtype=bool)
    assert result.hsic_before[off_diagonal].sum() == pytest.approx(result.loss_path[0], rel=1e-6)
    assert result.hsic_after[off_diagonal].sum() == pytest.approx(result.loss_path[-1], rel=1e-6)
    assert result.n_steps == len(result.loss_path) - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_weights_remove_dependence(seed):
    result = dcd.weights.decoupling_weights(correlated_table(400, 3, seed))
    assert result.hsic_after[0, 1] < 0.05 * result.hsic_before[0, 1]


def test_each_way_to_stop_is_told():
    table = correlated_table(200, 3, 0)
    assert dcd.weights.decoupling_weights(table, max_steps=5).status == "max_steps"
    assert dcd.weights.decoupling_weights(table, max_steps=5).n_steps == 5
    assert dcd.weights.decoupling_weights(table, min_ess=0.95).status == "ess_floor"


@pytest.mark.parametrize("seed", SEEDS)
def test_momentum_starts_afresh_when_the_loss_rises(seed):
    """Steps far too large: the loss rises at times, but decreases overall."""
    result = dcd.weights.decoupling_weights(
        correlated_table(200, 3, seed), learning_rate=100.0, min_ess=0.0, max_steps=200
    )
    assert (np.diff(result.loss_path) > 0).any()
    assert result.loss_path[-1] < 0.05 * result.loss_path[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_small_step_follows_the_natural_gradient(seed):
    """One step multiplies each weight by exp(-step (g - mean g)), with g by finite differences."""
    table = correlated_table(30, 3, seed)
    features = exact_features(table)
    objective = LowRankObjective(features)
    p = np.full(30, 1 / 30)
    descent = DirectDescent(objective, np.zeros(30), 0.1, p)
    descent.propose()
    descent.accept()
    by_theta = approx_fprime(np.zeros(30), lambda t: objective.value_and_gradient(softmax(t))[0], 1e-6)
    share = 1 + 1 / 4  # momentum of the first step
    np.testing.assert_allclose(
        descent.probabilities, softmax(-0.1 * share * 30 * by_theta), rtol=0, atol=1e-6
    )


@pytest.mark.parametrize("seed", SEEDS)
def test_a_weight_of_two_is_a_row_that_is_there_twice(seed):
    rng = np.random.default_rng(seed)
    table, counts = correlated_table(150, 4, seed), rng.integers(0, 4, 150)
    weighted = dcd.weights.decoupling_weights(table, sample_weight=counts)
    repeated = dcd.weights.decoupling_weights(np.repeat(table, counts, axis=0))
    of_copies = np.repeat(weighted.weights / np.maximum(counts, 1), counts)
    np.testing.assert_allclose(of_copies / of_copies.mean(), repeated.weights, rtol=0, atol=1e-8)
    assert weighted.status == repeated.status


def non_members(n, n_causes, seed):
    """Two effects of the same causes; the second is not in the boundary of the first."""
    rng = np.random.default_rng(seed)
    causes = rng.standard_normal((n, n_causes))
    other = causes.sum(axis=1) / np.sqrt(n_causes) + rng.standard_normal(n)
    target = 0.6 * causes.sum(axis=1) + rng.standard_normal(n)
    return np.column_stack([causes, other, target])


@pytest.mark.parametrize("n_causes", [2, 4])
def test_the_defaults_decouple_far_enough(n_causes):
    """A level of .05 over 40 tables: at most 6 false members; Adam with a tolerance had 24 or 40."""
    false = true = 0
    for seed in range(40):
        table = non_members(800, n_causes, 2000 + seed)
        model = dcd.MarkovBoundary(target=n_causes + 1, method="published").fit(table)
        false += model.support_[n_causes]
        true += model.support_[:n_causes].mean()
    assert false <= 6
    assert true >= 0.95 * 40


def test_one_variable_needs_no_weights():
    result = learn_weights([kernel_features(np.arange(20.0))], HSICDescent())
    assert result.status == "nothing_to_decouple"
    np.testing.assert_allclose(result.weights, 1)
    assert result.ess == pytest.approx(20)
    assert result.n_steps == 0


def test_the_start_is_random_only_on_request_and_matters_little():
    table = correlated_table(300, 3, 1)
    fixed = [dcd.weights.decoupling_weights(table, random_state=seed).weights for seed in (0, 1)]
    np.testing.assert_array_equal(*fixed)
    started = [dcd.weights.decoupling_weights(table, init_scale=0.1, random_state=seed) for seed in (0, 0, 1)]
    np.testing.assert_array_equal(started[0].weights, started[1].weights)
    assert not np.array_equal(started[0].weights, started[2].weights)
    assert np.corrcoef(started[0].weights, started[2].weights)[0, 1] > 0.9


def test_a_wild_start_keeps_the_floor():
    result = dcd.weights.decoupling_weights(correlated_table(60, 3, 0), init_scale=3.0, random_state=0)
    assert result.ess >= 0.1 * 60


def test_column_order_and_threads_do_not_matter():
    table = correlated_table(300, 5, 2)
    first = dcd.weights.decoupling_weights(table)
    order = [3, 0, 4, 2, 1]
    with threadpool_limits(1):
        other = dcd.weights.decoupling_weights(table[:, order])
    np.testing.assert_array_equal(first.weights, other.weights)
    np.testing.assert_array_equal(first.hsic_after[np.ix_(order, order)], other.hsic_after)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("learning_rate", 0), ("learning_rate", "fast"), ("max_steps", 0), ("max_steps", 1.5),
        ("max_steps", True), ("min_ess", 1.0), ("min_ess", -0.1), ("init_scale", -1),
        ("init_scale", np.nan),
    ],
)  # fmt: skip
def test_parameters_out_of_range_are_refused(parameter, value):
    with pytest.raises(dcd.InputError, match=f"parameter '{parameter}': must be .* Try {parameter}="):
        dcd.weights.decoupling_weights(correlated_table(20, 2, 0), **{parameter: value})
