"""Any table to a `Dataset`: named columns of finite numbers, checked before any work is done."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.arrays import FloatArray
from dcd.validation import InputError, suggest

MIN_ROWS = 10  # below this the t-test has next to no degrees of freedom after weighting
FEW_ROWS = 100
_SHOWN = 5  # columns listed in one message
_LARGEST = 1e290


@dataclass(frozen=True)
class Dataset:
    """A checked table.

    Attributes
    ----------
    values : (n, d) float64, finite, no column constant and no two columns the same.
    names : d different names.
    named : whether the table named its columns by text; "x0", "x1", ... stand in where it named none.
    """

    values: FloatArray
    names: tuple[str, ...]
    named: bool

    def in_canonical_order(self) -> Dataset:
        """The same columns in an order that depends on their contents alone.

        Floating-point sums depend on the order of their terms. Working in this order makes results equal to
        the last bit whatever the order of the columns in the table.
        """
        order = sorted(range(len(self.names)), key=lambda column: self.values[:, column].tobytes())
        values = np.ascontiguousarray(self.values[:, order])
        return Dataset(values, tuple(self.names[column] for column in order), self.named)

    def without_last(self) -> Dataset:
        """The table without its last column."""
        return Dataset(self.values[:, :-1], self.names[:-1], self.named)

    def position(self, column: object) -> int:
        """Position of a column given by name, or by number if no column is named by that number."""
        if isinstance(column, (str, int, np.integer)) and not isinstance(column, bool):
            if str(column) in self.names:
                return self.names.index(str(column))
            if not isinstance(column, str) and -len(self.names) <= column < len(self.names):
                return int(column) % len(self.names)
        raise InputError(f"column {column!r}", "is not in the table", suggest(column, self.names))


def read_table(table: Any, target: Any = None) -> Dataset:
    """`read_columns`, with a `SmallSampleWarning` to the caller's caller if there are few rows."""
    dataset = read_columns(table, target)
    if len(dataset.values) < FEW_ROWS:
        warnings.warn(
            f"Only {len(dataset.values)} rows: after weighting, little more than the strongest relations can "
            "show.",
            SmallSampleWarning,
            stacklevel=3,
        )
    return dataset


class SmallSampleWarning(UserWarning):
    """The table has so few rows that an absent edge says little."""


def read_columns(table: Any, target: Any = None, *, combinations: bool = False) -> Dataset:
    """Read and check a NumPy array or a pandas, polars, pyarrow (or any narwhals) table.

    Names become text. A separate `target` (one value for each row) becomes the last column, named "y" or by
    the name it brings along. Columns that are linear combinations of others are refused unless
    `combinations` allows them.

    Raises
    ------
    InputError
        naming the columns, what is wrong with them and what to do.
    """
    values, names, named = _as_floats(table)
    _check_shape(values, min_features=2 if target is None else 1)
    if target is not None:
        values, names = _append_target(values, names, target)
    _check_finite(values, names)
    _check_varying(values, names)
    correlation = _correlation(values)
    _check_copies(correlation, names)
    if not combinations and len(values) > len(names):
        _check_combinations(correlation, names)
    return Dataset(values, names, named)


# --- reading ---------------------------------------------------------------------------------------------


def _as_floats(table: Any) -> tuple[FloatArray, tuple[str, ...], bool]:
    """Values as (n, d) float64 with NaN for missing, names, and whether the table named its columns."""
    if isinstance(table, pd.DataFrame):
        # narwhals refuses duplicate and non-string names with messages of its own; ours come first.
        _check_names([str(name) for name in table.columns])
        named = all(isinstance(name, str) for name in table.columns)
        table = table.set_axis([str(name) for name in table.columns], axis="columns")
    elif not _is_frame(table):
        return _array_as_floats(table)
    else:
        named = True
    frame = nw.from_native(table, eager_only=True)
    _check_names(frame.columns)
    columns = [_column_as_floats(frame[name]) for name in frame.columns]
    return _stack(columns, frame.columns, len(frame)), tuple(frame.columns), named


