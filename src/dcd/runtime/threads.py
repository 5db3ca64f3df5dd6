"""One thread for linear algebra, wherever this library computes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limit:
    """The limit of this process: everyone who comes sets it, the last who leaves takes it back.

    The number of threads belongs to the process. Of several threads in it (those of a Dask worker, say) the
    first to leave would otherwise lift the limit for the others. Everyone sets it, because threadpoolctl
    listens to one thread only.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._controller = ThreadpoolController()
        self._n_users = 0

    def libraries(self) -> list[dict[str, Any]]:
        """What is known of the libraries for linear algebra."""
        info: list[dict[str, Any]] = self._controller.info()
        return info

    def enter(self) -> None:
        with self._lock:
            limiter = self._controller.limit(limits=1)
            if self._n_users == 0:
                self._first = limiter  # the one that knows what there was before
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
    """How many threads linear algebra may use here and now."""
    return max((int(library["num_threads"]) for library in _limit().libraries()), default=1)


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
