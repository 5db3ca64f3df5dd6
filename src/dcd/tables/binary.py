"""Excel, Parquet and Arrow, by libraries that are loaded here only."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from dcd.tables.cells import LARGEST_WHOLE, warn
from dcd.validation import InputError, suggest


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
    from pyarrow import ipc, parquet

    def of_parquet(file: Any) -> tuple[Any, int]:
        found = parquet.ParquetFile(file)
        return found.schema_arrow, found.metadata.num_rows

    def of_ipc(open_ipc: Any) -> Callable[[Any], tuple[Any, int]]:
        def found(file: Any) -> tuple[Any, int]:
            schema = open_ipc(file).schema
            file.seek(0)
            one = ipc.IpcReadOptions(included_fields=[0] if schema.names else [])
            return schema, sum(len(batch) for batch in _batches(open_ipc(file, options=one)))

        return found

    readers = [of_parquet] if kind == "parquet" else [of_ipc(ipc.open_file), of_ipc(ipc.open_stream)]
    return _first_that_reads(readers, content, name, kind)


def arrow_column(content: bytes | Path, name: str, kind: str, place: int) -> Any:
    """An Arrow table with one column of a file, by its place in the schema; the others are not read."""
    import pyarrow as pa
    from pyarrow import ipc, parquet

    def of_parquet(file: Any) -> Any:
        found = parquet.ParquetFile(file)
        column = found.schema_arrow.names[place]  # which also chooses the columns that have it as a prefix
        return found.read(columns=[column]).select([column])

    def of_ipc(open_ipc: Any) -> Callable[[Any], Any]:
        def found(file: Any) -> Any:
            reader = open_ipc(file, options=ipc.IpcReadOptions(included_fields=[place]))
            return pa.Table.from_batches(_batches(reader), schema=reader.schema)

        return found

    readers = [of_parquet] if kind == "parquet" else [of_ipc(ipc.open_file), of_ipc(ipc.open_stream)]
    return _first_that_reads(readers, content, name, kind)


def _batches(reader: Any) -> Iterator[Any]:
    """The record batches of an Arrow file or stream."""
    if hasattr(reader, "get_batch"):
        return (reader.get_batch(index) for index in range(reader.num_record_batches))
    return iter(reader)


def _first_that_reads(
    readers: Sequence[Callable[[Any], Any]], content: bytes | Path, name: str, kind: str
) -> Any:
    """What the first reader that can reads; an `InputError` if none can."""
    import pyarrow as pa

    broken: Exception | None = None
    for reader in readers:
        try:
            with (
                pa.memory_map(str(content)) if isinstance(content, Path) else pa.BufferReader(content) as file
            ):
                return reader(file)
        except (pa.ArrowException, OSError) as error:
            broken = error
    problem = str(broken).splitlines()[0]
    raise InputError(name, f"is no {kind} file ({problem})", "It may be cut short: copy it again.")


def to_pandas(table: Any) -> pd.DataFrame:
    """An Arrow table with decimals as floats, and with the index that pandas wrote if it has a name."""
    import pyarrow as pa

    for place, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(place, field.name, _as_floats(table.column(place)))
    frame: pd.DataFrame = table.to_pandas()
    written = [name for name in frame.index.names if name is not None and str(name) in table.column_names]
    return (frame.reset_index(level=written) if written else frame).reset_index(drop=True)


def _as_floats(decimals: Any) -> Any:
    """Decimals as floats; whole ones too large for that as text, which is refused if the column is kept."""
    import pyarrow as pa
    from pyarrow import compute

    floats = decimals.cast(pa.float64())
    largest = compute.max(compute.abs(floats)).as_py() or 0
    whole = decimals.type.scale == 0
    return decimals.cast(pa.string()) if whole and largest >= LARGEST_WHOLE else floats


def _require(module: str, name: str, what: str, extra: str) -> None:
    if find_spec(module) is None:
        raise InputError(
            name, f"{what} files need {module}", f"pip install 'dcd[{extra}]', or save it as CSV."
        )
