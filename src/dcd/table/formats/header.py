"""Checks of column names: present and unique."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from dcd.runtime.errors import InputError
from dcd.runtime.text import is_number
from dcd.table.formats.suspect_cells import warn


def without_row_numbers(frame: pd.DataFrame, label: str) -> pd.DataFrame:
    """The table without a nameless first column that counts the rows, as pandas and R write it."""
    if str(frame.columns[0]) != "" or len(frame.columns) == 1 or not counts_rows(frame.iloc[:, 0]):
        return frame
    warn_of_row_numbers(label)
    return frame.iloc[:, 1:]


def counts_rows(column: pd.Series[Any]) -> bool:
    """Whether a column is 0, 1, 2, ... or 1, 2, 3, ..."""
    if not pd.api.types.is_numeric_dtype(column):
        return False
    return any(np.array_equal(column.to_numpy(), np.arange(first, first + len(column))) for first in (0, 1))


def warn_of_row_numbers(label: str) -> None:
    """Warn that a column of row numbers is left out."""
    warn(f"{label}: the first column has no name and counts the rows; it is left out.")


def check_header(header: Sequence[str], label: str) -> None:
    """Refuse missing and repeated names; warn if all names are numbers."""
    for position, column in enumerate(header, start=1):
        if not column:
            raise InputError(f"{label}, column {position}", "has no name", "Name it in the first line.")
    refuse_repeated(header, label)
    if len(header) > 1 and all(is_number(column) for column in header):
        problem = f"{label}: all names in the first line are numbers."
        warn(problem, "If it is a row of data, add a line of names.")


def refuse_repeated(header: Sequence[str], label: str) -> None:
    """Refuse a name that two columns have."""
    repeated = [column for column in dict.fromkeys(header) if list(header).count(column) > 1]
    if repeated:
        positions = [str(i) for i, column in enumerate(header, start=1) if column == repeated[0]]
        raise InputError(
            f"{label}, column {repeated[0]!r}",
            f"occurs {len(positions)} times (columns {', '.join(positions)})",
            "Rename or drop all but one.",
        )
