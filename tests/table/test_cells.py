"""Cells: the same values are read in the same way, or refused, in every container."""

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import dcd
from dcd.table.sources import columns_of

pytestmark = pytest.mark.filterwarnings("ignore::dcd.runtime.errors.SmallSampleWarning")

N = 40
COUNTS = list(range(N))
BIG = 2**53 + 1

REFUSED = {
    "whole numbers that floats merge": ([BIG + i for i in COUNTS], "beyond 2\\^53"),
    "one of them among fractions": ([0.5] * (N - 1) + [BIG], "beyond 2\\^53"),
    "beyond any float": ([*COUNTS[1:], 10**400], "beyond 2\\^53"),
    "numeric text": ([str(i) for i in COUNTS], "is text, but \\d+ of its \\d+ values are numbers"),
    "numbers and numeric text": ([1, "2"] * 20, "not numeric"),
    "complex numbers": ([complex(i, 1) for i in COUNTS], "not numeric|complex"),
    "complex NumPy scalars": ([np.complex128(i) for i in COUNTS], "not numeric|complex"),
    "spans of time": ([np.timedelta64(1, "D"), np.timedelta64(24, "h")] * 20, "not numeric"),
    "Python's spans of time": ([datetime.timedelta(i) for i in COUNTS], "not numeric"),
    "dates": ([np.datetime64("2020-01-01") + i for i in COUNTS], "not numeric"),
    "Python's dates": ([datetime.date(2020, 1, 1 + i % 9) for i in COUNTS], "not numeric"),
    "decimal fractions": ([Decimal(i) for i in COUNTS], "not numeric"),
}


def objects(cells):
    """(n, 2) objects: whole numbers, and these cells unchanged."""
    table = np.empty((len(cells), 2), dtype=object)
    table[:, 0] = [(7 * i) % 41 for i in range(len(cells))]
    for row, cell in enumerate(cells):
        table[row, 1] = cell
    return table


def hidden_first(table):
    masked = np.ma.array(table)
    masked[0, 1] = np.ma.masked
    return masked


CONTAINERS = {
    "objects": lambda table: table,
    "masked objects": hidden_first,
    "masked without a mask": np.ma.array,
    "frame": lambda table: pd.DataFrame({"x0": table[:, 0].astype(int), "x1": pd.Series(list(table[:, 1]))}),
    "frame of objects": lambda table: pd.DataFrame({"x0": table[:, 0], "x1": table[:, 1]}, dtype=object),
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("case", REFUSED)
def test_what_no_float_can_hold_is_refused_in_every_container(case, container):
    cells, message = REFUSED[case]
    if container == "frame" and case in ("beyond any float", "one of them among fractions"):
        pytest.skip("pandas has converted or refused these before dcd sees them")
    table = CONTAINERS[container](objects(cells))
    with pytest.raises(dcd.InputError, match=message):
        dcd.RobustDCD(missing="complete-rows").fit(table)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.arange(BIG, BIG + 2 * N).reshape(N, 2), "beyond 2\\^53"),
        (np.array([str(i) for i in range(2 * N)]).reshape(N, 2), "is text, but"),
        (np.arange(2 * N).reshape(N, 2) + 1j, "complex"),
        (np.arange(2 * N).reshape(N, 2).astype("m8[h]"), "not numeric \\(dates or times"),
        (np.arange(2 * N).reshape(N, 2).astype("M8[D]"), "not numeric \\(dates or times"),
    ],
)
@pytest.mark.parametrize("masked", [False, True])
def test_a_mask_does_not_change_what_an_array_holds(array, message, masked):
    table = np.ma.array(array) if masked else array
    if masked:
        table[3, 1] = np.ma.masked
    with pytest.raises(dcd.InputError, match=message):
        dcd.RobustDCD(missing="complete-rows").fit(table)


@pytest.mark.skipif(np.dtype(np.longdouble).itemsize == 8, reason="no extended precision here")
@pytest.mark.parametrize(
    "of", [np.array, np.ma.array, list, lambda table: table.astype(object), np.asfortranarray]
)
@pytest.mark.parametrize(
    "number", [np.longdouble(2**53) + 1, np.longdouble("1e400"), -np.longdouble(2**60) - 1]
)
def test_extended_precision_loses_no_whole_numbers(of, number):
    table = np.arange(2 * N, dtype=np.longdouble).reshape(N, 2)
    table[3, 1] = np.longdouble(1) / 3
    assert [column.trouble for column in columns_of(of(table))] == [None, None]
    table[5, 1] = number
    with pytest.raises(dcd.InputError, match="column 'x1': holds whole numbers beyond 2\\^53"):
        dcd.RobustDCD().fit(of(table))


