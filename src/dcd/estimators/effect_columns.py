"""The columns from which an effect is estimated, the levels to compare and the rows to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dcd.estimators.effect_estimates import FEWEST_GROUPS, FEWEST_IN_A_LEVEL, FEWEST_ROWS, Sample
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError, as_tuple, suggest
from dcd.runtime.memory import Memory
from dcd.table.checks import VALUE_CHECKS, raise_first
from dcd.table.columns import Kind, TableColumn
from dcd.table.dataset import TableOptions, find_column
from dcd.table.reading import with_kinds
from dcd.table.row_groups import groups_of_rows, row_groups, used_groups
from dcd.table.row_weights import survey_weights
from dcd.table.sources import fill, source_of


class EffectTable:
    """The columns of a table, each read when first needed."""

    def __init__(
        self,
        X: Any,
        kinds: Mapping[str, Kind] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
        cautions: tuple[str, ...] = (),
    ) -> None:
        TableOptions(kinds=kinds).check()
        self._source, self._kinds = source_of(X), {str(name): kind for name, kind in (kinds or {}).items()}
        self.n_rows, self.cautions = self._source.n_rows, cautions
        weights = survey_weights(sample_weight, self.n_rows)
        self.weights: FloatArray = np.ones(self.n_rows) if weights is None else weights
        self.groups = used_groups(row_groups(groups, self.n_rows))
        self._columns: dict[str, tuple[TableColumn, Kind]] = {}

    def column(self, name: str) -> tuple[TableColumn, Kind]:
        """A column with its kind, checked."""
        if name not in self._columns:
            found = find_column(name, self._source.names)
            memory = Memory()
            columns = fill(memory.array((self.n_rows, 1)), self._source.select([found]), memory)
            declared = {found: self._kinds[found]} if found in self._kinds else None
            columns, reasons = with_kinds(columns, declared)
            raise_first(VALUE_CHECKS, columns, TableOptions())
            self._columns[name] = columns[0], reasons[found][0]
        return self._columns[name]

    def complete_in(self, names: Sequence[str]) -> BoolArray:
        """(n,) which rows have a weight and a value in all of the named columns."""
        complete: BoolArray = self.weights > 0
        for name in names:
            complete = complete & ~np.isnan(self.column(name)[0].values)
        return complete


def contrast_of(
    table: EffectTable, treatment: str, levels: object
) -> tuple[tuple[float, float], tuple[str, str]] | None:
    """The two levels to compare, as values and as words; None for the change per unit."""
    column, kind = table.column(treatment)
    values = np.unique(column.values[~np.isnan(column.values)])
    if len(values) < 2:
        problem = "has the same value in every row"
        raise InputError(f"column {treatment!r}", problem, "Choose a treatment that varies.")
    names = {value: column.levels[int(value)] if column.levels else _number_text(value) for value in values}
    present = {name: float(value) for value, name in names.items()}
    if levels is None:
        if len(values) == 2:
            low, high = present
            return (present[low], present[high]), (low, high)
        if kind == "nominal":
            shown = ", ".join(repr(label) for label in list(present)[:5])
            problem = f"has {len(values)} categories ({shown}{', ...' * (len(values) > 5)})"
            remedy = f"Choose two of them to compare: levels={tuple(present)[:2]!r}."
            raise InputError(f"column {treatment!r}", problem, remedy)
        return None
    asked = as_tuple("parameter 'levels'", levels, "levels=('control', 'treated')", letters=False)
    words = [_number_text(level) for level in asked]
    if len(words) != 2 or words[0] == words[1]:
        problem = f"must be two different levels, got {levels!r:.80}"
        raise InputError("parameter 'levels'", problem, f"Try levels={tuple(present)[:2]!r}.")
    for word in words:
        if word not in present:
            problem = f"{word!r:.80} is not a level of {treatment!r}"
            raise InputError("parameter 'levels'", problem, suggest(word, list(present)))
    return (present[words[0]], present[words[1]]), (words[0], words[1])


def _number_text(value: object) -> str:
    """A level as text: 1 for 1.0."""
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return str(int(value))
    return str(value)


def event_of(table: EffectTable, outcome: str) -> tuple[float, str] | None:
    """The level of a binary outcome whose probability is reported, as value and as text; None if numeric."""
    column, kind = table.column(outcome)
    n_distinct = column.n_distinct
    if n_distinct < 2:
        problem = "has the same value in every row"
        raise InputError(f"column {outcome!r}", problem, "Choose an outcome that varies.")
    if kind == "nominal" and n_distinct > 2:
        level = column.levels[0]
        remedy = f"Replace it with an indicator of one category, such as {level!r}."
        raise InputError(f"column {outcome!r}", f"has {n_distinct} categories, which have no mean", remedy)
    highest = float(np.nanmax(column.values))
    return (highest, column.levels[int(highest)]) if kind == "nominal" else None


def sample_of(
    table: EffectTable,
    pair: tuple[str, str],
    fixed: Sequence[str],
    levels: tuple[float, float] | None,
    event: float | None,
) -> Sample:
    """The rows that are complete in all columns of an estimate; raises `InputError` if they are too few."""
    treatment, outcome = pair
    rows = table.complete_in([*pair, *fixed])
    columns = [table.column(name) for name in fixed]
    numbers = [column.values[rows] for column, kind in columns if kind != "nominal"]
    codes = [column.values[rows] for column, kind in columns if kind == "nominal"]
    n_rows = int(rows.sum())
    needed = max(FEWEST_ROWS, 3 * (len(columns) + 2))
    if n_rows < needed:
        listed = ", ".join(map(repr, (*pair, *fixed)))
        problem = f"needs {needed} rows that are complete in {listed} for this effect, got {n_rows}"
        raise InputError("the table", problem, "Add rows, or impute missing values.")
    empty, values = np.empty((n_rows, 0)), table.column(outcome)[0].values[rows]
    sample = Sample(
        treatment=table.column(treatment)[0].values[rows],
        outcome=values if event is None else (values == event).astype(float),
        numbers=np.column_stack(numbers) if numbers else empty,
        categories=np.column_stack(codes) if codes else empty,
        weights=table.weights[rows] / table.weights[rows].mean(),
        levels=levels,
        groups=groups_of_rows(None if table.groups is None else table.groups[rows]),
    )
    for name, used in {treatment: sample.treatment, outcome: sample.outcome}.items():
        if np.ptp(used) == 0:
            problem = f"has the same value in the {n_rows} complete rows"
            raise InputError(f"column {name!r}", problem, "Impute missing values, or choose another one.")
    _check_groups(sample, treatment)
    for level in levels or ():
        count = int((sample.treatment == level).sum())
        if count < FEWEST_IN_A_LEVEL:
            problem = f"has {count} rows with one of the two levels, fewer than {FEWEST_IN_A_LEVEL}"
            raise InputError(f"column {treatment!r}", problem, "Compare other levels, or group them.")
    return sample


def _check_groups(sample: Sample, treatment: str) -> None:
    """Raise `InputError` unless there are enough groups, and each treatment level occurs in at least two."""
    if sample.groups is None:
        return
    n_groups = int(sample.groups.max()) + 1
    if n_groups < FEWEST_GROUPS:
        problem = f"needs {FEWEST_GROUPS} groups among the complete rows for an effect, got {n_groups}"
        raise InputError("parameter 'groups'", problem, "Collect more.")
    for level in sample.levels or ():
        if len(np.unique(sample.groups[sample.treatment == level])) < 2:
            problem = "has a level that occurs in one group of rows only"
            raise InputError(
                f"column {treatment!r}", problem, "Compare other levels, or collect more groups."
            )
