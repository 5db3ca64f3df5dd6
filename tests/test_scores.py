import numpy as np
import pytest
from scipy import stats

from dcd.scores import BULK_SQUARE, LINEAR, SQUARE, default_n_columns, make_scores, score_columns


@pytest.mark.parametrize("seed", range(3))
def test_columns_have_mean_zero_and_variance_one(seed):
    values = np.random.default_rng(seed).lognormal(size=(200, 3))
    scores = make_scores(values)
    assert scores.columns.shape == (200, 3, default_n_columns(200))
    np.testing.assert_allclose(scores.columns.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.square(scores.columns).mean(axis=0), 1)
    np.testing.assert_allclose(scores.gram, scores.flat.T @ scores.flat / 200, atol=1e-12)


def test_the_first_column_is_normal_scores_and_units_do_not_matter():
    x = np.random.default_rng(0).standard_normal(300)
    columns = score_columns(x[:, None], 8)[:, 0]
    expected = stats.norm.ppf((stats.rankdata(x) - 0.5) / 300)
    np.testing.assert_allclose(columns[:, LINEAR], (expected - expected.mean()) / expected.std())
    np.testing.assert_allclose(score_columns(np.exp(3 * x)[:, None] - 7, 8)[:, 0], columns)


def test_squares_are_even_and_lines_odd():
    x = np.random.default_rng(1).standard_normal(300)
    there, back = score_columns(np.column_stack([x, -x]), 8).transpose(1, 0, 2)
    np.testing.assert_allclose(back[:, LINEAR], -there[:, LINEAR], atol=1e-9)
    np.testing.assert_allclose(back[:, SQUARE], there[:, SQUARE], atol=1e-9)
    np.testing.assert_allclose(back[:, BULK_SQUARE], there[:, BULK_SQUARE], atol=1e-9)


@pytest.mark.parametrize("n_levels", [2, 3, 4])
def test_ties_leave_as_many_adjusters_as_there_are_levels_less_one(n_levels):
    x = np.random.default_rng(n_levels).integers(0, n_levels, 400).astype(float)
    scores = make_scores(np.column_stack([x, np.arange(400.0)]))
    assert len(scores.adjusters[0]) == n_levels - 1
    assert len(scores.adjusters[1]) == default_n_columns(400)
