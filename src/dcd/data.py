"""Any table to a `Dataset`: named columns of finite numbers, checked before any work is done."""

from __future__ import annotations

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
_SHOWN = 5  # columns listed in one message
_LARGEST = 1e290


@dataclass(frozen=True)
class Dataset:
    """A checked table.

    Attributes
    ----------
    values : (n, d) float64, finite, no column constant and no two columns the same.
    names : d different names.
    named : whether the names came with the table, or are "x0", "x1", ... for want of any.
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

    def position(self, column: object) -> int:
        """Position of a column given by name, or by number if no column is named by that number."""
        if isinstance(column, (str, int, np.integer)) and not isinstance(column, bool):
            if str(column) in self.names:
                return self.names.index(str(column))
            if not isinstance(column, str) and -len(self.names) <= column < len(self.names):
                return int(column) % len(self.names)
        raise InputError(f"column {column!r}", "is not in the table", suggest(column, self.names))


def read_table(table: Any) -> Dataset:
    """Read and check a NumPy array or a pandas, polars, pyarrow (or any narwhals) table.

    Raises
    ------
    InputError
        naming the columns, what is wrong with them and what to do.
    """
    values, names, named = _as_floats(table)
    _check_shape(values)
    _check_finite(values, names)
    _check_varying(values, names)
    _check_distinct(values, names)
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
    columns = [_column_as_floats(frame[name], name) for name in frame.columns]
    values = np.column_stack(columns) if columns else np.empty((len(frame), 0))
    return values, tuple(frame.columns), named


def _is_frame(table: Any) -> bool:
    return isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame)


def _array_as_floats(table: Any) -> tuple[FloatArray, tuple[str, ...], bool]:
    if hasattr(table, "toarray") and hasattr(table, "nnz"):
        raise InputError("the table", "is a sparse matrix", "Pass a dense one, such as table.toarray().")
    if hasattr(table, "collect"):
        raise InputError("the table", "is lazy", "Pass table.collect().")
    if isinstance(table, np.ma.MaskedArray):
        table = np.ma.filled(table.astype(np.float64), np.nan)
    try:
        array = np.asarray(table)
    except ValueError as error:
        raise InputError(
            "the table", f"is not rectangular ({error})", "Give rows of equal length."
        ) from error
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
        columns = [_objects_as_floats(array[:, j], name) for j, name in enumerate(names)]
        array = np.column_stack(columns) if columns else array
    return np.ascontiguousarray(array, dtype=np.float64), names, False


def _column_as_floats(column: nw.Series[Any], name: str) -> FloatArray:
    if column.dtype == nw.Object:
        return _objects_as_floats(column.to_numpy(), name)
    if not (column.dtype.is_numeric() or column.dtype == nw.Boolean):
        raise _not_numeric(name, str(column.dtype))
    floats = column.cast(nw.Float64)
    # A null of a nullable column becomes NaN, so that one later check speaks for all missing values.
    return np.asarray(floats.fill_null(np.nan).to_numpy(), dtype=np.float64)


def _objects_as_floats(column: npt.NDArray[Any], name: str) -> FloatArray:
    """Numbers stored as Python objects; None and pandas' NA count as missing, text is refused."""
    numbers = [np.nan if cell is None or cell is pd.NA else cell for cell in column.tolist()]
    strange = [cell for cell in numbers if not isinstance(cell, (int, float, np.number, np.bool_))]
    if strange:
        raise _not_numeric(name, f"values such as {strange[0]!r:.40}")
    try:
        return np.array(numbers, dtype=np.float64)
    except OverflowError as error:
        raise InputError(f"column {name!r}", "has a number too large for a float", "Rescale it.") from error


def _not_numeric(name: str, found: str) -> InputError:
    return InputError(f"column {name!r}", f"is not numeric ({found})", "Encode it as numbers or drop it.")


# --- the preflight audit ---------------------------------------------------------------------------------


def _check_names(names: Sequence[str]) -> None:
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise InputError(_columns(repeated), "the name occurs more than once", "Rename or drop all but one.")


def _check_shape(values: FloatArray) -> None:
    n_samples, n_features = values.shape
    if n_features < 2:
        raise InputError(
            "the table",
            f"has {n_features} feature(s) (shape={values.shape}) while a minimum of 2 is required",
            "A causal graph needs two variables or more.",
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


def _check_distinct(values: FloatArray, names: Sequence[str]) -> None:
    """Refuse columns that are copies of each other up to shift, scale and sign."""
    centred = values - values.mean(axis=0)
    scaled = centred / np.abs(centred).max(axis=0)
    scaled /= np.sqrt(np.square(scaled).sum(axis=0))
    correlation = np.abs(scaled.T @ scaled)
    copies = np.argwhere(np.triu(correlation > 1 - 1e-12, k=1))
    if len(copies):
        first, second = (names[index] for index in copies[0])
        more = f", and {len(copies) - 1} more such pair(s)" if len(copies) > 1 else ""
        raise InputError(
            _columns([first, second]),
            f"one is a copy of the other, up to shift and scale{more}",
            "Drop one of the two: no method can tell them apart.",
        )


def _columns(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:_SHOWN])
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"column{'s' if len(names) > 1 else ''} {shown}{more}"


def _counts(counts: npt.NDArray[np.intp]) -> str:
    present = [str(count) for count in counts[counts > 0]]
    return ", ".join(present[:_SHOWN]) + (", ..." if len(present) > _SHOWN else "")
