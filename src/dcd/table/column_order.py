"""Comparison of columns block by block: a canonical order, and equality.

Categorical columns are equal if the same rows share a category, whatever its name; categories are numbered by
first appearance.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from dcd.runtime.array_types import FloatArray
from dcd.runtime.memory import BLOCK_ROWS
from dcd.table.columns import Kind

_FIRST_ROWS = 256  # where most columns already differ


class ColumnKey:
    """Sort key of a column: its kind, then its values as bytes."""

    def __init__(self, values: FloatArray, kind: Kind) -> None:
        self._kind = kind
        self._values: FloatArray | Partition = Partition(values) if kind == "nominal" else values
        self._n_rows = len(values)

    def __lt__(self, other: ColumnKey) -> bool:
        if self._kind != other._kind:
            return self._kind < other._kind
        for rows in _blocks(self._n_rows):
            mine, theirs = self._values[rows].tobytes(), other._values[rows].tobytes()
            if mine != theirs:
                return mine < theirs
        return False


class Partition:
    """Which rows share a category."""

    def __init__(self, values: FloatArray) -> None:
        self._values = values
        seen: dict[float, int] = {}
        for rows in _blocks(len(values)):
            distinct, first = np.unique(values[rows], return_index=True)
            for value in distinct[np.argsort(first)].tolist():
                seen.setdefault(_one_nan(value), len(seen))
        self._known = np.sort(np.array(list(seen), dtype=np.float64))
        self._numbers = np.array([seen[_one_nan(v)] for v in self._known.tolist()], dtype=np.int32)

    def __getitem__(self, rows: slice) -> npt.NDArray[np.int32]:
        numbers: npt.NDArray[np.int32] = self._numbers[np.searchsorted(self._known, self._values[rows])]
        return numbers

    def digest(self) -> bytes:
        """Equal for columns with the same partition only."""
        digest = hashlib.sha256()
        for rows in _blocks(len(self._values)):
            digest.update(self[rows].tobytes())
        return digest.digest()


_NAN = float("nan")


def _one_nan(value: float) -> float:
    """The value, with one object for all NaN so that a dict finds it."""
    return _NAN if value != value else value


def _blocks(n_rows: int) -> Iterator[slice]:
    yield slice(0, _FIRST_ROWS)
    for start in range(_FIRST_ROWS, n_rows, BLOCK_ROWS):
        yield slice(start, start + BLOCK_ROWS)
