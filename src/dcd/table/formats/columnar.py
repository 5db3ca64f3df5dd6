"""Parquet files, Arrow files (Feather) and Arrow streams, read column by column by pyarrow."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from dcd.runtime.errors import InputError
from dcd.table.columns import LARGEST_WHOLE
from dcd.table.formats.base import ReadOptions, StoredTable
from dcd.table.formats.content import require
from dcd.table.formats.file_checks import (
    check_cells,
    check_header,
    check_length,
    numbers_the_rows,
    refuse_repeated,
)


@dataclass(frozen=True)
class ColumnFile(StoredTable):
    """A table in a Parquet or Arrow file."""

    format_name: Literal["Parquet", "Arrow"]

    def read(self, name: str) -> pd.Series[float]:
        """See `StoredTable`."""
        frame = self.unchecked(name)
        check_cells(frame, self.label)
        return frame[name]

    def unchecked(self, name: str) -> pd.DataFrame:
        """One column, its cells unchanged; the others are not read."""
        position = self.positions[self.names.index(name)]
        read_column = _parquet_column if self.format_name == "Parquet" else _arrow_column
        with _opened(self.content, self.label, self.format_name) as file:
            column = read_column(file, position)
            column.validate(full=True)  # positions out of bounds would end the process
            check_length(len(column), self.n_rows, name, self.label)
            return _to_pandas(column).set_axis([name], axis="columns")


def open_parquet(content: bytes | Path, label: str, options: ReadOptions) -> ColumnFile:  # noqa: ARG001
    """The table in a Parquet file."""
    with _opened(content, label, "Parquet") as file:
        parquet = _parquet(file)
        schema, n_rows = parquet.schema_arrow, parquet.metadata.num_rows
        return _with_checked_names(schema, n_rows, content, label, "Parquet")


def open_arrow(content: bytes | Path, label: str, options: ReadOptions) -> ColumnFile:  # noqa: ARG001
    """The table in an Arrow file or stream."""
    with _opened(content, label, "Arrow") as file:
        schema = _ipc_reader(file).schema
        # Unpacking one column is enough to count rows.
        positions = [0] if schema.names and is_compressed(file) else None
        n_rows = sum(len(batch) for batch in _batches(_ipc_reader(file, positions)))
        return _with_checked_names(schema, n_rows, content, label, "Arrow")


def _with_checked_names(
    schema: Any, n_rows: int, content: bytes | Path, label: str, format_name: Literal["Parquet", "Arrow"]
) -> ColumnFile:
    refuse_repeated(schema.names, label)
    if n_rows == 0:
        raise InputError(label, "has a header but no rows", "Check that the file is complete.")
    # The empty table in pandas shows unnamed index columns and the order of columns.
    header = [str(column) for column in _to_pandas(schema.empty_table()).columns]
    if not header:
        raise InputError(label, "has no columns", "Check that the file is complete.")
    positions = tuple(schema.names.index(column) for column in header)
    table = ColumnFile(tuple(header), n_rows, positions, content, label, format_name)
    if numbers_the_rows(header, lambda: table.unchecked("")[""], label):
        table = table.select(header[1:])
    check_header(table.names, label)
    return table


@contextlib.contextmanager
def _opened(content: bytes | Path, label: str, format_name: str) -> Iterator[Any]:
    """A memory-mapped file for pyarrow; its errors become `InputError`."""
    require("pyarrow", label, "Parquet and Arrow", "parquet")
    import pyarrow as pa

    try:
        with pa.memory_map(str(content)) if isinstance(content, Path) else pa.BufferReader(content) as file:
            yield file
    except (InputError, Warning):
        raise
    except MemoryError as error:
        problem = f"needs more memory than there is ({error})"
        raise InputError(label, problem, "If it is not that large, it is damaged: copy it again.") from error
    except Exception as error:  # also of pandas, whose part of the schema is JSON
        why = next(iter(str(error).splitlines()), type(error).__name__)
        problem = f"is not a file in {format_name} format ({why})"
        raise InputError(label, problem, "It may be truncated: copy it again.") from error


def _to_pandas(table: Any) -> pd.DataFrame:
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
    """Numbers as floats; overly large whole numbers as text, which is rejected if the column is kept."""
    import pyarrow as pa
    from pyarrow import compute

    floats = numbers.cast(pa.float64(), safe=False)
    largest = compute.max(compute.abs(floats)).as_py() or 0
    whole = pa.types.is_integer(numbers.type) or numbers.type.scale == 0
    return numbers.cast(pa.string()) if whole and largest > LARGEST_WHOLE else floats


def _parquet(file: Any) -> Any:
    from pyarrow.parquet import ParquetFile

    return ParquetFile(file, page_checksum_verification=True)


def _parquet_column(file: Any, position: int) -> Any:
    parquet = _parquet(file)
    column = parquet.schema_arrow.names[position]  # also selects columns that it is a prefix of
    return parquet.read(columns=[column], use_threads=False).select([column])


# --- Arrow files and streams -----------------------------------------------------------------------------


def _arrow_column(file: Any, position: int) -> Any:
    import pyarrow as pa

    if is_compressed(file):
        reader = _ipc_reader(file, [position])
        return pa.Table.from_batches(_batches(reader), schema=reader.schema)
    reader = _ipc_reader(file)  # maps all columns without copying
    batches = (batch.select([position]) for batch in _batches(reader))
    return pa.Table.from_batches(batches, schema=pa.schema([reader.schema.field(position)]))


def _ipc_reader(file: Any, positions: Sequence[int] | None = None) -> Any:
    """A reader of some or all columns of an Arrow file or stream, from its beginning."""
    from pyarrow import ipc

    options = ipc.IpcReadOptions(use_threads=False, included_fields=positions)
    open_ipc = ipc.open_file if _is_arrow_file(file) else ipc.open_stream
    file.seek(0)
    return open_ipc(file, options=options)


def _batches(reader: Any) -> Iterator[Any]:
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _is_arrow_file(file: Any) -> bool:
    """Whether it is an Arrow file rather than a stream."""
    file.seek(0)
    return bool(file.read(6) == b"ARROW1")


def is_compressed(file: Any) -> bool:
    """Whether the first batch is compressed; only then are columns unpacked one at a time."""
    message = _first_batch(file)
    if message is None:
        return False
    # Slot 2 of a message is the record batch, and slot 3 of that its compression, if any.
    metadata = message.metadata.to_pybytes()
    batch = _flatbuffer_slot(metadata, _number(metadata, 0), 2)
    assert batch is not None
    return _flatbuffer_slot(metadata, batch + _number(metadata, batch), 3) is not None


def _first_batch(file: Any) -> Any:
    """The message of the first record batch of an Arrow file or stream; None if there is none."""
    from pyarrow import ipc

    if not _is_arrow_file(file):
        file.seek(0)
        messages = ipc.MessageReader.open_stream(file)
        return next((message for message in messages if message.type == "record batch"), None)
    end = file.size() - len(b"ARROW1") - 4  # of the footer, followed by its length
    file.seek(end)
    length = _number(file.read(4), 0)
    file.seek(end - length)
    footer = file.read(length)
    blocks = _flatbuffer_slot(footer, _number(footer, 0), 3)  # positions of the record batches
    if blocks is None or not _number(footer, blocks + _number(footer, blocks)):
        return None
    file.seek(_number(footer, blocks + _number(footer, blocks) + 4, size=8))
    return ipc.read_message(file)


def _number(buffer: bytes, offset: int, size: int = 4) -> int:
    return int.from_bytes(buffer[offset : offset + size], "little")


def _flatbuffer_slot(buffer: bytes, table: int, slot: int) -> int | None:
    """Where one field of a flatbuffer table is; None if the table does not have it."""
    slots = table - int.from_bytes(buffer[table : table + 4], "little", signed=True)
    entry = slots + 4 + 2 * slot
    offset = _number(buffer, entry, size=2) if entry < slots + _number(buffer, slots, size=2) else 0
    return table + offset if offset else None
