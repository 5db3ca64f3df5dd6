"""Means in bins of ranks: what is subtracted, and what for."""

import numpy as np
import pytest

from dcd.features.rank_scores import make_scores
from dcd.independence.adjustment import Adjustment
from dcd.independence.association import PartialAssociation
from dcd.independence.binned_adjustment import BinnedAdjustment
from dcd.runtime.rows import BINNED_ROWS

N = BINNED_ROWS + 2_000


def spikes(seed):
    """A cause, and two effects of it through a spike at 0."""
    rng = np.random.default_rng(seed)
    cause = rng.standard_normal(N)
    spike = np.log(np.abs(cause))
    return np.column_stack(
        [cause, spike + 0.5 * rng.standard_normal(N), spike + 0.5 * rng.standard_normal(N)]
    )


def test_no_bin_has_a_mean():
    scores = make_scores(spikes(0)[:, :1])
    bins = BinnedAdjustment(scores, [0], scores.probabilities)
    column = np.random.default_rng(1).standard_normal(N) + 3 * scores.part(slice(0, N), [(0, (1,))])[:, 0]
    expected = column.copy()
    order = np.argsort(scores.variables[0].make.scores[:, 1])
    for part in np.array_split(order, bins.n_parameters):
        expected[part] -= expected[part].mean()
    bins.subtract_from(column)
    np.testing.assert_allclose(column, expected, atol=1e-9)


def test_blocks_add_up_to_the_whole():
    scores = make_scores(spikes(0))
    bins = BinnedAdjustment(scores, [0, 1], scores.probabilities)
    columns = np.random.default_rng(1).standard_normal((N, 3))
    weighted = columns / N
    halves, whole = np.zeros((2, *bins.shape(3)))
    for rows in (slice(0, 7_000), slice(7_000, N)):
        bins.add_sums(rows, weighted[rows], halves)
    bins.add_sums(slice(0, N), weighted, whole)
    np.testing.assert_allclose(bins.means(halves), bins.means(whole), atol=1e-12)
    one = BinnedAdjustment(scores, [0], scores.probabilities)
    first = columns[:, 0].copy()
    one.subtract_from(first)
    sums = np.zeros(one.shape(3))
    one.add_sums(slice(0, N), weighted, sums)
    residuals = columns - one.at(slice(0, N), one.means(sums))
    np.testing.assert_allclose(residuals[:, 0], first, atol=1e-9)


def test_few_rows_and_variables_of_few_values_have_none():
    few = make_scores(spikes(0)[: BINNED_ROWS - 1])
    assert Adjustment.to(few, [0]).bins.n_parameters == 0
    assert Adjustment.to(make_scores(spikes(0)), []).bins.n_parameters == 0


@pytest.mark.parametrize("seed", range(4))
def test_two_effects_of_a_cause_are_independent_given_it_in_spite_of_a_spike(seed, monkeypatch):
    scores = make_scores(spikes(seed))
    assert PartialAssociation().bind(scores, 0.05).log_pvalue(1, 2, [0]) > np.log(1e-3)
    monkeypatch.setattr("dcd.independence.binned_adjustment.BINNED_ROWS", 10**9)
    assert PartialAssociation().bind(scores, 0.05).log_pvalue(1, 2, [0]) < np.log(1e-6)