def _is_frame(table: Any) -> bool:
    return isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame)


def _array_as_floats(table: Any) -> tuple[FloatArray, tuple[str, ...], bool]:
    if hasattr(table, "toarray") and hasattr(table, "nnz"):
        raise InputError("the table", "is a sparse matrix", "Pass a dense one, such as table.toarray().")
    if hasattr(table, "collect"):
        raise InputError("the table", "is lazy", "Pass table.collect().")
    array = _to_array(table, "the table")
    if array.ndim == 0:
        raise InputError(
            "the table",
            f"is no table, got {type(table).__name__}",
            "Read a file first, with pandas.read_csv, say.",
        )
    if array.ndim != 2:
        raise InputError(
            "the table",
            f"has {array.ndim} dimension(s), expected 2",
            "Reshape your data to (samples, variables).",
        )
    names = tuple(f"x{index}" for index in range(array.shape[1]))
    if np.iscomplexobj(array):
        raise InputError("the table", "holds complex numbers", "Complex data not supported: use the parts.")
    if array.dtype.kind in "mM":
        raise InputError("the table", f"holds dates or times ({array.dtype})", "Turn them into numbers.")
    if array.dtype.kind not in "biuf":
        array = _stack([_objects_as_floats(column) for column in array.T], names, len(array))
    return np.ascontiguousarray(array, dtype=np.float64), names, False


def _to_array(table: Any, what: str) -> npt.NDArray[Any]:
    """A NumPy array; masked entries become NaN."""
    try:
        if isinstance(table, np.ma.MaskedArray):
            return np.ma.filled(table.astype(np.float64), np.nan)
        return np.asarray(table)
    except ValueError as error:
        raise InputError(what, f"is no array of numbers ({error})", "Give rows of equal length.") from error


def _append_target(
    values: FloatArray, names: tuple[str, ...], target: Any
) -> tuple[FloatArray, tuple[str, ...]]:
    """The table with a separate target as its last column."""
    if isinstance(target, pd.DataFrame) or _is_frame(target):
        column, (name, *_), _ = _as_floats(target)
    else:
        brought = getattr(target, "name", None)
        name = str(brought) if isinstance(brought, (str, int)) else "y"
        column = _to_array(target, "the target")
    while name in names:
        name += "_"
    if column.ndim == 2 and column.shape[1] == 1:
        column = column[:, 0]
    if column.ndim != 1 or len(column) != len(values):
        raise InputError(
            f"the target {name!r}",
            f"has shape {column.shape} beside a table of {len(values)} rows",
            "Give one value for each row.",
        )
    floats = column.astype(np.float64) if column.dtype.kind in "biuf" else _objects_as_floats(column)
    return np.column_stack([values, _stack([floats], [name], len(values))]), (*names, name)


def _column_as_floats(column: nw.Series[Any]) -> FloatArray | str:
    """A column as numbers, or what it holds instead."""
    if column.dtype == nw.Object:
        return _objects_as_floats(column.to_numpy())
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        return str(column.dtype)
    floats = column.cast(nw.Float64)
    # A null of a nullable column becomes NaN, so that one later check speaks for all missing values.
    return np.asarray(floats.fill_null(np.nan).to_numpy(), dtype=np.float64)


def _objects_as_floats(column: npt.NDArray[Any]) -> FloatArray | str:
    """Numbers stored as Python objects, or what there is instead; None and pandas' NA count as missing."""
    cells = [np.nan if cell is None or cell is pd.NA else cell for cell in column.tolist()]
    strange = [cell for cell in cells if not isinstance(cell, (int, float, np.number, np.bool_))]
    if strange:
        return f"values such as {strange[0]!r:.40}"
    try:
        return np.array(cells, dtype=np.float64)
    except OverflowError:
        return "numbers too large for a float"


