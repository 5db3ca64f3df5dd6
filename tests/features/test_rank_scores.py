import numpy as np
import pytest
from scipy import stats

from dcd.features.rank_scores import (
    BULK_SQUARE,
    LINEAR,
    SQUARE,
    default_n_columns,
    independent,
    make_scores,
    owners,
)


def columns_of(values):
    """All columns of one variable."""
    scores = make_scores(np.asarray(values, dtype=float)[:, None])
    return scores.part(slice(0, len(values)), [(0, range(default_n_columns(len(values))))])


@pytest.mark.parametrize("seed", range(3))
def test_columns_have_mean_zero_and_variance_one(seed):
    values = np.random.default_rng(seed).lognormal(size=(200, 3))
    scores = make_scores(values)
    everything = [(v, range(default_n_columns(200))) for v in range(3)]
    columns = scores.part(slice(0, 200), everything)
    np.testing.assert_allclose(columns.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(np.square(columns).mean(axis=0), 1)
    assert owners([(v, (LINEAR, SQUARE)) for v in range(3)]) == [[0, 1], [2, 3], [4, 5]]


def test_the_first_column_is_normal_scores_and_units_do_not_matter():
    x = np.random.default_rng(0).standard_normal(300).round(1)  # with ties
    columns = columns_of(x)
    expected = stats.norm.ppf((stats.rankdata(x) - 0.5) / 300)
    np.testing.assert_allclose(columns[:, LINEAR], (expected - expected.mean()) / expected.std())
    np.testing.assert_allclose(columns_of(np.exp(3 * x) - 7), columns)


def test_later_columns_are_hermite_and_legendre_polynomials():
    x = np.random.default_rng(2).standard_normal(400)
    u = (stats.rankdata(x) - 0.5) / 400
    z = stats.norm.ppf(u)
    columns = columns_of(x)
    expected = [z, z**2 - 1, z**3 - 3 * z]
    expected += [np.polynomial.Legendre.basis(degree)(2 * u - 1) for degree in range(2, columns.shape[1] - 1)]
    for column, other in zip(columns.T, expected, strict=True):
        np.testing.assert_allclose(column, (other - other.mean()) / other.std(), atol=1e-9)


def test_squares_are_even_and_lines_odd():
    x = np.random.default_rng(1).standard_normal(300)
    there, back = columns_of(x), columns_of(-x)
    np.testing.assert_allclose(back[:, LINEAR], -there[:, LINEAR], atol=1e-9)
    np.testing.assert_allclose(back[:, SQUARE], there[:, SQUARE], atol=1e-9)
    np.testing.assert_allclose(back[:, BULK_SQUARE], there[:, BULK_SQUARE], atol=1e-9)


@pytest.mark.parametrize("n_levels", [2, 3, 4])
def test_ties_leave_as_many_adjusters_as_there_are_levels_less_one(n_levels):
    x = np.random.default_rng(n_levels).integers(0, n_levels, 400).astype(float)
    scores = make_scores(np.column_stack([x, np.arange(400.0)]))
    assert len(scores.variables[0].adjusters) == n_levels - 1
    assert len(scores.variables[1].adjusters) == default_n_columns(400)


@pytest.mark.parametrize("seed", range(5))
def test_superfluous_columns_are_those_that_raise_no_rank(seed):
    rng = np.random.default_rng(seed)
    columns = rng.standard_normal((50, 8))
    columns[:, 3] = columns[:, 0] - 2 * columns[:, 1]
    columns[:, 6] = columns[:, 3] + columns[:, 5]
    ranks = [np.linalg.matrix_rank(columns[:, : k + 1]) for k in range(8)]
    expected = [k for k in range(8) if ranks[k] > (ranks[k - 1] if k else 0)]
    assert independent(columns.T @ columns / 50, 1e-8) == expected == [0, 1, 2, 4, 5, 7]
