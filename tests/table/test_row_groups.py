"""Rows that belong together: group names, bad input, and the design effect."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import dcd
from dcd.features.rank_scores import scores_of
from dcd.table.reading import read_table
from dcd.table.row_groups import row_groups, used_groups

SEEDS = range(4)


def persons(n_persons, n_rows, d, share, seed):
    """A table of persons with random effects that are a `share` of the variance of each column."""
    rng = np.random.default_rng(seed)
    own = np.repeat(rng.standard_normal((n_persons, d)), n_rows, axis=0)
    values = np.sqrt(share) * own + np.sqrt(1 - share) * rng.standard_normal(own.shape)
    return values, np.repeat(np.arange(n_persons), n_rows)


@pytest.mark.parametrize(
    "labels",
    [
        lambda codes: codes,
        lambda codes: (codes + 2**60).tolist(),
        lambda codes: [f"person {code}" for code in codes],
        lambda codes: pd.Series(codes).astype("category"),
        lambda codes: pd.to_datetime(codes, unit="D"),
        lambda codes: pl.Series([str(code) for code in codes]),
        lambda codes: codes[:, None],
        lambda codes: np.ma.array(codes, mask=False),
    ],
)
def test_whatever_names_the_groups_they_are_the_same(labels):
    codes = np.array([0, 0, 1, 2, 1, 3, 0, 2])
    assert row_groups(labels(codes), 8).tolist() == codes.tolist()


@pytest.mark.parametrize("parameter", ["y", "sample_weight", "counts", "groups"])
def test_one_column_is_one_value_for_each_row(parameter):
    """As a column of shape (n, 1), such as table[["person"]]; for every parameter, and no other shape."""
    rng = np.random.default_rng(0)
    values, column = rng.standard_normal((40, 3)), np.repeat(np.arange(1, 11), 4)

    def pvalues(given):
        if parameter == "y":
            return dcd.MarkovBoundary().fit(values, given).pvalues_
        return dcd.MarkovBoundary(target=0).fit(values, **{parameter: given}).pvalues_

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dcd.errors.SmallSampleWarning)
        expected = np.asarray(pvalues(column))
        for same in (column[:, None], pd.DataFrame({"person": column})):
            np.testing.assert_array_equal(np.asarray(pvalues(same)), expected)
        for other in (column[None], column[:, None, None], np.column_stack([column, column])):
            with pytest.raises(dcd.InputError, match=f"'{parameter}'"):
                pvalues(other)


def test_a_number_and_its_text_are_two_groups():
    assert row_groups([1, "1", 1, "1"], 4).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        (np.arange(39), "has 39 values for 40 rows"),
        ("person", r"one value for each row, got one value. Pass a column, such as table\['person'\]"),
        (np.zeros((20, 2)), r"one value for each row, got \(20, 2\)"),
        (np.zeros(40), "into one group"),
        (np.where(np.arange(40) == 7, np.nan, 1.0), "has 1 missing values, the first in row 7"),
        ([None, *range(39)], "has 1 missing values, the first in row 0"),
        (pd.Series([pd.NA] * 40), "has 40 missing values"),
        (np.ma.array(np.arange(40), mask=np.arange(40) > 37), "has 2 missing values, the first in row 38"),
        ([[i] * (i % 3) for i in range(40)], "different lengths"),
        ([{} for _ in range(40)], "cannot serve as group names"),
        (iter(range(40)), "got one value"),
    ],
)
@pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")
@pytest.mark.parametrize("read", [dcd.RobustDCD().fit, dcd.audit])
def test_what_names_no_groups_is_refused(groups, message, read):
    values = np.random.default_rng(0).standard_normal((40, 3))
    with pytest.raises(dcd.InputError, match=f"parameter 'groups': .*{message}"):
        read(values, groups=groups)


def test_one_group_among_the_rows_that_are_used_is_refused():
    assert used_groups(np.array([3, 3, 5])).tolist() == [0, 0, 1]
    assert used_groups(np.array([3, 1, 5])) is None
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 3)), columns=list("abc"))
    frame.loc[100:, "a"] = np.nan
    groups = np.repeat([0, 1], 100)
    with pytest.raises(dcd.InputError, match="'groups': puts all rows that are used into one group"):
        dcd.RobustDCD(missing="complete-rows").fit(frame, groups=groups)


def test_few_groups_are_told():
    values, groups = persons(12, 20, 3, 0.5, 0)
    with pytest.warns(dcd.errors.SmallSampleWarning, match="Only 12 groups of rows"):
        model = dcd.RobustDCD().fit(values, groups=groups)
    assert [c.kind for c in dcd.summarise(model).cautions if "group" in c.kind] == ["few-groups"]
    (problem,) = dcd.audit(values, groups=groups).problems
    assert problem.startswith("Only 12 groups of rows")


def test_counts_and_groups_do_not_go_together():
    values, groups = persons(20, 5, 3, 0.5, 0)
    with pytest.raises(dcd.InputError, match=r"'counts': was given together with groups. Repeat the rows"):
        dcd.RobustDCD().fit(values, counts=np.ones(100), groups=groups)


# --- how many independent rows they are worth ------------------------------------------------------------


def effective(values, groups, **more):
    return scores_of(read_table(values, groups=groups, **more)).ess


@pytest.mark.parametrize("seed", SEEDS)
def test_copies_are_worth_their_originals_and_strangers_all_rows(seed):
    rng = np.random.default_rng(seed)
    values, groups = persons(100, 8, 4, 1.0, seed)
    assert effective(values, groups) == pytest.approx(100)
    strangers = rng.standard_normal((800, 4))
    assert effective(strangers, groups) == pytest.approx(800, rel=0.02)
    half = values.copy()
    half[:, :2] = strangers[:, :2]  # of six pairs of columns, one consists of copies alone
    assert effective(half, groups) == pytest.approx(800 / (1 + 7 / 6), rel=0.04)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])
def test_the_design_effect_is_the_variance_of_covariances(share):
    """By simulation: covariances of two columns vary as those of as many independent rows."""
    moments, sizes = [], []
    for seed in range(300):
        values, groups = persons(40, 6, 2, share, seed)
        moments.append(float(np.mean(values[:, 0] * values[:, 1])))
        sizes.append(effective(values, groups))
    assert 1 / np.var(moments) == pytest.approx(np.mean(sizes), rel=0.25)


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_of_all_sizes_with_weights_and_categories(seed):
    """An intraclass correlation by its definition, over all pairs of rows."""
    rng = np.random.default_rng(seed)
    values, _ = persons(30, 10, 2, 0.6, seed)
    groups = rng.integers(0, 40, 300)
    weights = rng.uniform(0.2, 3.0, 300)
    dataset = read_table(values, groups=groups, sample_weight=weights)
    scores = scores_of(dataset)
    shares = weights / weights.sum()
    same = (groups[:, None] == groups) & ~np.eye(300, dtype=bool)
    for v in range(2):
        z = scores.variables[v].part(slice(0, 300), (0,))[:, 0]
        pairs = shares[:, None] * shares * same
        wanted = (pairs * np.outer(z, z)).sum() / pairs.sum()
        assert scores.alike[v] == pytest.approx(np.clip(wanted, 0, 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_rows_that_are_known_to_belong_together_are_no_caveat(seed):
    values, groups = persons(60, 10, 3, 0.8, seed)
    (note,) = read_table(values).summary.notes
    assert note.kind == "dependent-rows"
    assert "(groups= or --groups)" in note.text
    assert dcd.audit(values).problems == (note.text,)
    assert not read_table(values, groups=groups).summary.notes
    audit = dcd.audit(values, groups=groups)
    assert audit.ok
    assert str(audit).startswith("600 rows in 60 groups (600 complete), 3 columns\n")
    alone = np.arange(len(values))
    assert dcd.audit(values, groups=alone) == dcd.audit(values)  # one group per row is the same as none


@pytest.mark.parametrize("seed", SEEDS)
def test_groups_that_follow_each_other_are_a_caveat(seed):
    rng = np.random.default_rng(seed)
    walks = np.repeat(rng.standard_normal((200, 3)).cumsum(axis=0), 2, axis=0)
    walks += 0.1 * rng.standard_normal(walks.shape)
    groups = np.repeat(np.arange(200), 2)
    (note,) = read_table(walks, groups=groups).summary.notes
    assert note.kind == "dependent-rows"
    assert "the first row of a group resembles that of the group before it" in note.text
    assert "name larger groups (groups= or --groups)" in note.text
    assert dcd.audit(walks, groups=groups).problems == (note.text,)
