"""The checks of `fit` as a report: the kind of each column, and all problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from dcd.runtime.errors import InputError, check_type
from dcd.runtime.memory import Memory
from dcd.runtime.text import counted
from dcd.table.checks import (
    ALL_CHECKS,
    Problem,
    check_shape,
    complete_rows,
    few_rows_note,
    missing_values,
    problems_of,
    without,
)
from dcd.table.columns import Kind, TableColumn
from dcd.table.dataset import TableOptions
from dcd.table.notes import notes_of
from dcd.table.reading import with_kinds
from dcd.table.row_groups import row_groups, used_groups
from dcd.table.sources import columns_of


@dataclass(frozen=True)
class ColumnAudit:
    """One column: its kind and why, and its problems."""

    name: str
    kind: Kind
    why: str
    n_missing: int
    n_distinct: int
    problem: str | None = None
    remedy: str | None = None


@dataclass(frozen=True)
class Audit:
    """The columns of a table, its numbers of rows and groups of rows, and its problems, a sentence each."""

    columns: tuple[ColumnAudit, ...]
    n_rows: int
    n_complete_rows: int
    problems: tuple[str, ...]
    n_groups: int | None = None

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return not self.problems

    def to_frame(self) -> pd.DataFrame:
        """One row for each column."""
        return pd.DataFrame([vars(column) for column in self.columns]).set_index("name")

    def to_html(self, title: str = "the table", *, worded: Callable[[str], str] = str) -> str:
        """A self-contained page; names from the data are escaped. `worded` rewrites remedies."""
        check_type("title", title, str, "Pass a heading.")
        if not callable(worded):
            problem = f"must be a function of text, got {type(worded).__name__}"
            raise InputError("parameter 'worded'", problem, "Leave it out.")
        return _rendered("audit_page.html.j2", worded, audit=self, title=title)

    def _repr_html_(self) -> str:
        return _rendered("audit.html.j2", str, audit=self)

    def __str__(self) -> str:
        width = max(len(column.name) for column in self.columns)
        groups = "" if self.n_groups is None else f" in {self.n_groups} groups"
        lines = [f"{self.n_rows} rows{groups} ({self.n_complete_rows} complete), {len(self.columns)} columns"]
        for column in self.columns:
            missing = f", {column.n_missing} missing" if column.n_missing else ""
            wrong = f"  ! {column.problem}" if column.problem else ""
            lines.append(f"  {column.name:{width}}  {column.kind:10}  {column.why}{missing}{wrong}")
        return "\n".join([*lines, *self.problems])


def audit(
    table: Any,
    *,
    kinds: Mapping[str, Kind] | None = None,
    groups: Any = None,
    memory_limit: int | str | None = None,
) -> Audit:
    """Check a table as `fit` does, reporting all problems instead of the first.

    Parameters
    ----------
    table : any table that the estimators accept.
    kinds, memory_limit : as in `DCD`.
    groups : (n,) which rows belong together, as in `RobustDCD.fit`: rows of a group may resemble each other.

    Examples
    --------
    >>> import dcd
    >>> print(dcd.audit(dcd.datasets.load_sachs().frame[["Raf", "Mek"]]))
    853 rows (853 complete), 2 columns
      Raf  continuous  numbers, 275 different
      Mek  continuous  numbers, 253 different
    """
    options = TableOptions(kinds=kinds, memory=Memory.of(memory_limit))
    options.check()
    columns = columns_of(table, options.memory)
    if not columns:
        raise InputError("the table", "has no columns", "Pass at least two.")
    columns, reasons = with_kinds(columns, kinds)
    problems = problems_of(ALL_CHECKS, columns, options)
    audited = tuple(_audited(column, *reasons[column.name], problems) for column in columns)
    n_rows = len(columns[0].values)
    codes = used_groups(row_groups(groups, n_rows))
    n_groups = None if codes is None else int(codes.max()) + 1
    usable = [column for column in columns if column.trouble is None]
    n_complete = int(complete_rows(usable).sum()) if usable else n_rows
    sentences = [f"Column {p.column!r}: {p.text}. {p.remedy}" for p in problems]
    missing = missing_values(columns, options)
    used = without(usable, [problem for problem in problems if problem not in missing])
    notes = [note.text for note in notes_of(used, codes)]
    of_table = _of_the_table(len(columns), n_rows, n_complete, n_groups)
    return Audit(audited, n_rows, n_complete, (*sentences, *of_table, *notes), n_groups)


def _rendered(template: str, worded: Callable[[str], str], **values: Any) -> str:
    from dcd.runtime.templates import template_environment  # Jinja2 is loaded for the first page only

    templates = template_environment("table", counted=counted, worded=worded)
    return templates.get_template(template).render(values)


def _audited(column: TableColumn, kind: Kind, why: str, problems: Sequence[Problem]) -> ColumnAudit:
    of_column = [problem for problem in problems if problem.column == column.name]
    problem = "; ".join(problem.text for problem in of_column) or None
    remedy = " ".join(problem.remedy for problem in of_column) or None
    return ColumnAudit(column.name, kind, why, column.n_missing, column.n_distinct, problem, remedy)


def _of_the_table(n_columns: int, n_rows: int, n_complete: int, n_groups: int | None) -> list[str]:
    """Problems of the table as a whole."""
    try:
        check_shape(n_rows, n_columns)
        sentences = [few_rows_note(n_rows, n_groups=n_groups)]
    except InputError as error:
        sentences = [f"The table {error.problem}. {error.remedy}"]
    if 0 < n_complete < n_rows / 2:
        sentences.append("More than half of the rows have missing values; missing='testwise' keeps them.")
    return [sentence for sentence in sentences if sentence]
