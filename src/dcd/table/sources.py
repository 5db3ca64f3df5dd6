"""Tables of any kind, read column by column, so that they can be larger than memory.

A table is a NumPy array (in memory or mapped), a pandas, polars or pyarrow table, a polars LazyFrame, a
Parquet file or dataset of pyarrow, or a file name. Its columns are converted to numbers in one array, in
memory or in a scratch file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.runtime.errors import InputError
from dcd.runtime.memory import Memory, ScratchFolder
from dcd.table.cells import array_column, as_array, holds_numbers, number_column, series_column
from dcd.table.columns import TableColumn, check_names
from dcd.table.formats.base import StoredTable
from dcd.table.formats.file_checks import check_length
from dcd.table.formats.numpy_files import ArrayFile
from dcd.table.from_file import open_file

NO_LIMIT = Memory()


@dataclass(frozen=True)
class TableSource:
    """A table whose columns can be read one at a time.

    Attributes
    ----------
    names : the columns; "x0", "x1", ... if the table has no names.
    read : all cells of a column, as a narwhals series or a NumPy array.
    named : whether the table named its columns by text.
    rows : the rows to use; all by default.
    array, positions : the array (n, d) that holds the columns, in memory or mapped, and their positions.
    """

    names: tuple[str, ...]
    n_rows: int
    read: Callable[[str], Any]
    named: bool = True
    rows: Positions | None = None
    array: npt.NDArray[Any] | None = None
    positions: tuple[int, ...] = ()

    def cells(self, name: str) -> Any:
        """One column, as a narwhals series or a NumPy array."""
        column = self.read(name)
        return column if self.rows is None else column[self.rows]

    def take(self, rows: Positions) -> TableSource:
        """The table with some of its rows."""
        return replace(self, n_rows=len(rows), rows=rows if self.rows is None else self.rows[rows])

    def select(self, names: Sequence[str]) -> TableSource:
        """The table with some of its columns, in this order."""
        place = dict(zip(self.names, self.positions, strict=False))  # only an array has them
        return replace(self, names=tuple(names), positions=tuple(place[name] for name in names if place))


@dataclass(frozen=True)
class SomeColumns:
    """Some columns of any table; the others are not read."""

    table: Any
    names: tuple[str, ...]


@dataclass(frozen=True)
class SomeRows:
    """Some rows of any table, selected when a column is read."""

    table: Any
    rows: Positions


def columns_of(table: Any, memory: Memory = NO_LIMIT) -> list[TableColumn]:
    """The columns of any table, in one new array."""
    source = source_of(table, memory)
    return fill(memory.array((source.n_rows, len(source.names))), source, memory)


def fill(values: FloatArray, source: TableSource, memory: Memory) -> list[TableColumn]:
    """Read a table into the first columns of an array (n, d or more)."""
    array = source.array
    if array is not None and holds_numbers(array.dtype):
        # All columns by blocks of rows, so that an array on disk is read only once.
        every = source.positions == tuple(range(array.shape[1]))
        for block in memory.blocks(source.n_rows, 2 * array.shape[1] * array.dtype.itemsize):
            part = array[block if source.rows is None else source.rows[block]]
            values[block, : len(source.names)] = part if every else part[:, list(source.positions)]
        return [number_column(name, values[:, at], array.dtype.kind) for at, name in enumerate(source.names)]
    columns = []
    for position, name in enumerate(source.names):
        cells = source.cells(name)
        read = series_column if isinstance(cells, nw.Series) else array_column
        columns.append(stored(read(name, cells), values[:, position]))
    return columns


def stored(column: TableColumn, values: FloatArray, rows: BoolArray | None = None) -> TableColumn:
    """The column, or some rows of it, with its values in another array."""
    values[:] = column.values if rows is None else column.values[rows]
    return replace(column, values=values)


def source_of(table: Any, memory: Memory = NO_LIMIT) -> TableSource:
    """The source of a table; raises `InputError` for anything else."""
    if isinstance(table, (str, os.PathLike)):
        table = open_file(Path(table))
    if isinstance(table, SomeRows):
        return source_of(table.table, memory).take(table.rows)
    if isinstance(table, SomeColumns):
        return source_of(table.table, memory).select(table.names)
    if isinstance(table, ArrayFile):
        return _array_source(table.array, table.names, table.positions)
    if isinstance(table, StoredTable):
        return TableSource(table.names, table.n_rows, lambda name: _series(table.read(name)))
    if is_frame(table):
        return _frame_source(table)
    if _is_a(table, "polars", "LazyFrame"):
        return _lazy_source(table, memory)
    if _is_a(table, "pyarrow", "ParquetFile"):
        names, n_rows = table.schema_arrow.names, table.metadata.num_rows
        return _arrow_source(names, n_rows, lambda name: table.read(columns=[name], use_threads=False))
    if _is_a(table, "pyarrow", "Dataset"):
        from pyarrow.dataset import field

        names, n_rows = table.schema.names, table.count_rows()
        return _arrow_source(names, n_rows, lambda name: table.to_table(columns={name: field(name)}))
    return _matrix_source(table)


def is_on_disk(table: Any) -> bool:
    """Whether the columns of a table are read from a file on demand, in any process."""
    on_demand = (str, os.PathLike, StoredTable, SomeRows, np.memmap)
    return isinstance(table, on_demand) or _is_a(table, "pyarrow", "Dataset")


def readable_again(table: Any) -> Any:
    """The table, in memory if it could be read only once or only in this process."""
    if _is_a(table, "polars", "LazyFrame"):
        return table.collect()
    if _is_a(table, "pyarrow", "ParquetFile"):
        return table.read()
    return table


def is_frame(table: Any) -> bool:
    """Whether it is a pandas table, or one of any other library that narwhals supports."""
    if isinstance(table, pd.DataFrame):
        return True
    return isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame)


def to_array(table: Any, what: str) -> npt.NDArray[Any]:
    """The table as a NumPy array; masked entries are missing."""
    try:
        return as_array(table)
    except Exception as error:  # raised by the library of the table
        problem = f"is not an array of numbers ({error})"
        raise InputError(what, problem, "Pass rows of equal length.") from error


# --- arrays ----------------------------------------------------------------------------------------------


def _array_source(array: npt.NDArray[Any], names: Sequence[str], positions: Sequence[int]) -> TableSource:
    place = dict(zip(names, positions, strict=True))
    return TableSource(
        tuple(names),
        len(array),
        lambda name: array[:, place[name]],
        named=False,
        array=array,
        positions=tuple(positions),
    )


def _matrix_source(table: Any) -> TableSource:
    if hasattr(table, "toarray") and hasattr(table, "nnz"):
        raise InputError("the table", "is a sparse matrix", "Pass a dense one, such as table.toarray().")
    if hasattr(table, "collect"):
        raise InputError("the table", "is lazy", "Pass table.collect().")
    array = to_array(table, "the table")
    if array.ndim == 0:
        problem = f"is not a table, got {type(table).__name__}"
        raise InputError("the table", problem, "Pass an array, a DataFrame or the name of a file.")
    if array.ndim != 2:
        problem = f"has {array.ndim} dimension(s), expected 2"
        raise InputError("the table", problem, "Reshape your data to (samples, variables).")
    if np.iscomplexobj(array):
        raise InputError("the table", "holds complex numbers", "Complex data not supported: use the parts.")
    positions = range(array.shape[1])
    return _array_source(array, [f"x{position}" for position in positions], positions)


# --- tables with named columns ---------------------------------------------------------------------------


def _series(native: Any) -> Any:
    """A narwhals series; an array stays one."""
    return nw.from_native(native, series_only=True, pass_through=True)


def _frame_source(table: Any) -> TableSource:
    named = True
    if isinstance(table, pd.DataFrame):
        named = all(isinstance(name, str) for name in table.columns)
        table = table.set_axis([str(name) for name in table.columns], axis="columns")
        check_names(list(table.columns))  # before narwhals, whose message for repeated names differs
    frame = nw.from_native(table, eager_only=True)
    check_names(frame.columns)
    return TableSource(tuple(frame.columns), len(frame), lambda name: frame[name], named)


def _lazy_source(lazy: Any, memory: Memory) -> TableSource:
    """A polars LazyFrame, computed once, as its row order may vary; with a limit, to a scratch file."""
    if memory.limit is None:
        return _frame_source(lazy.collect())
    import polars

    folder = ScratchFolder()
    path = folder.path / "table.arrow"
    lazy.sink_ipc(path, compression="uncompressed")
    whole = polars.scan_ipc(path)

    def read(name: str, folder: ScratchFolder = folder) -> nw.Series[Any]:  # noqa: ARG001  keeps it alive
        return _series(whole.select(polars.col(name)).collect()[name])

    n_rows = int(whole.select(polars.len()).collect().item())
    return TableSource(tuple(whole.collect_schema().names()), n_rows, read)


def _arrow_source(names: Sequence[str], n_rows: int, read: Callable[[str], Any]) -> TableSource:
    """A Parquet file or dataset of pyarrow, from a function that reads a table of one column."""
    check_names(names)

    def column(name: str) -> Any:
        found = read(name).column(name)
        check_length(len(found), n_rows, name, "the table")
        return _series(found)

    return TableSource(tuple(names), n_rows, column)


def _is_a(table: Any, library: str, name: str) -> bool:
    """Whether it is an instance of a class of a library that may not be installed."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(table).__mro__)
    return (library, name) in kinds
