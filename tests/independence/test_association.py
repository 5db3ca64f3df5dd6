"""The robust test: its level, its power, and the role of weights."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from support.searches import adjusted_log_pvalues

import dcd
from dcd.features.rank_scores import make_scores, scores_of
from dcd.independence.adjustment import PENALTIES, Adjustment
from dcd.independence.association import PartialAssociation, weighted_log_pvalue
from dcd.independence.neighbours import Neighbours, _nearest
from dcd.independence.neighbours import structure as structure_of
from dcd.independence.null_distribution import gamma_log_sf, null_log_sf
from dcd.independence.partial_pvalues import partial_correlation
from dcd.independence.residual_columns import ResidualColumns
from dcd.independence.set_design import design_for, order_by_nearness
from dcd.table.reading import read_table
from dcd.weights.hsic_descent import HSICDescent


def rejected(log_pvalues, level):
    return float(np.mean(np.asarray(log_pvalues) < np.log(level)))


@pytest.mark.parametrize("n", [150, 800])
@pytest.mark.parametrize("given", [(), (0, 1)])
def test_level_under_independence(n, given):
    rng = np.random.default_rng(n + len(given))
    found = []
    for _ in range(40):
        values = np.column_stack([rng.standard_normal((n, 6)), rng.standard_t(2, (n, 3))])
        log_pvalues = adjusted_log_pvalues(make_scores(values), given)
        found += list(log_pvalues[2:, 2:][np.triu_indices(7, 1)])
    for level in (0.05, 0.01):
        assert rejected(found, level) < level + 4 * np.sqrt(level * (1 - level) / len(found))
    assert rejected(found, 0.05) > 0.025


@pytest.mark.parametrize(("spread", "least"), [(0.5, 0.02), (1.0, 0.005)])
def test_level_under_unequal_weights(spread, least):
    """The covariance comes from the rows themselves: with fewer effective rows, it is biased upwards more."""
    rng = np.random.default_rng(7)
    found = []
    for _ in range(500):
        scores = make_scores(rng.standard_normal((300, 2)))
        weights = np.exp(spread * rng.standard_normal(300))
        adjustment = Adjustment(scores, (), weights / weights.sum())
        found.append(weighted_log_pvalue(adjustment, 0, 1))
    assert least < rejected(found, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 500)


def test_level_after_adjusting_for_a_common_cause():
    rng = np.random.default_rng(3)
    found = []
    for _ in range(200):
        cause = rng.standard_normal(500)
        values = np.column_stack(
            [cause, np.sin(2 * cause) + rng.standard_normal(500), cause**2 + rng.standard_normal(500)]
        )
        found.append(adjusted_log_pvalues(make_scores(values), (0,))[1, 2])
    assert rejected(found, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 200)


RELATIONS = {
    "square": lambda x, e: x**2 + 2 * e,
    "log": lambda x, e: np.log(np.abs(x)) + 2 * e,
    "sine": lambda x, e: np.sin(2 * x) + 1.5 * e,
    "spread": lambda x, e: np.exp(0.5 * x) * e,
    "cubic tail": lambda x, e: x**3 + 8 * e,
}


@pytest.mark.parametrize("relation", RELATIONS)
def test_power_against_curves(relation):
    """Almost always detected at n = 500, where Pearson's correlation hardly ever detects most of these."""
    seen = []
    for seed in range(40):
        x, e = np.random.default_rng(seed).standard_normal((2, 500))
        scores = make_scores(np.column_stack([x, RELATIONS[relation](x, e)]))
        seen.append(adjusted_log_pvalues(scores, ())[0, 1])
    assert rejected(seen, 0.01) > 0.9


def test_straight_lines_lose_little_to_pearson():
    ours, pearson = [], []
    for seed in range(400):
        x, e = np.random.default_rng(seed).standard_normal((2, 200))
        y = 0.22 * x + e
        ours.append(adjusted_log_pvalues(make_scores(np.column_stack([x, y])), ())[0, 1])
        pearson.append(np.log(stats.pearsonr(x, y).pvalue))
    assert rejected(ours, 0.05) > rejected(pearson, 0.05) - 0.12
    assert rejected(pearson, 0.05) > 0.8


