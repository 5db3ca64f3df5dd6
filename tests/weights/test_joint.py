import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import approx_fprime

import dcd
from dcd.features.kernels import median_bandwidth
from dcd.features.rank_scores import make_scores
from dcd.independence.weighted_correlation import weighted_association
from dcd.runtime.memory import Memory
from dcd.runtime.rows import effective_sample_size
from dcd.weights import HSICDescent
from dcd.weights.base import from_set
from dcd.weights.joint import learn_joint_weights, minimise
from dcd.weights.joint_objective import (
    CovarianceObjective,
    DenseJointObjective,
    DenseSetObjective,
    FrequencyObjective,
    Group,
    choose_joint_objective,
    products_of_others,
)

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
SEEDS = range(4)
FORMS = ["dense", "dense set", "low-rank", "frequencies"]


def shared_product(n, seed, effect=0.0):
    """x and y are both A·B with noise of their own; given A and B they are independent if effect is 0."""
    rng = np.random.default_rng(seed)
    a, b, e, f = rng.standard_normal((4, n))
    return np.column_stack([a * b + e, a, b]), a * b + effect * (a * b + e) + f


def softmax(theta):
    weights = np.exp(theta - theta.max())
    return weights / weights.sum()


def singles(table, nominal=()):
    return [
        Group(column[:, None], ("nominal" if at in nominal else "continuous",))
        for at, column in enumerate(table.T)
    ]


def one_and_set(table, nominal=()):
    kinds = tuple("nominal" if at in nominal else "continuous" for at in range(table.shape[1]))
    return [Group(table[:, :1], kinds[:1]), Group(table[:, 1:], kinds[1:], is_set=True)]


def objective_of(form, table, nominal=()):
    if form == "dense":
        return DenseJointObjective(singles(table, nominal))
    if form == "dense set":
        return DenseSetObjective(*one_and_set(table, nominal))
    if form == "low-rank":
        return CovarianceObjective(*one_and_set(table, nominal), Memory())
    return FrequencyObjective(singles(table, nominal), Memory(), 64)


def kernel_by_definition(column, *, rough=False, nominal=False):
    unit = median_bandwidth(column)
    kernel = np.empty((len(column), len(column)))
    for k, m in itertools.product(range(len(column)), repeat=2):
        apart = abs(column[k] - column[m]) / unit
        kernel[k, m] = float(apart == 0) if nominal else np.exp(-apart / 4 if rough else -(apart**2) / 2)
    return kernel


def dhsic_by_explicit_sums(kernels, p):
    """All sums of the definition, written out: joint + product of the marginals - 2 times their product."""
    n = range(len(p))
    joint = sum(p[k] * p[m] * np.prod([K[k, m] for K in kernels]) for k in n for m in n)
    apart = np.prod([sum(p[k] * p[m] * K[k, m] for k in n for m in n) for K in kernels])
    mixed = sum(p[k] * np.prod([sum(p[m] * K[k, m] for m in n) for K in kernels]) for k in n)
    return joint + apart - 2 * mixed


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_loss_equals_the_definition(seed):
    rng = np.random.default_rng(seed)
    table = np.column_stack(
        [rng.standard_normal((14, 3)) @ rng.standard_normal((3, 3)), rng.integers(0, 3, 14)]
    )
    p = softmax(rng.standard_normal(14))
    kernels = [kernel_by_definition(column, nominal=at == 3) for at, column in enumerate(table.T)]
    value = DenseJointObjective(singles(table, nominal=[3])).value_and_gradient(p)[0]
    assert value == pytest.approx(dhsic_by_explicit_sums(kernels, p), abs=1e-13)


@pytest.mark.parametrize("seed", SEEDS)
def test_loss_from_a_set_equals_the_definition(seed):
    """Against the HSIC of x and the product kernel of the set, by explicit sums; few rows have full rank."""
    rng = np.random.default_rng(seed)
    table = np.column_stack(
        [rng.standard_normal((14, 3)) @ rng.standard_normal((3, 3)), rng.integers(0, 3, 14)]
    )
    p = softmax(rng.standard_normal(14))
    one = kernel_by_definition(table[:, 0])
    others = kernel_by_definition(table[:, 1], rough=True) * kernel_by_definition(table[:, 2], rough=True)
    others *= kernel_by_definition(table[:, 3], nominal=True)
    expected = dhsic_by_explicit_sums([one, others], p)
    groups = one_and_set(table, nominal=[3])
    assert DenseJointObjective(groups).value_and_gradient(p)[0] == pytest.approx(expected, abs=1e-13)
    dense = DenseSetObjective(*groups)
    assert dense.value_and_gradient(p)[0] == pytest.approx(expected, rel=1e-5)
    assert dense.chance(p) == pytest.approx(DenseJointObjective(groups).chance(p), rel=1e-5)
    low_rank = CovarianceObjective(*groups, Memory())
    assert low_rank.value_and_gradient(p)[0] == pytest.approx(expected, rel=0.02)
    assert low_rank.chance(p) == pytest.approx(DenseJointObjective(groups).chance(p), rel=0.02)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", SEEDS)
