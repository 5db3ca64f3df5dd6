"""What has to hold of columns before any work is done; each complaint names the columns and the remedy."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError
from dcd.runtime.memory import Memory
from dcd.table.column_order import Partition
from dcd.table.columns import Column, column_list, is_coded
from dcd.table.correlations import correlations, correlations_with_gaps

MIN_ROWS = 10  # below this the t-test has next to no degrees of freedom after weighting
LARGEST = 1e290
_SHOWN = 5  # counts listed in one message


def check_shape(n_rows: int, n_columns: int, min_features: int = 2) -> None:
    """Refuse a table that is too small."""
    shape = (n_rows, n_columns)
    if n_columns < min_features:
        raise InputError(
            "the table",
            f"has {n_columns} feature(s) (shape={shape}) while a minimum of {min_features} is required",
            "Two variables is the least that can be related.",
        )
    if n_rows < MIN_ROWS:
        raise InputError(
            "the table",
            f"has {n_rows} sample(s) (shape={shape}) while a minimum of {MIN_ROWS} is required",
            "Collect more data; a few hundred rows is where results become useful.",
        )


def check_usable(columns: Sequence[Column]) -> None:
    """Refuse columns that are no numbers or categories; all with the same trouble are named together."""
    troubled = [column for column in columns if column.trouble is not None]
    if troubled:
        trouble = troubled[0].trouble
        assert trouble is not None
        alike = [column.name for column in troubled if column.trouble == trouble]
        raise InputError(column_list(alike), *trouble)


def check_present(columns: Sequence[Column], *, may_be_missing: bool) -> None:
    """Refuse missing (unless they may be), infinite and huge values."""
    gaps = {column.name: column.n_missing for column in columns if column.n_missing}
    empty = [column.name for column in columns if column.n_missing == len(column.values)]
    if empty:
        raise InputError(column_list(empty), "has no value at all", "Drop it.")
    if gaps and not may_be_missing:
        raise InputError(
            column_list(list(gaps)),
            f"missing values (NaN), {_counts(list(gaps.values()))}",
            "Drop these rows or fill them in first, or set missing='complete-rows' or 'testwise'.",
        )
    infinite = {column.name: column.n_infinite for column in columns if column.n_infinite}
    if infinite:
        raise InputError(
            column_list(list(infinite)),
            f"infinite values (inf), {_counts(list(infinite.values()))}",
            "Drop these rows, or transform the column so that it stays finite.",
        )
    huge = [column.name for column in columns if np.nanmax(np.abs(column.values)) > LARGEST]
    if huge:
        raise InputError(column_list(huge), f"values beyond {LARGEST:g}", "Rescale: sums would overflow.")


def check_varying(columns: Sequence[Column]) -> None:
    """Refuse columns with one value only."""
    constant = [column.name for column in columns if column.n_distinct <= 1]
    if constant:
        raise InputError(
            column_list(constant),
            "has the same value in every row",
            "Drop it (drop_degenerate=True does): it has nothing to tell.",
        )


def check_copies(columns: Sequence[Column], memory: Memory) -> None:
    """Refuse copies of other columns: they carry no noise."""
    copies = copies_among(columns, memory)
    if copies:
        more = f", and {len(copies) - 1} more such pair(s)" if len(copies) > 1 else ""
        raise InputError(
            column_list([columns[index].name for index in copies[0]]),
            f"one is a copy of the other, up to shift and scale and a part in a million{more}",
            "Drop one of the two (drop_degenerate=True does).",
        )


def degenerate_columns(columns: Sequence[Column], memory: Memory) -> dict[str, str]:
    """Columns that are constant or copies of an earlier column, and what they are."""
    degenerate = {
        column.name: "it has the same value in every row" if column.n_distinct else "it has no value at all"
        for column in columns
        if column.trouble is None and column.n_distinct <= 1
    }
    left = [column for column in columns if column.name not in degenerate and column.trouble is None]
    for first, second in copies_among(left, memory):
        if left[first].name not in degenerate:
            degenerate.setdefault(left[second].name, f"it is a copy of {left[first].name!r}")
    return degenerate


def copies_among(columns: Sequence[Column], memory: Memory) -> list[tuple[int, int]]:
    """Pairs of columns of which one is a copy of the other.

    Numbers up to shift and scale and a part in a million; categories and grades up to their names.
    """
    copies = set()
    numbers = [i for i, column in enumerate(columns) if not column.levels and not column.n_infinite]
    if len(numbers) > 1:
        correlation = _correlation([columns[index] for index in numbers], memory)
        found = np.argwhere(np.triu(np.abs(correlation) > 1 - 1e-12, k=1))
        copies |= {(numbers[first], numbers[second]) for first, second in found}
    seen: dict[bytes, int] = {}
    for index in (index for index, column in enumerate(columns) if is_coded(column)):
        key = Partition(columns[index].values).digest()
        if key in seen:
            copies.add((seen[key], index))
        seen.setdefault(key, index)
    return sorted(copies)


def _correlation(columns: Sequence[Column], memory: Memory) -> FloatArray:
    """Correlation of columns; of each two over the rows that have both, where values are missing."""
    values = [column.values for column in columns]
    found = None if any(column.n_missing for column in columns) else correlations(values, memory)
    return correlations_with_gaps(values, memory, MIN_ROWS) if found is None else found


def check_combinations(columns: Sequence[Column], memory: Memory) -> None:
    """Refuse linear combinations of other columns."""
    involved = combination_among(columns, memory)
    if involved:
        raise InputError(
            column_list(involved),
            "each is a linear combination of the others, to a part in a million",
            "Drop one of them.",
        )


def combination_among(columns: Sequence[Column], memory: Memory) -> list[str]:
    """Numeric columns that are linear combinations of each other, to a part in a million; none if not so."""
    numbers = [column for column in columns if not column.levels]
    if len(numbers) < 2:
        return []
    complete = _complete_rows(numbers)
    if (len(numbers[0].values) if complete is None else complete.sum()) <= len(numbers):
        return []
    correlation = correlations([column.values for column in numbers], memory, complete)
    if correlation is None:
        return []
    smallest, combination = (part[..., 0] for part in np.linalg.eigh(correlation))
    if smallest >= 1e-12:
        return []
    return [numbers[index].name for index in np.flatnonzero(np.abs(combination) > 1e-5)]


def _complete_rows(columns: Sequence[Column]) -> BoolArray | None:
    """Which rows have a value in all columns; None if all have."""
    gappy = [column for column in columns if column.n_missing]
    if not gappy:
        return None
    complete: BoolArray = ~np.isnan(gappy[0].values)
    for column in gappy[1:]:
        complete &= ~np.isnan(column.values)
    return complete


def _counts(counts: Sequence[int]) -> str:
    return ", ".join(str(count) for count in counts[:_SHOWN]) + (", ..." if len(counts) > _SHOWN else "")
