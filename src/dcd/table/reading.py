"""From any table to a `Dataset`: read columns, infer kinds, choose rows, check."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError, RowsLostWarning, SmallSampleWarning, suggest
from dcd.table.cells import array_column, series_column
from dcd.table.checks import (
    MIN_ROWS,
    RELATION_CHECKS,
    VALUE_CHECKS,
    Problem,
    check_shape,
    complete_rows,
    few_rows_note,
    linear_combinations,
    missing_values,
    no_values,
    problems_of,
    raise_all,
    without,
)
from dcd.table.columns import Kind, TableColumn, as_kind, infer_kind, too_many
from dcd.table.dataset import Dataset, TableOptions, TableSummary, find_column, of_used_rows
from dcd.table.dates import in_days
from dcd.table.notes import notes_of
from dcd.table.row_groups import row_groups, used_groups
from dcd.table.row_weights import survey_weights
from dcd.table.sources import columns_of, fill, is_frame, source_of, stored, to_array

_SHOWN = 5  # columns listed in one warning


def read_table(
    table: Any,
    target: Any = None,
    *,
    about: object = None,
    options: TableOptions | None = None,
    sample_weight: Any = None,
    groups: Any = None,
) -> Dataset:
    """`read_columns`, with warnings if there are few rows or rows are lost."""
    dataset = read_columns(
        table, target, about=about, options=options, sample_weight=sample_weight, groups=groups
    )
    warn_of_lost_rows(dataset.summary, stacklevel=4)
    note = few_rows_note(len(dataset.values), dataset.weights, dataset.summary.n_groups)
    if note:
        warnings.warn(note, SmallSampleWarning, stacklevel=3)
    return dataset


def warn_of_lost_rows(summary: TableSummary, stacklevel: int) -> None:
    """Warn if rows with missing values were left out; `stacklevel` as in `warnings.warn`."""
    lost = summary.n_rows - summary.n_rows_used
    if lost and summary.missing == "complete-rows":
        worst = sorted(((count, name) for name, count in summary.n_missing.items() if count), reverse=True)
        columns = ", ".join(f"{name!r} {count}" for count, name in worst[:_SHOWN])
        warnings.warn(
            f"{lost} of {summary.n_rows} rows have missing values and were left out ({columns}"
            f"{', ...' if len(worst) > _SHOWN else ''}).",
            RowsLostWarning,
            stacklevel=stacklevel,
        )


def read_columns(
    table: Any,
    target: Any = None,
    *,
    about: object = None,
    options: TableOptions | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    combinations: bool = False,
) -> Dataset:
    """Read and check any table (see `dcd.table.sources`).

    A separate `target` (one value per row) becomes the last column, under its own name or "y"; `about` names
    a column as the target, which is never left out. `sample_weight` has one weight per row; equal weights
    have no effect. `groups` has the group of each row; one group per row has no effect. Columns that
    are linear combinations of others are rejected unless `combinations` allows them.
    """
    options = options or TableOptions()
    memory = options.memory
    source = source_of(table, memory)
    n_rows, names_in = source.n_rows, source.names
    check_shape(n_rows, len(names_in), min_features=2 if target is None else 1)
    memory.check(n_rows)
    asked = None if about is None else find_column(about, names_in)
    weights, codes = survey_weights(sample_weight, n_rows), row_groups(groups, n_rows)
    store: FloatArray = memory.array((n_rows, len(names_in) + (target is not None)))
    columns = fill(store, source, memory)
    if target is not None:
        columns.append(stored(_target_column(columns, target), store[:, -1]))
        asked = columns[-1].name
    columns, reasons = with_kinds(columns, options.kinds)
    n_missing = {column.name: column.n_missing for column in columns}
    columns, kept, dropped = _usable_part(columns, weights, options, asked, combinations=combinations)
    raise_all(problems_of(RELATION_CHECKS, columns, options))
    if not combinations:
        raise_all(linear_combinations(columns, options)[:1])
    names = tuple(column.name for column in columns)
    used = used_groups(None if codes is None else codes[kept])
    summary = TableSummary(
        n_rows=n_rows,
        n_rows_used=int(kept.sum()),
        columns=names_in,
        names=names,
        kinds={name: reasons[name][0] for name in names},
        kind_reasons={name: reasons[name][1] for name in names},
        levels={column.name: column.levels for column in columns if column.levels},
        n_missing=n_missing,
        dropped=dropped,
        missing=options.missing,
        weighted=of_used_rows(weights) is not None,
        dates=tuple(column.name for column in columns if column.source == "dates" and not column.levels),
        notes=notes_of(columns, used),
        n_groups=None if used is None else int(used.max()) + 1,
    )
    return Dataset(
        values=_side_by_side(columns, store) if dropped else store[: summary.n_rows_used],
        names=names,
        named=source.named,
        kinds=tuple(summary.kinds.values()),
        weights=None if weights is None else of_used_rows(weights[kept]),
        rows=np.flatnonzero(kept),
        summary=summary,
        target=asked,
        memory=memory,
        groups=used,
    )


def _side_by_side(columns: Sequence[TableColumn], store: FloatArray) -> FloatArray:
    """Move columns of a store to its first positions."""
    n_rows = len(columns[0].values)
    for position, column in enumerate(columns):
        store[:n_rows, position] = column.values
    return store[:n_rows, : len(columns)]


def _usable_part(
    columns: Sequence[TableColumn],
    weights: FloatArray | None,
    options: TableOptions,
    asked: str | None,
    *,
    combinations: bool,
) -> tuple[list[TableColumn], BoolArray, dict[str, str]]:
    """The columns with the rows to use, a mask of these rows, and the columns left out."""
    dropped: dict[str, str] = {}
    if options.drop_degenerate:
        columns, dropped = _without_degenerate(columns, options, asked)
    n_rows = len(weights) if weights is not None else len(columns[0].values) if columns else 0
    check_shape(n_rows, len(columns))
    if problems_of([*VALUE_CHECKS, missing_values], columns, options):
        weighted = np.ones(n_rows, dtype=bool) if weights is None else weights > 0
        found = table_problems(columns, options, weighted)
        raise_all([*found.problems, *([] if combinations else found.combined[:1])])
    kept = _kept_rows(columns, weights, options)
    if not kept.all():
        columns = [stored(column, column.values[: kept.sum()], kept) for column in columns]
        if options.drop_degenerate:  # a column may be constant in these rows only
            columns, also = _without_degenerate(columns, options, asked)
            dropped |= {name: f"{why}, among the rows used" for name, why in also.items()}
            check_shape(n_rows, len(columns))
    return list(columns), kept, dropped


@dataclass(frozen=True)
class TableProblems:
    """The problems of all columns, and their linear combinations.

    Attributes
    ----------
    problems : those of values, missing values and relations between two columns.
    combined : columns that are linear combinations of each other.
    columns : the columns with no problem but missing values, in the rows to use.
    rows : which rows these are.
    """

    problems: list[Problem]
    combined: list[Problem]
    columns: list[TableColumn]
    rows: BoolArray


def table_problems(
    columns: Sequence[TableColumn], options: TableOptions, weighted: BoolArray
) -> TableProblems:
    """All problems of columns, whose values are overwritten by those of the rows to use.

    Unused rows, such as those that are not `weighted`, count for the values of a column, not for its
    relations to others.
    """
    of_values = problems_of(VALUE_CHECKS, columns, options)
    readable = without(columns, of_values)
    missing = missing_values(readable, options)
    complete_only = options.missing == "complete-rows" and readable
    rows = weighted & complete_rows(readable) if complete_only else weighted
    if not rows.all():
        readable = [stored(column, column.values[: rows.sum()], rows) for column in readable]
        if rows.sum() < MIN_ROWS:
            return TableProblems([*of_values, *missing], [], [], rows)
    relations = problems_of(RELATION_CHECKS, readable, options)
    remaining = without(readable, relations)
    combined = linear_combinations(remaining, options)
    degenerate = {problem.column for problem in relations}
    missing = [problem for problem in missing if problem.column not in degenerate]
    problems = [*of_values, *relations, *missing]
    return TableProblems(problems, combined, without(remaining, combined), rows)


def _without_degenerate(
    columns: Sequence[TableColumn], options: TableOptions, asked: str | None
) -> tuple[list[TableColumn], dict[str, str]]:
    """The other columns, and reasons for those left out; raises `InputError` if the target is one."""
    usable = [column for column in columns if column.trouble is None]
    problems = problems_of([no_values, *RELATION_CHECKS], usable, options)
    for problem in problems:
        if problem.column == asked:
            raise InputError(f"the target {asked!r}", problem.problem, "Choose another one.")
    return without(columns, problems), {p.column: f"it {p.problem}" for p in problems}


def with_kinds(
    columns: Sequence[TableColumn], kinds: Mapping[str, Kind] | None
) -> tuple[list[TableColumn], dict[str, tuple[Kind, str]]]:
    """The columns, nominal ones coded in place, and the kind of each with its reason."""
    declared = {str(name): kind for name, kind in (kinds or {}).items()}
    names = [column.name for column in columns]
    for name in declared:
        if name not in names:
            subject = f"parameter 'kinds', column {name!r}"
            raise InputError(subject, "is not in the table", suggest(name, names))
    reasons: dict[str, tuple[Kind, str]] = {}
    coded = []
    for column in columns:
        kind, why = infer_kind(column)
        if column.name in declared:
            kind, why = declared[column.name], "as declared"
            if kind == "nominal" and column.levels:  # even if its text looks like numbers or dates
                column = replace(column, trouble=too_many(column.levels))
            elif kind != "nominal" and column.source == "dates":
                column, why = in_days(column), "as declared, in days"
        coded.append(as_kind(column, kind))
        reasons[column.name] = (kind, why)
    return coded, reasons


def _target_column(columns: Sequence[TableColumn], target: Any) -> TableColumn:
    """A separate target as a column."""
    name = getattr(target, "name", None)
    name = (str(name) if isinstance(name, (str, int)) else "") or "y"
    n_rows = len(columns[0].values)
    shape: tuple[int, ...]
    if is_frame(target):
        found = columns_of(target)
        shape = (len(found[0].values) if found else 0, len(found))
    elif isinstance(series := nw.from_native(target, series_only=True, pass_through=True), nw.Series):
        found, shape = [series_column(name, series)], (len(series),)
    else:
        cells = to_array(target, "the target")
        found, shape = [array_column(name, cells.reshape(-1))], cells.shape
    if shape not in ((n_rows,), (n_rows, 1)):
        problem = f"has shape {shape}, but the table has {n_rows} rows"
        raise InputError("the target 'y'", problem, "Give one value for each row.")
    name = found[0].name
    while name in {other.name for other in columns}:
        name += "_"
    return replace(found[0], name=name)


def _kept_rows(
    columns: Sequence[TableColumn], weights: FloatArray | None, options: TableOptions
) -> BoolArray:
    """The rows to use: those with a weight and a value, or complete if required."""
    if options.missing == "complete-rows":
        kept = complete_rows(columns)
    else:
        kept = np.zeros(len(columns[0].values), dtype=bool)
        for column in columns:
            kept |= ~np.isnan(column.values)
    if weights is not None:
        kept &= weights > 0
    if kept.sum() < MIN_ROWS:
        raise few_usable_rows(kept, weights, options)
    return kept


def few_usable_rows(rows: BoolArray, weights: FloatArray | None, options: TableOptions) -> InputError:
    """The error for a table with too few rows to use."""
    remedy = "Drop the columns with the most missing values"
    remedy += ", or use missing='testwise'." if options.testwise_possible else "."
    if weights is not None and (weights > 0).sum() < MIN_ROWS:
        remedy = f"Give at least {MIN_ROWS} rows a weight above 0."
    problem = f"has {rows.sum()} usable rows of {len(rows)}, fewer than {MIN_ROWS}"
    return InputError("the table", problem, remedy)
