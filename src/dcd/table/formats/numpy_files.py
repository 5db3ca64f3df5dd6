"""NumPy files as memory-mapped tables."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.errors import InputError
from dcd.table.formats.base import ReadOptions, StoredTable


@dataclass(frozen=True)
class ArrayFile(StoredTable):
    """An array (n, d) that stays in its file; its columns are called "x0", "x1", ..."""

    @property
    def array(self) -> npt.NDArray[Any]:
        """The whole array, including columns that are not used."""
        return _load(self.content, self.label)

    def read(self, name: str) -> npt.NDArray[Any]:
        """See `StoredTable`."""
        column: npt.NDArray[Any] = self.array[:, self.positions[self.names.index(name)]]
        return column

    def to_pandas(self) -> pd.DataFrame:
        """See `StoredTable`; here in one pass over the rows."""
        return pd.DataFrame(np.array(self.array[:, list(self.positions)]), columns=list(self.names))


def open_array(content: bytes | Path, label: str, options: ReadOptions) -> ArrayFile:  # noqa: ARG001
    """The table in a NumPy file."""
    array = _load(content, label)
    if array.ndim != 2:
        problem = f"has {array.ndim} dimension(s), expected 2"
        raise InputError(label, problem, "Save an array of (samples, variables).")
    if 0 in array.shape:
        problem = f"has no cells (shape={array.shape})"
        raise InputError(label, problem, "Check that it was written completely.")
    positions = tuple(range(array.shape[1]))
    names = tuple(f"x{position}" for position in positions)
    return ArrayFile(names, len(array), positions, content, label)


def _load(content: bytes | Path, label: str) -> npt.NDArray[Any]:
    # No pickled objects: they can execute code.
    try:
        if isinstance(content, Path):
            array = np.load(content, mmap_mode="r", allow_pickle=False)
        else:
            array = np.load(io.BytesIO(content), allow_pickle=False)
    except Exception as error:  # NumPy raises whatever the broken part of the header leads to
        problem = (str(error) or type(error).__name__).splitlines()[0]
        remedy = "It may be truncated or hold objects: save an array of numbers."
        raise InputError(label, f"is not a readable NumPy array ({problem})", remedy) from error
    if not isinstance(array, np.ndarray):
        raise InputError(label, "holds several arrays", "Save one array, with numpy.save.")
    return array
