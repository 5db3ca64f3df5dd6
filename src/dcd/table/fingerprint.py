"""The fingerprint of a table: what it holds, whatever kind of table holds it."""

from __future__ import annotations

import numbers
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from dcd.runtime.array_types import FloatArray
from dcd.runtime.digest import digest
from dcd.table.sources import source_of


@dataclass(frozen=True)
class Values:
    """One column: (n,) float64 with NaN for missing; positions in `levels` if it is a column of text."""

    numbers: FloatArray
    levels: tuple[str, ...] | None


def _values_of(cells: Any) -> Values:
    """One column, as a source reads it."""
    if isinstance(cells, np.ndarray):
        cells = nw.from_native(pd.Series(cells).infer_objects(), series_only=True)
    if cells.dtype.is_integer() or cells.dtype.is_float() or cells.dtype == nw.Boolean:
        return Values(np.asarray(cells.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64), None)
    entries = [None if _is_missing(entry) else entry for entry in cells.to_list()]
    if all(entry is None or isinstance(entry, (bool, numbers.Real, np.bool_)) for entry in entries):
        return Values(np.array([np.nan if entry is None else float(entry) for entry in entries]), None)
    labels = [None if entry is None else str(entry) for entry in entries]
    levels = tuple(sorted({label for label in labels if label is not None}))
    codes = {label: float(code) for code, label in enumerate(levels)}
    return Values(np.array([np.nan if label is None else codes[label] for label in labels]), levels)


def _is_missing(entry: Any) -> bool:
    return entry is None or entry is pd.NA or entry is pd.NaT or bool(entry != entry)


def fingerprint(table: Any) -> str:
    """SHA-256 of the names and values of a table, whatever kind of table holds them.

    The order of the columns does not matter, that of the rows does. Whole numbers, booleans and floats of
    equal value are the same; text is text.

    Examples
    --------
    >>> import dcd, pandas
    >>> fingerprint = dcd.results.fingerprint
    >>> fingerprint(pandas.DataFrame({"a": [1, 2], "b": [True, False]}))[:8]
    '190ec374'
    """
    source = source_of(table)

    def parts() -> Iterator[str | bytes | FloatArray]:
        for name, place in sorted((name, place) for place, name in enumerate(source.names)):
            values = _values_of(source.cells(place))
            yield name
            yield from values.levels or ()
            yield b"text" if values.levels is not None else b"number"
            missing = np.isnan(values.numbers)
            yield len(missing).to_bytes(8, "little")
            yield np.packbits(missing).tobytes()
            yield np.where(missing, 0.0, values.numbers)

    return digest(parts())
