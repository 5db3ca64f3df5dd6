"""Parquet and Arrow files as tables whose columns are read one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from dcd.runtime.errors import InputError
from dcd.table.formats.binary import arrow_column, arrow_schema, require_pyarrow, to_pandas
from dcd.table.formats.header import check_header, counts_rows, refuse_repeated, tell_of_row_numbers
from dcd.table.formats.suspect_cells import check_cells


@dataclass(frozen=True)
class ColumnFile:
    """A table that stays in its file, of which columns are read one at a time.

    Attributes
    ----------
    names : the columns.
    n_rows : number of rows.
    """

    names: tuple[str, ...]
    n_rows: int
    _content: bytes | Path = field(repr=False)
    _name: str = field(repr=False)
    _kind: str = field(repr=False)
    _places: tuple[int, ...] = field(repr=False)

    def __len__(self) -> int:
        return self.n_rows

    def read(self, name: str) -> pd.Series[float]:
        """One column, its cells checked."""
        frame = self._unchecked(name)
        check_cells(frame, self._name, [], decimal_given=True)
        return frame[name]

    def select(self, names: Sequence[str]) -> ColumnFile:
        """The table with some of its columns."""
        places = dict(zip(self.names, self._places, strict=True))
        return replace(self, names=tuple(names), _places=tuple(places[name] for name in names))

    def to_pandas(self) -> pd.DataFrame:
        """All columns at once, in memory."""
        return pd.DataFrame({name: self.read(name) for name in self.names}, copy=False)

    def _unchecked(self, name: str) -> pd.DataFrame:
        place = self._places[self.names.index(name)]
        frame = to_pandas(arrow_column(self._content, self._name, self._kind, place))
        return frame.set_axis([name], axis="columns")


def open_columns(content: bytes | Path, name: str, kind: str) -> ColumnFile:
    """The table in a Parquet or Arrow file, with its names checked."""
    require_pyarrow(name)
    schema, n_rows = arrow_schema(content, name, kind)
    refuse_repeated(schema.names, name)
    if n_rows == 0:
        raise InputError(name, "has a header but no rows", "Check that the file is complete.")
    # What pandas makes of an empty table tells which columns are an index without a name, and their order.
    header = [str(column) for column in to_pandas(schema.empty_table()).columns]
    if not header:
        raise InputError(name, "has no columns", "Check that the file is complete.")
    places = tuple(schema.names.index(column) for column in header)
    table = ColumnFile(tuple(header), n_rows, content, name, kind, places)
    if header[0] == "" and len(header) > 1 and counts_rows(table._unchecked("")[""]):
        tell_of_row_numbers(name)
        table = table.select(header[1:])
    check_header(table.names, name)
    return table
