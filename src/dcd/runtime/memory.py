"""Memory limits: large arrays go to scratch files, and blocks of rows get smaller.

The limit is on private memory. Scratch files are memory-mapped, so the system can evict their pages; they
have no name and vanish with their array, even if the process is killed.

Blocks have a fixed number of rows unless the limit is too small for them, so that results are equal to the
last bit with and without a limit; only very small limits change the last digits.
"""

from __future__ import annotations

import math
import mmap
import os
import re
import shutil
import tempfile
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from dcd.runtime.errors import InputError, is_whole

BLOCK_ROWS = 16_384
FIXED = 64 * 2**20  # bytes besides the table: blocks, products, libraries
PER_ROW = 96  # bytes a row for reading and ranking one column: the column, a sorted copy, positions
_SCRATCH = 8  # arrays above this fraction of the limit are scratch files
_BLOCK = 32  # fraction of the limit for one block
_UNITS = {
    "b": 1,
    **{f"{letter}b": 1000**power for power, letter in enumerate("kmgt", start=1)},
    **{f"{letter}ib": 1024**power for power, letter in enumerate("kmgt", start=1)},
}


@dataclass(frozen=True)
class Memory:
    """The memory limit of a process.

    Attributes
    ----------
    limit : bytes; None for no limit.

    Examples
    --------
    >>> Memory.of("2GiB").limit
    2147483648
    >>> Memory().blocks(40_000, bytes_per_row=160)
    [slice(0, 16384, None), slice(16384, 32768, None), slice(32768, 40000, None)]
    """

    limit: int | None = None

    @classmethod
    def of(cls, limit: int | str | None) -> Self:
        """From a parameter `memory_limit`; raises `InputError` if it is invalid."""
        return cls(None if limit is None else _bytes(limit))

    def array(self, shape: int | Sequence[int], dtype: npt.DTypeLike = np.float64) -> npt.NDArray[Any]:
        """An empty array in Fortran order, in memory or in a scratch file (in TMPDIR)."""
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        size = math.prod(shape) * np.dtype(dtype).itemsize
        if self.fits(size):
            return np.empty(shape, dtype=dtype, order="F")
        return _scratch(shape, np.dtype(dtype), size)

    def fits(self, size: int) -> bool:
        """Whether an array of this many bytes stays in memory."""
        return self.limit is None or size <= self.limit // _SCRATCH

    def blocks(self, n_rows: int, bytes_per_row: int, most: int = BLOCK_ROWS) -> list[slice]:
        """All rows in blocks of `most` rows, or fewer under a small limit."""
        size = most
        if self.limit is not None:
            size = max(1, min(size, self.limit // _BLOCK // max(1, bytes_per_row)))
        return [slice(start, min(start + size, n_rows)) for start in range(0, n_rows, size)]

    def shared_by(self, n_processes: int) -> Memory:
        """The share of one of several processes."""
        return self if self.limit is None else Memory(self.limit // max(1, n_processes))

    def check(self, n_rows: int, n_processes: int = 1) -> None:
        """Raise `InputError` if the limit is too small for this many rows in each process."""
        needed = (FIXED + PER_ROW * n_rows) * n_processes
        if self.limit is not None and self.limit < needed:
            problem = f"is {self.limit} bytes, too small for {n_rows} rows"
            remedy = f"Try memory_limit='{math.ceil(needed / 2**20)}MiB', or use fewer rows"
            if n_processes > 1:
                problem += f" in each of {n_processes} processes"
                remedy += ", or set n_jobs=1"
            raise InputError("parameter 'memory_limit'", problem, f"{remedy}.")


def _bytes(limit: object) -> int:
    size: float | None = None
    if is_whole(limit):
        size = int(limit)  # type: ignore[call-overload]
    elif isinstance(limit, str):
        match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", limit)
        unit = _UNITS.get((match[2] or "b").lower()) if match else None
        size = float(match[1]) * unit if match and unit else None
    if size is None or not 1 <= size < 2**62:
        problem = f"must be None, a number of bytes, or text such as '4GiB' or '500MB', got {limit!r}"
        raise InputError("parameter 'memory_limit'", problem, "Try memory_limit='4GiB'.")
    return int(size)


class ScratchFolder:
    """A temporary folder, at `path`, that is removed with this object."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="dcd-"))
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


# --- scratch files ---------------------------------------------------------------------------------------


def _scratch(shape: tuple[int, ...], dtype: np.dtype[Any], size: int) -> npt.NDArray[Any]:
    """An array in a file that is removed with it."""
    folder = tempfile.gettempdir()
    try:
        file = tempfile.NamedTemporaryFile(prefix="dcd-", dir=folder, delete=False)  # noqa: SIM115  lives on
        try:
            _reserve(file.fileno(), size)
            array = np.memmap(file, dtype=dtype, mode="r+", shape=shape, order="F")
        except OSError:
            _close_and_remove(file)
            raise
    except OSError as error:
        problem = f"cannot hold a scratch file of {math.ceil(size / 2**20)} MiB ({error.strerror or error})"
        remedy = "Set TMPDIR to a folder on a disk with more space, or raise memory_limit."
        raise InputError(f"folder '{folder}'", problem, remedy) from error
    mapped = array.base
    assert isinstance(mapped, mmap.mmap)
    descriptor = Path(f"/proc/{os.getpid()}/fd/{file.fileno()}")
    if descriptor.exists():
        Path(file.name).unlink()
        # With this name joblib's workers map the same file instead of receiving a copy.
        array.filename = str(descriptor)
        weakref.finalize(mapped, file.close)
    else:  # without /proc the file keeps its name until it is no longer used
        weakref.finalize(mapped, _close_and_remove, file)
    return array


def _reserve(descriptor: int, size: int) -> None:
    """Reserve disk space: writing to a mapped file on a full disk would kill the process."""
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)
        return
    zeros = bytes(2**20)
    for start in range(0, size, len(zeros)):
        os.write(descriptor, zeros[: size - start])


def _close_and_remove(file: Any) -> None:
    file.close()
    Path(file.name).unlink(missing_ok=True)
