"""Excel files, by openpyxl. Formulas are not evaluated; their saved values are read."""

from __future__ import annotations

import io

import pandas as pd

from dcd.runtime.errors import InputError, suggest
from dcd.table.formats.base import ParsedTable, ReadOptions
from dcd.table.formats.content import require
from dcd.table.formats.file_checks import warn


def read_excel(content: bytes, label: str, options: ReadOptions) -> ParsedTable:
    """The table in one sheet."""
    require("openpyxl", label, "Excel", "excel")
    try:
        book = pd.ExcelFile(io.BytesIO(content), engine="openpyxl")
    except Exception as error:  # openpyxl raises whatever the broken part of the file leads to
        raise InputError(label, f"is not an Excel file ({error})", "Save it as .xlsx again.") from error
    with book:
        sheet = _chosen_sheet([str(name) for name in book.sheet_names], label, options.sheet)
        first = book.parse(sheet, header=None, nrows=1, keep_default_na=False)  # a column may be called NA
        if first.empty:
            raise InputError(f"{label}, sheet {sheet!r}", "is empty", "Choose another one with sheet='name'.")
        header = ["" if pd.isna(cell) else str(cell).strip() for cell in first.iloc[0]]
        frame = book.parse(sheet, header=0, na_values=list(options.na_values))
    if len(frame.columns) != len(header):
        raise InputError(label, "has cells to the right of its header", "Name every column in the first row.")
    return ParsedTable(header, frame)


def _chosen_sheet(sheets: list[str], label: str, chosen: str | None) -> str:
    if chosen is not None and chosen not in sheets:
        raise InputError(f"{label}, sheet {chosen!r}", "does not exist", suggest(chosen, sheets))
    if chosen is None and len(sheets) > 1:
        warn(
            f"{label} has {len(sheets)} sheets; the first, {sheets[0]!r}, is read.",
            f"For another one, set sheet={sheets[1]!r}.",
        )
    return sheets[0] if chosen is None else chosen
