"""Columns that name subjects with several rows each: found by their rows, never ages or counts."""

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.table.reading import read_table
from dcd.table.sources import columns_of
from dcd.table.subjects import subject_columns

SEEDS = range(20)


def people(seed, order, *, share=0.6, n_people=50, n_rows=8, name="k"):
    """Two columns with a share of their variance between people, one without, and the numbers of people."""
    rng = np.random.default_rng(seed)
    numbers = np.repeat(np.arange(1, n_people + 1), n_rows)
    numbers = {
        "random": rng.permutation(numbers),
        "drawn": rng.integers(1, n_people + 1, len(numbers)),
        "in turn": np.sort(numbers).reshape(n_people, n_rows).T.ravel(),
    }[order]
    table = pd.DataFrame(rng.standard_normal((len(numbers), 3)), columns=["a", "b", "c"])
    between = rng.standard_normal((n_people + 1, 2))[numbers]
    table[["a", "b"]] = np.sqrt(1 - share) * table[["a", "b"]] + np.sqrt(share) * between
    return table.assign(**{name: numbers})


def found(table):
    return {subjects.name: subjects for subjects in subject_columns(columns_of(table))}


@pytest.mark.parametrize("order", ["random", "drawn", "in turn"])
@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_of_people_are_found_in_any_order(seed, order):
    table = people(seed, order)
    subjects = found(table)["k"]
    assert subjects.alike == ("a", "b")
    assert subjects.correlation == pytest.approx(0.6, abs=0.25)
    (note,) = read_table(table).summary.notes
    assert note.kind == "dependent-rows"
    assert note.columns == ("k",)
    assert "pass the column as groups (groups= or --groups)" in note.text
    assert note.text in dcd.audit(table).problems
    assert not read_table(table.drop(columns="k"), groups=table["k"]).summary.notes


@pytest.mark.parametrize("seed", SEEDS)
def test_a_name_tells_subjects_whose_neighbours_are_alike(seed):
    """People numbered in the order of a trend, as numbers and as text."""
    table = people(seed, "random", name="patient_id")
    table["a"] += table["patient_id"] / 15
    table["b"] = table["a"] + table["c"]
    subjects = found(table[["a", "b", "c", "patient_id"]])["patient_id"]
    assert subjects.said
    assert "a" in subjects.alike
    text = table.assign(patient_id=[f"p{number}" for number in table["patient_id"]])
    assert found(text)["patient_id"].alike == subjects.alike
    assert not found(table.rename(columns={"patient_id": "patient_age"})[["patient_age", "a"]])


def associated(rng, n):
    """Ages and counts, and smooth functions of them with little or much noise."""
    age = rng.integers(18, 90, n)
    u = (age - 54) / 20
    curve = [u, u**2, np.sin(3 * u), np.exp(u), u > 0][rng.integers(5)]
    noise = rng.choice([0.01, 0.1, 0.3, 1.0, 3.0])
    y = curve + noise * rng.standard_normal(n)
    w = np.round(5 * (u + noise * rng.standard_normal(n)))
    return pd.DataFrame({"age": age, "y": y, "w": w, "count": rng.poisson(np.exp(u))})


UNRELATED = {
    "associated": associated,
    "codes": lambda rng, n: pd.DataFrame({"code": rng.integers(1, 51, n), "x": rng.standard_t(2, n)}),
    "counts": lambda rng, n: rng.poisson([0.02, 0.1, 0.5, 3.0, 20.0], (n, 5)),
    "repeated": lambda rng, n: np.repeat(np.round(40 * rng.random((n, 3))), rng.integers(1, 6, n), axis=0),
}


@pytest.mark.parametrize("kind", UNRELATED)
def test_measurements_are_not_taken_for_subjects(kind):
    """At most two of 100 tables."""
    alarms = 0
    for seed in range(100):
        rng = np.random.default_rng(seed)
        alarms += bool(found(UNRELATED[kind](rng, int(rng.integers(60, 1_200)))))
    assert alarms <= 2


def test_people_in_a_large_table_need_not_come_early():
    """40,000 people in turn: the first rows have each of them once."""
    table = people(0, "in turn", n_people=40_000, n_rows=5)
    assert found(table)["k"].n_subjects == 40_000
