"""Weights of rows: survey weights, or the number of identical observations that a row stands for."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.errors import InputError
from dcd.table.cells import array_column
from dcd.table.sources import SomeRows, is_on_disk, readable_again, source_of, to_array

MOST_ROWS = 100_000_000  # after repetition; more is a mistake, such as a column of amounts


def survey_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Weights with mean 1, or None."""
    if sample_weight is None:
        return None
    weights = _one_for_each_row("sample_weight", sample_weight, n_rows, "weights", "numbers")
    if not weights.any():
        remedy = "Give some rows a weight above 0."
        raise InputError("parameter 'sample_weight'", "every weight is zero", remedy)
    weights = weights / weights.max()  # avoids overflow
    return weights / weights.mean()


def repeated(
    table: Any, counts: Any, sample_weight: Any = None, groups: Any = None
) -> tuple[Any, Positions | None]:
    """The table with each row repeated by its count, and the positions of these rows in it.

    Without counts, the table itself and None.
    """
    if counts is None:
        return table, None
    if sample_weight is not None:
        remedy = (
            "Use counts for rows that stand for several identical observations, sample_weight for surveys."
        )
        raise InputError("parameter 'counts'", "was given together with sample_weight", remedy)
    if groups is not None:
        remedy = "Repeat the rows yourself, each with its group."
        raise InputError("parameter 'counts'", "was given together with groups", remedy)
    table = readable_again(table)
    n_rows = source_of(table).n_rows
    times = _one_for_each_row("counts", counts, n_rows, "counts", "whole numbers")
    if np.mod(times, 1.0).any():
        problem = f"has values that are not whole numbers, such as {times[np.mod(times, 1.0) > 0][0]:g}"
        raise InputError("parameter 'counts'", problem, "Use sample_weight for survey weights.")
    total = times.sum()
    if not 0 < total <= MOST_ROWS:
        too_many = f"adds up to {total:.3g} rows, more than {MOST_ROWS:,}"
        remedy = "Pass the number of observations that each row stands for."
        raise InputError("parameter 'counts'", too_many if total else "every count is zero", remedy)
    rows = np.repeat(np.arange(n_rows), times.astype(np.intp))
    return take_rows(table, rows), rows


def take_rows(table: Any, rows: Positions) -> Any:
    """Some rows of any table, possibly repeated."""
    if is_on_disk(table):
        return SomeRows(table, rows)
    if isinstance(table, (pd.DataFrame, pd.Series)):
        return table.iloc[rows]
    native = nw.from_native(table, eager_only=True, allow_series=True, pass_through=True)
    if isinstance(native, (nw.DataFrame, nw.Series)):
        return native[rows].to_native()
    return to_array(table, "the table")[rows]


def _one_for_each_row(name: str, values: Any, n_rows: int, what: str, allowed: str) -> FloatArray:
    subject = f"parameter '{name}'"
    given = to_array(values, subject)
    if given.ndim != 1 and given.shape[1:] != (1,):
        problem = f"must be one column, got shape {given.shape}"
        raise InputError(subject, problem, "Pass one value for each row.")
    column = array_column(name, given.reshape(-1))
    numbers = column.values
    if len(numbers) != n_rows:
        raise InputError(subject, f"has {len(numbers)} values for {n_rows} rows", "Give one for each row.")
    if column.trouble or column.levels or not np.isfinite(numbers).all() or (numbers < 0).any():
        raise InputError(subject, f"has values that are not {what}", f"Give {allowed} that are 0 or more.")
    return numbers
