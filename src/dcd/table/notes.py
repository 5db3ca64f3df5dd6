"""Caveats about a usable table: dependent rows, identifiers, columns sorted in the same order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.digest import digest
from dcd.runtime.text import words_of
from dcd.table.columns import FEW_VALUES, TableColumn
from dcd.table.row_order import dependence_on_earlier_rows, dependent_rows_text
from dcd.table.subjects import subject_columns, subjects_text

_SCREENED_ROWS = 20_000  # the first rows; if two orders differ, they nearly always differ there
_IDENTIFIERS = frozenset(
    ["id", "ids", "identifier", "index", "idx", "key", "number", "nr", "no", "obs", "observation", "row"]
)


@dataclass(frozen=True)
class TableNote:
    """A caveat in words and the columns it concerns; `kind` is a machine-readable word."""

    kind: str
    columns: tuple[str, ...]
    text: str


def notes_of(
    columns: Sequence[TableColumn], groups: Positions | None = None, times: Sequence[TableColumn] = ()
) -> tuple[TableNote, ...]:
    """All caveats about the columns that are used; `groups` has the group of each row, if there are groups.

    `times` are columns of dates that are not used, in whose order rows may depend on each other too.
    """
    identifiers = tuple(_identifiers(columns))
    named = {name for note in identifiers for name in note.columns}
    measured = [column for column in columns if column.name not in named]
    return (*_dependent_rows(measured, groups, times), *identifiers, *_same_order(columns))


def _dependent_rows(
    columns: Sequence[TableColumn], groups: Positions | None, times: Sequence[TableColumn]
) -> Iterator[TableNote]:
    """Rows of the same subject; or else rows that depend on earlier rows."""
    subjects = subject_columns(columns) if groups is None else []
    for found in subjects:
        yield TableNote("dependent-rows", (found.name,), subjects_text(found))
    times = [*times, *(column for column in columns if column.source == "dates" and not column.levels)]
    order = None if subjects else dependence_on_earlier_rows(columns, groups, times)
    if order is not None:
        text = dependent_rows_text(order, in_groups=groups is not None)
        yield TableNote("dependent-rows", (), text)


def _identifiers(columns: Sequence[TableColumn]) -> Iterator[TableNote]:
    for column in columns:
        if _names_the_rows(column):
            text = (
                f"Column {column.name!r} has a different whole number in every row and looks like an "
                "identifier, which is neither a cause nor an effect: leave it out."
            )
            yield TableNote("row-identifier", (column.name,), text)


def _names_the_rows(column: TableColumn) -> bool:
    """Whether a column has different whole numbers that are consecutive, sorted or named as identifiers."""
    values = column.values
    if column.source != "numbers" or column.levels or column.n_missing or column.n_infinite:
        return False
    if not (column.n_distinct == len(values) > FEW_VALUES and column.is_whole):
        return False
    steps = np.diff(values)
    has_no_gaps = bool(np.ptp(values) == len(values) - 1)
    is_sorted = bool((steps > 0).all() or (steps < 0).all())
    return has_no_gaps or is_sorted or bool(_IDENTIFIERS & set(words_of(column.name)))


def _same_order(columns: Sequence[TableColumn]) -> Iterator[TableNote]:
    """Columns that are increasing or decreasing functions of each other (rank correlation 1 or -1)."""
    ordered = [c for c in columns if (not c.levels or c.source == "ordered categories") and c.n_distinct > 2]
    for screened in _alike(ordered, _SCREENED_ROWS):
        for group in _alike(screened, None):
            names = tuple(column.name for column in group)
            listed = ", ".join(repr(name) for name in names[:-1]) + f" and {names[-1]!r}"
            text = (
                f"Columns {listed} order the rows in the same way (rank correlation 1 or -1): each is a "
                "function of the other, so their edges cannot be distinguished. Leave out all but one."
            )
            yield TableNote("same-order", names, text)


def _alike(columns: Sequence[TableColumn], n_rows: int | None) -> list[list[TableColumn]]:
    """Groups of two columns or more whose ranks in the first rows are equal or opposite."""
    groups: dict[str, list[TableColumn]] = {}
    for column in columns:
        groups.setdefault(_order_digest(np.asarray(column.values[:n_rows])), []).append(column)
    return [group for group in groups.values() if len(group) > 1]


def _order_digest(values: FloatArray) -> str:
    """Equal only for columns with the same missing rows and equal or opposite ranks."""
    missing = np.isnan(values)
    ranks = rankdata(np.where(missing, np.inf, values), method="dense")
    ranks[missing] = 0
    opposite = np.where(missing, 0, ranks.max() + 1 - ranks)
    return min(digest([ranks.tobytes()]), digest([opposite.tobytes()]))