def triangle(seed, n=800, effect=0.0):
    """C -> A, C -> B by a square, T = A + B + A·B + effect C + noise."""
    rng = np.random.default_rng(seed)
    c = rng.standard_normal(n)
    a = c + 0.5 * rng.standard_normal(n)
    b = (c**2 - 1) / 1.4 + 0.5 * rng.standard_normal(n)
    signal = a + b + a * b
    return np.column_stack([c, a, b, signal / signal.std() + effect * c + 0.5 * rng.standard_normal(n)])


@pytest.mark.parametrize("decouple", ["where-needed", "always", "never"])
def test_the_first_part_of_a_test_is_its_result_unless_it_decouples(decouple):
    decoupled = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        a, b, e, f = rng.standard_normal((4, 800))
        values = np.column_stack([a, b, np.sign(a * b) + 0.5 * e, np.sign(a * b) + 0.5 * f, a + e])
        for x, y, given in ((2, 3, (0, 1)), (0, 4, (1,)), (1, 4, ()), (0, 2, (1, 3))):
            test = PartialAssociation(decouple=decouple).bind(make_scores(values), 0.05)
            first, final = test.first_log_pvalue(x, y, given)
            whole = test.log_pvalue(y, x, given)
            assert whole >= first
            assert final == (not test.record.interactions)
            assert not final or whole == first
            decoupled.append(not final)
    assert any(decoupled) == (decouple != "never")
    assert not all(decoupled)


def test_products_of_a_set_are_adjusted_for():
    """Two effects of A·B, and C and T of the triangle: sums of functions of single variables would not do."""
    found, triangles = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        a, b = rng.standard_normal((2, 400))
        effects = (a * b)[:, None] + 0.5 * rng.standard_normal((400, 2))
        test = PartialAssociation(decouple="never")
        scores = make_scores(np.column_stack([a, b, effects]))
        found.append(test.bind(scores, 0.05).log_pvalue(2, 3, (0, 1)))
        triangles.append(test.bind(make_scores(triangle(seed)), 0.05).log_pvalue(0, 3, (1, 2)))
    for log_pvalues in (found, triangles):
        assert rejected(log_pvalues, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 60)


EFFECTS = {
    "sign xz": lambda x, z: np.sign(x * z),
    "sign(x) z": lambda x, z: np.sign(x) * z,
    ".4xz": lambda x, z: 0.4 * x * z,
    "cos 2(x + z)": lambda x, z: np.cos(2 * (x + z)),
    "z + .6 sin 2x": lambda x, z: z + 0.6 * np.sin(2 * x),
}


@pytest.mark.parametrize("effect", EFFECTS)
def test_power_against_effects_that_differ_with_the_set(effect):
    seen = []
    for seed in range(20):
        z, e, f = np.random.default_rng(seed).standard_normal((3, 800))
        x = 0.5 * z + e
        scores = make_scores(np.column_stack([x, EFFECTS[effect](x, z) + f, z]))
        seen.append(adjusted_log_pvalues(scores, (2,))[0, 1])
    assert rejected(seen, 0.05) > 0.9


@pytest.mark.parametrize(("noise", "n"), [(0.3, 300), (1.0, 1000)])
def test_level_after_adjusting_for_two_common_causes(noise, n):
    """Linear: squares of x and y share the product of the causes, squares of the residuals do not."""
    found, weighted = [], 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        causes = rng.standard_normal((n, 2))
        both = causes.sum(axis=1, keepdims=True) + noise * rng.standard_normal((n, 2))
        test = PartialAssociation().bind(make_scores(np.hstack([causes, both])), 0.05)
        found.append(test.log_pvalue(2, 3, (0, 1)))
        weighted += len(test.record.interactions)
    assert rejected(found, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 60)
    assert weighted <= 6


@pytest.mark.slow
def test_a_true_cause_survives_the_weights():
    seen = []
    for seed in range(30):
        test = PartialAssociation().bind(make_scores(triangle(seed, effect=0.5)), 0.05)
        seen.append(test.log_pvalue(0, 3, (1, 2)))
    assert rejected(seen, 0.05) > 0.9


def structure(values, given):
    columns = ResidualColumns(Adjustment(make_scores(values), given), [0, 1])
    return structure_of(columns, Neighbours(columns.adjustment)).log_pvalues


