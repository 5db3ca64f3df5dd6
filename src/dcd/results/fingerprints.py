"""The fingerprint of a table: what it holds, whatever kind of table holds it."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v1 as nw
import numpy as np
import pandas as pd

from dcd.arrays import FloatArray
from dcd.validation import InputError


@dataclass(frozen=True)
class Values:
    """One column: (n,) float64 with NaN for missing; positions in `levels` if it is a column of text."""

    numbers: FloatArray
    levels: tuple[str, ...] | None


def read_values(table: Any) -> dict[str, Values]:
    """All columns of a NumPy array or a pandas, polars or pyarrow table; names become text."""
    frame = nw.from_native(_as_frame(table), eager_only=True)
    return {name: _read(frame[name]) for name in frame.columns}


def _as_frame(table: Any) -> Any:
    if isinstance(nw.from_native(table, eager_only=True, pass_through=True), nw.DataFrame):
        if isinstance(table, pd.DataFrame):
            return table.set_axis([str(name) for name in table.columns], axis="columns")
        return table
    array = np.ma.filled(table.astype(float), np.nan) if isinstance(table, np.ma.MaskedArray) else table
    array = np.asarray(array)
    if array.ndim != 2:
        raise InputError("parameter 'X'", "is no table", "Pass the table that the model was fitted on.")
    return pd.DataFrame(array, columns=[f"x{index}" for index in range(array.shape[1])]).infer_objects()


def _read(column: Any) -> Values:
    entries = [None if _is_missing(entry) else entry for entry in column.to_list()]
    if all(entry is None or isinstance(entry, (bool, numbers.Real, np.bool_)) for entry in entries):
        found = np.array([np.nan if entry is None else float(entry) for entry in entries])
        return Values(found + 0.0, None)  # no negative zeros
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
    return fingerprint_of(read_values(table))


def fingerprint_of(columns: Mapping[str, Values]) -> str:
    """`fingerprint` of columns already read."""
    digest = hashlib.sha256()
    for name in sorted(columns):
        values = columns[name]
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