def test_gradient_equals_finite_differences(form, seed):
    table = np.column_stack([shared_product(40, seed)[0], np.arange(40) % 3])
    loss = objective_of(form, table, nominal=[3])
    theta = 0.3 * np.random.default_rng(seed).standard_normal(40)
    p = softmax(theta)
    value, gradient = loss.value_and_gradient(p)
    assert value >= 0
    by_theta = p * (gradient - p @ gradient)
    # Waves, and the kernel of a set, are in single precision, so that smaller steps would show rounding.
    step = {"frequencies": 1e-2, "dense set": 1e-3}.get(form, 1e-6)
    numeric = approx_fprime(theta, lambda t: loss.value_and_gradient(softmax(t))[0], step)
    accuracy = {"frequencies": 2e-2, "dense set": 5e-3}.get(form, 1e-4)
    np.testing.assert_allclose(by_theta, numeric, rtol=0, atol=accuracy * np.abs(numeric).max())


@pytest.mark.parametrize("seed", SEEDS)
def test_two_variables_jointly_are_a_pair(seed):
    """dHSIC of two variables is HSIC, as in the published loss (which counts each pair twice)."""
    table = shared_product(200, seed)[0][:, :2]
    result = HSICDescent(objective="joint").learn(make_scores(table), [0, 1])
    pair = DenseJointObjective(singles(table))
    p = result.probabilities
    assert pair.value_and_gradient(p)[0] == pytest.approx(result.hsic_after[0, 1], abs=1e-9)
    assert pair.value_and_gradient(np.full(200, 1 / 200))[0] == pytest.approx(
        result.hsic_before[0, 1], abs=1e-9
    )


@pytest.mark.parametrize("m", [2, 3, 4])
def test_chance_is_the_mean_over_independent_variables(m):
    values = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        objective = DenseJointObjective(singles(rng.standard_normal((100, m))))
        p = softmax(0.5 * rng.standard_normal(100))
        values.append(objective.value_and_gradient(p)[0] / objective.chance(p))
    assert np.mean(values) == pytest.approx(1, abs=0.08)


def test_random_frequencies_estimate_the_exact_loss():
    table = shared_product(400, 0)[0]
    p = softmax(0.5 * np.random.default_rng(1).standard_normal(400))
    exact = DenseJointObjective(singles(table))
    estimate = FrequencyObjective(singles(table), Memory(), 4096)
    assert estimate.value_and_gradient(p)[0] == pytest.approx(exact.value_and_gradient(p)[0], rel=0.1)
    assert estimate.chance(p) == pytest.approx(exact.chance(p), rel=0.05)


def test_products_of_others_need_no_division():
    factors = np.array([[2.0, 0.0], [3.0, 5.0], [7.0, 0.0]])
    np.testing.assert_array_equal(products_of_others(factors), [[21, 0], [14, 0], [6, 0]])


def test_the_form_fits_rows_and_groups():
    few, many = np.zeros((10, 3)), np.arange(12_003.0).reshape(-1, 3)
    assert isinstance(choose_joint_objective(one_and_set(few + np.arange(10)[:, None])), DenseSetObjective)
    assert isinstance(choose_joint_objective(singles(few + np.arange(10)[:, None])), DenseJointObjective)
    assert isinstance(choose_joint_objective(one_and_set(many)), CovarianceObjective)
    assert isinstance(choose_joint_objective(singles(many)), FrequencyObjective)


# --- the weights -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("objective", ["joint", "from-set"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_result_keeps_its_constraints(objective, seed):
    table = shared_product(300, seed)[0]
    apart = {"apart": 0} if objective == "from-set" else {}
    result = dcd.weights.decoupling_weights(table, objective=objective, min_ess=0.3, **apart)
    assert result.weights.min() >= 0
    assert result.weights.sum() == pytest.approx(300)
    assert result.ess == pytest.approx(effective_sample_size(result.weights))
    assert result.ess >= 0.3 * 300
    assert result.dependence < 0.2 < 1 < result.dependence_before
    assert result.status == "converged"
    assert result.loss_path[-1] < result.loss_path[0] == pytest.approx(result.dependence_before)
    assert result.hsic_before.shape == result.hsic_after.shape == (3, 3)


