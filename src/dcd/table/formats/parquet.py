"""Parquet files, by pyarrow."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dcd.table.formats.base import ReadOptions
from dcd.table.formats.columnar import ColumnFile, opened, with_checked_names


@dataclass(frozen=True)
class ParquetTable(ColumnFile):
    """A table in a Parquet file."""

    def arrow_column(self, position: int) -> Any:
        """See `ColumnFile`."""
        from pyarrow.parquet import ParquetFile

        with opened(self.content, self.label, "Parquet") as file:
            parquet = ParquetFile(file)
            column = parquet.schema_arrow.names[position]  # also selects columns that it is a prefix of
            return parquet.read(columns=[column], use_threads=False).select([column])


def open_parquet(content: bytes | Path, label: str, options: ReadOptions) -> ColumnFile:  # noqa: ARG001
    """The table in a Parquet file."""
    with opened(content, label, "Parquet") as file:
        from pyarrow.parquet import ParquetFile

        parquet = ParquetFile(file)
        schema, n_rows = parquet.schema_arrow, parquet.metadata.num_rows
    return with_checked_names(ParquetTable, schema, n_rows, content, label)