def test_structure_that_is_left_is_seen_and_noise_is_not_taken_for_it():
    steps, sums = [], []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        causes, noise = rng.standard_normal((800, 2)), rng.standard_normal((800, 2))
        step = np.sign(causes.prod(axis=1))[:, None] + noise
        steps.append(structure(np.hstack([step, causes]), (2, 3)).max())
        sums += list(structure(np.hstack([causes.sum(axis=1)[:, None] + noise, causes]), (2, 3)))
    assert rejected(steps, 0.05) > 0.6
    assert rejected(sums, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / 120)


def test_coefficients_are_those_of_ridge_regression():
    rng = np.random.default_rng(0)
    scores = make_scores(rng.standard_normal((150, 4)))
    adjustment = Adjustment(scores, (0, 1))
    responses = rng.standard_normal((150, 3))
    fit = adjustment.fit(lambda rows: responses[rows], 3)
    design = design_for(scores, (0, 1))[0](slice(0, 150))
    centred = design - design.mean(axis=0)
    for column, penalty in enumerate(PENALTIES[fit.penalties]):
        gram = centred.T @ centred / 150 + penalty * np.eye(design.shape[1])
        response = responses[:, column] - responses[:, column].mean()
        expected = response - centred @ np.linalg.solve(gram, centred.T @ response / 150)
        found = adjustment.residuals(fit, slice(0, 150), responses)[:, column]
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_rows_next_to_each_other_are_near():
    scores = make_scores(np.random.default_rng(0).standard_normal((1000, 3)))
    one, two = order_by_nearness(scores, (0,)), order_by_nearness(scores, (0, 1))
    np.testing.assert_array_equal(one, np.argsort(scores.values[:, 0]))
    assert sorted(two) == list(range(1000))
    distance = np.linalg.norm(np.diff(scores.values[two][:, :2], axis=0), axis=1)
    assert np.median(distance) < 0.15


def test_where_nothing_interacts_all_of_the_sample_is_used():
    rng = np.random.default_rng(1)
    test = PartialAssociation().bind(make_scores(rng.standard_normal((300, 5))), 0.5)
    for x, y in ((0, 1), (0, 2), (1, 2)):
        test.log_pvalue(x, y, (3, 4))
    assert len(test.record.interactions) <= 1


def test_large_sets_are_adjusted_for_only():
    """Structure that is left in both residuals calls for weights in a set of seven, not in one of eight."""
    for seed in range(3):
        a, e, f = np.random.default_rng(seed).standard_normal((3, 800))
        rough = np.sign(np.sin(7.0 * a))  # no adjustment fits it
        copies = [np.tanh(a * scale) for scale in np.linspace(0.5, 1.5, 7)]
        values = np.column_stack([rough + 0.3 * e, rough + 0.3 * f, a, *copies])
        test = PartialAssociation().bind(make_scores(values), 0.05)
        assert not test.first_log_pvalue(0, 1, range(2, 9))[1]
        assert test.first_log_pvalue(0, 1, range(2, 10))[1]


def test_the_order_of_the_pair_and_of_the_set_does_not_matter():
    test = PartialAssociation(decouple="always").bind(make_scores(triangle(0)), 1.0)
    assert test.log_pvalue(0, 3, (1, 2)) == test.log_pvalue(3, 0, (2, 1))


def test_partial_correlation_of_gaussian_data_is_the_usual_one():
    rng = np.random.default_rng(5)
    z = rng.standard_normal(20_000)
    x, y = z + rng.standard_normal((2, 20_000))
    scores = make_scores(np.column_stack([x, y, z]))
    for given, expected in (((), 0.5), ((2,), 0.0)):
        adjustment = Adjustment(scores, given)
        assert partial_correlation(adjustment, 0, 1) == pytest.approx(expected, abs=0.03)


@pytest.mark.parametrize("k", [1, 3, 9])
def test_with_equal_variances_the_distribution_is_chi_square(k):
    statistic, size = np.array([0.5, 4.0, 12.0, 60.0]), np.full(4, float(k))
    ours = null_log_sf(statistic, size, 2 * size, 8 * size)
    np.testing.assert_allclose(ours, stats.chi2.logsf(statistic, k))


def test_tiny_pvalues_keep_their_order():
    ours = gamma_log_sf(np.array([1500.0, 2000.0]), np.full(2, 4.5))
    assert -2100 < ours[1] < ours[0] < -1400


def test_a_variable_that_the_set_decides_cannot_be_tested():
    x = np.random.default_rng(0).standard_normal((300, 2))
    scores = make_scores(np.column_stack([x[:, 0], x[:, 1], x[:, 0]]))
    assert adjusted_log_pvalues(scores, (0,))[1, 2] == 0


