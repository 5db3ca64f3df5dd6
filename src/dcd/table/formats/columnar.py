"""Shared by Parquet and Arrow files: from Arrow columns to pandas."""

from __future__ import annotations

import contextlib
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from dcd.runtime.errors import InputError
from dcd.table.formats.base import StoredTable
from dcd.table.formats.content import require
from dcd.table.formats.header import check_header, counts_rows, refuse_repeated, warn_of_row_numbers
from dcd.table.formats.suspect_cells import LARGEST_WHOLE, check_cells


@dataclass(frozen=True)
class ColumnFile(StoredTable):
    """A table in a Parquet or Arrow file."""

    @abstractmethod
    def arrow_column(self, position: int) -> Any:
        """An Arrow table with one column, by its position in the schema; the others are not read."""

    def read(self, name: str) -> pd.Series[float]:
        """See `StoredTable`."""
        frame = self.unchecked(name)
        check_cells(frame, self.label)
        return frame[name]

    def unchecked(self, name: str) -> pd.DataFrame:
        """One column, its cells as they are."""
        position = self.positions[self.names.index(name)]
        return to_pandas(self.arrow_column(position)).set_axis([name], axis="columns")


def with_checked_names(
    kind: type[ColumnFile], schema: Any, n_rows: int, content: bytes | Path, label: str
) -> ColumnFile:
    """The table of a file with such an Arrow schema, its names checked."""
    refuse_repeated(schema.names, label)
    if n_rows == 0:
        raise InputError(label, "has a header but no rows", "Check that the file is complete.")
    # The empty table in pandas shows unnamed index columns and the order of columns.
    header = [str(column) for column in to_pandas(schema.empty_table()).columns]
    if not header:
        raise InputError(label, "has no columns", "Check that the file is complete.")
    positions = tuple(schema.names.index(column) for column in header)
    table = kind(tuple(header), n_rows, positions, content, label)
    if header[0] == "" and len(header) > 1 and counts_rows(table.unchecked("")[""]):
        warn_of_row_numbers(label)
        table = table.select(header[1:])
    check_header(table.names, label)
    return table


@contextlib.contextmanager
def opened(content: bytes | Path, label: str, format_name: str) -> Iterator[Any]:
    """A memory-mapped file for pyarrow; its errors become `InputError`."""
    require("pyarrow", label, "Parquet and Arrow", "parquet")
    import pyarrow as pa

    try:
        with pa.memory_map(str(content)) if isinstance(content, Path) else pa.BufferReader(content) as file:
            yield file
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        problem = str(error).splitlines()[0]
        remedy = "It may be cut short: copy it again."
        raise InputError(label, f"is not a file in {format_name} format ({problem})", remedy) from error


def to_pandas(table: Any) -> pd.DataFrame:
    """An Arrow table in pandas, with decimals as floats and named index levels as columns."""
    import pyarrow as pa

    for position, field in enumerate(table.schema):
        # As in pandas, whole numbers with missing values become floats.
        gappy = pa.types.is_integer(field.type) and table.column(position).null_count
        if pa.types.is_decimal(field.type) or gappy:
            table = table.set_column(position, field.name, _as_floats(table.column(position)))
    frame: pd.DataFrame = table.to_pandas()
    written = [name for name in frame.index.names if name is not None and str(name) in table.column_names]
    return (frame.reset_index(level=written) if written else frame).reset_index(drop=True)


def _as_floats(numbers: Any) -> Any:
    """Numbers as floats; too large whole ones as text, which is refused if the column is kept."""
    import pyarrow as pa
    from pyarrow import compute

    floats = numbers.cast(pa.float64(), safe=False)
    largest = compute.max(compute.abs(floats)).as_py() or 0
    whole = pa.types.is_integer(numbers.type) or numbers.type.scale == 0
    return numbers.cast(pa.string()) if whole and largest >= LARGEST_WHOLE else floats