def _stack(columns: Sequence[FloatArray | str], names: Sequence[str], n_samples: int) -> FloatArray:
    """Columns side by side; an `InputError` that names all those that are no numbers."""
    wrong = {name: found for name, found in zip(names, columns, strict=True) if isinstance(found, str)}
    if wrong:
        raise InputError(
            _columns(list(wrong)),
            f"not numeric ({next(iter(wrong.values()))})",
            "Encode as numbers or drop.",
        )
    return np.column_stack(columns) if columns else np.empty((n_samples, 0))


# --- the preflight audit ---------------------------------------------------------------------------------


def _check_names(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise InputError(_columns(repeated), "the name occurs more than once", "Rename or drop all but one.")


def _check_shape(values: FloatArray, min_features: int) -> None:
    n_samples, n_features = values.shape
    if n_features < min_features:
        raise InputError(
            "the table",
            f"has {n_features} feature(s) (shape={values.shape}) "
            f"while a minimum of {min_features} is required",
            "Two variables is the least that can be related.",
        )
    if n_samples < MIN_ROWS:
        raise InputError(
            "the table",
            f"has {n_samples} sample(s) (shape={values.shape}) while a minimum of {MIN_ROWS} is required",
            "Collect more data; a few hundred rows is where results become useful.",
        )


def _check_finite(values: FloatArray, names: Sequence[str]) -> None:
    missing, infinite = np.isnan(values).sum(axis=0), np.isinf(values).sum(axis=0)
    if missing.any():
        raise InputError(
            _columns([name for name, count in zip(names, missing, strict=True) if count]),
            f"missing values (NaN), {_counts(missing)}",
            "Drop these rows or fill them in first.",
        )
    if infinite.any():
        raise InputError(
            _columns([name for name, count in zip(names, infinite, strict=True) if count]),
            f"infinite values (inf), {_counts(infinite)}",
            "Drop these rows, or transform the column so that it stays finite.",
        )
    huge = [
        name for name, largest in zip(names, np.abs(values).max(axis=0), strict=True) if largest > _LARGEST
    ]
    if huge:
        raise InputError(_columns(huge), f"values beyond {_LARGEST:g}", "Rescale: sums would overflow.")


def _check_varying(values: FloatArray, names: Sequence[str]) -> None:
    constant = [name for name, column in zip(names, values.T, strict=True) if column.min() == column.max()]
    if constant:
        raise InputError(
            _columns(constant), "has the same value in every row", "Drop it: it has nothing to tell."
        )


def _correlation(values: FloatArray) -> FloatArray:
    centred = values - values.mean(axis=0)
    scaled = centred / np.abs(centred).max(axis=0)
    scaled /= np.sqrt(np.square(scaled).sum(axis=0))
    return scaled.T @ scaled


def _check_copies(correlation: FloatArray, names: Sequence[str]) -> None:
    """Refuse copies of other columns, to a part in a million: they carry no noise."""
    copies = np.argwhere(np.triu(np.abs(correlation) > 1 - 1e-12, k=1))
    if len(copies):
        more = f", and {len(copies) - 1} more such pair(s)" if len(copies) > 1 else ""
        raise InputError(
            _columns([names[index] for index in copies[0]]),
            f"one is a copy of the other, up to shift and scale and a part in a million{more}",
            "Drop one of the two.",
        )


def _check_combinations(correlation: FloatArray, names: Sequence[str]) -> None:
    """Refuse linear combinations of other columns, to a part in a million."""
    smallest, combination = (part[..., 0] for part in np.linalg.eigh(correlation))
    if smallest < 1e-12:
        involved = np.flatnonzero(np.abs(combination) > 1e-5).tolist()
        raise InputError(
            _columns([names[index] for index in involved]),
            "each is a linear combination of the others, to a part in a million",
            "Drop one of them.",
        )


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"column{'s' if len(names) > 1 else ''} {shown}{more}"


def _counts(counts: npt.NDArray[np.intp]) -> str:
    present = [str(count) for count in counts[counts > 0]]
    return ", ".join(present[:_SHOWN]) + (", ..." if len(present) > _SHOWN else "")
