"""Excel, Parquet and Arrow, by libraries that are loaded here only."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from dcd.runtime.errors import InputError, suggest
from dcd.table.formats.suspect_cells import LARGEST_WHOLE, warn


def read_excel(
    content: bytes, name: str, sheet: str | None, missing: Sequence[str]
) -> tuple[list[str], pd.DataFrame]:
    """The header and the table of one sheet; formulas are not evaluated, their saved values are read."""
    _require("openpyxl", name, "Excel", "excel")
    try:
        book = pd.ExcelFile(io.BytesIO(content), engine="openpyxl")
    except Exception as error:  # openpyxl raises whatever the broken part of the file leads to
        raise InputError(name, f"is no Excel file ({error})", "Save it as .xlsx again.") from error
    with book:
        sheets = [str(found) for found in book.sheet_names]
        if sheet is not None and sheet not in sheets:
            raise InputError(f"{name}, sheet {sheet!r}", "does not exist", suggest(sheet, sheets))
        if sheet is None and len(sheets) > 1:
            warn(f"{name} has {len(sheets)} sheets; the first, {sheets[0]!r}, is read (--sheet).")
        chosen = sheets[0] if sheet is None else sheet
        first = book.parse(chosen, header=None, nrows=1, keep_default_na=False)  # a column may be called NA
        if first.empty:
            raise InputError(f"{name}, sheet {chosen!r}", "is empty", "Choose another sheet (--sheet).")
        header = ["" if pd.isna(cell) else str(cell).strip() for cell in first.iloc[0]]
        frame = book.parse(chosen, header=0, na_values=list(missing))
    if len(frame.columns) != len(header):
        raise InputError(name, "has cells to the right of its header", "Name every column in the first row.")
    return header, frame


def require_pyarrow(name: str) -> None:
    """An `InputError` if there is no pyarrow."""
    _require("pyarrow", name, "Parquet and Arrow", "parquet")


def arrow_schema(content: bytes | Path, name: str, kind: str) -> tuple[Any, int]:
    """The Arrow schema of a Parquet or Arrow file, and its number of rows."""
    with _opened(content, name, kind) as file:
        if kind == "parquet":
            from pyarrow import parquet

            found = parquet.ParquetFile(file)
            return found.schema_arrow, found.metadata.num_rows
        schema = _ipc_reader(file).schema
        # One column tells the number of rows, and need be all that is unpacked.
        places = [0] if schema.names and _is_compressed(file) else None
        return schema, sum(len(batch) for batch in _batches(_ipc_reader(file, places)))


def arrow_column(content: bytes | Path, name: str, kind: str, place: int) -> Any:
    """An Arrow table with one column of a file, by its place in the schema; the others are not read."""
    import pyarrow as pa

    with _opened(content, name, kind) as file:
        if kind == "parquet":
            from pyarrow import parquet

            found = parquet.ParquetFile(file)
            column = found.schema_arrow.names[place]  # which also chooses columns that have it as a prefix
            return found.read(columns=[column], use_threads=False).select([column])
        if _is_compressed(file):
            reader = _ipc_reader(file, [place])
            return pa.Table.from_batches(_batches(reader), schema=reader.schema)
        reader = _ipc_reader(file)  # which maps all columns, and copies none
        batches = (batch.select([place]) for batch in _batches(reader))
        return pa.Table.from_batches(batches, schema=pa.schema([reader.schema.field(place)]))


@contextlib.contextmanager
def _opened(content: bytes | Path, name: str, kind: str) -> Iterator[Any]:
    """A file for pyarrow, mapped into memory; what goes wrong with it is an `InputError`."""
    import pyarrow as pa

    try:
        with pa.memory_map(str(content)) if isinstance(content, Path) else pa.BufferReader(content) as file:
            yield file
    except MemoryError:
        raise
    except (pa.ArrowException, OSError) as error:
        problem = str(error).splitlines()[0]
        remedy = "It may be cut short: copy it again."
        raise InputError(name, f"is no {kind} file ({problem})", remedy) from error


def _ipc_reader(file: Any, places: Sequence[int] | None = None) -> Any:
    """A reader of some or all columns of an Arrow file or stream, from its beginning."""
    from pyarrow import ipc

    how = ipc.IpcReadOptions(use_threads=False, included_fields=places)
    is_file = _is_arrow_file(file)
    file.seek(0)
    return ipc.open_file(file, options=how) if is_file else ipc.open_stream(file, options=how)


def _is_arrow_file(file: Any) -> bool:
    """Whether it is an Arrow file rather than a stream."""
    file.seek(0)
    return bool(file.read(6) == b"ARROW1")


def _is_compressed(file: Any) -> bool:
    """Whether the batches of an Arrow file or stream are compressed, told by the first.

    Columns of a compressed file are unpacked one at a time; for others that would copy what can be mapped.
    """
    message = _first_batch(file)
    if message is None:
        return False
    # Slot 2 of a message is the record batch, and slot 3 of that how it is compressed, if it is.
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
    end = file.size() - len(b"ARROW1") - 4  # where the footer is at its end, followed by its length
    file.seek(end)
    length = _number(file.read(4), 0)
    file.seek(end - length)
    footer = file.read(length)
    blocks = _flatbuffer_slot(footer, _number(footer, 0), 3)  # places of all record batches
    if blocks is None or not _number(footer, blocks + _number(footer, blocks)):
        return None
    file.seek(_number(footer, blocks + _number(footer, blocks) + 4, size=8))
    return ipc.read_message(file)


def _number(buffer: bytes, place: int, size: int = 4) -> int:
    return int.from_bytes(buffer[place : place + size], "little")


def _flatbuffer_slot(buffer: bytes, table: int, slot: int) -> int | None:
    """Where one field of a flatbuffer table is; None if the table does not have it."""
    slots = table - int.from_bytes(buffer[table : table + 4], "little", signed=True)
    place = slots + 4 + 2 * slot
    offset = _number(buffer, place, size=2) if place < slots + _number(buffer, slots, size=2) else 0
    return table + offset if offset else None


def _batches(reader: Any) -> Iterator[Any]:
    """The record batches of an Arrow file or stream."""
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def to_pandas(table: Any) -> pd.DataFrame:
    """An Arrow table with decimals as floats, and with the index that pandas wrote if it has a name."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        # Whole numbers with gaps are floats in pandas, too.
        gappy = pa.types.is_integer(field.type) and table.column(place).null_count
        if pa.types.is_decimal(field.type) or gappy:
            table = table.set_column(place, field.name, _as_floats(table.column(place)))
    frame: pd.DataFrame = table.to_pandas()
    written = [name for name in frame.index.names if name is not None and str(name) in table.column_names]
    return (frame.reset_index(level=written) if written else frame).reset_index(drop=True)


def _as_floats(numbers: Any) -> Any:
    """Numbers as floats; whole ones too large for that as text, which is refused if the column is kept."""
    import pyarrow as pa
    from pyarrow import compute

    floats = numbers.cast(pa.float64(), safe=False)
    largest = compute.max(compute.abs(floats)).as_py() or 0
    whole = pa.types.is_integer(numbers.type) or numbers.type.scale == 0
    return numbers.cast(pa.string()) if whole and largest >= LARGEST_WHOLE else floats


def _require(module: str, name: str, what: str, extra: str) -> None:
    if find_spec(module) is None:
        raise InputError(
            name, f"{what} files need {module}", f"pip install 'dcd[{extra}]', or save it as CSV."
        )
