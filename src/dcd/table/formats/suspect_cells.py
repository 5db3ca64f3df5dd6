"""What to say of the cells of a table that came from a file: decimal commas, huge numbers, stray words."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Sequence

import pandas as pd

from dcd.runtime.errors import InputError, TableWarning

LARGEST_WHOLE = 2**53  # beyond it, floats no longer tell neighbours apart
_WITH_COMMAS = re.compile(r"[+-]?\d*(,\d+)+([eE][+-]?\d+)?")
_WHOLE = re.compile(r"[+-]?\d{16,}")
_MOSTLY = 0.8


def warn(message: str) -> None:
    """A `TableWarning`, told of the call of `read_file`."""
    warnings.warn(message, TableWarning, stacklevel=4)


def check_cells(frame: pd.DataFrame, name: str, lines: Sequence[int], *, decimal_given: bool) -> None:
    """Refuse columns whose numbers would be taken for something else, and warn of stray words in numbers.

    `lines` has the line of the file that each row ends on, if the file has lines.
    """
    for column in frame.columns:
        cells = frame[column]
        if pd.api.types.is_integer_dtype(cells):
            cells = cells.dropna()
            beyond = cells[(cells > LARGEST_WHOLE) | (cells < -LARGEST_WHOLE)]
            if len(beyond):
                _refuse_huge(column, beyond.iloc[0], name)
        elif pd.api.types.is_object_dtype(cells) or pd.api.types.is_string_dtype(cells):
            text = cells[cells.map(lambda cell: isinstance(cell, str))].str.strip()
            if len(text):
                _check_text(column, text, name, lines, decimal_given)


def _check_text(
    column: str, text: pd.Series[str], name: str, lines: Sequence[int], decimal_given: bool
) -> None:
    values = text.map(_as_float)
    numbers = values.notna()
    if numbers.all():
        huge = text[(values.abs() == math.inf) | text.map(lambda cell: _WHOLE.fullmatch(cell) is not None)]
        if len(huge):
            _refuse_huge(column, huge.iloc[0], name)
        return
    others = text[~numbers]
    if not decimal_given and others.map(lambda cell: _WITH_COMMAS.fullmatch(cell) is not None).all():
        raise InputError(
            f"{name}, column {column!r}",
            f"has commas in its numbers, as in {others.iloc[0]!r}{_place(others, lines)}",
            "Set decimal to ',' if they are decimal commas (--decimal ,), to '.' if these are words, "
            "and take them out if they part thousands.",
        )
    if numbers.mean() >= _MOSTLY:
        shown = ", ".join(repr(word) for word in others.unique()[:3])
        warn(
            f"{name}, column {column!r}: {len(others)} of {len(text)} cells are no numbers ({shown}"
            f"{_place(others, lines)}), so all of it is read as text. If they stand for missing values, name "
            f"them as missing (--na {others.iloc[0]!r})."
        )


def _as_float(cell: str) -> float:
    try:
        return math.nan if "_" in cell else float(cell)
    except ValueError:
        return math.nan


def _refuse_huge(column: str, value: object, name: str) -> None:
    raise InputError(
        f"{name}, column {column!r}",
        f"has numbers too large for floats to tell apart, such as {value}",
        f"An identifier is no variable: leave it out (--exclude {column!r}). Otherwise shift or rescale it.",
    )


def _place(cells: pd.Series[str], lines: Sequence[int]) -> str:
    row = int(cells.index[0])
    return f" on line {lines[row]}" if lines else f" in row {row + 1}"
