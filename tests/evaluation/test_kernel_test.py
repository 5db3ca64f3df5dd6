"""The kernel test against causal-learn's, its level, its power."""

import numpy as np
import pytest
from causallearn.utils.cit import CIT
from scipy import stats

from dcd.evaluation import simulate
from dcd.evaluation.baselines.kernel_test import KernelTest

GIVEN = [(), (2,), (2, 3), (2, 3, 4)]


@pytest.mark.parametrize("given", GIVEN, ids=len)
@pytest.mark.parametrize(("seed", "n"), [(0, 150), pytest.param(1, 500, marks=pytest.mark.slow)])
def test_pvalues_are_those_of_causal_learn(seed, n, given):
    """causal-learn cuts eigenvalues below 1e-5 of the largest, which shows in the fourth digit."""
    dag = simulate.random_dag(6, random_state=seed)
    values = simulate.sample(dag, n, noise_std=1.0, random_state=seed)
    ours, theirs = KernelTest(values), CIT(values, "kci")
    for x, y in [(0, 1), (5, 0)]:
        assert ours(x, y, given) == pytest.approx(theirs(x, y, list(given)), rel=5e-3, abs=1e-12)


@pytest.mark.parametrize("given", GIVEN[1:], ids=len)
def test_small_factors_and_full_matrices_agree(given):
    values = simulate.sample(simulate.random_dag(6, random_state=0), 200, random_state=0)
    low_rank, full = KernelTest(values), KernelTest(values)
    low_rank.max_rank, full.max_rank = 201, 1
    for x, y in [(0, 1), (0, 5)]:
        assert low_rank(x, y, given) == pytest.approx(full(x, y, given), rel=1e-4)


def test_order_does_not_matter():
    values = simulate.sample(simulate.random_dag(5, random_state=1), 200, random_state=1)
    test = KernelTest(values)
    assert test(0, 1, [2, 3]) == test(1, 0, [3, 2])


def test_level():
    """Given z, x and y are independent: a test at 5 % rejects about 5 %."""
    rng = np.random.default_rng(0)
    rejected = 0
    for _ in range(200):
        z = rng.standard_normal(150)
        values = np.column_stack([z + rng.standard_normal(150), z**2 + rng.standard_normal(150), z])
        rejected += KernelTest(values)(0, 1, [2]) < 0.05
    assert rejected >= 1
    assert stats.binomtest(rejected, 200, 0.08, alternative="greater").pvalue > 0.01


@pytest.mark.parametrize("seed", range(5))
def test_power_where_correlation_is_blind(seed):
    rng = np.random.default_rng(seed)
    x, z = rng.standard_normal((2, 300))
    values = np.column_stack([x, x**2 + z + 0.5 * rng.standard_normal(300), z])
    assert KernelTest(values)(0, 1) < 1e-3
    assert KernelTest(values)(0, 1, [2]) < 1e-3
