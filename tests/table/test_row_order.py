"""Rows that depend on earlier rows: reported in audit, terminal and report; never by chance."""

import re

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.cli import main
from dcd.table.notes import notes_of
from dcd.table.row_order import LEVEL, STRONG, column_order, dependence_on_earlier_rows
from dcd.table.sources import columns_of

SEEDS = range(20)


def walks(seed, n=400, d=3):
    return np.random.default_rng(seed).standard_normal((n, d)).cumsum(axis=0)


def series(rng, n, coefficient, d):
    """Columns whose autocorrelation at lag k is the k-th power of a coefficient."""
    values = rng.standard_normal((n, d))
    for row in range(1, n):
        values[row] += coefficient * values[row - 1]
    return values


def seasons(rng, n, period, d):
    """Sines with random phases, twice the variance of the noise in them."""
    angles = 2 * np.pi * (np.arange(n)[:, None] / period + rng.random(d))
    return 2 * np.sin(angles) + rng.standard_normal((n, d))


def told(table):
    found = dependence_on_earlier_rows(columns_of(table))
    return () if found is None else found.names


@pytest.mark.parametrize("seed", SEEDS)
def test_random_walks_and_repeated_subjects_are_found(seed):
    rng = np.random.default_rng(seed)
    assert told(walks(seed)) == ("x0", "x1", "x2")
    subjects = np.repeat(rng.standard_normal((50, 3)), 8, axis=0) + 0.5 * rng.standard_normal((400, 3))
    assert told(subjects) == ("x0", "x1", "x2")
    gappy = np.where(rng.random((400, 3)) < 0.1, np.nan, walks(seed))
    assert told(gappy) == ("x0", "x1", "x2")


@pytest.mark.parametrize("period", [7, 12, 24])
@pytest.mark.parametrize("seed", SEEDS)
def test_seasons_are_found_with_their_period(seed, period):
    table = seasons(np.random.default_rng(seed), 240, period, 3)
    found = dependence_on_earlier_rows(columns_of(table))
    assert found.names == ("x0", "x1", "x2")
    assert abs(found.lag - period) <= 1
    assert found.correlation == pytest.approx(2 / 3, abs=0.2)


@pytest.mark.parametrize("seed", SEEDS)
def test_alternating_rows_are_found(seed):
    found = dependence_on_earlier_rows(columns_of(series(np.random.default_rng(seed), 300, -0.7, 3)))
    assert found.names == ("x0", "x1", "x2")
    assert found.lag == 1
    assert found.correlation == pytest.approx(-0.7, abs=0.2)


@pytest.mark.parametrize("seed", SEEDS)
def test_one_dependent_column_is_enough(seed):
    rng = np.random.default_rng(seed)
    others = rng.standard_normal((400, 4))
    for column in (
        np.repeat(rng.standard_normal(50), 8) + 0.6 * rng.standard_normal(400),
        np.tile(rng.standard_normal(50), 8) + 0.6 * rng.standard_normal(400),  # fifty people in turn
        seasons(rng, 400, 12, 1)[:, 0],
        series(rng, 400, -0.7, 1)[:, 0],
    ):
        assert told(np.column_stack([others, column])) == ("x4",)
    colours = np.repeat(rng.choice(["red", "green", "blue"], 50), 8)
    colours = np.where(rng.random(400) < 0.2, rng.choice(["red", "green", "blue"], 400), colours)
    assert told(pd.DataFrame({"x": others[:, 0], "colour": colours})) == ("colour",)


INDEPENDENT = {
    "normal": lambda rng, n: rng.standard_normal((n, 8)),
    "heavy tails": lambda rng, n: rng.standard_t(1, size=(n, 8)),
    "rounded": lambda rng, n: np.round(rng.standard_normal((n, 8))),
    "two values": lambda rng, n: rng.random((n, 2)) < [0.1, 0.5],
    "rare values": lambda rng, n: (rng.random((n, 8)) < rng.choice([0.005, 0.02, 0.1], 8)) * 1.0,
    "counts": lambda rng, n: np.repeat(rng.standard_t(2, size=(n, 4)), rng.integers(1, 5, n), axis=0),
    "missing": lambda rng, n: np.where(rng.random((n, 8)) < 0.4, np.nan, rng.standard_normal((n, 8))),
    "zeros": lambda rng, n: rng.lognormal(size=(n, 8)) * (rng.random((n, 8)) < 0.1),
    "categories": lambda rng, n: pd.DataFrame(rng.choice(list("aaaabbc"), (n, 5))).add_prefix("c"),
    "whole numbers": lambda rng, n: rng.poisson(20, (n, 5)).astype(float),
}


@pytest.mark.parametrize("kind", INDEPENDENT)
def test_independent_rows_are_not(kind):
    """At most one of 60 tables; `LEVEL` allows one of a thousand."""
    flagged = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        table = INDEPENDENT[kind](rng, int(rng.integers(12, 600)))
        notes = notes_of(columns_of(table))
        flagged += any(note.kind == "dependent-rows" for note in notes)
    assert flagged <= 1


def test_weak_dependence_is_not_reported():
    """With an autocorrelation of 0.3, the variance grows by a fifth: clear in 5,000 rows, but harmless."""
    for seed in SEEDS:
        assert not told(series(np.random.default_rng(seed), 5_000, 0.3, 2))


def test_the_factor_is_that_of_the_variance_of_a_correlation():
    """Of two independent series with autocorrelations 0.8^k: (1 + 0.64) / (1 - 0.64) times 1 / n."""
    rng = np.random.default_rng(0)
    correlations, factors = [], []
    for _ in range(300):
        pair = series(rng, 1_000, 0.8, 2)
        correlations.append(np.corrcoef(pair.T)[0, 1])
        factors.append(column_order(pair[:, 0])[2])
    assert np.median(factors) == pytest.approx(1.64 / 0.36, rel=0.15)
    assert 1_000 * np.var(correlations) == pytest.approx(np.median(factors), rel=0.3)
    assert np.median(factors) > STRONG


def test_the_level_holds_for_a_single_column():
    """300 columns of rows in random order; the expected number of alarms is at most `LEVEL` of them."""
    rng = np.random.default_rng(0)
    alarms = sum(column_order(rng.standard_normal(150)) is not None for _ in range(300))
    assert alarms <= 1 + 300 * LEVEL


def test_a_sorted_column_alone_says_nothing():
    for seed in SEEDS:
        table = np.random.default_rng(seed).standard_normal((300, 3))
        table[:, 0].sort()
        assert not told(table)


@pytest.mark.parametrize("written", [str, lambda day: day], ids=["text", "dates"])
def test_rows_are_also_compared_in_the_order_of_dates(written):
    for seed in range(5):
        table = pd.DataFrame(walks(seed), columns=["a", "b", "c"])
        table["day"] = [written(day) for day in pd.date_range("2024-01-01", periods=len(table))]
        shuffled = table.sample(frac=1, random_state=seed)
        for kinds in (None, {"day": "continuous"}):
            problem = dcd.audit(shuffled, kinds=kinds).problems[-1]
            # The column of the example comes first.
            found = re.match(
                r"In the order of 'day', in 3 columns \('(\w)', '(\w)', '(\w)'\) "
                r"rows depend on earlier rows: in '\1', a row ",
                problem,
            )
            assert found
            assert sorted(found.groups()) == ["a", "b", "c"]
        assert not dcd.audit(shuffled.drop(columns="day")).problems
        noise = shuffled.assign(**dict(zip("abc", np.random.default_rng(seed).random((3, 400)), strict=True)))
        assert not dcd.audit(noise, kinds={"day": "continuous"}).problems


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
