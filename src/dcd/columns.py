"""Any table to columns of numbers: what each cell is, and what kind of variable each column is taken for.

Numbers stay what they are. Text, categories and truth values become codes 0, 1, ... with their names kept
aside. A missing cell is NaN.

The kind of a variable decides how its relations are tested, by a rule that anybody can check:

* "nominal": text, unordered categories, truth values, or numbers of which there are only two;
* "ordinal": ordered categories, or whole numbers with at most ten different values;
* "continuous": all other numbers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.arrays import FloatArray
from dcd.validation import InputError

Kind = Literal["continuous", "ordinal", "nominal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
FEW_VALUES = 10  # whole numbers with so many different values are grades rather than measurements
MOST_LEVELS = 50  # more different texts are names of rows rather than categories
FEWEST_IN_A_LEVEL = 5  # samples; rarer categories are put together, for a few samples decide nothing
_EXACT_INTEGERS = 2.0**53  # beyond, different whole numbers become the same float

Source = Literal["numbers", "truth values", "text", "categories", "ordered categories"]


@dataclass(frozen=True)
class Column:
    """One column of a table.

    Attributes
    ----------
    values : (n,) float64, NaN where missing; positions in `levels` where there are any.
    levels : the names of the categories, in their order.
    source : what the table held.
    trouble : why it cannot be used, as (problem, remedy), if so.
    """

    name: str
    values: FloatArray = field(repr=False)
    levels: tuple[str, ...] = ()
    source: Source = "numbers"
    trouble: tuple[str, str] | None = None

    @property
    def n_missing(self) -> int:
        """Number of missing cells."""
        return int(np.isnan(self.values).sum())

    @property
    def n_distinct(self) -> int:
        """Number of different values."""
        return len(np.unique(self.values[~np.isnan(self.values)]))


def infer_kind(column: Column) -> tuple[Kind, str]:
    """The kind of a column and why, by the rule above."""
    if column.source == "ordered categories":
        return "ordinal", f"ordered categories ({column.n_distinct})"
    if column.source != "numbers":
        return "nominal", f"{column.source} ({column.n_distinct} different)"
    if column.trouble is not None or column.n_missing == len(column.values):
        return "continuous", "nothing that can be read"
    present = column.values[np.isfinite(column.values)]
    n_distinct = len(np.unique(present))
    if n_distinct == 2:
        return "nominal", "numbers of which there are two"
    if n_distinct <= FEW_VALUES and np.array_equal(present, np.round(present)):
        return "ordinal", f"whole numbers, {n_distinct} different"
    whole = np.array_equal(present, np.round(present))
    if whole and n_distinct == len(column.values) > FEW_VALUES:
        return "continuous", f"whole numbers, {n_distinct} different, one a row: does it name the rows?"
    return "continuous", f"numbers, {n_distinct} different"


def as_kind(column: Column, kind: Kind) -> Column:
    """The column, read as another kind than its own; an `InputError` where that makes no sense."""
    if kind != "nominal":
        if column.source in ("text", "categories") and column.n_distinct > 2:
            raise InputError(
                f"column {column.name!r}",
                f"holds {column.source}, which has no order, and cannot be {kind}",
                "Turn it into numbers or ordered categories first.",
            )
        return column
    if column.levels or column.trouble is not None or np.isinf(column.values).any():
        return column
    found, codes = np.unique(column.values, return_inverse=True, equal_nan=True)
    values = np.where(np.isnan(column.values), np.nan, codes.reshape(-1).astype(np.float64))
    levels = tuple(str(int(v)) if v.is_integer() else repr(v) for v in found.tolist() if not np.isnan(v))
    return Column(column.name, values, levels, column.source, _too_many(levels))


def is_coded(column: Column) -> bool:
    """Whether its values are categories or grades rather than measurements."""
    return bool(column.levels) or infer_kind(column)[0] != "continuous"


def merge_rare(column: FloatArray) -> npt.NDArray[np.intp]:
    """Codes 0, 1, ... of the categories of a column, those with few samples put together."""
    _, codes, counts = np.unique(column, return_inverse=True, return_counts=True)
    rare = counts < FEWEST_IN_A_LEVEL
    merged = (
        np.where(rare, rare.argmax(), np.arange(len(counts))) if rare.sum() > 1 else np.arange(len(counts))
    )
    found: npt.NDArray[np.intp] = np.unique(merged[codes.reshape(-1)], return_inverse=True)[1].reshape(-1)
    return found


# --- reading ---------------------------------------------------------------------------------------------


def columns_of(table: Any) -> tuple[list[Column], bool]:
    """The columns of a NumPy array or a pandas, polars, pyarrow (or any narwhals) table.

    Names become text. The second value tells whether the table named its columns by text; "x0", "x1", ...
    stand in where it named none.
    """
    if isinstance(table, pd.DataFrame):
        # narwhals refuses duplicate and non-string names with messages of its own; ours come first.
        check_names([str(name) for name in table.columns])
        named = all(isinstance(name, str) for name in table.columns)
        table = table.set_axis([str(name) for name in table.columns], axis="columns")
    elif not is_frame(table):
        return _array_columns(table), False
    else:
        named = True
    frame = nw.from_native(table, eager_only=True)
    check_names(frame.columns)
    return [series_column(name, frame[name]) for name in frame.columns], named


def is_frame(table: Any) -> bool:
    """Whether narwhals knows it as a table."""
    return isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame)


def check_names(names: Sequence[str]) -> None:
    """Raise `InputError` for a name that occurs twice."""
    repeated = sorted({name for name in names if list(names).count(name) > 1})
    if repeated:
        raise InputError(
            column_list(repeated), "the name occurs more than once", "Rename or drop all but one."
        )


def column_list(names: Sequence[str], shown: int = 5) -> str:
    """'column' or 'columns' and the first few names."""
    listed = ", ".join(repr(name) for name in names[:shown])
    more = f" and {len(names) - shown} more" if len(names) > shown else ""
    return f"column{'s' if len(names) > 1 else ''} {listed}{more}"


def to_array(table: Any, what: str) -> npt.NDArray[Any]:
    """A NumPy array; masked entries become NaN."""
    try:
        if isinstance(table, np.ma.MaskedArray):
            return np.ma.filled(table.astype(np.float64), np.nan)
        return np.asarray(table)
    except ValueError as error:
        raise InputError(what, f"is no array of numbers ({error})", "Give rows of equal length.") from error


def array_column(name: str, cells: npt.NDArray[Any]) -> Column:
    """A column from a one-dimensional array."""
    if cells.dtype.kind == "b":
        return _truth_values(name, cells.astype(np.float64))
    if cells.dtype.kind in "iu":
        return _whole_numbers(name, np.ascontiguousarray(cells, dtype=np.float64))
    if cells.dtype.kind == "f":
        return Column(name, np.ascontiguousarray(cells, dtype=np.float64))
    if cells.dtype.kind in "mM":
        return _no_values(
            name, len(cells), f"not numeric (dates or times, {cells.dtype})", "Turn them into numbers."
        )
    return _object_column(name, cells.tolist())


def _array_columns(table: Any) -> list[Column]:
    if hasattr(table, "toarray") and hasattr(table, "nnz"):
        raise InputError("the table", "is a sparse matrix", "Pass a dense one, such as table.toarray().")
    if hasattr(table, "collect"):
        raise InputError("the table", "is lazy", "Pass table.collect().")
    array = to_array(table, "the table")
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
    if np.iscomplexobj(array):
        raise InputError("the table", "holds complex numbers", "Complex data not supported: use the parts.")
    return [array_column(f"x{index}", column) for index, column in enumerate(array.T)]


def series_column(name: str, column: nw.Series[Any]) -> Column:
    """A column from a narwhals series."""
    if column.dtype == nw.Boolean:
        return _truth_values(name, _floats(column))
    if column.dtype.is_integer():
        return _whole_numbers(name, _floats(column))
    if column.dtype.is_numeric():
        return Column(name, _floats(column))
    if len(column) and column.null_count() == len(column):
        return Column(name, np.full(len(column), np.nan))
    if column.dtype in (nw.Categorical, nw.Enum):
        return _category_column(name, column)
    if column.dtype in (nw.String, nw.Object):
        return _object_column(name, column.to_list())
    remedy = "Turn them into numbers." if column.dtype.is_temporal() else "Turn it into numbers or text."
    return _no_values(name, len(column), f"not numeric (values of type {column.dtype})", remedy)


def _floats(column: nw.Series[Any]) -> FloatArray:
    # A null of a nullable column becomes NaN, so that one later check speaks for all missing values.
    return np.asarray(column.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)


def _category_column(name: str, column: nw.Series[Any]) -> Column:
    native = column.to_native()
    ordered = column.dtype == nw.Enum or bool(getattr(getattr(native, "cat", None), "ordered", False))
    declared = [str(level) for level in column.cat.get_categories().to_list()]
    if ordered:
        return _coded(name, column.to_list(), declared, "ordered categories")
    return _coded(name, column.to_list(), sorted(declared), "categories")


def _truth_values(name: str, values: FloatArray) -> Column:
    return Column(name, values, ("False", "True"), "truth values")


def _object_column(name: str, cells: Sequence[Any]) -> Column:
    """Numbers stored as Python objects, text, or neither; None and pandas' NA count as missing."""
    cells = [np.nan if _is_missing(cell) else cell for cell in cells]
    present = [cell for cell in cells if not (isinstance(cell, float) and np.isnan(cell))]
    if present and all(isinstance(cell, (bool, np.bool_)) for cell in present):
        return _truth_values(name, np.array(cells, dtype=np.float64))
    if all(isinstance(cell, (int, float, np.number, np.bool_)) for cell in present):
        try:
            column = Column(name, np.array(cells, dtype=np.float64))
            whole = all(isinstance(cell, (int, np.integer)) for cell in present)
            return _whole_numbers(name, column.values) if whole else column
        except OverflowError:
            return _no_values(name, len(cells), "holds numbers too large for a float", "Rescale it.")
    if all(isinstance(cell, str) for cell in present):
        return _text_column(name, cells)
    strange = min(present, key=lambda cell: isinstance(cell, (int, float, np.number, np.bool_)))
    return _no_values(
        name,
        len(cells),
        f"not numeric (values such as {strange!r:.40})",
        "Encode as numbers or as text throughout, or drop.",
    )


