"""`dcd.audit` with weights, counts and groups finds what a fit with them would refuse or warn about."""

import warnings

import numpy as np
import pandas as pd
import pytest

import dcd

N = 400


def table(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, N))
    return pd.DataFrame({"a": a, "b": a + b, "kind": rng.choice(["x", "y"], N)})


@pytest.mark.parametrize("seed", range(3))
def test_a_small_effective_size_is_a_problem(seed):
    weights = np.full(N, 1e-6)
    weights[np.random.default_rng(seed).permutation(N)[:12]] = 1.0
    audited = dcd.audit(table(seed), sample_weight=weights)
    assert len(audited.problems) == 1
    assert "Only 400 rows, with an effective sample size of 12" in audited.problems[0]
    assert dcd.audit(table(seed), sample_weight=np.linspace(0.5, 1.5, N)).ok


@pytest.mark.parametrize("seed", range(3))
def test_relations_are_those_of_the_rows_that_have_a_weight(seed):
    frame = table(seed)
    weights = np.where(frame["kind"] == "x", 1.0, 0.0)
    audited = dcd.audit(frame, sample_weight=weights)
    of_kind = [problem for problem in audited.problems if "'kind'" in problem]
    assert [problem.partition(".")[0] for problem in of_kind] == [
        "Column 'kind': has the same value in every row"
    ]
    with pytest.raises(dcd.InputError, match="column 'kind': has the same value in every row"):
        dcd.RobustDCD(progress=False).fit(frame, sample_weight=weights)
    by_name = {column.name: column for column in audited.columns}
    assert (audited.n_rows, by_name["kind"].n_distinct, by_name["a"].n_distinct) == (N, 2, N)
    assert frame.equals(table(seed))


def test_missing_values_are_those_of_all_rows():
    frame, weights = table(0), np.ones(N)
    frame.loc[:4, "a"], weights[:5] = np.nan, 0.0
    audited = dcd.audit(frame, sample_weight=weights)
    assert [problem[:36] for problem in audited.problems] == ["Column 'a': missing values (NaN), 5 "]
    with pytest.raises(dcd.InputError, match="column 'a': missing values"):
        dcd.RobustDCD(progress=False).fit(frame, sample_weight=weights)


def test_too_few_rows_with_a_weight():
    weights = np.zeros(N)
    weights[:9] = 1.0
    audited = dcd.audit(table(0), sample_weight=weights)
    few = "The table has 9 usable rows of 400, fewer than 10. Give at least 10 rows a weight above 0."
    assert audited.problems == (few,)
    with pytest.raises(dcd.InputError, match="Give at least 10 rows a weight above 0"):
        dcd.RobustDCD(progress=False).fit(table(0), sample_weight=weights)


@pytest.mark.parametrize("seed", range(3))
def test_counts_are_rows_repeated(seed):
    frame = table(seed).iloc[:60]
    counts = np.random.default_rng(seed).integers(0, 5, 60)
    audited = dcd.audit(frame, counts=counts)
    assert audited == dcd.audit(frame.loc[frame.index.repeat(counts)])
    assert audited.n_rows == counts.sum()


def test_groups_of_the_rows_that_have_a_weight():
    weights, groups = np.ones(N), np.repeat(np.arange(40), 10)
    weights[:250] = 0.0
    audited = dcd.audit(table(0), sample_weight=weights, groups=groups)
    assert audited.n_groups == 15
    assert any("Only 15 groups of rows" in problem for problem in audited.problems)


@pytest.mark.parametrize("parameter", ["sample_weight", "counts"])
@pytest.mark.parametrize(
    ("values", "problem"),
    [
        (np.ones(N - 1), "has 399 values for 400 rows"),
        (np.ones((2, N // 2)), "must be one column"),
        (np.full(N, np.nan), "has values that are not"),
        (-np.ones(N), "has values that are not"),
        (["much"] * N, "has values that are not"),
        (np.zeros(N), "is zero"),
    ],
)
def test_bad_values_are_refused_by_name(parameter, values, problem):
    with pytest.raises(dcd.InputError, match=problem) as caught:
        dcd.audit(table(0), **{parameter: values})
    assert caught.value.subject == f"parameter '{parameter}'"


@pytest.mark.parametrize("other", ["sample_weight", "groups"])
def test_counts_go_with_neither_weights_nor_groups(other):
    with pytest.raises(dcd.InputError, match=f"was given together with {other}"):
        dcd.audit(table(0), counts=np.ones(N), **{other: np.arange(N)})


@pytest.mark.parametrize("seed", range(4))
def test_an_audit_without_problems_is_a_fit_without_warnings(seed):
    rng = np.random.default_rng(seed)
    weights = rng.choice([0.0, 1.0, 5.0], N)
    assert dcd.audit(table(seed), sample_weight=weights).ok
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dcd.RobustDCD(progress=False).fit(table(seed), sample_weight=weights)
