"""Linear algebra on one thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


class _Limit:
    """The limit of this process: every user sets it, the last one restores it.

    Otherwise the first of several threads to finish (of a Dask worker, say) would lift the limit for the
    others. Every user sets it, because threadpoolctl acts per thread.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self.controller = ThreadpoolController()
        self._n_users = 0

    def enter(self) -> None:
        with self._lock:
            limiter = self.controller.limit(limits=1)
            if self._n_users == 0:
                self._first = limiter  # knows the original limits
            self._n_users += 1

    def leave(self) -> None:
        with self._lock:
            self._n_users -= 1
            if self._n_users == 0:
                self._first.restore_original_limits()


@cache
def _limit() -> _Limit:
    return _Limit()


def allowed_threads() -> int:
    """The number of threads that linear algebra may use now."""
    return max((int(library["num_threads"]) for library in _limit().controller.info()), default=1)


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra on one thread.

    These matrices are too small to gain from more, and with a threaded BLAS the last digits would depend on
    the number of threads.
    """
    limit = _limit()
    limit.enter()
    try:
        yield
    finally:
        limit.leave()
