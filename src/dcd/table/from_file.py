"""Tables from files: CSV, TSV, Parquet, Arrow, NumPy and Excel.

    bytes -> unpacked -> reader of the format -> names checked -> columns chosen -> cells checked

pandas silently renames repeated headers, fills short lines, treats surplus cells as an index and leaves
numbers with decimal commas as text. Here each of these is an `InputError` with file, line or column.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from pkgutil import resolve_name

import pandas as pd

from dcd.runtime.errors import InputError, suggest
from dcd.table.formats.base import FORMATS, Reader, ReadOptions, StoredTable
from dcd.table.formats.content import format_and_content
from dcd.table.formats.file_checks import check_cells, check_header, numbers_the_rows


def read_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    na_values: Sequence[str] = (),
    sheet: str | None = None,
) -> pd.DataFrame:
    r"""The table in a file.

    Parameters
    ----------
    path : the file, "-" for standard input. The extension gives the format: .csv, .tsv, .parquet, .feather,
        .arrow, .npy or .xlsx; text may be compressed (.csv.gz, .bz2, .xz).
    format : "csv", "tsv", "parquet", "arrow", "npy" or "excel", to override the extension. The default for
        standard input is "csv".
    columns, exclude : names or shell patterns ("gene_*") of the columns to keep and to leave out.
    delimiter : by default a comma in CSV, a tab in TSV.
    decimal : decimal mark of a text file, "." or ",". By default it is ".", and columns that seem to use ","
        are rejected.
    encoding : of a text file; by default UTF-8 (or UTF-16 with a byte order mark).
    na_values : further markers of missing values, besides empty cells, NA, NaN, null and the like.
    sheet : name of the sheet of an Excel file; the first by default.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "heights.csv"
    >>> _ = file.write_text("age,height\n3,97.5\n4,103\n")
    >>> read_file(file).to_dict("list")
    {'age': [3, 4], 'height': [97.5, 103.0]}
    """
    options = ReadOptions(delimiter, decimal, encoding, na_values, sheet)
    table = open_file(path, format=format, columns=columns, exclude=exclude, options=options)
    return table if isinstance(table, pd.DataFrame) else table.to_pandas()


def open_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002
    columns: Sequence[str] = (),
    exclude: Sequence[str] = (),
    options: ReadOptions | None = None,
) -> pd.DataFrame | StoredTable:
    """`read_file`, but Parquet, Arrow and NumPy files are read by column, so they can exceed memory."""
    label = "standard input" if str(path) == "-" else f"file '{path}'"
    name, content = format_and_content(path, label, format)
    read: Reader = resolve_name(f"dcd.table.formats.{FORMATS[name].reader}")
    table = read(content, label, options or ReadOptions())
    if isinstance(table, StoredTable):
        return table.select(chosen_names(table.names, columns, exclude))
    if len(table.frame) == 0:
        raise InputError(label, "has a header but no rows", "Check that the file is complete.")
    frame = table.frame.set_axis(list(table.header), axis="columns")
    if numbers_the_rows(table.header, lambda: table.frame.iloc[:, 0], label):
        frame = frame.iloc[:, 1:]
    check_header(list(frame.columns), label)
    frame = frame[chosen_names(list(frame.columns), columns, exclude)]
    check_cells(frame, label, table.line_of, table.decimal_is_known)
    return frame


def chosen_names(names: Sequence[str], columns: Sequence[str] = (), exclude: Sequence[str] = ()) -> list[str]:
    """The names that match `columns` (all by default), without those that match `exclude`."""
    kept = {name for pattern in columns for name in _matching(pattern, names)} if columns else set(names)
    kept -= {name for pattern in exclude for name in _matching(pattern, names)}
    if not kept:
        raise InputError("the columns", "are all left out", "Exclude fewer.")
    return [name for name in names if name in kept]


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    """The names that match; a name that equals the pattern, wildcards included, takes precedence."""
    matching = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
    if not matching:
        raise InputError(f"column {pattern!r}", "is not in the table", suggest(pattern, names))
    return matching
