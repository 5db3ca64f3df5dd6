"""The compiled part of the search: a C library that is built when the package is installed.

Python passes it arrays, in structures of pointers (`Layout`) that the C sources declare in the same order.
The library has no state of its own, releases the interpreter lock while it works, and writes only to arrays
that are passed for this purpose.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Collection, Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.runtime.errors import MissingLibraryError

_SUFFIX = {"darwin": ".dylib", "win32": ".dll"}.get(sys.platform, ".so")  # as in hatch_build.py
_ADDRESS, _WHOLE = ctypes.c_void_p, ctypes.c_int64
_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "family_score": (_ADDRESS,) * 2,
    "best_family": (_ADDRESS,) * 3,
    "with_one_more": (_ADDRESS, _ADDRESS, _WHOLE, _ADDRESS),
    "simpler_forms": (_ADDRESS,) * 3,
    "climb": (_ADDRESS,) * 4 + (_WHOLE, _ADDRESS),
    "exchange_neighbours": (_ADDRESS,) * 4 + (_WHOLE, _ADDRESS),
    "preferred_curves": (_ADDRESS,) * 2,
    "partner_scores": (_ADDRESS,) * 6,
    "run_chain": (_ADDRESS,) * 5,
    "class_types": (_ADDRESS,),
    "class_loss": (_ADDRESS,) * 2,
    "improve_loss": (_ADDRESS,) * 4,
    "has_path": (_ADDRESS, _WHOLE, _WHOLE, _WHOLE, _ADDRESS, _ADDRESS),
}
_RESULTS = {
    "class_loss": ctypes.c_double,
    "has_path": ctypes.c_bool,
    "class_types": None,
    "improve_loss": None,
}


@cache
def library() -> ctypes.CDLL:
    """The compiled library."""
    path = Path(__file__).with_name("_search" + _SUFFIX)
    try:
        loaded = ctypes.CDLL(str(path))
    except OSError as error:
        problem = f"cannot be loaded ({error})" if path.is_file() else "was not built"
        raise _missing(problem) from None
    for name, arguments in _ARGUMENTS.items():
        function = getattr(loaded, name)
        function.argtypes, function.restype = arguments, _RESULTS.get(name, ctypes.c_int)
    return loaded


def _missing(problem: str) -> MissingLibraryError:
    remedy = "Install it again: pip install causal-dcd, or pip install . in a copy of the repository."
    return MissingLibraryError("package 'dcd'", f"its compiled part {problem}", remedy)


def pointer(array: npt.NDArray[Any], dtype: npt.DTypeLike, *, written: bool = False) -> ctypes.c_void_p:
    """The address of a C-contiguous array of this type; it has to be writeable if it is `written` to."""
    if array.dtype != dtype or not (array.flags.c_contiguous and array.flags.aligned):
        raise TypeError(f"needs a contiguous array of {np.dtype(dtype)}, got {array.dtype}")
    if written and not array.flags.writeable:
        raise TypeError("needs an array that can be written to")
    return ctypes.c_void_p(array.__array_interface__["data"][0])


def check(status: int) -> None:
    """Raise `MemoryError` if a call failed."""
    if status:
        raise MemoryError("the search for a graph ran out of memory")


class Layout:
    """How a named tuple of arrays and numbers is laid out for C.

    Parameters
    ----------
    name : of the structure in C.
    fields : the type of each field of the tuple, in order: from NumPy for an array, from ctypes for a number.
    sizes : names of integers that follow the fields.
    written : fields that C writes to.
    """

    def __init__(
        self,
        name: str,
        fields: Mapping[str, Any],
        sizes: Sequence[str] = (),
        *,
        written: Collection[str] = (),
    ) -> None:
        self._arrays = [
            (field, np.dtype(kind), field in written)
            for field, kind in fields.items()
            if not _is_number(kind)
        ]
        self._numbers = [field for field, kind in fields.items() if _is_number(kind)]
        laid_out = [(field, kind if _is_number(kind) else _ADDRESS) for field, kind in fields.items()]
        whole = [(field, _WHOLE) for field in sizes]
        self._unchecked: Any = type(name, (ctypes.Structure,), {"_fields_": laid_out + whole})

    @cached_property
    def structure(self) -> Any:
        """The ctypes structure; raises an error if its size differs from the size in C."""
        in_c = _WHOLE.in_dll(library(), f"size_of_{self._unchecked.__name__}").value
        if in_c != ctypes.sizeof(self._unchecked):
            raise _missing("was built from different sources")
        return self._unchecked

    def fill(self, record: NamedTuple, **sizes: int) -> Any:
        """The structure filled from a named tuple; it keeps the arrays alive."""
        filled = self.structure(**sizes)
        for field, dtype, written in self._arrays:
            setattr(filled, field, pointer(getattr(record, field), dtype, written=written))
        for field in self._numbers:
            setattr(filled, field, getattr(record, field))
        filled.record = record
        return filled


def _is_number(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, ctypes._SimpleCData)
