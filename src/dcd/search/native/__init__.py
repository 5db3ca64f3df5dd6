"""The compiled part of the search: a C library that is built when the package is installed.

Python passes it arrays, in structures of pointers (`Layout`) that `native.h` declares in the same order. The
library has no state of its own, releases the interpreter while it works, and writes only to arrays that it is
given for that.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.runtime.errors import MissingLibraryError

_SUFFIXES = (".so", ".dylib", ".dll")


@cache
def library() -> ctypes.CDLL:
    """The compiled library."""
    built = [path for suffix in _SUFFIXES for path in Path(__file__).parent.glob(f"_search{suffix}")]
    if not built:
        raise MissingLibraryError(
            "package 'dcd'",
            "its compiled part was not built",
            "Install it again: pip install causal-dcd, or pip install . in a copy of the repository.",
        )
    loaded = ctypes.CDLL(str(built[0]))
    loaded.class_loss.restype = ctypes.c_double
    loaded.class_types.restype = loaded.improve_loss.restype = None
    return loaded


def pointer(array: npt.NDArray[Any], dtype: npt.DTypeLike) -> ctypes.c_void_p:
    """The address of an array, which must have this type and be stored row by row."""
    if array.dtype != dtype or not array.flags.c_contiguous:
        raise TypeError(f"needs a contiguous array of {np.dtype(dtype)}, got {array.dtype}")
    return ctypes.c_void_p(array.__array_interface__["data"][0])


def check(status: int) -> None:
    """Raise an error if a call did not succeed."""
    if status:
        raise MemoryError("the search for a graph ran out of memory")


class Layout:
    """How a named tuple of arrays and numbers is laid out for C.

    Parameters
    ----------
    fields : the type of each field of the tuple, in order: of NumPy for an array, of ctypes for a number.
    sizes : names of whole numbers that follow them.
    """

    def __init__(self, fields: Mapping[str, Any], sizes: Sequence[str] = ()) -> None:
        self._arrays = [(name, np.dtype(kind)) for name, kind in fields.items() if not _is_number(kind)]
        self._numbers = [name for name, kind in fields.items() if _is_number(kind)]
        laid_out = [(name, kind if _is_number(kind) else ctypes.c_void_p) for name, kind in fields.items()]
        whole = [(name, ctypes.c_int64) for name in sizes]
        self.structure: Any = type("Structure", (ctypes.Structure,), {"_fields_": laid_out + whole})

    def fill(self, record: NamedTuple, **sizes: int) -> Any:
        """The structure of a named tuple, which keeps its arrays alive."""
        filled: Any = self.structure(**sizes)
        for name, dtype in self._arrays:
            setattr(filled, name, pointer(getattr(record, name), dtype))
        for name in self._numbers:
            setattr(filled, name, getattr(record, name))
        filled.record = record
        return filled


def _is_number(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, ctypes._SimpleCData)
