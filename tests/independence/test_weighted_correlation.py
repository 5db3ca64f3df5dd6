import numpy as np
import pytest
from scipy import stats

from dcd.independence import weighted_correlation as dependence
from dcd.independence.weighted_correlation import (
    correlation_pvalues,
    weighted_association,
    weighted_correlation,
)
from dcd.runtime.rows import effective_sample_size


@pytest.mark.parametrize("seed", range(5))
def test_equal_weights_give_pearsons_test(seed):
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, 60))
    y = y + 0.3 * x
    expected = stats.pearsonr(x, y)
    r = weighted_correlation(x[:, None], y[:, None], np.ones(60))
    assert r[0, 0] == pytest.approx(expected.statistic)
    assert correlation_pvalues(r, 60)[0, 0] == pytest.approx(expected.pvalue)


@pytest.mark.parametrize("seed", range(5))
def test_whole_weights_count_rows(seed):
    rng = np.random.default_rng(seed)
    left, right = rng.standard_normal((30, 3)), rng.standard_normal((30, 2))
    counts = rng.integers(0, 4, size=30)
    repeated = np.corrcoef(np.repeat(left, counts, axis=0), np.repeat(right, counts, axis=0), rowvar=False)
    np.testing.assert_allclose(weighted_correlation(left, right, counts * 1.0), repeated[:3, 3:], atol=1e-12)


@pytest.mark.parametrize("spread", [0.0, 0.7, 1.2])
def test_level_under_independence(spread):
    """5 % of 4,000 independent pairs rejected, with weights that leave all, half or a quarter of the sample.

    The bounds are five standard errors of the rate wide, so a right test fails here once in a million.
    """
    rng = np.random.default_rng(5)
    n, repetitions = 400, 4000
    rejected = 0
    for _ in range(repetitions // 40):
        weights = np.exp(spread * rng.standard_normal(n))
        r = weighted_correlation(rng.laplace(size=(n, 40)), rng.standard_normal((n, 40)), weights)
        pvalues = correlation_pvalues(np.diag(r), effective_sample_size(weights))
        rejected += int((pvalues < 0.05).sum())
    error = np.sqrt(0.05 * 0.95 / repetitions)
    assert abs(rejected / repetitions - 0.05) < 5 * error


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_does_not_matter(scale):
    x, y = np.random.default_rng(0).standard_normal((2, 50, 1))
    expected = weighted_correlation(x, x + y, np.ones(50))
    np.testing.assert_allclose(weighted_correlation(scale * x, x + y, np.ones(50)), expected)


def test_limits():
    assert correlation_pvalues(np.array([1.0, -1.0]), 50.0).tolist() == [0.0, 0.0]
    assert correlation_pvalues(np.array([0.0]), 50.0).tolist() == [1.0]
    assert correlation_pvalues(np.array([0.9]), 1.5).tolist() == [1.0]
    x = np.arange(10.0)[:, None]
    only_one = np.eye(10)[0]
    assert weighted_correlation(x, x, only_one) == 0.0


def mixed_columns(n, seed):
    """Numbers at several scales, and indicators of categories, each variable a block of columns."""
    rng = np.random.default_rng(seed)
    x, y, z = rng.standard_normal((3, n)) + 0.5 * rng.standard_normal(n)
    group = rng.integers(0, 4, n) + (x > 1)
    return [
        x[:, None],
        1e100 * y[:, None] + 1e101,
        1e-100 * z[:, None],
        (group[:, None] == np.arange(1, 5)) * 1.0,
        np.zeros((n, 1)),
        ((x + y)[:, None] > [0, 1, 2]) * 1.0,
    ], np.exp(rng.standard_normal(n))


@pytest.mark.parametrize("rows", [7, 100, 5000])
@pytest.mark.parametrize("surveyed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_blocks_of_rows_find_the_same(monkeypatch, rows, surveyed, seed):
    columns, weights = mixed_columns(1000, seed)
    expected = weighted_association(columns, columns[::-1], weights, surveyed=surveyed)
    monkeypatch.setattr(dependence, "BLOCK_ROWS", rows)
    found = weighted_association(columns, columns[::-1], weights, surveyed=surveyed)
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-7)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6, atol=1e-12)


def test_truth_values_count_as_numbers():
    columns, weights = mixed_columns(9000, 0)
    as_truth = [block > 0 if block.shape[1] > 1 else block for block in columns]
    for one, other in zip(
        weighted_association(columns, columns, weights),
        weighted_association(as_truth, as_truth, weights),
        strict=True,
    ):
        np.testing.assert_array_equal(one, other)
