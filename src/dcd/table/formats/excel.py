"""Excel files, by openpyxl. Formulas are not evaluated; their saved values are read."""

from __future__ import annotations

import io
import re
import zipfile
from functools import partial

import pandas as pd

from dcd.runtime.errors import InputError, suggest
from dcd.runtime.files import MOST_TABLE
from dcd.runtime.safe_xml import parse_safely
from dcd.table.formats.base import ParsedTable, ReadOptions
from dcd.table.formats.content import require
from dcd.table.formats.file_checks import warn

_MOST_CELLS = 2**26
_SMALLER = "Delete cells outside the table, such as a stray one far away, or save it as CSV or Parquet."
_PLACE = re.compile(r"([A-Z]{0,3})([0-9]{1,7})")  # "B12", of a row "12"


def read_excel(content: bytes, label: str, options: ReadOptions) -> ParsedTable:
    """The table in one sheet."""
    require("openpyxl", label, "Excel", "excel")
    try:
        _check_parts(content, label)
        with pd.ExcelFile(io.BytesIO(content), engine="openpyxl") as book:
            sheet = _chosen_sheet([str(name) for name in book.sheet_names], label, options.sheet)
            # A column may be called NA.
            first = book.parse(sheet, header=None, nrows=1, keep_default_na=False)
            if first.empty:
                remedy = "Choose another one with sheet='name'."
                raise InputError(f"{label}, sheet {sheet!r}", "is empty", remedy)
            header = ["" if pd.isna(cell) else str(cell).strip() for cell in first.iloc[0]]
            frame = book.parse(sheet, header=0, na_values=list(options.na_values))
    except (InputError, Warning):
        raise
    except Exception as error:  # openpyxl raises whatever the broken part of the file leads to
        raise InputError(label, f"is not an Excel file ({error})", "Save it as .xlsx again.") from error
    if len(frame.columns) != len(header):
        raise InputError(label, "has cells to the right of its header", "Name every column in the first row.")
    return ParsedTable(header, frame)


def _check_parts(content: bytes, label: str) -> None:
    """Reject entities and anything too large for memory, before openpyxl unpacks it.

    A sheet has all cells up to its last row and column, even if a single cell far away is the only one.
    """
    with zipfile.ZipFile(io.BytesIO(content)) as parts:
        if sum(part.file_size for part in parts.infolist()) > MOST_TABLE:
            raise InputError(label, f"is larger than {MOST_TABLE >> 20:,} MiB when unpacked", _SMALLER)
        for name in parts.namelist():
            if not name.endswith((".xml", ".rels")):
                continue
            last = [0, 0]  # row, column
            with parts.open(name) as part:
                parse_safely(part, on_element=partial(_extend, last))
            if last[0] * last[1] > _MOST_CELLS:
                problem = f"has a sheet of {last[0]:,} rows and {last[1]:,} columns"
                raise InputError(label, problem, _SMALLER)


def _extend(last: list[int], tag: str, attributes: dict[str, str]) -> None:
    if tag.rpartition(":")[2] in ("c", "row") and (place := _PLACE.fullmatch(attributes.get("r", ""))):
        column = 0
        for letter in place[1]:
            column = 26 * column + ord(letter) - ord("A") + 1
        last[:] = max(last[0], int(place[2])), max(last[1], column)


def _chosen_sheet(sheets: list[str], label: str, chosen: str | None) -> str:
    if chosen is not None and chosen not in sheets:
        raise InputError(f"{label}, sheet {chosen!r}", "does not exist", suggest(chosen, sheets))
    if chosen is None and len(sheets) > 1:
        warn(
            f"{label} has {len(sheets)} sheets; the first, {sheets[0]!r}, is read.",
            f"To read another, set sheet={sheets[1]!r}.",
        )
    return sheets[0] if chosen is None else chosen
