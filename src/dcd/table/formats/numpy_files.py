"""NumPy files as tables: mapped into memory, so that they can be larger than it."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.errors import InputError


@dataclass(frozen=True)
class ArrayFile:
    """An array (n, d) that stays in its file; its columns are called "x0", "x1", ...

    Attributes
    ----------
    names : the columns used.
    places : where they are in the array.
    """

    names: tuple[str, ...]
    n_rows: int
    places: tuple[int, ...]
    _content: bytes | Path = field(repr=False)
    _name: str = field(repr=False)

    def __len__(self) -> int:
        return self.n_rows

    @property
    def array(self) -> npt.NDArray[Any]:
        """The whole array, with the columns that are not used."""
        return _load(self._content, self._name)

    def read(self, name: str) -> npt.NDArray[Any]:
        """One column."""
        column: npt.NDArray[Any] = self.array[:, self.places[self.names.index(name)]]
        return column

    def select(self, names: Sequence[str]) -> ArrayFile:
        """The table with some of its columns."""
        places = dict(zip(self.names, self.places, strict=True))
        return replace(self, names=tuple(names), places=tuple(places[name] for name in names))

    def to_pandas(self) -> pd.DataFrame:
        """All columns at once, in memory."""
        return pd.DataFrame(np.array(self.array[:, list(self.places)]), columns=list(self.names))


def open_array(content: bytes | Path, name: str) -> ArrayFile:
    """The table in a NumPy file."""
    array = _load(content, name)
    if array.ndim != 2:
        raise InputError(
            name, f"has {array.ndim} dimension(s), expected 2", "Save an array of (samples, variables)."
        )
    if 0 in array.shape:
        raise InputError(name, f"has no cells (shape={array.shape})", "Check that it was written completely.")
    names = tuple(f"x{place}" for place in range(array.shape[1]))
    return ArrayFile(names, len(array), tuple(range(len(names))), content, name)


def _load(content: bytes | Path, name: str) -> npt.NDArray[Any]:
    # Pickled objects are refused: to read them would be to run whatever they hold.
    try:
        if isinstance(content, Path):
            array = np.load(content, mmap_mode="r", allow_pickle=False)
        else:
            array = np.load(io.BytesIO(content), allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        problem = str(error).splitlines()[0]
        remedy = "It may be cut short, or hold objects: save an array of numbers."
        raise InputError(name, f"is no NumPy array that can be read ({problem})", remedy) from error
    if not isinstance(array, np.ndarray):
        raise InputError(name, "holds several arrays", "Save one array, with numpy.save.")
    return array
