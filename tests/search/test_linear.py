"""Regressions between normal scores, and the test of whether all relations are linear."""

from itertools import combinations

import numpy as np
import pytest
from scipy.stats import chi2

import dcd
from dcd.features.rank_scores import LINEAR, make_scores
from dcd.search.linear import LinearRegressions, curvature_log_pvalue, regressions_if_linear


def chain(n_samples, n_variables, seed, bend=None):
    """x0 -> x1 -> ..., each a linear function of the one before; `bend` is applied once, in the middle."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n_samples, n_variables))
    for v in range(1, n_variables):
        before = values[:, v - 1]
        curved = bend is not None and v == n_variables // 2
        values[:, v] += bend(before) if curved else 0.7 * before
    return values


def regressions_between(values, level=0.001):
    scores = make_scores(values)
    return LinearRegressions(scores.gram((LINEAR,))[0], len(values), level), scores


def test_residual_variance_and_pvalue_are_those_of_least_squares():
    for seed in range(5):
        regressions, scores = regressions_between(chain(300, 5, seed))
        normal = scores.part(slice(0, 300), [(v, (LINEAR,)) for v in range(5)])
        for members in ([], [1], [0, 1, 4]):
            residual = normal[:, 2]
            if members:
                residual = residual - normal[:, members] @ np.linalg.lstsq(normal[:, members], residual)[0]
            assert regressions.residual_variance(2, members) == pytest.approx(np.mean(residual**2), abs=1e-5)
        worth = 300 * np.log(regressions.residual_variance(2, [0]) / regressions.residual_variance(2, [0, 4]))
        assert regressions.log_pvalue(4, 2, [0]) == pytest.approx(chi2.logsf(worth, 1))


def test_selected_members_are_the_best_by_their_price():
    """Brute force over all subsets of 6 candidates, where forward and backward steps should not miss it."""
    agree = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        values = rng.standard_normal((200, 7))
        values[:, 0] += values[:, 1] - 0.5 * values[:, 2] + 0.2 * values[:, 3]
        regressions, _ = regressions_between(values, 0.05)

        def cost(members, regressions=regressions):
            return 200 * np.log(regressions.residual_variance(0, list(members))) + regressions.price * len(
                members
            )

        subsets = [s for size in range(7) for s in combinations(range(1, 7), size)]
        members, left = regressions.select(0, range(1, 7))
        assert left == pytest.approx(regressions.residual_variance(0, members), abs=1e-4)
        agree += tuple(members) == min(subsets, key=cost)
    assert agree >= 18


def test_required_members_stay():
    rng = np.random.default_rng(0)
    regressions, _ = regressions_between(rng.standard_normal((200, 6)))
    assert regressions.select(0, [1, 2, 3], required=[3])[0] == [3]


@pytest.mark.parametrize("heavy", [False, True])
def test_linear_tables_are_seldom_called_curved(heavy):
    """The corrected p-value of a linear table is below 0.1 in about a tenth of tables at most."""
    below = 0
    for seed in range(30):
        values = chain(400, 25, seed)
        scores = make_scores(np.sinh(2 * values) if heavy else values)
        below += curvature_log_pvalue(
            scores, LinearRegressions(scores.gram((LINEAR,))[0], 400, 0.002)
        ) < np.log(0.1)
    assert below <= 8  # 0.1 of 30 is 3; chance of more than 8 below 1 %
    assert regressions_if_linear(scores, 0.002) is not None


@pytest.mark.parametrize("bend", [np.square, np.cos, lambda x: np.abs(x) * 1.5], ids=["square", "cos", "abs"])
def test_one_curve_among_linear_relations_is_seen(bend):
    for seed in range(5):
        assert regressions_if_linear(make_scores(chain(500, 25, seed, bend)), 0.002) is None


def test_tables_that_are_searched_by_tests():
    values = chain(400, 8, 0)
    linear = dcd.GrowShrink(linear_from=8)
    weights = np.random.default_rng(0).uniform(0.2, 1.0, 400)
    graded = values.copy()
    graded[:, 3] = graded[:, 3] > 0
    for table, options in ((values, {"sample_weight": weights}), (graded, {}), (values[:399], {})):
        model = dcd.RobustDCD(progress=False, search=linear).fit(table, **options)
        assert not model.diagnostics_.all_linear
    for search in (dcd.GrowShrink(linear_from=9), dcd.GrowShrink(linear_from=None)):
        assert not dcd.RobustDCD(progress=False, search=search).fit(values).diagnostics_.all_linear
    assert dcd.RobustDCD(progress=False, search=linear).fit(values).diagnostics_.all_linear
    assert dcd.GrowShrink().linear_from == 21
    assert dcd.RobustDCD(progress=False).fit(chain(400, 21, 0)).diagnostics_.all_linear
