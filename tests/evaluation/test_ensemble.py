"""Combined p-values: closed forms, the level of the ensemble, its power."""

import numpy as np
import pytest
from causallearn.utils.cit import CIT
from scipy import stats

from dcd import InputError
from dcd.evaluation.baselines.ensemble import EnsembleTest, combine_pvalues, n_parts
from dcd.evaluation.baselines.kernel_test import KernelTest


def fisher_z(values):
    return CIT(values, "fisherz")


def partial_correlation(values):
    """An exact test of normal variables given one other, about twenty times as fast as causal-learn's."""

    def pvalue(x, y, given):
        (z,) = given
        (rho_xy, rho_xz), rho_yz = np.corrcoef(values.T)[x, [y, z]], np.corrcoef(values.T)[y, z]
        rho = (rho_xy - rho_xz * rho_yz) / np.sqrt((1 - rho_xz**2) * (1 - rho_yz**2))
        freedom = len(values) - 3
        return 2 * stats.t.sf(abs(rho) * np.sqrt(freedom / (1 - rho**2)), freedom)

    return pvalue


@pytest.mark.parametrize("seed", range(5))
def test_index_two_is_stouffer_and_one_is_cauchy(seed):
    p = np.random.default_rng(seed).random(5)
    stouffer = stats.combine_pvalues(p, method="stouffer").pvalue
    assert combine_pvalues(p, stable_index=2.0) == pytest.approx(stouffer, rel=1e-10)
    cauchy = 0.5 - np.arctan(np.mean(np.tan((0.5 - p) * np.pi))) / np.pi
    assert combine_pvalues(p, stable_index=1.0) == pytest.approx(cauchy, rel=1e-10)


@pytest.mark.parametrize("index", [1.0, 1.75, 2.0])
def test_one_pvalue_comes_back_and_equal_ones_grow_stronger(index):
    assert combine_pvalues(np.array([0.3]), stable_index=index) == pytest.approx(0.3, rel=1e-4)
    together = combine_pvalues(np.array([0.1, 0.1, 0.1]), stable_index=index)
    assert together == pytest.approx(0.1, rel=1e-6) if index == 1 else together < 0.08


@pytest.mark.parametrize(  # SciPy's stable law is slow
    ("index", "n_draws"),
    [(1.0, 4000), (1.75, 30), pytest.param(1.75, 100, marks=pytest.mark.slow), (2.0, 4000)],
)
def test_independent_uniform_pvalues_combine_to_a_uniform_one(index, n_draws):
    draws = np.random.default_rng(0).random((n_draws, 3))
    combined = [combine_pvalues(p, stable_index=index) for p in draws]
    assert stats.kstest(combined, "uniform").pvalue > 0.001


def test_certainty_does_not_overflow():
    assert 0 <= combine_pvalues(np.array([0.0, 0.0])) < 1e-10
    assert combine_pvalues(np.array([1.0, 1.0])) > 1 - 1e-10
    assert combine_pvalues(np.array([0.0, 1.0])) == pytest.approx(0.5, abs=0.01)


def test_the_index_is_checked():
    with pytest.raises(InputError, match="stable_index"):
        combine_pvalues(np.array([0.5, 0.5]), stable_index=0)
    with pytest.raises(InputError, match="stable_index"):
        combine_pvalues(np.array([0.5, 0.5]), stable_index=2.5)


def test_parts_hold_some_400_rows():
    assert [n_parts(n) for n in (100, 800, 1200, 2000)] == [2, 2, 3, 5]


def test_every_row_is_in_one_part():
    seen = []
    EnsembleTest(lambda part: seen.append(part) or fisher_z(part), np.arange(1806.0).reshape(903, 2), seed=0)
    assert len(seen) == 2
    assert sorted(np.concatenate(seen)[:, 0]) == list(np.arange(0.0, 1806.0, 2.0))


@pytest.mark.parametrize("index", [1.0, 2.0])
def test_level_of_the_ensemble(index):
    """x and y independent given z: a test at 5 % rejects 5 % of the time."""
    rng = np.random.default_rng(1)
    rejected = 0
    for seed in range(1000):
        z = rng.standard_normal(300)
        values = np.column_stack([z + rng.standard_normal(300), z + rng.standard_normal(300), z])
        rejected += EnsembleTest(partial_correlation, values, seed=seed, stable_index=index)(0, 1, [2]) < 0.05
    assert stats.binomtest(rejected, 1000, 0.05).pvalue > 0.001


@pytest.mark.parametrize("seed", range(5))
def test_dependence_is_found_and_the_seed_decides(seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(800)
    values = np.column_stack([x, 0.3 * x + rng.standard_normal(800), rng.standard_normal(800)])
    test = EnsembleTest(fisher_z, values, seed=seed)
    assert test(0, 1, [2]) < 1e-6
    assert test(0, 1, [2]) == EnsembleTest(fisher_z, values, seed=seed)(0, 1, [2])
    assert test(0, 1, [2]) != EnsembleTest(fisher_z, values, seed=seed + 1)(0, 1, [2])


def test_a_part_in_which_a_column_is_constant_has_no_say():
    """The rare state of x is in one part only, where it determines y."""
    rng = np.random.default_rng(0)
    rows = rng.permutation(500)  # the order in which seed 0 takes them
    x, z = np.zeros(500), rng.standard_normal(500)
    x[rows[:100]] = 1.0
    values = np.column_stack([x, 3 * x + rng.standard_normal(500), z])
    for make_test in (fisher_z, KernelTest):
        with np.errstate(invalid="ignore"):
            test = EnsembleTest(make_test, values, seed=0)
        assert [varies[0] for varies in test.varying] == [True, False]
        assert test(0, 1) < 1e-6
        assert test(0, 1, [2]) < 1e-6
        assert 0 <= test(1, 2, [0]) <= 1
    constant = EnsembleTest(KernelTest, values * [0, 1, 1], seed=0)
    assert constant(0, 1) == 1.0


def test_pvalues_that_are_none_are_refused():
    with pytest.raises(ValueError, match="nan"):
        combine_pvalues(np.array([0.5, np.nan]))
