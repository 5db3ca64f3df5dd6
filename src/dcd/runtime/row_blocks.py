"""Matrices computed by blocks of rows, which are kept if all of them are small."""

from __future__ import annotations

from collections.abc import Callable

from dcd.runtime.array_types import FloatArray
from dcd.runtime.memory import Memory

Part = Callable[[slice], FloatArray]  # some rows of a matrix
_KEPT_BYTES = 2**29


class BlockMatrix:
    """A matrix (n, p) given by a function that computes some of its rows."""

    def __init__(self, make: Part, n_columns: int, size: int, memory: Memory) -> None:
        self.n_columns = n_columns
        self._make = make
        self._keep = size <= _KEPT_BYTES and memory.fits(2 * size)
        self._kept: dict[tuple[int, int], FloatArray] = {}

    def part(self, rows: slice) -> FloatArray:
        """Some rows."""
        key = (rows.start, rows.stop)
        if key in self._kept:
            return self._kept[key]
        part = self._make(rows)
        if self._keep:
            self._kept[key] = part
        return part
