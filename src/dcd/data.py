"""Any table to a `Dataset`: named columns of numbers with their kinds, checked before any work is done."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.arrays import BoolArray, FloatArray
from dcd.columns import (
    KINDS,
    Column,
    Kind,
    array_column,
    as_kind,
    columns_of,
    infer_kind,
    is_frame,
    series_column,
    to_array,
    without_doubt,
)
from dcd.preflight import (
    MIN_ROWS,
    check_combinations,
    check_copies,
    check_present,
    check_shape,
    check_usable,
    check_varying,
    partition,
    useless_columns,
)
from dcd.validation import InputError, check_choice, suggest

Missing = Literal["refuse", "complete-rows", "each-set"]
MISSING: tuple[Missing, ...] = get_args(Missing)

FEW_ROWS = 100
_SHOWN = 5  # columns listed in one warning


class SmallSampleWarning(UserWarning):
    """The table has so few rows that an absent edge says little."""


class RowsLostWarning(UserWarning):
    """Rows with missing values were left out."""


@dataclass(frozen=True)
class TableOptions:
    """How to read a table.

    Attributes
    ----------
    kinds : for some columns "continuous", "ordinal" or "nominal", where the rule of `dcd.columns` errs.
    missing : "refuse" missing values, use "complete-rows" only, or let "each-set" of variables use the rows
        that are complete in it.
    drop_useless : leave out columns that are constant or copies of others, instead of refusing them.
    """

    kinds: Mapping[str, Kind] | None = None
    missing: Missing = "refuse"
    drop_useless: bool = False

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_choice("missing", self.missing, MISSING)
        if not isinstance(self.drop_useless, (bool, np.bool_)):
            raise InputError(
                "parameter 'drop_useless'", f"must be True or False, got {self.drop_useless!r}", "Try True."
            )
        if self.kinds is not None and not isinstance(self.kinds, Mapping):
            raise InputError(
                "parameter 'kinds'",
                f"must map columns to kinds, got {type(self.kinds).__name__}",
                "Try kinds={'column': 'nominal'}.",
            )
        for column, kind in (self.kinds or {}).items():
            check_choice(f"kinds[{column!r}]", kind, KINDS)


@dataclass(frozen=True)
class TableSummary:
    """What was made of a table.

    Attributes
    ----------
    n_rows, n_rows_used : rows of the table, and rows of which at least a part was used.
    columns : the columns of the table, without a separate target.
    names : the columns used.
    kinds, kind_reasons : "continuous", "ordinal" or "nominal" for each of them, and why.
    levels : the categories of columns that were no numbers.
    n_missing : missing cells of each column, in the whole table.
    dropped : columns left out, and why.
    missing : what was done about missing values.
    weighted : whether rows count by weights of their own.
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

    def __str__(self) -> str:
        counts = {kind: sum(k == kind for k in self.kinds.values()) for kind in KINDS}
        kinds = ", ".join(f"{count} {kind}" for kind, count in counts.items() if count)
        lines = [f"{self.n_rows} rows, {len(self.names)} columns ({kinds})."]
        if self.n_rows_used < self.n_rows:
            lines.append(f"{self.n_rows - self.n_rows_used} rows were left out.")
        lines += [f"Column {name!r} was left out: {why}." for name, why in self.dropped.items()]
        return "\n".join(lines)


