"""The fingerprint of a table: what it holds, whatever kind of table holds it."""

from __future__ import annotations

import hashlib
import numbers
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from dcd.runtime.array_types import FloatArray
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
        found = np.asarray(cells.cast(nw.Float64).fill_null(np.nan).to_numpy(), dtype=np.float64)
        return Values(found + 0.0, None)  # no negative zeros
    entries = [None if _is_missing(entry) else entry for entry in cells.to_list()]
    if all(entry is None or isinstance(entry, (bool, numbers.Real, np.bool_)) for entry in entries):
        found = np.array([np.nan if entry is None else float(entry) for entry in entries])
        return Values(found + 0.0, None)
    labels = [None if entry is None else str(entry) for entry in entries]
    levels = tuple(sorted({label for label in labels if label is not None}))
    place = {label: float(code) for code, label in enumerate(levels)}
    return Values(np.array([np.nan if label is None else place[label] for label in labels]), levels)


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
    digest = hashlib.sha256()
    for name, place in sorted((name, place) for place, name in enumerate(source.names)):
        values = _values_of(source.cells(place))
        _feed(digest, name)
        for label in values.levels or ():
            _feed(digest, label)
        digest.update(b"text" if values.levels is not None else b"number")
        missing = np.isnan(values.numbers)
        digest.update(len(missing).to_bytes(8, "little"))
        digest.update(np.packbits(missing).tobytes())
        digest.update(np.where(missing, 0.0, values.numbers).astype("<f8").tobytes())
    return digest.hexdigest()


def _feed(digest: Any, text: str) -> None:
    """Text with its length before it, so that no two lists of texts read the same."""
    encoded = text.encode("utf-8", "surrogatepass")
    digest.update(len(encoded).to_bytes(8, "little") + encoded)
