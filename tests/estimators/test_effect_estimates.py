"""Estimates of effects: limiting cases, outside references, symmetries, coverage."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from benchmarks.effects import SCENARIOS, coverage, repeated
from dcd.estimators import effect_estimates
from dcd.estimators.effect_estimates import METHODS, Sample, estimate

NOTHING = np.empty((400, 0))


def made(seed, *, levels=None, n=400):
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((n, 2))
    group = rng.integers(3, size=(n, 1)).astype(float)
    treatment = z[:, 0] + np.sin(2 * z[:, 1]) + 0.5 * group[:, 0] + rng.standard_normal(n)
    if levels is not None:
        treatment = np.digitize(treatment, [-0.3, 1.0][: len(levels) - 1]).astype(float)
    outcome = 0.7 * treatment + z[:, 0] ** 2 + z[:, 1] + rng.standard_normal(n)
    contrast = None if levels is None else (levels[0], levels[-1])
    return Sample(treatment, outcome, z, group, np.ones(n), contrast)


@pytest.fixture
def one_split(monkeypatch):
    """One split of the rows into folds: more would be averaged and take proportionally longer."""
    monkeypatch.setattr(effect_estimates, "_SPLITS", 1)


def answer(sample, method="flexible"):
    return estimate(sample, method, np.random.default_rng(0))


@pytest.mark.parametrize("seed", range(3))
def test_least_squares_is_that_of_the_textbook(seed):
    sample = made(seed)
    dummies = [(sample.categories[:, 0] == level).astype(float) for level in (1, 2)]
    design = np.column_stack([sample.treatment, np.ones(400), sample.numbers, *dummies])
    inverse = np.linalg.inv(design.T @ design)
    coefficients = inverse @ design.T @ sample.outcome
    residuals = sample.outcome - design @ coefficients
    covariance = inverse @ (design.T * residuals**2) @ design @ inverse * 400 / (400 - design.shape[1])  # HC1
    found = answer(sample, "linear")
    assert found.value == pytest.approx(coefficients[0])
    assert found.standard_error == pytest.approx(np.sqrt(covariance[0, 0]))


def test_least_squares_of_a_contrast_among_several_levels():
    sample = replace(made(0, levels=(0.0, 1.0, 2.0)), numbers=NOTHING, categories=NOTHING)
    means = [sample.outcome[sample.treatment == level].mean() for level in (0, 2)]
    assert answer(sample, "linear").value == pytest.approx(means[1] - means[0])


@pytest.mark.parametrize("method", METHODS)
def test_with_nothing_held_fixed_it_is_a_slope_or_a_difference_of_means(method):
    sample = replace(made(1), numbers=NOTHING, categories=NOTHING)
    assert answer(sample, method).value == pytest.approx(np.polyfit(sample.treatment, sample.outcome, 1)[0])
    sample = replace(made(1, levels=(0.0, 1.0)), numbers=NOTHING, categories=NOTHING)
    low, high = (sample.outcome[sample.treatment == level] for level in (0, 1))
    found = answer(sample, method)
    assert found.value == pytest.approx(high.mean() - low.mean())
    welch = np.sqrt(low.var() / len(low) + high.var() / len(high))
    assert found.standard_error == pytest.approx(welch, rel=0.01)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("levels", [None, (0.0, 1.0)])
def test_units_change_the_answer_in_proportion(method, levels, one_split):
    sample = made(2, levels=levels)
    before = answer(sample, method)
    after = answer(
        replace(sample, outcome=16 * sample.outcome), method
    )  # exact in binary: trees are the same
    assert after.value == pytest.approx(16 * before.value, rel=1e-6)
    assert after.standard_error == pytest.approx(16 * before.standard_error, rel=1e-6)
    assert answer(replace(sample, numbers=sample.numbers / 8), method) == before
    if levels is None:
        after = answer(replace(sample, treatment=4 * sample.treatment), method)
        assert after.value == pytest.approx(before.value / 4, rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
def test_levels_in_the_other_order_have_the_opposite_effect(method, one_split):
    sample = made(3, levels=(0.0, 1.0))
    reverse = replace(sample, levels=(1.0, 0.0))
    assert answer(reverse, method).value == pytest.approx(-answer(sample, method).value, rel=0.02)


def test_weights_count_rows_as_often():
    sample = made(4)
    times = np.random.default_rng(4).integers(1, 4, size=400)
    rows = np.repeat(np.arange(400), times)
    columns = ("treatment", "outcome", "numbers", "categories")
    longer = replace(
        sample, weights=np.ones(len(rows)), **{name: getattr(sample, name)[rows] for name in columns}
    )
    weighted = replace(sample, weights=times / times.mean())
    assert answer(weighted, "linear").value == pytest.approx(answer(longer, "linear").value)
    # Repeated rows are not new observations: the error is not that of the longer table.
    assert answer(weighted, "linear").standard_error > answer(longer, "linear").standard_error
    found = answer(weighted)
    assert found.value == pytest.approx(0.7, abs=4 * found.standard_error)


def test_what_the_others_explain_is_told():
    sample = made(5)
    rng = np.random.default_rng(5)
    nearly = replace(sample, treatment=sample.numbers[:, 0] + 0.1 * rng.standard_normal(400))
    for method in METHODS:
        found = answer(nearly, method)
        assert found.caution == "explained"
        assert found.share > 0.95
    exactly = replace(sample, treatment=sample.numbers[:, 0] * 2)
    assert np.isnan(answer(exactly, "linear").value)


def test_poor_overlap_is_told(one_split):
    sample = made(6)
    decided = (sample.numbers[:, 0] + 0.1 * np.random.default_rng(6).standard_normal(400) > 0).astype(float)
    found = answer(replace(sample, treatment=decided, levels=(0.0, 1.0)))
    assert found.caution == "overlap"
    assert answer(made(6, levels=(0.0, 1.0))).caution in ("", "overlap")


@pytest.mark.slow
def test_intervals_of_90_percent_hold_in_90_percent(one_split):
    n_tables, n_held = 12, []
    for scenario in SCENARIOS:
        rows = repeated(scenario, 300, n_tables)
        n_held.append(round(coverage(rows, 0.9) * n_tables))
        assert stats.binom.cdf(n_held[-1], n_tables, 0.9) > 1e-3, scenario
        assert rows[:, 1].mean() < 2.0 * rows[:, 0].std(), scenario  # and not by being too wide
    assert stats.binom.cdf(sum(n_held), n_tables * len(n_held), 0.9) > 1e-3


@pytest.mark.slow
def test_least_squares_does_not_hold_where_relations_are_curved():
    assert coverage(repeated("curves", 500, 60, "linear"), 0.9) < 0.6
