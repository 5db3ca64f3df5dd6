"""Rows that depend on the row before: reported in audit, terminal and report; never by chance."""

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.cli import main
from dcd.table.row_order import dependent_on_the_row_before
from dcd.table.sources import columns_of

SEEDS = range(20)


def walks(seed, n=400, d=3):
    return np.random.default_rng(seed).standard_normal((n, d)).cumsum(axis=0)


def told(table):
    return dependent_on_the_row_before(columns_of(table))[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_random_walks_and_repeated_subjects_are_found(seed):
    rng = np.random.default_rng(seed)
    assert told(walks(seed)) == ("x0", "x1", "x2")
    subjects = np.repeat(rng.standard_normal((50, 3)), 8, axis=0) + 0.5 * rng.standard_normal((400, 3))
    assert told(subjects) == ("x0", "x1", "x2")
    gappy = np.where(rng.random((400, 3)) < 0.1, np.nan, walks(seed))
    assert told(gappy) == ("x0", "x1", "x2")


def test_independent_rows_are_not():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        table = rng.standard_t(2, size=(rng.integers(12, 500), 8))
        assert not told(table)
        assert not told(np.round(table))
        assert not told(np.repeat(table, rng.integers(1, 5, len(table)), axis=0))  # rows with counts


def test_one_sorted_column_alone_says_nothing():
    for seed in SEEDS:
        table = np.random.default_rng(seed).standard_normal((300, 3))
        table[:, 0].sort()
        assert not told(table)


def test_the_audit_the_terminal_and_the_report_say_so(tmp_path, capsys):
    table = pd.DataFrame(walks(0), columns=["a", "b", "c"])
    sentence = "a row resembles the row before it"
    assert any(sentence in problem for problem in dcd.audit(table).problems)
    gappy = table.mask(np.random.default_rng(1).random(table.shape) < 0.02)
    assert any(sentence in problem for problem in dcd.audit(gappy).problems)
    model = dcd.RobustDCD(progress=False).fit(table)
    assert [note.kind for note in model.table_.notes if sentence in note.text] == ["dependent-rows"]
    table.to_csv(tmp_path / "walks.csv", index=False)
    with pytest.raises(SystemExit, match="0"):
        main(["discover", str(tmp_path / "walks.csv")])
    printed = capsys.readouterr()
    assert printed.out.count(sentence) == 1
    assert sentence not in printed.err
    (caution,) = [c for c in dcd.summarise(model).cautions if c.kind == "dependent-rows"]
    assert sentence in caution.text
    assert sentence in dcd.report.render(dcd.summarise(model))
    shuffled = table.sample(frac=1, random_state=0)
    again = dcd.RobustDCD(progress=False).fit(shuffled)
    assert not again.table_.notes
    assert not [c for c in dcd.summarise(again).cautions if c.kind == "dependent-rows"]
