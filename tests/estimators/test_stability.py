"""Stability: how resamples are drawn, their frequencies, and failures."""

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from sklearn.utils.validation import check_is_fitted
from support.resampling import Correlated, chain_table, rare_event_table

import dcd
from dcd import InputError, RobustDCD
from dcd.graph.adjacency import skeleton_of
from dcd.runtime.errors import FailedResamplesWarning

# --- resampling ------------------------------------------------------------------------------------------


def test_strong_edges_are_frequent_and_absent_ones_rare():
    result = dcd.stability(RobustDCD(), chain_table(400), n_resamples=20)
    assert result.names == ("a", "b", "c", "d")
    assert (result.n_resamples, result.n_failed, result.scheme) == (20, 0, "subsample")
    assert result.frequencies("a", "b")["none"] < 0.1
    assert result.frequencies("b", "d")["none"] > 0.8
    assert "subsamples of 50% of the rows" in str(result)


@pytest.mark.parametrize("scheme", ["subsample", "bootstrap"])
def test_the_result_does_not_depend_on_the_number_of_processes(scheme):
    table = chain_table()
    one, two = (
        dcd.stability(RobustDCD(), table, n_resamples=8, scheme=scheme, n_jobs=n_jobs) for n_jobs in (1, 2)
    )
    assert one.to_dict() == two.to_dict()
    assert one != dcd.stability(RobustDCD(), table, n_resamples=8, scheme=scheme, random_state=1)


def test_kinds_of_table_and_order_of_columns_decide_nothing():
    table = chain_table()
    wanted = dcd.stability(RobustDCD(), table, n_resamples=5)
    assert dcd.stability(RobustDCD(), pl.DataFrame(table.to_dict("list")), n_resamples=5) == wanted
    assert np.array_equal(dcd.stability(RobustDCD(), table.to_numpy(), n_resamples=5).edge, wanted.edge)
    turned = dcd.stability(RobustDCD(), table[["c", "d", "a", "b"]], n_resamples=5)
    for a, b in combinations("abcd", 2):
        assert turned.frequencies(a, b) == wanted.frequencies(a, b)


def test_resamples_are_drawn_as_said(monkeypatch):
    seen = []
    original = Correlated.fit

    def fit(self, X, y=None, sample_weight=None):
        seen.append((X, self.random_state))
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(Correlated, "fit", fit)
    table = chain_table(101)
    dcd.stability(Correlated(), table, n_resamples=6, fraction=0.3)
    assert {len(part) for part, _ in seen} == {30}
    assert all(part.index.is_unique for part, _ in seen)
    assert len({seed for _, seed in seen}) == 6
    assert len({tuple(part.index) for part, _ in seen}) == 6
    seen.clear()
    dcd.stability(Correlated(), table, n_resamples=6, scheme="bootstrap")
    assert {len(part) for part, _ in seen} == {101}
    distinct = np.mean([part.index.nunique() / 101 for part, _ in seen])
    assert distinct == pytest.approx(1 - np.exp(-1), abs=0.06)


def test_the_model_is_left_as_it_was_and_may_be_fitted():
    model = RobustDCD(n_jobs=2, random_state=3).fit(chain_table())
    graph = model.cpdag_
    dcd.stability(model, chain_table(), n_resamples=2)
    assert model.cpdag_ is graph
    assert (model.n_jobs, model.random_state) == (2, 3)
    unfitted = Correlated()
    dcd.stability(unfitted, chain_table(), n_resamples=2)
    with pytest.raises(Exception, match="not fitted"):
        check_is_fitted(unfitted)


def test_weights_follow_their_rows(monkeypatch):
    table = chain_table()
    weights = np.where(table["a"] > 0, 2.0, 1.0)
    given = []
    original = Correlated.fit

    def fit(self, X, y=None, sample_weight=None):
        given.append((X["a"], sample_weight))
        return original(self, X, y, sample_weight)

    monkeypatch.setattr(Correlated, "fit", fit)
    dcd.stability(Correlated(), table, n_resamples=3, sample_weight=weights)
    assert all(np.array_equal(np.where(a > 0, 2.0, 1.0), w) for a, w in given)
    with pytest.raises(InputError, match=r"'sample_weight': has 3 values for 150 rows"):
        dcd.stability(Correlated(), table, sample_weight=[1, 1, 1])