@dataclass(frozen=True)
class Dataset:
    """A checked table.

    Attributes
    ----------
    values : (n, d) float64; no column constant and no two columns the same. NaN only where missing values are
        left to each set.
    names : d different names.
    named : whether the table named its columns by text; "x0", "x1", ... stand in where it named none.
    kinds : kind of each variable; the values of a nominal one are codes.
    weights : (n,) what each row counts for, with mean 1; None if all count the same.
    rows : (n,) positions of the rows in the table as given.
    summary : what was made of the table.
    target : the column that the question is about, if it is about one.
    """

    values: FloatArray
    names: tuple[str, ...]
    named: bool
    kinds: tuple[Kind, ...]
    weights: FloatArray | None
    rows: npt.NDArray[np.intp] = field(repr=False)
    summary: TableSummary = field(repr=False)
    target: str | None = None

    @property
    def probabilities(self) -> FloatArray:
        """(n,) the share of each row."""
        n_samples = len(self.values)
        return np.full(n_samples, 1.0 / n_samples) if self.weights is None else self.weights / n_samples

    @property
    def has_gaps(self) -> bool:
        """Whether any value is missing."""
        return bool(np.isnan(self.values).any())

    def in_canonical_order(self) -> Dataset:
        """The same columns in an order that depends on their contents alone.

        Floating-point sums depend on the order of their terms. Working in this order makes results equal to
        the last bit whatever the order of the columns in the table.
        """
        return self.select(sorted(range(len(self.names)), key=self._contents))

    def _contents(self, column: int) -> tuple[str, bytes]:
        """What a column holds, for categories whatever they are called."""
        values, kind = self.values[:, column], self.kinds[column]
        return kind, partition(values) if kind == "nominal" else values.tobytes()

    def select(self, columns: Sequence[int]) -> Dataset:
        """Some columns, in the given order."""
        return replace(
            self,
            values=np.ascontiguousarray(self.values[:, columns]),
            names=tuple(self.names[column] for column in columns),
            kinds=tuple(self.kinds[column] for column in columns),
        )

    def complete_in(self, columns: Sequence[int]) -> Dataset:
        """Some columns, and the rows in which none of them is missing."""
        return self.select(columns).take(self.present_in(columns))

    def present_in(self, columns: Sequence[int]) -> BoolArray:
        """(n,) which rows have a value in all of some columns."""
        return np.logical_and.reduce(np.isfinite(self.values[:, columns]), axis=1, dtype=bool)

    def take(self, kept: BoolArray) -> Dataset:
        """Some rows."""
        if kept.all():
            return self
        weights = None if self.weights is None else self.weights[kept]
        if weights is not None:
            weights = weights / weights.mean()
        return replace(self, values=self.values[kept], weights=weights, rows=self.rows[kept])

    def in_all_rows(self, weights: FloatArray) -> FloatArray:
        """Weights of the rows used as weights of all rows of the table: 0 for rows left out; same mean."""
        whole = np.zeros(self.summary.n_rows)
        whole[self.rows] = weights * (len(whole) / len(weights))
        return whole

    def without_last(self) -> Dataset:
        """The table without its last column."""
        return self.select(range(len(self.names) - 1))

    def position(self, column: object) -> int:
        """Position of a column given by name, or by number if no column is named by that number."""
        name = find_column(column, self.summary.columns)
        if name not in self.names:
            why = self.summary.dropped.get(name, "it was left out")
            raise InputError(f"column {column!r}", f"is not used: {why}", "Ask for another one.")
        return self.names.index(name)


def find_column(column: object, names: Sequence[str]) -> str:
    """The name of a column given by name, or by its number if no column is named by that number."""
    if isinstance(column, (str, int, np.integer)) and not isinstance(column, bool):
        if str(column) in names:
            return str(column)
        if not isinstance(column, str) and -len(names) <= column < len(names):
            return names[int(column)]
    raise InputError(f"column {column!r}", "is not in the table", suggest(column, names))


def read_table(
    table: Any,
    target: Any = None,
    *,
    about: object = None,
    options: TableOptions | None = None,
    sample_weight: Any = None,
) -> Dataset:
    """`read_columns`, with warnings to the caller's caller if there are few rows or rows are lost."""
    dataset = read_columns(table, target, about=about, options=options, sample_weight=sample_weight)
    warn_of_lost_rows(dataset.summary, stacklevel=4)
    if len(dataset.values) < FEW_ROWS:
        warnings.warn(
            f"Only {len(dataset.values)} rows: after weighting, little more than the strongest relations can "
            "show.",
            SmallSampleWarning,
            stacklevel=3,
        )
    return dataset


def warn_of_lost_rows(summary: TableSummary, stacklevel: int) -> None:
    """Warn if rows were left out for what is missing in them; `stacklevel` as in `warnings.warn`."""
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
    combinations: bool = False,
) -> Dataset:
    """Read and check a NumPy array or a pandas, polars, pyarrow (or any narwhals) table.

    A separate `target` (one value for each row) becomes the last column, named "y" or by the name it brings
    along; `about` names a column that is the target, which is never left out. `sample_weight` says what each
    row counts for. Columns that are linear combinations of others are
    refused unless `combinations` allows them.

    Raises
    ------
    InputError
        naming the columns, what is wrong with them and what to do.
    """
    options = options or TableOptions()
    columns, named = columns_of(table)
    n_rows = len(columns[0].values) if columns else len(table)
    check_shape(n_rows, len(columns), min_features=2 if target is None else 1)
    given = tuple(column.name for column in columns)
    asked = None if about is None else find_column(about, given)
    if target is not None:
        columns = [*columns, _target_column(columns, target)]
        asked = columns[-1].name
    columns, reasons = with_kinds(columns, options.kinds)
    weights = _row_weights(sample_weight, n_rows)
    dropped = _droppable(columns, asked) if options.drop_useless else {}
    n_missing = {column.name: column.n_missing for column in columns}
    columns = [column for column in columns if column.name not in dropped]
    check_shape(n_rows, len(columns))
    check_usable(columns)
    check_present(columns, may_be_missing=options.missing != "refuse")
    kept = _kept_rows(columns, weights, options.missing)
    columns = [replace(column, values=column.values[kept]) for column in columns]
    if options.drop_useless:  # what varied in the rows left out may not vary any more
        also = _droppable(columns, asked)
        dropped |= {name: f"{why} that is used" if "row" in why else why for name, why in also.items()}
        columns = [column for column in columns if column.name not in also]
        check_shape(n_rows, len(columns))
    check_varying(columns)
    check_copies(columns)
    if not combinations:
        check_combinations(columns)
    names = tuple(column.name for column in columns)
    summary = TableSummary(
        n_rows=n_rows,
        n_rows_used=int(kept.sum()),
        columns=given,
        names=names,
        kinds={name: reasons[name][0] for name in names},
        kind_reasons={name: reasons[name][1] for name in names},
        levels={column.name: column.levels for column in columns if column.levels},
        n_missing=n_missing,
        dropped=dropped,
        missing=options.missing,
        weighted=weights is not None,
    )
    return Dataset(
        values=np.column_stack([column.values for column in columns]),
        names=names,
        named=named,
        kinds=tuple(summary.kinds.values()),
        weights=None if weights is None else weights[kept] / weights[kept].mean(),
        rows=np.flatnonzero(kept),
        summary=summary,
        target=asked,
    )


