"""Files to tables: CSV, TSV, Parquet, Arrow, NumPy and Excel, with nothing lost or bent in silence.

    bytes -> unpacked -> reader of the format -> names checked -> columns chosen -> cells checked

pandas renames repeated headers, fills short lines up, takes surplus cells for an index and leaves numbers
with decimal commas as text, all without a word. Here each of these is an `InputError` with file, line or
column. Cells are only ever read as numbers or text; a formula in a cell is text.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

import pandas as pd

from dcd.runtime.errors import InputError, suggest
from dcd.table.formats.binary import read_excel
from dcd.table.formats.columnar import ColumnFile, open_columns
from dcd.table.formats.content import FORMATS, decoded, format_and_content
from dcd.table.formats.delimited import check_lines, parse_text
from dcd.table.formats.header import check_header, without_row_numbers
from dcd.table.formats.numpy_files import ArrayFile, open_array
from dcd.table.formats.suspect_cells import check_cells

__all__ = ["FORMATS", "ArrayFile", "ColumnFile", "choose_columns", "open_file", "read_file"]


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
        .arrow, .npy or .xlsx; text may be packed, as in .csv.gz (also .bz2, .xz).
    format : "csv", "tsv", "parquet", "arrow", "npy" or "excel", whatever the extension says. Standard input
        is "csv" unless said.
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
    given = open_file(
        path,
        format=format,
        columns=columns,
        exclude=exclude,
        delimiter=delimiter,
        decimal=decimal,
        encoding=encoding,
        missing=missing,
        sheet=sheet,
    )
    return given if isinstance(given, pd.DataFrame) else given.to_pandas()


def open_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Sequence[str] = (),
    sheet: str | None = None,
) -> pd.DataFrame | ColumnFile | ArrayFile:
    """`read_file` that leaves the columns of a Parquet, Arrow or NumPy file where they are until asked for.

    So these files can be larger than memory. Other formats are read whole.
    """
    name = "standard input" if str(path) == "-" else f"file '{path}'"
    kind, content = format_and_content(path, name, format)
    if kind in ("parquet", "arrow"):
        table = open_columns(content, name, kind)
        return table.select(chosen_names(table.names, columns, exclude))
    if kind == "npy":
        array = open_array(content, name)
        return array.select(chosen_names(array.names, columns, exclude))
    assert isinstance(content, bytes)
    lines: list[int] = []
    if kind == "excel":
        header, frame = read_excel(content, name, sheet, missing)
    else:
        text = decoded(content, name, encoding)
        separator = delimiter or ("\t" if kind == "tsv" else ",")
        header, lines = check_lines(text, name, separator, chosen=delimiter is not None)
        frame = parse_text(text, header, separator, decimal or ".", missing)
    frame.columns = pd.Index(header)
    if len(frame) == 0:
        raise InputError(name, "has a header but no rows", "Check that the file is complete.")
    frame = without_row_numbers(frame, name)
    check_header(list(frame.columns), name)
    frame = choose_columns(frame, columns, exclude)
    check_cells(frame, name, lines, decimal_given=decimal is not None or kind == "excel")
    return frame


def choose_columns(
    frame: pd.DataFrame, columns: Sequence[str] = (), exclude: Sequence[str] = ()
) -> pd.DataFrame:
    """The columns that match `columns` (all if there are none), without those that match `exclude`."""
    return frame[chosen_names(list(frame.columns), columns, exclude)]


def chosen_names(names: Sequence[str], columns: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """The names that match `columns` (all if there are none), without those that match `exclude`."""
    kept = {name for pattern in columns for name in _matching(pattern, names)} if columns else set(names)
    kept -= {name for pattern in exclude for name in _matching(pattern, names)}
    if not kept:
        raise InputError("the columns", "are all left out", "Exclude fewer.")
    return [name for name in names if name in kept]


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    """The name itself if there is one, so that names with brackets or stars can be given as they are."""
    found = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
    if not found:
        raise InputError(f"column {pattern!r}", "is not in the table", suggest(pattern, names))
    return found