@pytest.mark.parametrize("dtype", [float, np.float32, int, np.uint8, bool, object, "U8"])
def test_masked_cells_are_missing_and_the_others_are_not(dtype):
    array = (np.arange(2 * N).reshape(N, 2) % 7 % 2).astype(int).astype(dtype)
    whole, gappy = columns_of(array), columns_of(hidden_first(array))
    for one, other in zip(whole, gappy, strict=True):
        assert (one.source, one.levels) == (other.source, other.levels)
        missing = np.isnan(other.values)
        assert np.flatnonzero(missing).tolist() == ([0] if other.name == "x1" else [])
        np.testing.assert_array_equal(other.values[~missing], one.values[~missing])


@pytest.mark.parametrize("gap", [None, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.ma.masked])
@pytest.mark.parametrize("word", [1.5, "a", True])
def test_every_sign_of_a_missing_cell_is_known(gap, word):
    (_, column) = columns_of(objects([gap, word] * 20))
    assert column.trouble is None
    assert column.n_missing == 20


@pytest.mark.parametrize(
    "values",
    [
        pl.Series([BIG - 1 + i for i in COUNTS], dtype=pl.Decimal(38, 0)),
        pa.array([Decimal(BIG - 1 + i) for i in COUNTS], type=pa.decimal128(38, 0)),
    ],
)
def test_decimals_that_floats_merge_are_refused(values):
    table = pl.DataFrame({"a": COUNTS, "b": values}) if isinstance(values, pl.Series) else None
    with pytest.raises(dcd.InputError, match="beyond 2\\^53"):
        dcd.RobustDCD().fit(pa.table({"a": COUNTS, "b": values}) if table is None else table)


# --- lists, and whole numbers at the limit ----------------------------------------------------------------


@pytest.mark.parametrize("limit", [2**53, -(2**53), BIG])
@pytest.mark.parametrize("container", ["array", "list", "frame", "polars", "pyarrow", "gappy", "csv"])
def test_the_first_whole_number_that_floats_merge_is_refused_everywhere(limit, container, tmp_path):
    cells = [*COUNTS[1:], limit]
    frame = pd.DataFrame({"a": COUNTS, "b": cells})
    file = tmp_path / "table.csv"
    frame.to_csv(file, index=False)
    table = {
        "array": frame.to_numpy(),
        "list": frame.to_numpy().tolist(),
        "frame": frame,
        "polars": pl.DataFrame({"a": COUNTS, "b": cells}),
        "pyarrow": pa.table({"a": COUNTS, "b": cells}),
        "gappy": pd.DataFrame({"a": COUNTS, "b": pd.array([None, *cells[1:]], dtype="Int64")}),
        "csv": str(file),
    }[container]
    with pytest.raises(dcd.InputError, match=r"too large|beyond 2\^53"):
        dcd.RobustDCD(missing="complete-rows").fit(table)
    frame["b"] = [*COUNTS[1:], 2**53 - 1]
    assert columns_of(frame)[1].trouble is None


def test_numbers_beside_text_in_lists_stay_numbers():
    rows = [[i % 3, i + 0.5, "ab"[i % 2], i % 2 == 0, None] for i in COUNTS]
    for table in (rows, tuple(map(tuple, rows)), np.array(rows, dtype=object)):
        columns = columns_of(table)
        assert [column.source for column in columns] == [
            "numbers",
            "numbers",
            "text",
            "Booleans",
            "numbers",
        ]
        np.testing.assert_array_equal(columns[0].values, [row[0] for row in rows])
        np.testing.assert_array_equal(columns[1].values, [row[1] for row in rows])
    (_, column) = columns_of([[0.5, 1], [1.5, BIG]] * 20)
    assert "beyond 2^53" in column.trouble[0]


def test_lists_of_arrays_keep_masks_and_times():
    rows = [np.ma.array([i, i], mask=[False, i == 3]) for i in COUNTS]
    assert [column.n_missing for column in columns_of(rows)] == [0, 1]
    times = [np.array([i, i], dtype="M8[ns]") for i in COUNTS]
    assert all("not numeric" in column.trouble[0] for column in columns_of(times))
    with pytest.raises(dcd.InputError, match="rows have different lengths"):
        columns_of([[1, 2], [3]])


def test_text_arrays_that_were_numbers_are_refused_unless_they_are_called_nominal():
    table = np.array([[i % 3, "ab"[i % 2]] for i in COUNTS])
    with pytest.raises(dcd.InputError, match="column 'x0': is text, but 3 of its 3 values are numbers"):
        dcd.RobustDCD().fit(table)
    assert dcd.audit(table, kinds={"x0": "nominal"}).columns[0].problem is None


@pytest.mark.parametrize("ordered", [False, True])
def test_categories_that_read_alike_are_not_merged(ordered):
    frame = pd.DataFrame({"a": pd.Categorical([1, "1"] * 20, [1, "1"], ordered=ordered), "b": COUNTS})
    with pytest.raises(
        dcd.InputError, match="column 'a': has different categories that look the same, such as '1'"
    ):
        dcd.RobustDCD().fit(frame)
