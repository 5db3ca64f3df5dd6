"""One thread for linear algebra, wherever this library computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock

from threadpoolctl import ThreadpoolController


class _Limit:
    """The limit of this process: the first who asks sets it, the last who leaves takes it back.

    The number of threads belongs to the process. Several threads in it (those of a Dask worker, say) would
    otherwise restore it under the others.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._controller = ThreadpoolController()

    def enter(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limiter = self._controller.limit(limits=1)
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limiter.restore_original_limits()


@cache
def _limit() -> _Limit:
    return _Limit()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Run linear algebra on one thread.

    These matrices are too small to gain from more, and the sums of a threaded BLAS, and with them the last
    digits, would depend on how many processes share the machine.
    """
    limit = _limit()
    limit.enter()
    try:
        yield
    finally:
        limit.leave()
