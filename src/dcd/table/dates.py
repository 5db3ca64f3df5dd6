"""Dates and times in every container: rejected unless `kinds` declares them as numbers.

A column of dates becomes days since 1 January 1970, a column of durations the number of days, both with
fractions. Text is a column of dates if every cell looks like one; only ISO 8601 ("2024-01-31") is converted
to days, because "01/02/2024" is January to some and February to others.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt

from dcd.runtime.array_types import FloatArray
from dcd.table.columns import TableColumn
from dcd.table.remedies import Remedy, declare, drop_columns


def _convert(columns: Sequence[str]) -> str:
    in_days, without = declare(columns, "continuous"), drop_columns(columns)
    return f"Declare it continuous to convert it to days ({in_days}), or drop it ({without})."


def _write_unambiguously(columns: Sequence[str]) -> str:
    return f"Write them as 2024-01-31, or drop the column ({drop_columns(columns)})."


TROUBLE: tuple[str, Remedy] = ("not numeric (dates or times)", _convert)
_DAY = dt.timedelta(days=1)
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_CLOCK = r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?\s?(Z|[+-]\d{2}:?\d{2}|[ap]m)?"
_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_DATE = re.compile(
    rf"(\d{{4}}([-/.])\d{{1,2}}\2\d{{1,2}}|\d{{1,2}}([-/.])\d{{1,2}}\3\d{{4}}|\d{{1,2}}/\d{{1,2}}/\d{{2}}"
    rf"|\d{{1,2}}[ -]{_MONTH}[ -]\d{{2,4}}|{_MONTH} \d{{1,2}},? \d{{4}})([T ]{_CLOCK})?"
    r"|\d{1,2}:\d{2}:\d{2}([.,]\d+)?",
    re.IGNORECASE,
)


def date_column(name: str, days: FloatArray) -> TableColumn:
    """A column of dates or durations in days; rejected unless `in_days` converts it."""
    return TableColumn(name, days, source="dates", trouble=TROUBLE)


def are_dates(words: Sequence[str]) -> bool:
    """Whether all texts look like dates or times."""
    return bool(words) and all(_DATE.fullmatch(word.strip()) for word in words)


def in_days(column: TableColumn) -> TableColumn:
    """A column of dates as days, written in place; unchanged if the dates are ambiguous."""
    if not column.levels:
        return replace(column, trouble=None) if column.n_missing < len(column.values) else column
    try:
        days = np.array([_days(dt.datetime.fromisoformat(level.strip())) for level in column.levels])
    except ValueError:
        problem = f"has dates such as {column.levels[0]!r}, whose day and month are ambiguous"
        return replace(column, trouble=(problem, _write_unambiguously))
    present = ~np.isnan(column.values)
    column.values[present] = days[column.values[present].astype(np.intp)]
    return replace(column, levels=(), trouble=None)


def days_of_array(cells: npt.NDArray[Any]) -> FloatArray:
    """(n,) the days of an array of dates ("M") or durations ("m")."""
    exact = cells.astype(f"{cells.dtype.kind}8[us]")
    return np.where(np.isnat(exact), np.nan, exact.astype(np.int64) / (_DAY / dt.timedelta(microseconds=1)))


def days_of_series(column: nw.Series[Any]) -> FloatArray:
    """(n,) the days of a temporal narwhals series; all missing for times of a day, which have no date."""
    if column.dtype == nw.Time:
        return np.full(len(column), np.nan)
    spans = column.dt.total_microseconds() if column.dtype == nw.Duration else column.dt.timestamp("us")
    numbers = spans.cast(nw.Float64).to_numpy()
    return np.asarray(numbers, dtype=np.float64) / (_DAY / dt.timedelta(microseconds=1))


def days_of_objects(cells: Iterable[Any]) -> FloatArray | None:
    """(n,) the days of Python or NumPy dates or durations, NaN for floats; None if there is anything else."""
    days = []
    kinds: set[bool] = set()
    for cell in cells:
        if isinstance(cell, float):  # a missing cell
            days.append(np.nan)
            continue
        if not isinstance(cell, (dt.date, dt.timedelta, np.datetime64, np.timedelta64)):
            return None
        kinds.add(isinstance(cell, (dt.timedelta, np.timedelta64)))
        days.append(_days(cell))
    return np.array(days) if len(kinds) == 1 else None


def _days(cell: Any) -> float:
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return float(days_of_array(np.array([cell]))[0])
    if isinstance(cell, dt.timedelta):
        return cell / _DAY
    if not isinstance(cell, dt.datetime):
        cell = dt.datetime(cell.year, cell.month, cell.day)
    aware = cell if cell.tzinfo else cell.replace(tzinfo=dt.UTC)
    return float((aware - _EPOCH) / _DAY)
