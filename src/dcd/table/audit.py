"""The preflight as something to read: what each column is taken for, and what stands in the way."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from dcd.runtime.errors import InputError
from dcd.runtime.memory import Memory
from dcd.table.checks import LARGEST, MIN_ROWS, combination_among, degenerate_columns
from dcd.table.columns import Column, Kind
from dcd.table.dataset import TableOptions
from dcd.table.reading import FEW_ROWS, with_kinds
from dcd.table.sources import columns_of


@dataclass(frozen=True)
class ColumnAudit:
    """One column: what it is taken for and why, and what is wrong with it, if anything.

    Attributes
    ----------
    n_missing, n_distinct : missing cells, and different values.
    problem, remedy : what would be refused, and what to do about it.
    """

    name: str
    kind: Kind
    why: str
    n_missing: int
    n_distinct: int
    problem: str | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class Audit:
    """What a table is made of, and whether a graph can be searched in it as it is.

    Attributes
    ----------
    columns : one entry for each column.
    n_rows, n_complete_rows : all rows, and those without a missing value.
    problems : what would be refused or should be known, a sentence each.
    """

    columns: tuple[ColumnAudit, ...]
    n_rows: int
    n_complete_rows: int
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether there is nothing to complain of."""
        return not self.problems

    def to_frame(self) -> pd.DataFrame:
        """One row for each column."""
        return pd.DataFrame([vars(column) for column in self.columns]).set_index("name")

    def __str__(self) -> str:
        width = max(len(column.name) for column in self.columns)
        lines = [f"{self.n_rows} rows ({self.n_complete_rows} complete), {len(self.columns)} columns"]
        for column in self.columns:
            missing = f", {column.n_missing} missing" if column.n_missing else ""
            wrong = f"  ! {column.problem}" if column.problem else ""
            lines.append(f"  {column.name:{width}}  {column.kind:10}  {column.why}{missing}{wrong}")
        return "\n".join([*lines, *self.problems])


def audit(
    table: Any, *, kinds: Mapping[str, Kind] | None = None, memory_limit: int | str | None = None
) -> Audit:
    """What `fit` would make of a table, all complaints at once instead of the first.

    Parameters
    ----------
    table : anything that the estimators take.
    kinds, memory_limit : as of `DCD`.

    Examples
    --------
    >>> import dcd
    >>> print(dcd.audit(dcd.datasets.load_sachs().frame[["Raf", "Mek"]]))
    853 rows (853 complete), 2 columns
      Raf  continuous  numbers, 275 different
      Mek  continuous  numbers, 253 different
    """
    TableOptions(kinds=kinds).check()
    memory = Memory.of(memory_limit)
    given, _ = columns_of(table, memory)
    if not given:
        raise InputError("the table", "has no columns", "Give it two at least.")
    columns, reasons = with_kinds(given, kinds)
    complaints = _complaints(columns, memory)
    audited = tuple(
        ColumnAudit(
            column.name,
            *reasons[column.name],
            column.n_missing,
            column.n_distinct,
            *complaints.get(column.name, (None, None)),
        )
        for column in columns
    )
    n_rows = len(columns[0].values)
    complete = np.ones(n_rows, dtype=bool)
    for column in columns:
        if column.trouble is None and column.n_missing:
            complete &= ~np.isnan(column.values)
    n_complete = int(complete.sum())
    problems = [f"Column {name!r}: {problem}. {remedy}" for name, (problem, remedy) in complaints.items()]
    return Audit(audited, n_rows, n_complete, (*problems, *_of_the_table(columns, n_rows, n_complete)))


def _complaints(columns: Sequence[Column], memory: Memory) -> dict[str, tuple[str, str]]:
    """For each column that would be refused, the problem and the remedy."""
    complaints = {column.name: column.trouble for column in columns if column.trouble is not None}
    degenerate = degenerate_columns(columns, memory)
    for name, why in degenerate.items():
        complaints[name] = why, "Drop it (drop_degenerate=True does)."
    for column in columns:
        if column.name in complaints:
            continue
        if column.n_infinite:
            complaints[column.name] = "has infinite values", "Drop these rows, or transform the column."
        elif np.nanmax(np.abs(column.values), initial=0.0) > LARGEST:
            complaints[column.name] = f"has values beyond {LARGEST:g}", "Rescale: sums would overflow."
        elif column.n_missing:
            share = f"{column.n_missing / len(column.values):.0%}"
            remedy = "Set missing='complete-rows' or 'testwise', or fill them in."
            complaints[column.name] = f"has {column.n_missing} missing values ({share})", remedy
    sound = [c for c in columns if c.name not in complaints or c.n_missing < len(c.values)]
    sound = [c for c in sound if c.trouble is None and not c.n_infinite]
    sound = [c for c in sound if c.name not in degenerate]
    involved = combination_among(sound, memory)
    for name in involved:
        others = ", ".join(repr(other) for other in involved if other != name)
        complaints.setdefault(name, (f"is a linear combination of {others}", "Drop one of them."))
    return complaints


def _of_the_table(columns: Sequence[Column], n_rows: int, n_complete: int) -> list[str]:
    """What is wrong with the table as a whole."""
    problems = []
    if len(columns) < 2:
        problems.append("The table has one column; two is the least that can be related.")
    if n_rows < MIN_ROWS:
        problems.append(f"The table has {n_rows} rows; {MIN_ROWS} is the least that is taken.")
    elif n_rows < FEW_ROWS:
        problems.append(f"The table has only {n_rows} rows; little but the strongest relations can show.")
    if 0 < n_complete < n_rows / 2:
        problems.append("More than half of the rows have missing values; missing='testwise' keeps them.")
    return problems
