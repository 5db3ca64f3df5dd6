"""The contract of a file format: recognition, and the input and output of its reader.

A new format is one module in this folder, and one line in `FORMATS` below. Importing this module imports none
of the libraries that read them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Format:
    """One file format.

    Attributes
    ----------
    reader : "module:function" of this folder, a `Reader`; imported when a file needs it.
    suffixes : the extensions of its files.
    signatures : the bytes that its files begin with, if these identify them.
    in_parts : whether a column can be read without the rest; the reader then gets the path of the file.
    """

    reader: str
    suffixes: tuple[str, ...]
    signatures: tuple[bytes, ...] = ()
    in_parts: bool = False


@dataclass(frozen=True)
class ReadOptions:
    """The parameters of `read_file` for the cells; formats ignore those that do not apply."""

    delimiter: str | None = None
    decimal: str | None = None
    encoding: str | None = None
    na_values: Sequence[str] = ()
    sheet: str | None = None


@dataclass(frozen=True)
class ParsedTable:
    """A table in memory; names and cells are not yet checked.

    Attributes
    ----------
    header : the names in the file.
    frame : one column for each of them.
    line_of : the line of the file that a row ends on, if the file has lines.
    decimal_is_known : whether commas in numbers cannot be decimal marks.
    """

    header: Sequence[str]
    frame: pd.DataFrame
    line_of: Callable[[int], int] | None = None
    decimal_is_known: bool = True


@dataclass(frozen=True)
class StoredTable(ABC):
    """A table that stays in its file and is read column by column.

    Attributes
    ----------
    names : the columns.
    n_rows : number of rows.
    positions : of the columns in the file.
    content, label : the file or its bytes, and its name in messages.
    """

    names: tuple[str, ...]
    n_rows: int
    positions: tuple[int, ...] = field(repr=False)
    content: bytes | Path = field(repr=False)
    label: str = field(repr=False)

    def __len__(self) -> int:
        return self.n_rows

    @abstractmethod
    def read(self, name: str) -> Any:
        """One column, its cells checked: a pandas series or an array."""

    def select(self, names: Sequence[str]) -> Self:
        """The table with some of its columns."""
        positions = dict(zip(self.names, self.positions, strict=True))
        return replace(self, names=tuple(names), positions=tuple(positions[name] for name in names))

    def to_pandas(self) -> pd.DataFrame:
        """All columns at once, in memory."""
        import pandas as pd

        return pd.DataFrame({name: self.read(name) for name in self.names}, copy=False)


Reader = Callable[[Any, str, ReadOptions], "ParsedTable | StoredTable"]
"""`reader(content, label, options)`: content is bytes, or a path for formats that are read in parts."""

FORMATS: dict[str, Format] = {
    "csv": Format("delimited:read_csv", (".csv", ".txt")),
    "tsv": Format("delimited:read_tsv", (".tsv", ".tab")),
    "parquet": Format("columnar:open_parquet", (".parquet", ".pq"), (b"PAR1",), in_parts=True),
    "arrow": Format(
        "columnar:open_arrow", (".feather", ".arrow", ".ipc"), (b"ARROW1", b"FEA1"), in_parts=True
    ),
    "npy": Format("numpy_files:open_array", (".npy",), (b"\x93NUMPY",), in_parts=True),
    "excel": Format("excel:read_excel", (".xlsx", ".xlsm"), (b"PK\x03\x04",)),
}