def _droppable(columns: Sequence[Column], asked: str | None) -> dict[str, str]:
    """Useless columns; an `InputError` if the target is one of them."""
    useless = useless_columns(columns)
    if asked in useless:
        raise InputError(f"the target {asked!r}", useless[asked].replace("it ", "", 1), "Choose another one.")
    return useless


def with_kinds(
    columns: Sequence[Column], kinds: Mapping[str, Kind] | None
) -> tuple[list[Column], dict[str, tuple[Kind, str]]]:
    """Columns with what is nominal coded, and the kind of each with its reason."""
    wanted = {str(name): kind for name, kind in (kinds or {}).items()}
    names = [column.name for column in columns]
    for name in wanted:
        if name not in names:
            raise InputError(
                f"parameter 'kinds', column {name!r}", "is not in the table", suggest(name, names)
            )
    reasons: dict[str, tuple[Kind, str]] = {}
    coded = []
    for column in columns:
        kind, why = infer_kind(column)
        if column.name in wanted:
            kind, why = wanted[column.name], "as told"
            column = without_doubt(column) if kind == "nominal" else column
        coded.append(as_kind(column, kind))
        reasons[column.name] = (kind, why)
    return coded, reasons


def _target_column(columns: Sequence[Column], target: Any) -> Column:
    """A separate target as a column."""
    if isinstance(target, pd.DataFrame) or is_frame(target):
        given, _ = columns_of(target)
        column = given[0]
        shape: tuple[int, ...] = (len(column.values), len(given))
    else:
        brought = getattr(target, "name", None)
        name = (str(brought) if isinstance(brought, (str, int)) else "") or "y"
        series = nw.from_native(target, series_only=True, pass_through=True)
        if isinstance(series, nw.Series):
            column, shape = series_column(name, series), (len(series),)
        else:
            cells = to_array(target, "the target")
            shape = cells.shape
            first = cells.reshape(len(cells), -1)[:, 0] if cells.ndim else cells.reshape(1)
            column = array_column(name, first)
    name = column.name
    while name in {other.name for other in columns}:
        name += "_"
    one_column = len(shape) == 1 or (len(shape) == 2 and shape[1] == 1)
    if not one_column or shape[0] != len(columns[0].values):
        raise InputError(
            f"the target {name!r}",
            f"has shape {shape} beside a table of {len(columns[0].values)} rows",
            "Give one value for each row.",
        )
    return replace(column, name=name)


def _row_weights(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Weights with mean 1 over all rows; None stays None."""
    if sample_weight is None:
        return None
    subject = "parameter 'sample_weight'"
    column = array_column("sample_weight", to_array(sample_weight, subject).reshape(-1))
    weights = column.values
    if len(weights) != n_rows:
        raise InputError(subject, f"has {len(weights)} values for {n_rows} rows", "Give one for each row.")
    if column.trouble or column.levels or not np.isfinite(weights).all() or (weights < 0).any():
        raise InputError(subject, "has values that are no weights", "Give numbers that are 0 or more.")
    if not weights.any():
        raise InputError(subject, "every weight is zero", "Give some rows a weight above 0.")
    weights = weights / weights.max()  # so that sums of huge ones do not overflow
    return weights / weights.mean()


def _kept_rows(columns: Sequence[Column], weights: FloatArray | None, missing: Missing) -> BoolArray:
    """The rows to use: those with a weight, and complete where that is asked for."""
    gaps = np.column_stack([np.isnan(column.values) for column in columns])
    kept: BoolArray = np.logical_not(gaps.any(axis=1) if missing == "complete-rows" else gaps.all(axis=1))
    if weights is not None:
        kept &= weights > 0
    if kept.sum() < MIN_ROWS:
        raise InputError(
            "the table",
            f"has {kept.sum()} usable rows of {len(kept)}, fewer than {MIN_ROWS}",
            "Give more rows a weight."
            if weights is not None and (weights > 0).sum() < MIN_ROWS
            else "Drop the columns with most missing values, or use missing='each-set'.",
        )
    return kept
