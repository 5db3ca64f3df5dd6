"""Files to tables: CSV, TSV, Parquet, Arrow and Excel, checked so that nothing is lost or bent in silence.

    bytes -> unpacked -> reader of the format -> names checked -> columns chosen -> cells checked

pandas renames repeated headers, fills short lines up, takes surplus cells for an index and leaves numbers
with decimal commas as text, all without a word. Here each of these is an `InputError` with file, line or
column. Cells are only ever read as numbers or text; a formula in a cell is text.
"""

from __future__ import annotations

import bz2
import csv
import difflib
import gzip
import io
import lzma
import sys
import warnings
import zlib
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd

from dcd.cells import TableWarning, check_cells
from dcd.validation import InputError, check_choice, suggest

FORMATS = ("csv", "tsv", "parquet", "arrow", "excel")
_BY_SUFFIX = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
_FIRST_BYTES = {b"PAR1": "parquet", b"ARROW1": "arrow", b"FEA1": "arrow", b"PK\x03\x04": "excel"}
_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", " ": "a space"}


def read_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002  the word everybody knows
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""The table in a file.

    Parameters
    ----------
    path : the file, "-" for standard input. The extension tells the format: .csv, .tsv, .parquet, .feather,
        .arrow or .xlsx; text may be packed, as in .csv.gz (also .bz2, .xz).
    format : "csv", "tsv", "parquet", "arrow" or "excel", whatever the extension says. Standard input is
        "csv" unless said.
    columns, exclude : names or shell patterns ("gene_*") of the columns to keep and to leave out.
    delimiter : what stands between two cells of a line; by default a comma in CSV, a tab in TSV.
    decimal : "." or ",", the decimal mark of a text file. By default it is ".", and columns that look as if
        it were "," are refused.
    encoding : of a text file; by default UTF-8 (or UTF-16 if the file says so).
    missing : cells that stand for missing values, beside an empty one, NA, NaN, null and the like.
    sheet : name of the sheet of an Excel file; the first by default.

    Raises
    ------
    InputError
        naming the file with the line or the column, what is wrong and what to do.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "heights.csv"
    >>> _ = file.write_text("age,height\n3,97.5\n4,103\n")
    >>> read_file(file).to_dict("list")
    {'age': [3, 4], 'height': [97.5, 103.0]}
    """
    name = "standard input" if str(path) == "-" else f"file '{path}'"
    kind, content = _format_and_content(path, name, format)
    lines: list[int] = []
    if kind in ("csv", "tsv"):
        text = _decoded(content, name, encoding)
        separator = delimiter or ("\t" if kind == "tsv" else ",")
        header, lines = _check_lines(text, name, separator, chosen=delimiter is not None)
        frame = _parse_text(text, header, separator, decimal or ".", missing)
    elif kind == "excel":
        header, frame = _read_excel(content, name, sheet, missing)
    else:
        frame = _read_arrow(content, name, kind)
        header = [str(column) for column in frame.columns]
    frame.columns = pd.Index(header)
    if len(frame) == 0:
        raise InputError(name, "has a header but no rows", "Check that the file is complete.")
    frame = _without_row_numbers(frame, name)
    _check_header(list(frame.columns), name)
    frame = choose_columns(frame, columns, exclude)
    check_cells(frame, name, lines, decimal_given=decimal is not None or kind not in ("csv", "tsv"))
    return frame


def choose_columns(
    frame: pd.DataFrame, columns: Sequence[str] = (), exclude: Sequence[str] = ()
) -> pd.DataFrame:
    """The columns that match `columns` (all if there are none), without those that match `exclude`."""
    names = list(frame.columns)
    kept = {name for pattern in columns for name in _matching(pattern, names)} if columns else set(names)
    kept -= {name for pattern in exclude for name in _matching(pattern, names)}
    if not kept:
        raise InputError("the columns", "are all left out", "Exclude fewer.")
    return frame[[name for name in names if name in kept]]


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    """The name itself if there is one, so that names with brackets or stars can be given as they are."""
    found = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"column {pattern!r}", "is not in the table", suggest(pattern, names))
    return found


# --- bytes -----------------------------------------------------------------------------------------------


def _format_and_content(path: str | Path, name: str, chosen: str | None) -> tuple[str, bytes]:
    if chosen is not None:
        check_choice("format", chosen, FORMATS)
    if str(path) == "-":
        content = sys.stdin.buffer.read()
        suffixes = [".csv"]
    else:
        content = _bytes_of(Path(path), name)
        suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    if suffixes and suffixes[-1] in _UNPACK:
        content = _unpacked(content, suffixes.pop(), name)
    kind = chosen or _BY_SUFFIX.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise InputError(
            name,
            f"has an extension that names no format ({''.join(suffixes) or 'none'})",
            f"Use one of {', '.join(_BY_SUFFIX)}, or set format to one of {', '.join(FORMATS)} (--format).",
        )
    if not content.strip():
        raise InputError(name, "is empty", "Check that it was written completely.")
    found = next((other for start, other in _FIRST_BYTES.items() if content.startswith(start)), kind)
    is_text = b"\0" not in content  # a column of a CSV file may be called PAR1
    if found != kind and not is_text:
        raise InputError(name, f"is read as {kind} but holds {found}", f"Set format to {found} (--format).")
    return kind, content


def _bytes_of(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        folder = path.parent
        beside = [found.name for found in folder.iterdir()] if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.75)
        remedy = f"Did you mean '{folder / near[0]}'?" if near else "Check the name and the folder."
        raise InputError(name, "does not exist", remedy) from None
    except IsADirectoryError:
        raise InputError(name, "is a folder", "Name a file in it.") from None
    except OSError as error:
        raise InputError(name, f"cannot be read ({error.strerror})", "Check its permissions.") from error


def _unpacked(content: bytes, suffix: str, name: str) -> bytes:
    try:
        return _UNPACK[suffix](content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            name, f"cannot be unpacked ({error})", "It may be cut short: copy it again."
        ) from error


def _decoded(content: bytes, name: str, encoding: str | None) -> str:
    marked = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding or marked)
    except LookupError:
        raise InputError("parameter 'encoding'", f"there is no {encoding!r}", "Try 'latin-1'.") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise InputError(
            f"{name}, line {line}",
            f"byte 0x{byte:02x} is not {encoding or 'UTF-8'}",
            "Save it as UTF-8, or set the encoding, to latin-1 say (--encoding latin-1).",
        ) from error
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InputError(
            f"{name}, line {line}", "has a zero byte, so it is no text", "Set its format (--format)."
        )
    return text


# --- text ------------------------------------------------------------------------------------------------


def _check_lines(text: str, name: str, delimiter: str, *, chosen: bool) -> tuple[list[str], list[int]]:
    """The header, and the line that each row ends on; an `InputError` for lines of another length."""
    if len(delimiter) != 1:
        raise InputError(
            "parameter 'delimiter'", f"must be one character, got {delimiter!r}", "Try ',' or ';'."
        )
    csv.field_size_limit(sys.maxsize if sys.maxsize < 2**31 else 2**31 - 1)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    rows = (row for row in reader if row)
    try:
        header = [cell.strip() for cell in next(rows)]
        if len(header) == 1:
            _refuse_one_column(header[0], name, chosen)
        lines = []
        for row in rows:
            if len(row) != len(header):
                raise InputError(
                    f"{name}, line {reader.line_num}",
                    f"has {len(row)} cells where the header has {len(header)}",
                    "Repair that line; a cell that holds the delimiter needs quotes around it.",
                )
            lines.append(reader.line_num)
    except csv.Error as error:
        remedy = "Repair that line; quotes come in pairs, and a quote inside a quoted cell is written twice."
        raise InputError(f"{name}, line {reader.line_num}", str(error), remedy) from error
    return header, lines


def _refuse_one_column(header: str, name: str, chosen: bool) -> None:
    inside = [mark for mark in _DELIMITERS if mark in header]
    if not inside:
        raise InputError(name, "has only one column", "Two variables is the least that can be related.")
    mark = "a tab ($'\\t' in a shell)" if inside[0] == "\t" else f"'{inside[0]}'"
    tried = "the delimiter given" if chosen else "the usual delimiter"
    raise InputError(
        name,
        f"has only one column with {tried}; its header has {_DELIMITERS[inside[0]]} inside",
        f"Set the delimiter to {mark} (--delimiter).",
    )


def _parse_text(
    text: str, header: Sequence[str], delimiter: str, decimal: str, missing: Sequence[str]
) -> pd.DataFrame:
    if decimal not in (".", ",") or decimal == delimiter:
        raise InputError(
            "parameter 'decimal'",
            f"must be '.' or ',' and not the delimiter {delimiter!r}, got {decimal!r}",
            "Files with decimal commas mostly have the delimiter ';'.",
        )
    return pd.read_csv(
        io.StringIO(text),
        sep=delimiter,
        header=0,
        names=list(range(len(header))),
        index_col=False,
        decimal=decimal,
        na_values=list(missing),
        float_precision="round_trip",
        low_memory=False,
    )


# --- other formats ---------------------------------------------------------------------------------------


def _read_excel(
    content: bytes, name: str, sheet: str | None, missing: Sequence[str]
) -> tuple[list[str], pd.DataFrame]:
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
            _warn(f"{name} has {len(sheets)} sheets; the first, {sheets[0]!r}, is read (--sheet).")
        chosen = sheets[0] if sheet is None else sheet
        first = book.parse(chosen, header=None, nrows=1)
        if first.empty:
            raise InputError(f"{name}, sheet {chosen!r}", "is empty", "Choose another sheet (--sheet).")
        header = ["" if pd.isna(cell) else str(cell).strip() for cell in first.iloc[0]]
        frame = book.parse(chosen, header=0, na_values=list(missing))
    if len(frame.columns) != len(header):
        raise InputError(name, "has cells to the right of its header", "Name every column in the first row.")
    return header, frame


def _read_arrow(content: bytes, name: str, kind: str) -> pd.DataFrame:
    _require("pyarrow", name, "Parquet and Arrow", "parquet")
    import pyarrow as pa
    from pyarrow import ipc, parquet

    readers: list[Callable[[Any], Any]] = (
        [parquet.read_table]
        if kind == "parquet"
        else [
            lambda source: ipc.open_file(source).read_all(),
            lambda source: ipc.open_stream(source).read_all(),
        ]
    )
    for reader in readers:
        try:
            return reader(pa.BufferReader(content)).to_pandas(ignore_metadata=False)
        except (pa.ArrowException, OSError) as error:
            broken = error
    problem = str(broken).splitlines()[0]
    raise InputError(name, f"is no {kind} file ({problem})", "It may be cut short: copy it again.")


def _require(module: str, name: str, what: str, extra: str) -> None:
    if find_spec(module) is None:
        raise InputError(
            name, f"{what} files need {module}", f"pip install 'dcd[{extra}]', or save it as CSV."
        )


# --- names -----------------------------------------------------------------------------------------------


def _without_row_numbers(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The table without a nameless first column that counts the rows, as pandas and R write it."""
    if str(frame.columns[0]) != "" or len(frame.columns) == 1:
        return frame
    first = frame.iloc[:, 0]
    counts = [list(range(start, start + len(frame))) for start in (0, 1)]
    if first.tolist() not in counts:
        return frame
    _warn(f"{name}: the first column has no name and counts the rows; it is left out.")
    return frame.iloc[:, 1:]


def _check_header(header: Sequence[str], name: str) -> None:
    for position, column in enumerate(header, start=1):
        if not column:
            raise InputError(f"{name}, column {position}", "has no name", "Name it in the first line.")
    repeated = [column for column in dict.fromkeys(header) if list(header).count(column) > 1]
    if repeated:
        places = [str(place) for place, column in enumerate(header, start=1) if column == repeated[0]]
        raise InputError(
            f"{name}, column {repeated[0]!r}",
            f"occurs {len(places)} times (columns {', '.join(places)})",
            "Rename or drop all but one.",
        )
    if len(header) > 1 and all(_is_number(column) for column in header):
        _warn(
            f"{name}: all names in the first line are numbers. If it is a row of data, add a line of names."
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _warn(message: str) -> None:
    warnings.warn(message, TableWarning, stacklevel=3)
