"""Suspect cells of a file: decimal commas, huge numbers, stray words."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable

import pandas as pd

from dcd.runtime.errors import InputError, TableWarning

LARGEST_WHOLE = 2**53  # larger whole numbers are not exact as floats
_WITH_COMMAS = re.compile(r"[+-]?\d*(,\d+)+([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d{16,}")
_MOSTLY = 0.8


def warn(problem: str, remedy: str = "") -> None:
    """A `TableWarning`, attributed to the caller of `read_file`."""
    warnings.warn(TableWarning(problem, remedy), stacklevel=4)


def check_cells(
    frame: pd.DataFrame,
    label: str,
    *,
    line_of: Callable[[int], int] | None = None,
    decimal_is_known: bool = True,
) -> None:
    """Refuse columns whose numbers would be misread, and warn of stray words among numbers.

    `line_of` and `decimal_is_known` as in `ParsedTable`.
    """
    for column in frame.columns:
        cells = frame[column]
        if pd.api.types.is_integer_dtype(cells):
            cells = cells.dropna()
            beyond = cells[(cells > LARGEST_WHOLE) | (cells < -LARGEST_WHOLE)]
            if len(beyond):
                _refuse_huge(column, beyond.iloc[0], label)
        elif pd.api.types.is_object_dtype(cells) or pd.api.types.is_string_dtype(cells):
            text = cells[cells.map(lambda cell: isinstance(cell, str))].str.strip()
            if len(text):
                _check_text(column, text, label, line_of, decimal_is_known)


def _check_text(
    column: str,
    text: pd.Series[str],
    label: str,
    line_of: Callable[[int], int] | None,
    decimal_is_known: bool,
) -> None:
    values = text.map(_as_float)
    numbers = values.notna()
    if numbers.all():
        huge = text[(values.abs() == math.inf) | text.map(lambda cell: _WHOLE.fullmatch(cell) is not None)]
        if len(huge):
            _refuse_huge(column, huge.iloc[0], label)
        return
    others = text[~numbers]
    if not decimal_is_known and others.map(lambda cell: _WITH_COMMAS.fullmatch(cell) is not None).all():
        raise InputError(
            f"{label}, column {column!r}",
            f"has commas in its numbers, as in {others.iloc[0]!r}{_location(others, line_of)}",
            "Set decimal=',' if they are decimal commas, decimal='.' if these are words, and remove "
            "them if they separate thousands.",
        )
    if numbers.mean() >= _MOSTLY:
        examples = ", ".join(repr(word) for word in others.unique()[:3])
        warn(
            f"{label}, column {column!r}: {len(others)} of {len(text)} cells are not numbers ({examples}"
            f"{_location(others, line_of)}), so the whole column is read as text.",
            f"If they stand for missing values, set na_values={[others.iloc[0]]}.",
        )


def _as_float(cell: str) -> float:
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


def _refuse_huge(column: str, value: object, label: str) -> None:
    raise InputError(
        f"{label}, column {column!r}",
        f"has numbers too large for floats to tell apart, such as {value}",
        f"Leave an identifier out: exclude={[column]}. Otherwise shift or rescale the column.",
    )


def _location(cells: pd.Series[str], line_of: Callable[[int], int] | None) -> str:
    row = int(cells.index[0])
    return f" in row {row + 1}" if line_of is None else f" on line {line_of(row)}"