@pytest.mark.parametrize("n_tables", [4, pytest.param(12, marks=pytest.mark.slow)])
def test_level_subsamples_keep_it_and_bootstrap_samples_do_not(n_tables):
    """Why "subsample" is the default: repeated rows look like evidence."""
    shares = {"subsample": [], "bootstrap": []}
    for seed in range(n_tables):
        table = np.random.default_rng(seed).standard_normal((200, 5))
        for scheme, found in shares.items():
            model = RobustDCD(search=dcd.WholeGraph(chains=0))
            result = dcd.stability(model, table, n_resamples=5, scheme=scheme, random_state=seed)
            found.append(result.edge[np.triu_indices(5, 1)].mean())
    assert np.mean(shares["subsample"]) < 0.05
    assert np.mean(shares["bootstrap"]) > 0.1


# --- failures --------------------------------------------------------------------------------------------


def test_failed_resamples_are_counted_with_their_reason():
    with pytest.warns(FailedResamplesWarning, match=r"of 40 resamples failed\. .* times: column 'event'"):
        result = dcd.stability(RobustDCD(), rare_event_table(), n_resamples=40)
    assert 3 <= result.n_failed <= 20
    assert result.n_resamples + result.n_failed == 40
    (reason,) = result.failures
    assert "has the same value in every row" in reason
    assert "resamples failed" in str(result)
    assert sum(result.frequencies("a", "b").values()) == pytest.approx(1)


def test_a_column_left_out_of_a_resample_is_no_vote_against_its_edges():
    with pytest.warns(FailedResamplesWarning, match="column 'event': it has the same value in every row"):
        result = dcd.stability(
            RobustDCD(drop_degenerate=True), rare_event_table().assign(one=1), n_resamples=40
        )
    assert result.names == ("a", "b", "c", "d", "event")
    assert 3 <= result.n_failed <= 20


def test_columns_keep_the_kind_that_they_have_in_the_table(monkeypatch):
    given = []
    original = RobustDCD.fit

    def fit(self, X, y=None, sample_weight=None):
        given.append(original(self, X, y, sample_weight).table_.kinds)
        return self

    monkeypatch.setattr(RobustDCD, "fit", fit)
    table = chain_table(120).assign(group=np.resize(list("xyz"), 120), rare=np.arange(120) % 60 // 29)
    assert set(table["rare"]) == {0, 1, 2}  # in many half samples one value is absent: two would be nominal
    dcd.stability(RobustDCD(), table, n_resamples=10)
    assert len({tuple(kinds.items()) for kinds in given}) == 1
    assert (given[0]["group"], given[0]["rare"]) == ("nominal", "ordinal")


def test_missing_values_are_left_to_the_model():
    table = chain_table()
    table.loc[::7, "a"] = np.nan
    result = dcd.stability(RobustDCD(missing="complete-rows"), table, n_resamples=4)
    assert result.n_resamples == 4


def test_only_if_all_resamples_fail_is_it_an_error():
    table = chain_table(40)
    with pytest.raises(InputError, match=r"all 3 failed, 3 of them with: .* Fit the model to the table"):
        dcd.stability(RobustDCD(), table, n_resamples=3, fraction=0.01)


def test_bad_input_is_refused_before_any_work():
    table = chain_table()
    with pytest.raises(InputError, match="must be an estimator of graphs, got MarkovBoundary"):
        dcd.stability(dcd.MarkovBoundary(target="a"), table)
    with pytest.raises(InputError, match="got RobustDCD"):
        dcd.stability(RobustDCD, table)
    with pytest.raises(InputError, match="'alpha'"):
        dcd.stability(RobustDCD(alpha=3), table)
    with pytest.raises(InputError, match=r"Did you mean 'subsample'"):
        dcd.stability(RobustDCD(), table, scheme="subsamples")
    for wrong in ({"n_resamples": 0}, {"fraction": 1.0}, {"n_jobs": 0}, {"random_state": -1}):
        with pytest.raises(InputError, match=f"'{next(iter(wrong))}'"):
            dcd.stability(RobustDCD(), table, **wrong)
    with pytest.raises(InputError, match=r"column 'a': missing"):
        dcd.stability(RobustDCD(), table.assign(a=table["a"].where(table["a"] > 0)))


@pytest.mark.slow
def test_frequent_edges_are_true_more_often():
    found = []
    for seed in range(5):
        truth = dcd.simulate.random_dag(8, degree=4, graph="erdos-renyi", random_state=seed)
        table = dcd.simulate.sample(truth, 300, noise_std=1.0, random_state=seed)
        edge = dcd.stability(RobustDCD(), table, n_resamples=20, random_state=seed).edge
        found += [(edge[i, j], skeleton_of(truth)[i, j]) for i, j in combinations(range(8), 2)]
    frequency, true = np.array(found, dtype=float).T
    often, at_times = true[frequency > 0.9], true[(frequency > 0.05) & (frequency < 0.5)]
    assert min(len(often), len(at_times)) > 10
    assert often.mean() > 0.95
    assert often.mean() > at_times.mean()