def _whole_numbers(name: str, values: FloatArray) -> Column:
    if np.nanmax(np.abs(values), initial=0.0) <= _EXACT_INTEGERS:
        return Column(name, values)
    problem = "holds whole numbers beyond 2^53, which floats cannot tell apart"
    return Column(name, values, trouble=(problem, "Drop it if it names the rows; otherwise make it text."))


def _text_column(name: str, cells: Sequence[Any]) -> Column:
    """Text; if most of it is numbers, it can be used only as what the caller calls nominal."""
    coded = _coded(name, cells, sorted({str(cell) for cell in cells if isinstance(cell, str)}), "text")
    present = [str(cell) for cell in cells if isinstance(cell, str)]
    numbers = [cell for cell in set(present) if _is_number(cell)]
    others = sorted(set(present) - set(numbers))
    if numbers and len(numbers) > FEW_VALUES and len(numbers) > len(others):
        problem = f"is text, but {len(numbers)} of its {len(numbers) + len(others)} values are numbers"
        strange = f" (others: {', '.join(repr(cell) for cell in others[:3])})" if others else ""
        remedy = "Turn it into numbers and mark what is no number as missing, or call it nominal in kinds."
        return replace(coded, trouble=(problem + strange, remedy))
    return coded


def without_doubt(column: Column) -> Column:
    """A column of text that was told to be nominal, whatever it looks like."""
    return replace(column, trouble=_too_many(column.levels)) if column.levels else column


def _coded(name: str, cells: Sequence[Any], levels: Sequence[str], source: Source) -> Column:
    present = {str(cell) for cell in cells if not _is_missing(cell)}
    used = tuple(level for level in levels if level in present)
    code = {level: float(position) for position, level in enumerate(used)}
    values = np.array([np.nan if _is_missing(cell) else code[str(cell)] for cell in cells])
    return Column(name, values.astype(np.float64), used, source, _too_many(used))


def _too_many(levels: Sequence[str]) -> tuple[str, str] | None:
    if len(levels) <= MOST_LEVELS:
        return None
    problem = f"has {len(levels)} different categories, more than {MOST_LEVELS}"
    return problem, "Drop it if it names the rows; otherwise group its values."


def _is_missing(cell: Any) -> bool:
    return cell is None or cell is pd.NA or cell is pd.NaT or (isinstance(cell, float) and np.isnan(cell))


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _no_values(name: str, n_samples: int, problem: str, remedy: str) -> Column:
    return Column(name, np.full(n_samples, np.nan), trouble=(problem, remedy))
