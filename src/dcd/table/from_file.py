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
from dcd.table.formats.base import ParsedTable, ReadOptions, StoredTable
from dcd.table.formats.content import format_and_content
from dcd.table.formats.header import check_header, without_row_numbers
from dcd.table.formats.supported import FORMATS
from dcd.table.formats.suspect_cells import check_cells


def read_file(
    path: str | Path,
    *,
    format: str | None = None,  # noqa: A002  the word everybody knows
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
    path : the file, "-" for standard input. The extension tells the format: .csv, .tsv, .parquet, .feather,
        .arrow, .npy or .xlsx; text may be packed, as in .csv.gz (also .bz2, .xz).
    format : "csv", "tsv", "parquet", "arrow", "npy" or "excel", whatever the extension says. Standard input
        is "csv" unless said.
    columns, exclude : names or shell patterns ("gene_*") of the columns to keep and to leave out.
    delimiter : what stands between two cells of a line; by default a comma in CSV, a tab in TSV.
    decimal : "." or ",", the decimal mark of a text file. By default it is ".", and columns that look as if
        it were "," are refused.
    encoding : of a text file; by default UTF-8 (or UTF-16 if the file says so).
    na_values : cells that stand for missing values, beside an empty one, NA, NaN, null and the like.
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
    """`read_file` that leaves the columns of a Parquet, Arrow or NumPy file where they are until asked for.

    So these files can be larger than memory. Other formats are read whole.
    """
    label = "standard input" if str(path) == "-" else f"file '{path}'"
    name, content = format_and_content(path, label, format)
    table = FORMATS[name].load_reader()(content, label, options or ReadOptions())
    if isinstance(table, StoredTable):
        return table.select(chosen_names(table.names, columns, exclude))
    return _checked_frame(table, label, columns, exclude)


def _checked_frame(
    parsed: ParsedTable, label: str, columns: Sequence[str], exclude: Sequence[str]
) -> pd.DataFrame:
    """The chosen columns of a table in memory, with names and cells checked."""
    frame = parsed.frame.set_axis(list(parsed.header), axis="columns")
    if len(frame) == 0:
        raise InputError(label, "has a header but no rows", "Check that the file is complete.")
    frame = without_row_numbers(frame, label)
    check_header(list(frame.columns), label)
    frame = choose_columns(frame, columns, exclude)
    check_cells(frame, label, line_of=parsed.line_of, decimal_is_known=parsed.decimal_is_known)
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
    matching = [pattern] if pattern in names else [name for name in names if fnmatchcase(name, pattern)]
    if not matching:
        raise InputError(f"column {pattern!r}", "is not in the table", suggest(pattern, names))
    return matching
