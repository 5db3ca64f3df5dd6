from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse

from dcd import InputError
from dcd.runtime.errors import SmallSampleWarning
from dcd.table.reading import read_table

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")


def table(n=12, d=3, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def frame(**columns):
    """A good frame of two columns, with some added or replaced."""
    values = table(d=2)
    return pd.DataFrame({"a": values[:, 0], "b": values[:, 1], **columns})


# --- what is taken ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_every_kind_of_frame_keeps_its_names(make):
    values = table()
    columns = {"height": values[:, 0], "weight [kg]": values[:, 1], "日本": values[:, 2]}
    dataset = read_table(make(columns))
    assert dataset.names == ("height", "weight [kg]", "日本")
    assert dataset.named
    np.testing.assert_array_equal(dataset.values, values)


def test_arrays_and_lists_get_names():
    for given in (table(), table().tolist(), table().astype(object), np.asfortranarray(table())):
        dataset = read_table(given)
        assert dataset.names == ("x0", "x1", "x2")
        assert not dataset.named
        np.testing.assert_array_equal(dataset.values, table())


def test_number_names_of_pandas_become_text():
    dataset = read_table(pd.DataFrame(table(), columns=[10, 20, 30]))
    assert dataset.names == ("10", "20", "30")
    assert not dataset.named  # scikit-learn: only text counts as a feature name


@pytest.mark.parametrize(
    "column",
    [
        pd.array(range(12), dtype="Int64"),
        pd.array(range(12), dtype="Float32"),
        pd.array([True, False] * 6, dtype="boolean"),
        pd.array(range(12), dtype="int64[pyarrow]"),
        np.arange(12, dtype=np.uint8),
        np.arange(12) % 3 == 0,
        np.arange(12).astype(object),
    ],
    ids=lambda column: str(column.dtype),
)
def test_nullable_and_other_number_types(column):
    dataset = read_table(frame(c=column))
    np.testing.assert_array_equal(dataset.values[:, 2], np.asarray(column, dtype=float))


def test_the_table_is_not_changed():
    given = frame()
    before = given.copy()
    read_table(given)
    pd.testing.assert_frame_equal(given, before)


def test_canonical_order_depends_on_contents_only():
    values = table(d=6)
    names = np.array(list("abcdef"))
    first = read_table(pd.DataFrame(values, columns=names)).in_canonical_order()
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(6)
        other = read_table(pd.DataFrame(values[:, order], columns=names[order])).in_canonical_order()
        assert other.names == first.names
        np.testing.assert_array_equal(other.values, first.values)


def test_position_by_name_or_number():
    dataset = read_table(frame())
    assert dataset.position("b") == 1
    assert dataset.position(0) == 0
    assert dataset.position(-1) == 1
    numbered = read_table(pd.DataFrame(table(d=2), columns=[1, 0]))
    assert numbered.position(1) == 0  # a label comes before a position
    with pytest.raises(InputError, match="column True"):
        dataset.position(True)
    with pytest.raises(InputError, match=r"column 'B': is not in the table\. Did you mean 'b'\?"):
        dataset.position("B")
    with pytest.raises(InputError, match=r"column 7: is not in the table\. Choose from 'a', 'b'"):
        dataset.position(7)


# --- what is refused, and how ----------------------------------------------------------------------------

MISSING = np.where(np.arange(12) < 3, np.nan, np.arange(12))
INFINITE = np.where(np.arange(12) < 2, np.inf, np.arange(12))

REFUSED = {
    "missing": (frame(c=MISSING), r"column 'c': missing values \(NaN\), 3 \(25 %\)\. Drop"),
    "missing in two": (
        frame(c=MISSING, d=MISSING[::-1]),
        r"columns 'c', 'd': missing values \(NaN\), 3 \(25 %\), 3 \(25 %\)\.",
    ),
    "nullable missing": (
        frame(c=pd.array([None, *range(11)], dtype="Int64")),
        r"column 'c': missing .* 1 \(8 %\)\.",
    ),
    "None among objects": (frame(c=[None, *range(11)]), r"column 'c': missing .* 1 \(8 %\)\."),
    "infinite": (frame(c=INFINITE), r"column 'c': infinite values \(inf\), 2\."),
    "constant": (frame(c=7), "column 'c': has the same value in every row. Drop it"),
    "copy": (frame().assign(c=frame()["a"]), "column 'c': is a copy of 'a'"),
    "scaled copy": (frame().assign(c=3 - 2 * frame()["b"]), "column 'c': is a copy of 'b'"),
    "one text": (frame(c=["x"] * 12), "column 'c': has the same value in every row"),
    "numbers as text": (
        frame(c=[*(f"{x:.3f}" for x in table(n=11)[:, 0]), "n/a"]),
        r"column 'c': is text, but 11 of its 12 values are numbers \(others: 'n/a'\)\. If that word means",
    ),
    "many texts": (
        pd.DataFrame({"a": range(60), "b": [f"row {i}" for i in range(60)]}),
        "column 'b': has 60 different categories, more than 50. Drop it if it identifies rows",
    ),
    "text among numbers": (frame(c=["x", *range(11)]), "column 'c': not numeric .*'x'.* Convert"),
    "same categories": (frame(c=list("xyz") * 4, d=list("pqr") * 4), "column 'd': is a copy of 'c'"),
    "objects": (frame(c=[{"k": 1}] * 12), "column 'c': not numeric .* Convert"),
    "dates": (frame(c=pd.date_range("2020", periods=12)), "column 'c': not numeric"),
    "name twice": (pd.DataFrame(table(), columns=["a", "b", "a"]), "column 'a': the name occurs more than"),
    "one column": (table(d=1), r"1 feature\(s\) .* minimum of 2"),
    "no column": (table(d=0), r"0 feature\(s\) .* minimum of 2"),
    "few rows": (table(n=9), r"9 sample\(s\) .* minimum of 10"),
    "one dimension": (np.arange(20.0), r"1 dimension\(s\), expected 2"),
    "three dimensions": (np.zeros((3, 3, 3)), r"3 dimension\(s\)"),
    "complex": (table() + 1j, "Complex data not supported"),
    "sparse": (scipy.sparse.eye(12, 3).tocsr(), "sparse matrix"),
    "not a table": (None, "is not a table, got NoneType"),
    "a path to nothing": ("data.csv", r"file 'data\.csv': does not exist\. Check the name"),
    "no path": ("a sentence", "file 'a sentence': does not exist"),
    "nested": (frame(c=[[1]] * 12, d=[[2]] * 12), "column 'c': not numeric"),
    "a sum": (
        frame().assign(c=lambda f: f["a"] + f["b"], d=range(12)),
        "column 'a': is a linear combination of 'b', 'c'",
    ),
    "date array": (np.arange(24).reshape(12, 2).astype("datetime64[D]"), "dates or times"),
    "ragged": ([[1, 2], [3]], "Pass rows of equal length"),
    "huge": (frame(c=1e300 * np.arange(12)), "column 'c': values beyond 1e"),
    "huge object": (
        np.array([[10**400, 1]] * 12, dtype=object),
        "column 'x0': holds whole numbers beyond",
    ),
    "masked": (np.ma.masked_greater(table(), 1.0), "missing values"),
    "lazy": (SimpleNamespace(collect=lambda: None), r"is lazy\. Pass table\.collect"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_tables_are_refused_with_column_and_remedy(case):
    given, message = REFUSED[case]
    with pytest.raises(InputError, match=message) as caught:
        read_table(given)
    assert caught.value.remedy.endswith((".", "?"))
    assert str(caught.value) == f"{caught.value.subject}: {caught.value.problem}. {caught.value.remedy}"


def test_many_bad_columns_are_counted_not_listed():
    values = table(d=9)
    values[0, :] = np.nan
    with pytest.raises(InputError, match="'x4' and 4 more: missing"):
        read_table(values)


def test_few_rows_are_warned_of():
    with pytest.warns(SmallSampleWarning, match="Only 12 rows"):
        read_table(table())


@pytest.mark.parametrize(
    "target", [np.arange(12), pd.Series(range(12), name="price"), np.arange(12)[:, None]]
)
def test_a_separate_target_becomes_the_last_column(target):
    dataset = read_table(frame(), target)
    assert dataset.names == ("a", "b", getattr(target, "name", "y"))
    np.testing.assert_array_equal(dataset.values[:, 2], np.arange(12))
    assert dataset.select([0, 1]).names == ("a", "b")


def test_the_target_does_not_hide_a_column():
    assert read_table(frame(y=np.arange(12.0) ** 2), np.arange(12)).names == ("a", "b", "y", "y_")
    assert read_table(frame(), pd.DataFrame({"name": range(12)})).names == ("a", "b", "name")
    assert read_table(frame(), pl.Series("price", range(12))).names == ("a", "b", "price")
    assert read_table(frame(), pd.Series(range(12), name=0)).names == ("a", "b", "0")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (np.arange(11), r"the target 'y': has shape \(11,\), but the table has 12 rows"),
        ([], r"the target 'y': has shape \(0,\), but the table has 12 rows"),
        (np.zeros((12, 0)), r"the target 'y': has shape \(12, 0\), but the table has 12 rows"),
        (pd.DataFrame(), r"the target 'y': has shape \(0, 0\), but the table has 12 rows"),
        (np.zeros((12, 2)), r"has shape \(12, 2\)"),
        ([{}] * 12, "column 'y': not numeric"),
        (MISSING, "column 'y': missing values"),
        (np.ma.masked_less(np.arange(12), 3), "column 'y': missing values"),
        ([[1, 2], [3]], "the target: is not an array of numbers"),
        (pd.DataFrame({"a": range(12), "b": range(12)}), "has shape"),
        (np.ones(12), "column 'y': has the same value"),
    ],
)
def test_bad_targets(target, message):
    with pytest.raises(InputError, match=message):
        read_table(frame(), target)
