"""Linear algebra on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController

_lock = Lock()
_limits: list[Any] = []  # one for each caller; the first knows the original number of threads


@cache
def _controller() -> Any:
    return ThreadpoolController()


def allowed_threads() -> int:
    """The number of threads that linear algebra may use now."""
    return max((int(library["num_threads"]) for library in _controller().info()), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra on one thread.

    These matrices are too small to gain from more, and with a threaded BLAS the last digits would depend on
    the number of threads. Every caller sets the limit, because threadpoolctl acts per thread; the last one
    restores it, because the first of several threads to finish (of a Dask worker, say) would lift it for the
    others.
    """
    with _lock:
        _limits.append(_controller().limit(limits=1))
    try:
        yield
    finally:
        with _lock:
            limit = _limits.pop()
            if not _limits:
                limit.restore_original_limits()
