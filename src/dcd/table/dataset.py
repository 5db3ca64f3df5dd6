"""`Dataset`: named columns of numbers with their kinds, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.runtime.errors import InputError, check_choice, check_flag, is_whole, suggest
from dcd.runtime.memory import Memory
from dcd.table.columns import KINDS, ColumnKey, Kind
from dcd.table.notes import TableNote
from dcd.table.row_groups import groups_of_rows

Missing = Literal["refuse", "complete-rows", "testwise"]
MISSING: tuple[Missing, ...] = get_args(Missing)


@dataclass(frozen=True)
class TableOptions:
    """How to read a table.

    Attributes
    ----------
    kinds : "continuous", "ordinal" or "nominal" for columns whose inferred kind is wrong.
    missing : "refuse" missing values, use "complete-rows" only, or delete rows "testwise": each test uses
        the rows that are complete in its variables.
    drop_degenerate : drop columns that are constant or copies of others, instead of raising an error.
    memory : memory limit for the table and the work on it.
    testwise_possible : whether the method supports testwise deletion, so that messages may suggest it.
    """

    kinds: Mapping[str, Kind] | None = None
    missing: Missing = "refuse"
    drop_degenerate: bool = False
    memory: Memory = field(default_factory=Memory)
    testwise_possible: bool = True

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_choice("missing", self.missing, MISSING)
        check_flag("drop_degenerate", self.drop_degenerate)
        if self.kinds is not None and not isinstance(self.kinds, Mapping):
            problem = f"must map columns to kinds, got {type(self.kinds).__name__}"
            raise InputError("parameter 'kinds'", problem, "Try kinds={'column': 'nominal'}.")
        for column, kind in (self.kinds or {}).items():
            check_choice(f"kinds[{column!r}]", kind, KINDS)


@dataclass(frozen=True)
class TableSummary:
    """How a table was read.

    Attributes
    ----------
    n_rows, n_rows_used : rows of the table, and rows used at least in part.
    columns : the columns of the table, without a separate target.
    names : the columns used.
    kinds, kind_reasons : "continuous", "ordinal" or "nominal" for each of them, and why.
    levels : the categories of columns that are not numbers.
    n_missing : missing cells of each column, in the whole table.
    dropped : columns left out, and why.
    missing : the treatment of missing values.
    weighted : whether rows have weights that differ.
    n_groups : groups of rows that belong together; None without groups.
    dates : columns of dates or times, in days.
    notes : caveats: dependent rows, identifiers, columns sorted in the same order.
    """

    n_rows: int
    n_rows_used: int
    columns: tuple[str, ...]
    names: tuple[str, ...]
    kinds: dict[str, Kind]
    kind_reasons: dict[str, str]
    levels: dict[str, tuple[str, ...]]
    n_missing: dict[str, int]
    dropped: dict[str, str]
    missing: Missing
    weighted: bool
    dates: tuple[str, ...] = ()
    notes: tuple[TableNote, ...] = ()
    n_groups: int | None = None

    def __str__(self) -> str:
        counts = {kind: sum(k == kind for k in self.kinds.values()) for kind in KINDS}
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        lines = [f"{self.n_rows} rows, {len(self.names)} columns ({kinds})."]
        if self.n_rows_used < self.n_rows:
            lines.append(f"{self.n_rows - self.n_rows_used} rows were left out.")
        if self.n_groups is not None:
            lines.append(f"Rows belong to {self.n_groups} groups.")
        lines += [f"Column {name!r} was left out: {why}." for name, why in self.dropped.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Dataset:
    """A checked table.

    Attributes
    ----------
    values : (n, d) float64; no constant or duplicate columns. NaN only with testwise deletion.
    names : d different names.
    named : whether the table named its columns by text; otherwise they are "x0", "x1", ....
    kinds : kind of each variable; the values of a nominal one are codes.
    weights : (n,) weights of the rows, with mean 1; None if all are equal.
    groups : (n,) the group of each row, numbered from 0; None without groups.
    rows : (n,) positions of the rows in the table as given.
    summary : how the table was read.
    target : the target column, if there is one.
    shown : positions, in the table, of the few rows shown in the result of a fit; in increasing order.
    memory : memory limit for work on the table.
    """

    values: FloatArray
    names: tuple[str, ...]
    named: bool
    kinds: tuple[Kind, ...]
    weights: FloatArray | None
    rows: Positions = field(repr=False)
    summary: TableSummary = field(repr=False)
    target: str | None = None
    memory: Memory = field(default_factory=Memory, repr=False)
    shown: Positions = field(default_factory=lambda: np.empty(0, dtype=np.intp), repr=False)
    groups: Positions | None = field(default=None, repr=False)

    @property
    def probabilities(self) -> FloatArray:
        """(n,) the share of each row."""
        n_samples = len(self.values)
        return np.full(n_samples, 1.0 / n_samples) if self.weights is None else self.weights / n_samples

    @property
    def surveyed(self) -> bool:
        """Whether rows have different weights."""
        return self.weights is not None

    @cached_property
    def has_gaps(self) -> bool:
        """Whether any value is missing."""
        blocks = self.memory.blocks(len(self.values), len(self.names))
        return any(np.isnan(self.values[rows]).any() for rows in blocks)

    def in_canonical_order(self) -> Dataset:
        """The same columns in an order that depends only on their contents.

        Floating-point sums depend on the order of their terms; this order makes results equal to the last bit
        for any order of the columns.
        """
        keys = [ColumnKey(self.values[:, position], kind) for position, kind in enumerate(self.kinds)]
        return self.select(sorted(range(len(self.names)), key=keys.__getitem__))

    def select(self, columns: Sequence[int]) -> Dataset:
        """Some columns, in this order."""
        return self._part(columns, None)

    def complete_in(self, columns: Sequence[int]) -> Dataset:
        """Some columns, and the rows that are complete in them."""
        return self._part(columns, self.present_in(columns))

    def present_in(self, columns: Sequence[int]) -> BoolArray:
        """(n,) which rows are complete in some columns."""
        present = np.ones(len(self.values), dtype=bool)
        for column in columns:
            present &= np.isfinite(self.values[:, column])
        return present

    def take(self, kept: BoolArray) -> Dataset:
        """Some rows."""
        return self if kept.all() else self._part(range(len(self.names)), kept)

    def _part(self, columns: Sequence[int], kept: BoolArray | None) -> Dataset:
        """Some columns, and some or all rows, copied column by column."""
        rows = None if kept is None or kept.all() else np.flatnonzero(kept)
        n_rows = len(self.values) if rows is None else len(rows)
        values = self.memory.array((n_rows, len(columns)))
        for position, column in enumerate(columns):
            values[:, position] = self.values[:, column] if rows is None else self.values[rows, column]
        part = replace(
            self,
            values=values,
            names=tuple(self.names[column] for column in columns),
            kinds=tuple(self.kinds[column] for column in columns),
        )
        if rows is None:
            return part
        weights = of_used_rows(None if self.weights is None else self.weights[rows])
        groups = groups_of_rows(None if self.groups is None else self.groups[rows])
        return replace(part, weights=weights, rows=self.rows[rows], groups=groups)

    @property
    def shown_positions(self) -> Positions:
        """Positions of the shown rows among the rows of this dataset; -1 for those that it lacks."""
        positions = np.minimum(np.searchsorted(self.rows, self.shown), len(self.rows) - 1)
        return np.where(self.rows[positions] == self.shown, positions, -1)

    def in_all_rows(self, weights: FloatArray) -> FloatArray:
        """Weights of all rows of the table from those of the rows used: 0 for the others, same mean."""
        whole = np.zeros(self.summary.n_rows)
        whole[self.rows] = weights * (len(whole) / len(weights))
        return whole

    def position(self, column: object) -> int:
        """Position of a column by name, or by number if no column has that name."""
        name = find_column(column, self.summary.columns)
        if name not in self.names:
            why = self.summary.dropped.get(name, "it was left out")
            raise InputError(f"column {column!r}", f"is not used: {why}", "Choose another one.")
        return self.names.index(name)


def of_used_rows(weights: FloatArray | None) -> FloatArray | None:
    """Weights of the rows that are used, with mean 1; None if they are all equal."""
    return None if weights is None or np.ptp(weights) == 0 else weights / weights.mean()


def find_column(column: object, names: Sequence[str]) -> str:
    """The name of a column by name, or by number if no column has that name."""
    if isinstance(column, str) or is_whole(column):
        if str(column) in names:
            return str(column)
        if not isinstance(column, str) and -len(names) <= column < len(names):  # type: ignore[operator]
            return names[int(column)]  # type: ignore[call-overload]
    raise InputError(f"column {column!r}", "is not in the table", suggest(column, names))
