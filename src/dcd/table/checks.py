"""Checks of a table, each of which returns a list of problems.

`problems_of` collects them, and `raise_all` raises them as one error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError, SeveralProblemsError
from dcd.runtime.memory import Memory
from dcd.runtime.rows import effective_sample_size
from dcd.runtime.text import percent
from dcd.table.columns import (
    FEWEST_IN_A_LEVEL,
    Partition,
    TableColumn,
    column_list,
    infer_kind,
    merge_rare,
)
from dcd.table.correlations import correlations, correlations_with_gaps
from dcd.table.dataset import TableOptions
from dcd.table.remedies import Remedy, drop_columns, remedy_text

MIN_ROWS = 10  # with fewer, hardly any degrees of freedom remain after weighting
FEW_ROWS = 100
FEW_GROUPS = 20  # of rows that belong together: no p-value can be below 1e-5
LARGEST = 1e290
_SHOWN = 5  # amounts listed in one message
_NEARLY_ONE = 1 - 1e-12  # correlation of a copy with an error of a part in a million


@dataclass(frozen=True)
class Problem:
    """Why a column cannot be used, and what to do about it.

    Attributes
    ----------
    amount : how much of the column it concerns, if it is not all of it.
    """

    column: str
    problem: str
    remedy: Remedy
    amount: str = ""

    @property
    def text(self) -> str:
        """The problem with its amount."""
        return f"{self.problem}, {self.amount}" if self.amount else self.problem

    @property
    def advice(self) -> str:
        """What to do about this column."""
        return remedy_text(self.remedy, [self.column])


Check = Callable[[Sequence[TableColumn], TableOptions], list[Problem]]


def raise_first(checks: Sequence[Check], columns: Sequence[TableColumn], options: TableOptions) -> None:
    """Raise `InputError` for the problems of the first failing check."""
    for check in checks:
        raise_all(check(columns, options))


def raise_all(problems: Sequence[Problem]) -> None:
    """Raise `InputError` if there are problems; columns with the same problem share a sentence."""
    alike: dict[tuple[str, Remedy], list[Problem]] = {}
    for problem in problems:
        alike.setdefault((problem.problem, problem.remedy), []).append(problem)
    errors = [_joint_error(group) for group in alike.values()]
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise SeveralProblemsError("the table", errors)


def _joint_error(alike: Sequence[Problem]) -> InputError:
    amounts = ", ".join(problem.amount for problem in alike[:_SHOWN] if problem.amount)
    amounts += ", ..." if amounts and len(alike) > _SHOWN else ""
    joint, columns = replace(alike[0], amount=amounts), [problem.column for problem in alike]
    return InputError(column_list(columns), joint.text, remedy_text(joint.remedy, columns))


def problems_of(
    checks: Sequence[Check], columns: Sequence[TableColumn], options: TableOptions
) -> list[Problem]:
    """The problems of all checks; columns that have to be dropped anyway are not checked further."""
    problems: list[Problem] = []
    for check in checks:
        problems += check(without(columns, problems), options)
    return problems


def without(columns: Sequence[TableColumn], problems: Sequence[Problem]) -> list[TableColumn]:
    """The columns that have none of these problems."""
    names = {problem.column for problem in problems}
    return [column for column in columns if column.name not in names]


# --- the table as a whole --------------------------------------------------------------------------------


def check_shape(n_rows: int, n_columns: int, min_features: int = 2) -> None:
    """Raise `InputError` for a table that is too small."""
    shape = (n_rows, n_columns)
    if n_columns < min_features:
        problem = f"has {n_columns} feature(s) (shape={shape}) while a minimum of {min_features} is required"
        raise InputError("the table", problem, "At least two variables are needed.")
    if n_rows < MIN_ROWS:
        problem = f"has {n_rows} sample(s) (shape={shape}) while a minimum of {MIN_ROWS} is required"
        remedy = "Collect more data; results become useful from a few hundred rows on."
        raise InputError("the table", problem, remedy)


def few_rows_note(n_rows: int, weights: FloatArray | None = None, n_groups: int | None = None) -> str:
    """A warning if there are few rows, groups of rows, or effective rows by weights; otherwise empty."""
    if n_groups is not None and n_groups < FEW_GROUPS:
        return f"Only {n_groups} groups of rows: only the strongest relations can be detected."
    n_effective = n_rows if weights is None else round(effective_sample_size(weights))
    if n_effective >= FEW_ROWS:
        return ""
    count = f"{n_rows} rows"
    if weights is not None:
        count += f", with an effective sample size of {n_effective} because their weights differ"
    return f"Only {count}: with so few, only the strongest relations can be detected."


# --- values of one column --------------------------------------------------------------------------------


def unusable(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:  # noqa: ARG001
    """Columns that are neither numbers nor categories."""
    return [Problem(column.name, *column.trouble) for column in columns if column.trouble is not None]


def no_values(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:  # noqa: ARG001
    """Columns in which every cell is missing."""
    empty = [column.name for column in columns if column.n_missing == len(column.values)]
    return [Problem(name, "has no values", _drop) for name in empty]


def _drop(columns: Sequence[str]) -> str:
    return f"Drop it ({drop_columns(columns)})."


def infinite_values(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:  # noqa: ARG001
    """Columns with infinite cells."""
    amounts = {column.name: str(column.n_infinite) for column in columns if column.n_infinite}
    remedy = "Drop these rows, or transform the column so that it stays finite."
    return [Problem(name, "infinite values (inf)", remedy, amount) for name, amount in amounts.items()]


def huge_values(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:  # noqa: ARG001
    """Columns with values whose squares overflow."""
    huge = [column.name for column in columns if np.nanmax(np.abs(column.values)) > LARGEST]
    return [Problem(name, f"values beyond {LARGEST:g}", "Rescale: sums would overflow.") for name in huge]


def missing_values(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:
    """Columns with missing cells, if these are not allowed."""
    if options.missing != "refuse":
        return []
    choices = "missing='complete-rows'" + (" or 'testwise'" if options.testwise_possible else "")
    remedy = f"Drop these rows or fill them in first, or set {choices}."
    return [
        Problem(
            column.name, "missing values (NaN)", remedy, f"{count} ({percent(count / len(column.values))})"
        )
        for column in columns
        if (count := column.n_missing)
    ]


VALUE_CHECKS: tuple[Check, ...] = (unusable, no_values, infinite_values, huge_values)


# --- relations between columns ---------------------------------------------------------------------------


def constant(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:  # noqa: ARG001
    """Columns with a single value."""
    constant_names = [column.name for column in columns if column.n_distinct <= 1]
    remedy = "Drop it (drop_degenerate=True does): it carries no information."
    return [Problem(name, "has the same value in every row", remedy) for name in constant_names]


def rare_categories(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:  # noqa: ARG001
    """Columns whose categories are all so rare that they are merged into one."""
    problem = f"has no category with {FEWEST_IN_A_LEVEL} rows or more, and rare ones are merged"
    remedy = "Drop it (drop_degenerate=True does), or group its categories."
    unordered = [column for column in columns if column.levels and column.source != "ordered categories"]
    merged = [c.name for c in unordered if not c.n_missing and not merge_rare(c.values).any()]
    return [Problem(name, problem, remedy) for name in merged]


def copies(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:
    """Columns that are copies of an earlier one.

    Numbers up to shift, scale and a relative error of 1e-6; categories up to their names.
    """
    originals: dict[int, int] = {}
    for first, second in _equal_pairs(columns, options.memory):
        if first not in originals:
            originals.setdefault(second, first)
    remedy = "Drop one of the two (drop_degenerate=True does); they differ at most by shift and scale."
    return [
        Problem(columns[copy].name, f"is a copy of {columns[original].name!r}", remedy)
        for copy, original in sorted(originals.items())
    ]


def _equal_pairs(columns: Sequence[TableColumn], memory: Memory) -> list[tuple[int, int]]:
    pairs = set()
    numbers = [i for i, column in enumerate(columns) if not column.levels and not column.n_infinite]
    if len(numbers) > 1:
        values = [columns[index].values for index in numbers]
        complete = not any(columns[index].n_missing for index in numbers)
        correlation = correlations(values, memory) if complete else None
        if correlation is None:  # a column is constant or has missing values
            correlation = correlations_with_gaps(values, memory, MIN_ROWS)
        equal = np.argwhere(np.triu(np.abs(correlation) > _NEARLY_ONE, k=1))
        pairs |= {(numbers[first], numbers[second]) for first, second in equal}
    seen: dict[str, int] = {}
    coded = [i for i, c in enumerate(columns) if c.levels or infer_kind(c)[0] != "continuous"]
    for index in coded:
        first = seen.setdefault(Partition(columns[index].values).digest(), index)
        if first != index:
            pairs.add((first, index))
    return sorted(pairs)


RELATION_CHECKS: tuple[Check, ...] = (constant, copies, rare_categories)


def linear_combinations(columns: Sequence[TableColumn], options: TableOptions) -> list[Problem]:
    """Numeric columns that are linear combinations of each other, up to a relative error of 1e-6."""
    numbers = [column for column in columns if not column.levels]
    involved = [numbers[index].name for index in _dependent(numbers, options.memory)]
    others = {name: ", ".join(repr(other) for other in involved if other != name) for name in involved}
    return [
        Problem(name, f"is a linear combination of {rest}", _drop_one_of_them)
        for name, rest in others.items()
    ]


def _drop_one_of_them(columns: Sequence[str]) -> str:
    return f"Drop one of them ({drop_columns(columns)}). Deviations below one in a million are ignored."


def _dependent(columns: Sequence[TableColumn], memory: Memory) -> list[int]:
    """The columns of a linear combination that is constant, if there is one."""
    if len(columns) < 2:
        return []
    complete = complete_rows(columns)
    if complete.sum() <= len(columns):
        return []
    values = [column.values for column in columns]
    correlation = correlations(values, memory, None if complete.all() else complete)
    if correlation is None:
        return []
    smallest, combination = (part[..., 0] for part in np.linalg.eigh(correlation))
    return [] if smallest >= 1e-12 else np.flatnonzero(np.abs(combination) > 1e-5).tolist()


def complete_rows(columns: Sequence[TableColumn]) -> BoolArray:
    """(n,) which rows have a value in all of these columns."""
    complete = np.ones(len(columns[0].values), dtype=bool)
    for column in columns:
        if column.n_missing:
            complete &= ~np.isnan(column.values)
    return complete
