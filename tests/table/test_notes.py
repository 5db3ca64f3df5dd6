"""Caveats of usable tables: identifiers, columns in the same order; in both audit and discover."""

import numpy as np
import pandas as pd
import pytest

import dcd
import dcd.cli
from dcd.table.notes import notes_of
from dcd.table.sources import columns_of

N = 200


def told(**columns):
    table = pd.DataFrame({"a": np.random.default_rng(99).standard_normal(N), **columns})
    return [(note.kind, note.columns) for note in notes_of(columns_of(table))]


def shuffled(values, seed=1):
    return np.random.default_rng(seed).permutation(values)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("patient", np.arange(N)),
        ("patient", shuffled(np.arange(5, N + 5))),
        ("patient", np.cumsum(1 + np.arange(N) % 3)[::-1]),
        ("patient_id", shuffled(np.cumsum(1 + np.arange(N) % 3))),
    ],
)
def test_numbers_that_name_the_rows_are_told(name, values):
    assert told(**{name: values}) == [("row-identifier", (name,))]


@pytest.mark.parametrize(
    "values",
    [
        shuffled(np.cumsum(1 + np.arange(N) % 3)),  # such as incomes that all differ
        np.arange(N) // 2,
        np.arange(N) + 0.5,
        np.where(np.arange(N) == 3, np.nan, np.arange(N)),
        shuffled(np.arange(N)) % 10,
    ],
)
def test_other_numbers_are_not(values):
    assert told(income=values) == []


@pytest.mark.parametrize("seed", range(5))
def test_columns_of_the_same_order_are_told(seed):
    x, y = np.random.default_rng(seed).standard_normal((2, N))
    assert told(x=x, exp=np.exp(x), y=y) == [("same-order", ("x", "exp"))]
    assert told(x=x, minus=-(x**3), grade=np.round(x)) == [("same-order", ("x", "minus"))]
    nearly = np.exp(x)
    nearly[np.argsort(x)[:2]] = nearly[np.argsort(x)[1::-1]]
    assert told(x=x, nearly=nearly) == []
    gappy = np.where(np.arange(N) == seed, np.nan, x)
    assert told(x=gappy, exp=np.exp(gappy)) == [("same-order", ("x", "exp"))]


def test_an_order_that_differs_only_after_many_rows_is_another_one():
    x = np.random.default_rng(0).standard_normal(30_000)
    late = np.exp(x)
    late[-1] = -1.0
    table = pd.DataFrame({"x": x, "late": late, "same": np.exp(x)})
    assert [note.columns for note in notes_of(columns_of(table))] == [("x", "same")]


def test_audit_discover_and_report_say_the_same(tmp_path, capsys):
    rng = np.random.default_rng(0)
    x = rng.standard_normal(N)
    y = x + rng.standard_normal(N)
    table = pd.DataFrame({"case": np.arange(N), "x": x, "log_x": np.exp(x), "y": y})
    audited = dcd.audit(table)
    model = dcd.RobustDCD(progress=False).fit(table)
    result = dcd.summarise(model)
    cautions = {caution.kind: caution for caution in result.cautions}
    assert cautions["row-identifier"].variables == ("case",)
    assert cautions["same-order"].variables == ("x", "log_x")
    table.to_csv(tmp_path / "table.csv", index=False)
    with pytest.raises(SystemExit, match="0"):
        dcd.cli.main(["discover", str(tmp_path / "table.csv")])
    printed = capsys.readouterr().out
    for kind in ("row-identifier", "same-order"):
        assert cautions[kind].text in audited.problems
        assert printed.count(cautions[kind].text) == 1
    assert "looks like an identifier" in dcd.report.render(result)
