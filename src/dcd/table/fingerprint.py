"""The fingerprint of a table, independent of the library that holds it."""

from __future__ import annotations

import hashlib
import numbers
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from dcd.runtime.array_types import FloatArray
from dcd.table.sources import source_of


def _numbers_and_levels(cells: Any) -> tuple[FloatArray, tuple[str, ...] | None]:
    """One column: (n,) float64 with NaN for missing; positions in the levels if it is text."""
    if isinstance(cells, np.ndarray):
        cells = nw.from_native(pd.Series(cells).infer_objects(), series_only=True)
    if cells.dtype.is_integer() or cells.dtype.is_float() or cells.dtype == nw.Boolean:
        values = np.asarray(cells.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)
        return values + 0.0, None  # no negative zeros
    entries = [None if _is_missing(entry) else entry for entry in cells.to_list()]
    if all(entry is None or isinstance(entry, (bool, numbers.Real, np.bool_)) for entry in entries):
        return np.array([np.nan if entry is None else float(entry) for entry in entries]) + 0.0, None
    labels = [None if entry is None else str(entry) for entry in entries]
    levels = tuple(sorted({label for label in labels if label is not None}))
    codes = {label: float(code) for code, label in enumerate(levels)}
    return np.array([np.nan if label is None else codes[label] for label in labels]), levels


def _is_missing(entry: Any) -> bool:
    return entry is None or entry is pd.NA or entry is pd.NaT or bool(entry != entry)


def fingerprint(table: Any) -> str:
    """SHA-256 of the names and values of a table of any kind.

    It depends on the order of the rows, but not of the columns. Whole numbers, booleans and floats of equal
    value are the same.

    Examples
    --------
    >>> import dcd, pandas
    >>> fingerprint = dcd.results.fingerprint
    >>> fingerprint(pandas.DataFrame({"a": [1, 2], "b": [True, False]}))[:8]
    '190ec374'
    """
    source = source_of(table)
    digest = hashlib.sha256()
    for name, position in sorted((name, position) for position, name in enumerate(source.names)):
        values, levels = _numbers_and_levels(source.cells(position))
        _feed(digest, name)
        for label in levels or ():
            _feed(digest, label)
        digest.update(b"text" if levels is not None else b"number")
        missing = np.isnan(values)
        digest.update(len(missing).to_bytes(8, "little"))
        digest.update(np.packbits(missing).tobytes())
        digest.update(np.where(missing, 0.0, values).astype("<f8").tobytes())
    return digest.hexdigest()


def _feed(digest: Any, text: str) -> None:
    """Text preceded by its length, so that lists of texts are unambiguous."""
    encoded = text.encode("utf-8", "surrogatepass")
    digest.update(len(encoded).to_bytes(8, "little") + encoded)
