"""CSV and TSV, parsed by pandas, with every line as long as the header.

pandas silently fills short lines and accepts stray quotes. If that may have happened (the text has quotes, an
unexpected number of delimiters, or pandas failed), the lines are checked one by one.
"""

from __future__ import annotations

import csv
import io
import re
import sys
from collections.abc import Iterator
from itertools import islice

import pandas as pd

from dcd.runtime.errors import InputError
from dcd.runtime.exact_floats import exact_floats
from dcd.table.formats.base import ParsedTable, ReadOptions
from dcd.table.formats.content import decode

_LINE = re.compile(r"[^\r\n]*(?:\r\n?|\n)|[^\r\n]+")
_DELIMITERS = {",": "a comma", ";": "a semicolon", "\t": "a tab", "|": "a bar", " ": "a space"}


def read_csv(content: bytes, label: str, options: ReadOptions) -> ParsedTable:
    """The table in a CSV file."""
    return _read_lines(content, label, options, ",")


def read_tsv(content: bytes, label: str, options: ReadOptions) -> ParsedTable:
    """The table in a TSV file."""
    return _read_lines(content, label, options, "\t")


def _read_lines(content: bytes, label: str, options: ReadOptions, usual: str) -> ParsedTable:
    text = decode(content, label, options.encoding)
    delimiter = options.delimiter or usual
    decimal = options.decimal or "."
    _check_marks(delimiter, decimal)
    rows = _numbered_rows(text, label, delimiter)
    _, first = next(rows, (0, []))
    if not first:
        raise InputError(label, "is empty", "Check that it was written completely.")
    header = [cell.strip() for cell in first]
    if len(header) == 1:
        _refuse_one_column(header[0], label, chosen=options.delimiter is not None)
    # pandas derives the length of lines from the first row, so it is always checked.
    _check_lengths(islice(rows, 1), len(header), label)
    try:
        frame = pd.read_csv(
            io.StringIO(text),
            sep=delimiter,
            header=0,
            names=list(range(len(header))),
            index_col=False,
            decimal=decimal,
            na_values=list(options.na_values),
            low_memory=False,
            **exact_floats(pd.__version__),
        )
    except pd.errors.ParserError as error:
        _check_lengths(rows, len(header), label)
        raise InputError(label, f"cannot be parsed ({error})", "Check the file in an editor.") from error
    # Counting delimiters shows whether a line is short (pandas rejects longer ones).
    if '"' in text or text.count(delimiter) != (len(frame) + 1) * (len(header) - 1):
        _check_lengths(rows, len(header), label)

    def line_of(row: int) -> int:
        return next(islice(_numbered_rows(text, label, delimiter), row + 1, None))[0]

    return ParsedTable(header, frame, line_of, decimal_is_known=options.decimal is not None)


def _check_marks(delimiter: str, decimal: str) -> None:
    if len(delimiter) != 1:
        problem = f"must be one character, got {delimiter!r}"
        raise InputError("parameter 'delimiter'", problem, "Try ',' or ';'.")
    if decimal not in (".", ",") or decimal == delimiter:
        problem = f"must be '.' or ',' and not the delimiter {delimiter!r}, got {decimal!r}"
        remedy = "Files with decimal commas usually have the delimiter ';'."
        raise InputError("parameter 'decimal'", problem, remedy)


def _numbered_rows(text: str, label: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """For each row, the number of its last line and its cells; blank lines are skipped."""
    csv.field_size_limit(min(sys.maxsize, 2**31 - 1))
    lines = (match[0] for match in _LINE.finditer(text))  # copied lazily
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    try:
        for row in reader:
            if len(row) > 1 or (row and row[0].strip()):
                yield reader.line_num, row
    except csv.Error as error:
        remedy = "Repair that line; quotes come in pairs, and a quote inside a quoted cell is written twice."
        raise InputError(f"{label}, line {reader.line_num}", str(error), remedy) from error


def _check_lengths(rows: Iterator[tuple[int, list[str]]], expected: int, label: str) -> None:
    for line, row in rows:
        if len(row) != expected:
            problem = f"has {len(row)} cells where the header has {expected}"
            remedy = "Repair that line; a cell that holds the delimiter needs quotes around it."
            raise InputError(f"{label}, line {line}", problem, remedy)


def _refuse_one_column(header: str, label: str, *, chosen: bool) -> None:
    inside = [mark for mark in _DELIMITERS if mark in header]
    if not inside:
        raise InputError(label, "has only one column", "At least two variables are needed.")
    tried = "the given delimiter" if chosen else "the usual delimiter"
    problem = f"has only one column with {tried}; its header has {_DELIMITERS[inside[0]]} inside"
    raise InputError(label, problem, f"Set delimiter={inside[0]!r}.")
