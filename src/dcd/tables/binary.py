"""Excel, Parquet and Arrow, by libraries that are loaded here only."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

import pandas as pd

from dcd.tables.cells import LARGEST_WHOLE, warn
from dcd.tables.header import refuse_repeated
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


def read_arrow(content: bytes, name: str, kind: str) -> pd.DataFrame:
    """The table of a Parquet file, or of an Arrow file or stream."""
    _require("pyarrow", name, "Parquet and Arrow", "parquet")
    import pyarrow as pa
    from pyarrow import ipc, parquet

    readers: list[Callable[[Any], Any]] = (
        [lambda source: parquet.ParquetFile(source).read()]
        if kind == "parquet"
        else [
            lambda source: ipc.open_file(source).read_all(),
            lambda source: ipc.open_stream(source).read_all(),
        ]
    )
    for reader in readers:
        try:
            table = reader(pa.BufferReader(content))
            refuse_repeated(table.column_names, name)
            return _to_pandas(table)
        except (pa.ArrowException, OSError) as error:
            broken = error
    problem = str(broken).splitlines()[0]
    raise InputError(name, f"is no {kind} file ({problem})", "It may be cut short: copy it again.")


def _to_pandas(table: Any) -> pd.DataFrame:
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
