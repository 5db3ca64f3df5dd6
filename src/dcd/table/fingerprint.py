"""The fingerprint of a table: a digest of its contents, whatever its type."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np

from dcd.runtime.array_types import FloatArray
from dcd.runtime.digest import digest
from dcd.table.cells import floats, holds_numbers, is_missing, is_real
from dcd.table.sources import source_of


def fingerprint(table: Any) -> str:
    """SHA-256 of the names and values of a table, whatever its type.

    The order of the columns does not matter; that of the rows does. Whole numbers, Booleans and floats of
    equal value count as equal; text does not equal a number.

    Examples
    --------
    >>> import dcd, pandas
    >>> fingerprint = dcd.results.fingerprint
    >>> fingerprint(pandas.DataFrame({"a": [1, 2], "b": [True, False]}))[:8]
    '190ec374'
    """
    source = source_of(table)

    def parts() -> Iterator[str | bytes | FloatArray]:
        for name in sorted(source.names):
            values, levels = _values_of(source.cells(name))
            yield name
            yield from levels or ()
            yield b"text" if levels is not None else b"number"
            missing = np.isnan(values)
            yield len(missing).to_bytes(8, "little")
            yield np.packbits(missing).tobytes()
            yield np.where(missing, 0.0, values)

    return digest(parts())


def _values_of(cells: Any) -> tuple[FloatArray, list[str] | None]:
    """One column (n,) with NaN for missing; if it is text, positions in its levels, and these."""
    if isinstance(cells, np.ndarray):
        if holds_numbers(cells.dtype):
            return cells.astype(np.float64), None
        cells = (cells.astype(str) if cells.dtype.kind in "mM" else cells).tolist()
    else:
        if cells.dtype.is_integer() or cells.dtype.is_float() or cells.dtype == nw.Boolean:
            with contextlib.suppress(ValueError):  # pyarrow rejects inexact conversions
                return floats(cells), None
        cells = cells.to_list()
    entries = [None if is_missing(entry) else entry for entry in cells]
    with contextlib.suppress(OverflowError):  # a number beyond all floats counts as text
        if all(entry is None or is_real(entry) for entry in entries):
            return np.array([np.nan if entry is None else float(entry) for entry in entries]), None
    levels = sorted({str(entry) for entry in entries if entry is not None})
    codes = {level: float(code) for code, level in enumerate(levels)}
    return np.array([np.nan if entry is None else codes[str(entry)] for entry in entries]), levels