@pytest.mark.parametrize("seed", SEEDS)
def test_equal_rows_as_one_take_the_same_steps(seed, monkeypatch):
    """Equal rows merged or separate: the same weights, equal for equal rows."""
    table = np.round(shared_product(300, seed)[0])
    merged = HSICDescent(objective="from-set").learn_apart(make_scores(table), 0, [1, 2])
    monkeypatch.setattr("dcd.weights.joint._FEW_REPEATED", 0.0)
    single = HSICDescent(objective="from-set").learn_apart(make_scores(table), 0, [1, 2])
    assert merged.dependence_before == pytest.approx(single.dependence_before, rel=1e-4)
    assert merged.ess == pytest.approx(single.ess, rel=0.02)
    assert np.abs(merged.probabilities - single.probabilities).sum() < 0.05
    groups = pd.DataFrame(table).groupby([0, 1, 2]).ngroup()
    assert np.ptp(merged.probabilities[groups == groups[0]]) < 1e-15


def test_a_floor_above_the_minimum_is_told():
    result = dcd.weights.decoupling_weights(
        shared_product(300, 0)[0], objective="from-set", apart=0, min_ess=0.9
    )
    assert result.ess >= 0.9 * 300
    assert result.status == "ess_floor"


@pytest.mark.parametrize("seed", SEEDS)
def test_independent_variables_keep_the_sample(seed):
    table = np.random.default_rng(seed).standard_normal((500, 3))
    result = dcd.weights.decoupling_weights(table, objective="from-set", apart=0)
    assert result.ess > 0.4 * 500  # the price of removing chance dependence as well
    assert result.dependence_before < 2


def test_no_other_weights_of_that_size_leave_less_dependence():
    """The minimum at a price: nearby weights with a larger sample have more dependence, and vice versa."""
    table = shared_product(200, 0)[0]
    objective, shares = DenseJointObjective(one_and_set(table)), np.full(200, 1 / 200)
    p, _, _ = minimise(objective, shares, price=15.0, min_ess=0.0)
    unit = objective.chance(shares)

    def total(q):
        return objective.value_and_gradient(q)[0] / unit + 15.0 * float(q @ q)

    rng = np.random.default_rng(0)
    for _ in range(50):
        other = p * np.exp(0.05 * rng.standard_normal(200))
        assert total(other / other.sum()) > total(p)
    assert total(0.99 * p + 0.01 * shares) > total(p) - 1e-4


def test_a_floor_out_of_reach_ends():
    """A variable that the set determines: no weights decouple it, and the floor is still respected."""
    a, b = np.random.default_rng(0).standard_normal((2, 200))
    result = dcd.weights.decoupling_weights(
        np.column_stack([a + b, a, b + 1e-3 * a**2]), objective="from-set", apart=0, min_ess=0.6
    )
    assert result.ess >= 0.6 * 200
    assert result.status == "ess_floor"


def test_pairs_do_not_see_what_three_share_and_joint_weights_do():
    """A, B and sign(A·B)·|e| are pairwise independent; only a joint objective has an effect."""
    rng = np.random.default_rng(0)
    a, b, e = rng.standard_normal((3, 400))
    table = np.column_stack([np.sign(a * b) * np.abs(e), a, b])
    pairwise = dcd.weights.decoupling_weights(table)
    assert pairwise.dependence_before < 2
    for options in ({"objective": "joint"}, {"objective": "from-set", "apart": 0}):
        result = dcd.weights.decoupling_weights(table, **options)
        assert result.dependence_before > 3
        assert result.dependence < 0.2


def rejections(n, seeds, effect, weights):
    pvalues = []
    for seed in seeds:
        table, y = shared_product(n, seed, effect)
        learned = weights.learn_apart(make_scores(table), 0, [1, 2])
        pvalues.append(weighted_association([table[:, :1]], [y[:, None]], learned.weights)[1][0, 0])
    return np.mean(np.array(pvalues) < 0.05)


def test_the_published_test_keeps_its_level_under_weights_from_a_set():
    """x and y share A·B: rejected at 1.00 without weights and .75 with pairwise ones, at n = 500."""
    weights = HSICDescent(objective="from-set")
    assert rejections(300, range(30), 0.0, weights) <= 0.1
    assert rejections(300, range(30), 0.5, weights) >= 0.85


