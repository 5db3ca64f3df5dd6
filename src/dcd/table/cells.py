"""From the cells of a column, in any container, to a `TableColumn`; every cell passes through here.

Numbers that a float cannot represent, complex numbers and mixed types are rejected, never converted; dates
and times are converted only on request (`dates`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.array_types import FloatArray
from dcd.runtime.text import is_number
from dcd.table.columns import FEW_VALUES, LARGEST_WHOLE, MOST_LEVELS, CellType, TableColumn, too_many
from dcd.table.dates import TROUBLE as DATES
from dcd.table.dates import are_dates, date_column, days_of_array, days_of_objects, days_of_series
from dcd.table.remedies import Remedy, declare, drop_columns, mark_missing


def _drop_identifier(columns: Sequence[str]) -> str:
    return f"Drop it if it is an identifier ({drop_columns(columns)}); otherwise convert it to text."


_TOO_LARGE: tuple[str, Remedy] = (
    "holds whole numbers beyond 2^53, which floats cannot distinguish",
    _drop_identifier,
)
_SHOWN = 5  # words listed in one message
_TRUTH = (bool, np.bool_)


def number_column(name: str, values: FloatArray, kind: str) -> TableColumn:
    """A column of Booleans (`kind` "b" of a NumPy type), whole numbers ("i" or "u") or other numbers."""
    if kind == "b":
        return TableColumn(name, values, ("False", "True"), "Booleans")
    too_large = kind in "iu" and np.nanmax(np.abs(values), initial=0.0) > LARGEST_WHOLE
    return TableColumn(name, values, trouble=_TOO_LARGE if too_large else None)


def holds_numbers(dtype: np.dtype[Any]) -> bool:
    """Whether the type is numeric or boolean, and no longer than a float."""
    return dtype.kind in "biuf" and dtype.itemsize <= 8


def array_column(name: str, cells: npt.NDArray[Any]) -> TableColumn:
    """A column from a one-dimensional array."""
    if holds_numbers(cells.dtype):
        return number_column(name, np.ascontiguousarray(cells, dtype=np.float64), cells.dtype.kind)
    if cells.dtype.kind == "f":
        return _long_column(name, cells)
    if cells.dtype.kind in "mM":
        return date_column(name, days_of_array(cells))
    if cells.dtype.kind == "U":  # NumPy may have converted cells to text to give all columns one type
        return _text_column(name, cells.tolist(), most_numbers=1)
    return _object_column(name, cells.tolist())


def _long_column(name: str, cells: npt.NDArray[Any]) -> TableColumn:
    """A column in extended precision: fractions may lose digits, whole numbers may not."""
    with np.errstate(over="ignore"):
        values = cells.astype(np.float64)
    lost = (np.abs(cells) > LARGEST_WHOLE) & (values != cells)
    return TableColumn(name, values, trouble=_TOO_LARGE if lost.any() else None)


def as_array(cells: Any) -> npt.NDArray[Any]:
    """Cells of any container as an array: values are unchanged, and masked ones are missing.

    NumPy gives a list one type: next to text, numbers become text; next to fractions, large whole numbers
    lose digits. Cells of lists therefore stay objects.
    """
    if isinstance(cells, (list, tuple)):
        rows = [list(as_array(row)) if isinstance(row, np.ndarray) and row.ndim else row for row in cells]
        array = np.array(rows, dtype=object)
        if array.ndim == 1 and any(isinstance(row, (list, tuple)) for row in rows):
            raise ValueError("its rows have different lengths")
        return array
    if not isinstance(cells, np.ma.MaskedArray):
        return np.asarray(cells)
    values: npt.NDArray[Any] = cells.data
    if values.dtype.kind == "f":
        return cells.filled(np.nan)
    if values.dtype.kind in "biuOUS" and np.ma.is_masked(cells):
        values = values.astype(object)
        values[np.ma.getmaskarray(cells)] = None
    return values


def series_column(name: str, column: nw.Series[Any]) -> TableColumn:
    """A column from a narwhals series."""
    if column.dtype == nw.Boolean:
        return number_column(name, floats(column), "b")
    if column.dtype.is_numeric():  # includes decimals
        try:
            return number_column(name, floats(column), "f" if column.dtype.is_float() else "i")
        except ValueError:  # pyarrow rejects inexact conversions
            return _no_values(name, len(column), *_TOO_LARGE)
    if len(column) and column.null_count() == len(column):
        return TableColumn(name, np.full(len(column), np.nan))
    if column.dtype in (nw.Categorical, nw.Enum):
        return _category_column(name, column)
    if column.dtype in (nw.String, nw.Object):
        return _object_column(name, column.to_list())
    if column.dtype.is_temporal():
        return date_column(name, days_of_series(column))
    dtype = getattr(column.to_native(), "dtype", column.dtype)
    problem = f"not numeric (values of type {dtype})"
    return _no_values(name, len(column), problem, "Convert it to numbers or text.")


def floats(column: nw.Series[Any]) -> FloatArray:
    """The numbers of a narwhals series, NaN where missing."""
    return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)


def _category_column(name: str, column: nw.Series[Any]) -> TableColumn:
    native = column.to_native()
    dtype = getattr(native, "cat", getattr(native, "type", None))  # of pandas and of pyarrow
    ordered = column.dtype == nw.Enum or bool(getattr(dtype, "ordered", False))
    declared = [str(level) for level in column.cat.get_categories().to_list()]
    if ordered:
        return _coded(name, column.to_list(), declared, "ordered categories")
    return _coded(name, column.to_list(), sorted(declared), "categories")


def _object_column(name: str, cells: Sequence[Any]) -> TableColumn:
    """Numbers stored as Python objects, text, or neither; None and NA are missing."""
    cells = [np.nan if is_missing(cell) else cell for cell in cells]
    present = [cell for cell in cells if not is_missing(cell)]
    if present and all(isinstance(cell, _TRUTH) for cell in present):
        return number_column(name, np.array(cells, dtype=np.float64), "b")
    if all(map(is_real, present)):
        whole = (abs(int(cell)) for cell in present if isinstance(cell, (int, np.integer)))
        if any(number > LARGEST_WHOLE for number in whole):
            return _no_values(name, len(cells), *_TOO_LARGE)
        return array_column(name, np.array(cells, dtype=_longest(present)))
    if all(isinstance(cell, str) for cell in present):
        return _text_column(name, cells)
    if (days := days_of_objects(cells)) is not None:
        return date_column(name, days)
    strange = min(present, key=is_real)
    problem = f"not numeric (values such as {strange!r:.40})"
    return _no_values(name, len(cells), problem, "Convert all values to numbers or all to text, or drop it.")


def _longest(numbers: Sequence[Any]) -> npt.DTypeLike:
    return np.longdouble if any(isinstance(number, np.longdouble) for number in numbers) else np.float64


def is_real(cell: Any) -> bool:
    """Whether a cell is a number or a Boolean."""
    # NumPy derives time spans from whole numbers.
    return isinstance(cell, (int, float, np.integer, np.floating, *_TRUTH)) and not isinstance(
        cell, np.timedelta64
    )


def _text_column(name: str, cells: Sequence[Any], most_numbers: int = FEW_VALUES) -> TableColumn:
    """Text; if most of it is many different numbers, it can only be used if declared nominal."""
    words = sorted({str(cell) for cell in cells if isinstance(cell, str)})
    if are_dates(words):
        return replace(_coded(name, cells, words, "dates"), trouble=DATES)
    coded = _coded(name, cells, words, "text")
    others = [word for word in words if not is_number(word)]
    if mostly_numbers(words, most_numbers):
        problem = f"is text, but {len(words) - len(others)} of its {len(words)} values are numbers"
        strange = f" (others: {_examples(others)})" if others else ""
        return replace(
            coded, trouble=(problem + strange, partial(_mend_numbers, others, len(words) <= MOST_LEVELS))
        )
    return coded


def mostly_numbers(words: Sequence[str], most_numbers: int = FEW_VALUES) -> bool:
    """Whether different words are numbers for the most part, and too many to be names of categories."""
    n_numbers = sum(map(is_number, words))
    return n_numbers > max(most_numbers, len(words) - n_numbers)


def _examples(words: Sequence[str]) -> str:
    return ", ".join(map(repr, words[:_SHOWN])) + (", ..." if len(words) > _SHOWN else "")


def _mend_numbers(others: Sequence[str], few: bool, columns: Sequence[str]) -> str:
    """The remedy for numbers with `others` between them; `few` values can also be categories."""
    nominal = f", or declare it nominal ({declare(columns, 'nominal')})" if few else ""
    if not others:
        return f"Convert it to numbers{nominal}."
    words = "that word means" if len(others) == 1 else "those words mean"
    read = f"read the file with {mark_missing(others)}"
    return f"If {words} that a value is missing, {read}; otherwise correct the column{nominal}."


def _coded(name: str, cells: Sequence[Any], levels: Sequence[str], source: CellType) -> TableColumn:
    present = {str(cell) for cell in cells if not is_missing(cell)}
    used = tuple(level for level in dict.fromkeys(levels) if level in present)
    code = {level: float(position) for position, level in enumerate(used)}
    values = np.array([np.nan if is_missing(cell) else code[str(cell)] for cell in cells])
    trouble = too_many(used)
    if alike := [level for level, count in Counter(levels).items() if count > 1]:
        problem = f"has different categories that look the same, such as {alike[0]!r}"
        trouble = (problem, "Give them different names, or merge them.")
    return TableColumn(name, values.astype(np.float64), used, source, trouble)


def is_missing(cell: Any) -> bool:
    """Whether a cell has no value: None, NaN, NA, NaT or masked."""
    if isinstance(cell, (float, complex, np.inexact)):
        return bool(np.isnan(cell))
    return cell is None or cell is pd.NA or cell is pd.NaT or cell is np.ma.masked


def _no_values(name: str, n_samples: int, problem: str, remedy: Remedy) -> TableColumn:
    return TableColumn(name, np.full(n_samples, np.nan), trouble=(problem, remedy))
