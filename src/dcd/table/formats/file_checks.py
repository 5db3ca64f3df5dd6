"""Checks of the contents of a file: missing and repeated names, decimal commas, huge numbers, stray words."""

from __future__ import annotations

import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from dcd.runtime.errors import InputError, TableWarning
from dcd.runtime.text import is_number
from dcd.table.cells import mostly_numbers
from dcd.table.columns import LARGEST_WHOLE
from dcd.table.remedies import mark_missing

_WITH_COMMAS = re.compile(r"[+-]?\d*(,\d+)+([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d{16,}")
_MOSTLY = 0.8


def warn(problem: str, remedy: str = "") -> None:
    """Issue a `TableWarning`, attributed to the caller of `read_file`."""
    warnings.warn(TableWarning(problem, remedy), stacklevel=4)


# --- names -----------------------------------------------------------------------------------------------


def numbers_the_rows(header: Sequence[str], first_column: Callable[[], pd.Series[Any]], label: str) -> bool:
    """Whether an unnamed first column numbers the rows, as pandas and R write it; warns if so."""
    if header[0] != "" or len(header) == 1:
        return False
    column = first_column()
    if not pd.api.types.is_numeric_dtype(column):
        return False
    counts = any(np.array_equal(column.to_numpy(), np.arange(first, first + len(column))) for first in (0, 1))
    if counts:
        warn(f"{label}: the first column has no name and numbers the rows; it is left out.")
    return counts


def check_header(header: Sequence[str], label: str) -> None:
    """Reject missing and repeated names; warn if all names are numbers."""
    for position, column in enumerate(header, start=1):
        if not column:
            raise InputError(f"{label}, column {position}", "has no name", "Name it in the first line.")
    refuse_repeated(header, label)
    if len(header) > 1 and all(is_number(column) for column in header):
        problem = f"{label}: all names in the first line are numbers."
        warn(problem, "If it is a row of data, add a line of names.")


def check_length(n_cells: int, n_rows: int, name: str, label: str) -> None:
    """Raise `InputError` if the number of cells of a column differs from the number of rows of its file."""
    if n_cells != n_rows:
        problem = f"has {n_cells} cells in column {name!r}, but {n_rows} rows"
        raise InputError(label, problem, "It is damaged: copy it again.")


def refuse_repeated(header: Sequence[str], label: str) -> None:
    """Raise `InputError` if two columns have the same name."""
    repeated = next((column for column, count in Counter(header).items() if count > 1), None)
    if repeated is not None:
        positions = [str(i) for i, column in enumerate(header, start=1) if column == repeated]
        problem = f"occurs {len(positions)} times (columns {', '.join(positions)})"
        raise InputError(f"{label}, column {repeated!r}", problem, "Rename or drop all but one.")


# --- cells -----------------------------------------------------------------------------------------------


def check_cells(
    frame: pd.DataFrame,
    label: str,
    line_of: Callable[[int], int] | None = None,
    decimal_is_known: bool = True,
) -> None:
    """Reject columns whose numbers would be misread, and warn about stray words among numbers.

    `line_of` and `decimal_is_known` as in `ParsedTable`.
    """
    for column in frame.columns:
        cells = frame[column]
        if pd.api.types.is_integer_dtype(cells):
            cells = cells.dropna()
            _refuse_huge(cells[(cells > LARGEST_WHOLE) | (cells < -LARGEST_WHOLE)], column, label)
        elif pd.api.types.is_object_dtype(cells) or pd.api.types.is_string_dtype(cells):
            text = cells[cells.map(lambda cell: isinstance(cell, str))].str.strip()
            if len(text):
                _check_text(text, column, label, line_of, decimal_is_known)


def _check_text(
    text: pd.Series[str],
    column: str,
    label: str,
    line_of: Callable[[int], int] | None,
    decimal_is_known: bool,
) -> None:
    values = text.map(_as_float)
    numbers = values.notna()
    if numbers.all():
        _refuse_huge(text[(values.abs() == math.inf) | _matches(_WHOLE, text)], column, label)
        return
    others = text[~numbers]
    if not decimal_is_known and _matches(_WITH_COMMAS, others).all():
        raise InputError(
            f"{label}, column {column!r}",
            f"has commas in its numbers, as in {others.iloc[0]!r}{_location(others, line_of)}",
            "Set decimal=',' if they are decimal commas, decimal='.' if these are words, and remove "
            "them if they separate thousands.",
        )
    if numbers.mean() >= _MOSTLY:
        words = others.unique().tolist()
        examples = ", ".join(repr(word) for word in words[:3])
        refused = mostly_numbers(text.unique().tolist())  # with this remedy, unless it is declared nominal
        warn(
            f"{label}, column {column!r}: {len(others)} of {len(text)} cells are not numbers ({examples}"
            f"{_location(others, line_of)}), so the whole column is read as text.",
            "" if refused else f"If they stand for missing values, set {mark_missing(words)}.",
        )


def _matches(pattern: re.Pattern[str], text: pd.Series[str]) -> pd.Series[bool]:
    return text.map(lambda cell: pattern.fullmatch(cell) is not None)


def _location(cells: pd.Series[str], line_of: Callable[[int], int] | None) -> str:
    row = int(cells.index[0])
    return f" in row {row + 1}" if line_of is None else f" on line {line_of(row)}"


def _as_float(cell: str) -> float:
    return math.nan if "_" in cell or not is_number(cell) else float(cell)


def _refuse_huge(huge: pd.Series[Any], column: str, label: str) -> None:
    if len(huge):
        raise InputError(
            f"{label}, column {column!r}",
            f"has numbers too large for floats to distinguish, such as {huge.iloc[0]}",
            f"Leave out an identifier: exclude={[column]}. Otherwise shift or rescale the column.",
        )