@pytest.mark.parametrize("objective", [pytest.param("joint", marks=pytest.mark.slow), "from-set"])
def test_many_rows_are_linear_and_as_good(objective):
    """At 3,500 rows the linear forms are used; the exact loss of their weights is small."""
    table = shared_product(3_500, 0)[0]
    apart = 0 if objective == "from-set" else None
    learned = learn_joint_weights(make_scores(table), [0, 1, 2], apart=apart)
    groups = singles(table) if apart is None else one_and_set(table)
    some = np.random.default_rng(0).permutation(3_500)[:2_000]
    exact = DenseJointObjective([Group(g.columns[some], g.kinds, g.is_set) for g in groups])
    shares, p = np.full(2_000, 1 / 2_000), learned.weights[some] / learned.weights[some].sum()
    before, after = (exact.value_and_gradient(q)[0] / exact.chance(q) for q in (shares, p))
    assert before > 10
    assert after < 1.5  # the rows left out of the check leave chance
    assert learned.ess > 0.25 * 3_500


@pytest.mark.parametrize("options", [{"objective": "joint"}, {"objective": "from-set", "apart": "x"}])
def test_column_order_does_not_matter(options):
    frame = pd.DataFrame(shared_product(200, 2)[0], columns=["x", "a", "b"])
    first = dcd.weights.decoupling_weights(frame, **options)
    other = dcd.weights.decoupling_weights(frame[["b", "x", "a"]], **options)
    np.testing.assert_array_equal(first.weights, other.weights)
    np.testing.assert_array_equal(first.hsic_after[np.ix_([2, 0, 1], [2, 0, 1])], other.hsic_after)


@pytest.mark.parametrize("options", [{"objective": "joint"}, {"objective": "from-set", "apart": 0}])
def test_survey_weights_are_where_it_starts(options):
    """Repeating a row is the same as counting it twice, except for the price of the sample."""
    table = shared_product(150, 3)[0]
    counts = np.where(np.arange(150) % 3 == 0, 2, 1)
    weighted = dcd.weights.decoupling_weights(table, sample_weight=counts, **options)
    assert weighted.ess > 0.2 * effective_sample_size(counts.astype(float))
    assert weighted.dependence < 0.3 < weighted.dependence_before
    tilt = np.log(weighted.weights / counts)
    plain = dcd.weights.decoupling_weights(table, **options)
    assert np.corrcoef(tilt, np.log(plain.weights))[0, 1] > 0.8


def test_nominal_variables_are_decoupled():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, 400)
    frame = pd.DataFrame({"g": np.array(list("abc"))[group], "z": rng.standard_normal(400)})
    frame["x"] = group * np.sign(frame["z"]) + rng.standard_normal(400)
    result = dcd.weights.decoupling_weights(frame, objective="from-set", apart="x")
    assert result.dependence < 0.3 < 3 < result.dependence_before
    for left in ("g", "x"):
        other = dcd.weights.decoupling_weights(frame[[left, "z"]], objective="from-set", apart=left)
        assert other.dependence < 0.3


def test_only_from_set_asks_for_one_variable():
    assert from_set(HSICDescent(objective="from-set")) is not None
    assert from_set(HSICDescent()) is None
    assert from_set(HSICDescent(objective="joint")) is None
    assert from_set(dcd.ConvexWeights()) is None
    alone = HSICDescent(objective="from-set").learn_apart(make_scores(np.ones((20, 1))), 0, [])
    assert alone.status == "nothing_to_decouple"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "triple"}, "parameter 'objective': must be"),
        ({"objective": "joint", "price": 0}, "parameter 'price': must be"),
        ({"objective": "from-set"}, "parameter 'apart': must name a column"),
        ({"objective": "joint", "apart": 0}, "parameter 'apart': must name a column"),
        ({"objective": "from-set", "apart": "nobody"}, "nobody"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(dcd.InputError, match=message):
        dcd.weights.decoupling_weights(shared_product(30, 0)[0], **options)


@pytest.mark.parametrize("objective", ["pairwise", "joint", "from-set"])
def test_a_column_that_is_constant_where_others_are_present(objective):
    """d is observed only where k is 1, so k needs no decoupling there."""
    rng = np.random.default_rng(0)
    k = rng.integers(0, 2, 200)
    d = np.where(k == 1, rng.standard_normal(200), np.nan)
    frame = pd.DataFrame({"k": k, "d": d, "e": rng.standard_normal(200), "f": rng.standard_normal(200)})
    diagnostics = dcd.DCD(objective=objective, missing="testwise").fit(frame).diagnostics_
    assert np.isfinite(diagnostics.to_frame()[["ess", "dependence"]]).all().all()
