"""One column of a table as numbers, and its kind.

Text, categories and Booleans become codes 0, 1, ... with named levels. Missing cells are NaN. The kind of a
variable decides how it is tested:

* "nominal": text, unordered categories, Booleans, or numbers with two distinct values;
* "ordinal": ordered categories, or numbers with at most ten distinct values; numbers that are not whole need
  five rows for each value on average, so that a measurement in a short table is not ordinal;
* "continuous": all other numbers.

Dates and times are rejected unless they are declared "continuous" or "ordinal"; then they count days.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.digest import digest
from dcd.runtime.errors import InputError
from dcd.runtime.memory import BLOCK_ROWS
from dcd.runtime.text import counted
from dcd.table.remedies import Remedy, drop_columns

Kind = Literal["continuous", "ordinal", "nominal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FEW_VALUES = 10  # numbers with at most this many distinct values are ordinal
LARGEST_WHOLE = 2**53 - 1  # beyond it, two whole numbers can be the same float
MOST_LEVELS = 50  # columns with more categories are likely to be identifiers
FEWEST_IN_A_LEVEL = 5  # samples; rarer categories are merged
_FIRST_ROWS = 256  # where most columns already differ
_SHOWN = 5  # names listed in one message

CellType = Literal["numbers", "Booleans", "text", "categories", "ordered categories", "dates"]


@dataclass(frozen=True)
class TableColumn:
    """One column of a table.

    Attributes
    ----------
    values : (n,) float64, NaN where missing; positions in `levels` where there are any.
    levels : the names of the categories, in their order.
    source : the type of its cells.
    trouble : (problem, remedy) if it cannot be used; the remedy may be a function of column names.
    """

    name: str
    values: FloatArray = field(repr=False)
    levels: tuple[str, ...] = ()
    source: CellType = "numbers"
    trouble: tuple[str, Remedy] | None = None

    @cached_property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(np.isnan(self.values).sum())

    @cached_property
    def n_infinite(self) -> int:
        """Number of infinite cells."""
        return int(np.isinf(self.values).sum())

    @cached_property
    def n_distinct(self) -> int:
        """Number of distinct values."""
        return len(np.unique(self.values[~np.isnan(self.values)] if self.n_missing else self.values))

    @cached_property
    def is_whole(self) -> bool:
        """Whether all its finite values are whole numbers."""
        return not np.any(np.mod(self.values[np.isfinite(self.values)], 1.0))


def infer_kind(column: TableColumn) -> tuple[Kind, str]:
    """The kind of a column and why, by the rule above."""
    if column.source == "ordered categories":
        return "ordinal", f"ordered categories ({column.n_distinct})"
    if column.source == "dates":
        return "continuous", f"dates or times, {counted(column.n_distinct, 'distinct value')}"
    if column.source != "numbers":
        return "nominal", f"{column.source}, {counted(column.n_distinct, 'distinct value')}"
    if column.trouble is not None or column.n_missing == len(column.values):
        return "continuous", "no readable values"
    n_distinct = column.n_distinct
    if column.n_infinite:
        n_distinct = len(np.unique(column.values[np.isfinite(column.values)]))
    if n_distinct == 2:
        return "nominal", "two distinct numbers"
    if n_distinct <= FEW_VALUES and column.is_whole:
        return "ordinal", counted(n_distinct, "distinct whole number")
    if n_distinct <= FEW_VALUES and FEWEST_IN_A_LEVEL * n_distinct <= len(column.values) - column.n_missing:
        return "ordinal", counted(n_distinct, "distinct number")
    if n_distinct == len(column.values) > FEW_VALUES and column.is_whole:
        return "continuous", f"{n_distinct} distinct whole numbers, one per row: an identifier?"
    return "continuous", counted(n_distinct, "distinct number")


def as_kind(column: TableColumn, kind: Kind) -> TableColumn:
    """The column as another kind, new codes written in place; raises `InputError` if impossible."""
    if kind != "nominal":
        if column.source in ("text", "categories") and column.n_distinct > 2:
            raise InputError(
                f"column {column.name!r}",
                f"holds {column.source} without an order, so it cannot be {kind}",
                "Convert it to numbers or ordered categories first.",
            )
        return column
    if column.levels or column.trouble is not None or column.n_infinite:
        return column
    distinct, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    levels = tuple(str(int(v)) if v.is_integer() else repr(v) for v in distinct.tolist() if not np.isnan(v))
    column.values[:] = np.where(np.isnan(column.values), np.nan, codes.reshape(-1))
    return replace(column, levels=levels, trouble=too_many(levels))


def merge_rare(column: FloatArray) -> Positions:
    """Codes 0, 1, ... of the categories of a column, rare ones merged."""
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    rare = counts < FEWEST_IN_A_LEVEL
    merged = np.where(rare, rare.argmax(), np.arange(len(counts)))
    return np.unique(merged[codes.reshape(-1)], return_inverse=True)[1].reshape(-1)


def check_names(names: Sequence[str]) -> None:
    """Raise `InputError` for a name that occurs twice."""
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        problem = "the name occurs more than once"
        raise InputError(column_list(repeated), problem, "Rename or drop all but one.")


def column_list(names: Sequence[str]) -> str:
    """'column' or 'columns' and the first few names."""
    listed = ", ".join(repr(name) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"column{'s' if len(names) > 1 else ''} {listed}{more}"


def too_many(levels: Sequence[str]) -> tuple[str, Remedy] | None:
    """The problem and remedy if there are too many categories."""
    if len(levels) <= MOST_LEVELS:
        return None
    return f"has {len(levels)} different categories, more than {MOST_LEVELS}", _fewer_levels


def _fewer_levels(columns: Sequence[str]) -> str:
    return (
        f"Drop it if it identifies rows ({drop_columns(columns)}); pass it as groups if it names subjects "
        f"with several rows each (groups=table[{columns[0]!r}]); otherwise merge its values."
    )


# --- comparison, block by block --------------------------------------------------------------------------


class ColumnKey:
    """Sort key of a column: its kind, then its values as bytes."""

    def __init__(self, values: FloatArray, kind: Kind) -> None:
        self._kind = kind
        self._values: FloatArray | Partition = Partition(values) if kind == "nominal" else values
        self._n_rows = len(values)

    def __lt__(self, other: ColumnKey) -> bool:
        if self._kind != other._kind:
            return self._kind < other._kind
        for rows in _blocks(self._n_rows):
            mine, theirs = self._values[rows].tobytes(), other._values[rows].tobytes()
            if mine != theirs:
                return mine < theirs
        return False


class Partition:
    """Which rows share a category, whatever its name; categories are numbered by first appearance."""

    def __init__(self, values: FloatArray) -> None:
        self._values = values
        self._categories = pd.Index(pd.unique(values))  # by first appearance, with one NaN

    def __getitem__(self, rows: slice) -> npt.NDArray[np.int32]:
        return self._categories.get_indexer(pd.Index(self._values[rows])).astype(np.int32)

    def digest(self) -> str:
        """Equal only for columns with the same partition."""
        return digest(self[rows].tobytes() for rows in _blocks(len(self._values)))


def _blocks(n_rows: int) -> Iterator[slice]:
    yield slice(0, _FIRST_ROWS)
    for start in range(_FIRST_ROWS, n_rows, BLOCK_ROWS):
        yield slice(start, start + BLOCK_ROWS)
