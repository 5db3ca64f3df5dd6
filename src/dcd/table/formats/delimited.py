"""CSV and TSV: every line as long as the header, then parsed by pandas."""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Sequence

import pandas as pd

from dcd.runtime.errors import InputError

_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", " ": "a space"}


def check_lines(text: str, name: str, delimiter: str, *, chosen: bool) -> tuple[list[str], list[int]]:
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


def parse_text(
    text: str, header: Sequence[str], delimiter: str, decimal: str, missing: Sequence[str]
) -> pd.DataFrame:
    """The table in a text whose lines have been checked."""
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