@pytest.mark.parametrize("n_levels", [2, 3])
def test_level_on_categories(n_levels):
    rng = np.random.default_rng(n_levels)
    found = []
    for _ in range(60):
        scores = make_scores(rng.integers(0, n_levels, (300, 5)).astype(float))
        found += list(adjusted_log_pvalues(scores, (0,))[1:, 1:][np.triu_indices(4, 1)])
    assert rejected(found, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / len(found))


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (PartialAssociation(decouple="sometimes"), "decouple"),
        (PartialAssociation(interaction_level=0), "interaction_level"),
        (PartialAssociation(weights=dcd.ConvexWeights(keep=2)), "keep"),
    ],
)
def test_bad_parameters(strategy, message):
    with pytest.raises(dcd.InputError, match=message):
        dcd.RobustDCD(test=strategy).fit(triangle(0))


@pytest.mark.parametrize("share", [0.1, 0.4, 0.6])
def test_a_category_that_the_set_decides_does_not_hide_the_others(share):
    """x is c where z is 1; elsewhere a or b, and y depends on which."""
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 1000)
    x = np.where(z == 1, "c", np.where(rng.random(1000) < share, "b", "a"))
    frame = pd.DataFrame({"x": x, "y": 2 * (x == "b") + rng.standard_normal(1000), "z": z.astype(str)})
    assert dcd.IndependenceTest(frame)("x", "y", ["z"]) < 1e-10


@pytest.mark.parametrize("n_levels", [12, 40])
def test_many_categories_agree_with_the_chi_square_test(n_levels):
    """With 40 categories there are too many products to estimate their covariance."""
    for seed in range(3):
        rng = np.random.default_rng(seed)
        x, y = rng.integers(0, n_levels, (2, 2000))
        nominal = {"x": "nominal", "y": "nominal"}
        found = dcd.IndependenceTest(pd.DataFrame({"x": x, "y": y}), kinds=nominal)("x", "y")
        assert found == pytest.approx(stats.chi2_contingency(pd.crosstab(x, y)).pvalue, abs=0.05)


@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
def test_weights_of_a_survey_are_not_taken_for_structure():
    found = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        z = rng.standard_normal(400)
        x, y = z + rng.standard_normal((2, 400))
        dataset = read_table(np.column_stack([x, y, z]), sample_weight=np.exp(0.7 * x))
        columns = ResidualColumns(Adjustment(scores_of(dataset), (2,)), [0, 1])
        found += structure_of(columns, Neighbours(columns.adjustment)).log_pvalues.tolist()
    assert rejected(found, 0.05) < 0.05 + 4 * np.sqrt(0.05 * 0.95 / len(found))


def test_similarity_of_nearby_rows_is_within_its_bound():
    values = np.random.default_rng(0).standard_normal((300, 4))
    dataset = read_table(values, sample_weight=np.exp(values[:, 0]))
    for given in ((1,), (1, 2, 3)):
        neighbours = Neighbours(Adjustment(scores_of(dataset), given))
        assert 1 < neighbours.alike.max() < neighbours.most_alike


def test_of_rows_at_the_same_point_each_has_its_own_neighbours():
    nearest = _nearest(np.repeat([[0.0], [1.0]], 500, axis=0))
    assert len(np.unique(nearest)) > 900
    assert (nearest[:500] < 500).all()


def test_under_weights_from_the_set_two_effects_separate_and_an_effect_stays():
    """Two effects of sign(A·B) given A and B; then z, which also depends on x. The weights use neither."""
    apart, stays = [], []
    for seed in range(20):
        a, b, e, f = np.random.default_rng(seed).standard_normal((4, 500))
        x = np.sign(a * b) + e
        y = np.sign(a * b) + f
        scores = make_scores(np.column_stack([x, y, y + 0.5 * x, a, b]))
        learned = HSICDescent(objective="from-set").learn_apart(scores, 0, (3, 4))
        adjustment = Adjustment(scores, (3, 4), learned.probabilities)
        apart.append(weighted_log_pvalue(adjustment, 0, 1))
        stays.append(weighted_log_pvalue(adjustment, 0, 2))
    assert rejected(apart, 0.05) <= 0.25  # four standard errors above .05
    assert rejected(stays, 0.05) >= 0.9
