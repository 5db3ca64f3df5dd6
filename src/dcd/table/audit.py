"""The checks of `fit` as a report: the kind of each column, and all problems."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError, check_type
from dcd.runtime.memory import Memory
from dcd.runtime.text import counted
from dcd.table.checks import MIN_ROWS, Problem, check_shape, complete_rows, few_rows_note
from dcd.table.columns import Kind, TableColumn
from dcd.table.dataset import Missing, TableOptions, of_used_rows
from dcd.table.dates import in_days
from dcd.table.notes import notes_of
from dcd.table.reading import few_usable_rows, table_problems, with_kinds
from dcd.table.row_groups import row_groups, used_groups
from dcd.table.row_order import MOST_ROWS
from dcd.table.row_weights import repeated, survey_weights
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
    missing: Missing = "refuse",
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    memory_limit: int | str | None = None,
) -> Audit:
    """Check a table as `fit` does, and report all problems and caveats.

    Parameters
    ----------
    table : any table that the estimators accept.
    kinds, missing, memory_limit : as in `DCD`.
    sample_weight, counts, groups : (n,) as in `RobustDCD.fit`: weights of the rows, how often each was
        observed, and the groups that they belong to. Rows of weight 0 count only for kinds and missing
        values.

    Examples
    --------
    >>> import dcd
    >>> print(dcd.audit(dcd.datasets.load_sachs().frame[["Raf", "Mek"]]))
    853 rows (853 complete), 2 columns
      Raf  continuous  275 distinct numbers
      Mek  continuous  253 distinct numbers
    """
    options = TableOptions(kinds=kinds, missing=missing, memory=Memory.of(memory_limit))
    options.check()
    table, _ = repeated(table, counts, sample_weight, groups)
    columns = columns_of(table, options.memory)
    if not columns:
        raise InputError("the table", "has no columns", "Pass at least two.")
    columns, reasons = with_kinds(columns, kinds)
    n_rows = len(columns[0].values)
    weights, codes = survey_weights(sample_weight, n_rows), row_groups(groups, n_rows)
    usable = [column for column in columns if column.trouble is None]
    n_complete = int(complete_rows(usable).sum()) if usable else n_rows
    sizes = [(column.n_missing, column.n_distinct) for column in columns]
    kept = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
    found = table_problems(columns, options, kept)
    problems, used, kept = [*found.problems, *found.combined], found.columns, found.rows
    codes = used_groups(None if codes is None else codes[kept])
    n_groups = None if codes is None else int(codes.max()) + 1
    of_table = _of_the_table((n_rows, len(columns)), n_complete, kept, weights, n_groups, options)
    sentences = [f"Column {p.column!r}: {p.text}. {p.advice}" for p in problems]
    notes = [note.text for note in notes_of(used, codes, _undeclared_dates(columns) if kept.all() else ())]
    audited = tuple(
        _audited(column.name, *reasons[column.name], size, problems)
        for column, size in zip(columns, sizes, strict=True)
    )
    return Audit(audited, n_rows, n_complete, (*sentences, *of_table, *notes), n_groups)


def _undeclared_dates(columns: Sequence[TableColumn]) -> list[TableColumn]:
    """The first rows of columns of dates that are refused, in days."""
    dates = [column for column in columns if column.source == "dates" and column.trouble is not None]
    first = [replace(column, values=column.values[:MOST_ROWS].copy()) for column in dates]
    return [in_days(column) for column in first]


def _rendered(template: str, worded: Callable[[str], str], **values: Any) -> str:
    from dcd.runtime.templates import template_environment  # Jinja2 is loaded for the first page only

    templates = template_environment("table", counted=counted, worded=worded)
    return templates.get_template(template).render(values)


def _audited(
    name: str, kind: Kind, why: str, size: tuple[int, int], problems: Sequence[Problem]
) -> ColumnAudit:
    of_column = [problem for problem in problems if problem.column == name]
    problem = "; ".join(problem.text for problem in of_column) or None
    remedy = " ".join(problem.advice for problem in of_column) or None
    return ColumnAudit(name, kind, why, *size, problem, remedy)


def _of_the_table(
    shape: tuple[int, int],
    n_complete: int,
    kept: BoolArray,
    weights: FloatArray | None,
    n_groups: int | None,
    options: TableOptions,
) -> list[str]:
    """Problems of the table as a whole."""
    n_rows, n_used = len(kept), int(kept.sum())
    try:
        check_shape(*shape)
        sentences = [
            few_rows_note(n_used, None if weights is None else of_used_rows(weights[kept]), n_groups)
        ]
    except InputError as error:
        sentences = [f"The table {error.problem}. {error.remedy}"]
    if n_used < MIN_ROWS <= n_rows:
        few = few_usable_rows(kept, weights, options)
        sentences = [f"The table {few.problem}. {few.remedy}"]
    if 0 < n_complete < n_rows / 2 and options.missing != "testwise":
        sentences.append("More than half of the rows have missing values; missing='testwise' keeps them.")
    return [sentence for sentence in sentences if sentence]
