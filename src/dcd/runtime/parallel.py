"""Parallel work by joblib, on this machine or within `joblib.parallel_config(backend="dask")` or `"ray"`.

Two additions to joblib:

* Data that all tasks need are sent to each process once and stay there with its caches. On this machine
  joblib maps large arrays from a file; Dask and Ray have an object store.
* A lost process (killed, out of memory, machine switched off) does not end the run.
"""

from __future__ import annotations

import io
import os
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import BrokenExecutor, CancelledError
from threading import Thread, Timer, get_ident
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from dcd.runtime.threads import one_blas_thread

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")

_WATCH_SECONDS = 1.0
_IDLE_SECONDS = 5.0  # after which a process releases the data
_SMALL = 2**25  # bytes up to which each process gets its own copy
_MAPPED = "16K"  # larger arrays are in a memory-mapped file
_ROUND = 8  # tasks for each process
_MOST_LOSSES = 3  # of processes in succession, without a result between them


class Shared(Generic[Data]):
    """Data for many tasks. A process keeps it, with whatever tasks cache in it, while there is work.

    Pass the same object to successive runs to reuse the caches.
    """

    def __init__(self, value: Data, token: str | None = None) -> None:
        self._value = value
        self.token = token or uuid4().hex
        self._of_thread = {get_ident(): value}
        self._stored: tuple[Any, Any] | None = None

    def value(self) -> Data:
        """The value for this thread; no other thread changes it."""
        thread = get_ident()
        if thread not in self._of_thread:
            self._of_thread[thread] = _copy_sharing_arrays(self._value)
        return self._of_thread[thread]

    def ticket(self) -> Any:
        """What is sent with a task instead of the data."""
        backend, _ = get_active_backend()
        if getattr(backend, "supports_sharedmem", False):
            return self
        store = _store_of(backend)
        if self._stored is None or self._stored[0] is not store:
            self._stored = (store, _put(self, store))
        return self._stored[1]

    def is_small(self) -> bool:
        """Whether each process gets its own copy, rather than a memory map."""
        arrays: list[Any] = []
        _WithoutArrays(io.BytesIO(), arrays).dump(self._value)
        return sum(array.nbytes for array in arrays) <= _SMALL

    def send_again(self) -> None:
        """Assume that the sent copy is lost."""
        self._stored = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self._value, self.token)


def n_processes(n_jobs: int | None) -> int:
    """The number of parallel processes; None is joblib's default: one, or that of its context."""
    return int(effective_n_jobs(n_jobs))


def as_done(
    work: Callable[[Data, Item], Result],
    items: Sequence[Item],
    *,
    shared: Shared[Data],
    n_jobs: int | None = None,
    effort: Callable[[Item], float] | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """`(position, work(value, item))` of every item as soon as it is done, in any order.

    Parameters
    ----------
    work : a module-level function. Its result must not depend on earlier tasks.
    shared : holds the value that all items need.
    n_jobs : see `n_processes`; 1 is this process.
    effort : estimated effort of an item; the largest are started first.
    """
    if len(items) < 2 or n_processes(n_jobs) == 1:
        for position, item in enumerate(items):
            yield _numbered(work, shared, position, item)
        return
    pending = dict(enumerate(items))
    if effort is not None:
        pending = dict(sorted(pending.items(), key=lambda pair: -effort(pair[1])))
    n_losses = 0
    while pending:
        try:
            with one_blas_thread():  # the workers may be threads of this process
                for position, result in _spread(work, pending, shared, n_jobs):
                    del pending[position]
                    n_losses = 0
                    yield position, result
        except Exception as error:
            n_losses += 1
            if n_losses > _MOST_LOSSES or not _is_loss(error):
                raise
            shared.send_again()


def _spread(
    work: Callable[[Data, Item], Result],
    pending: Mapping[int, Item],
    shared: Shared[Data],
    n_jobs: int | None,
) -> Iterator[tuple[int, Result]]:
    ticket = shared.ticket()
    tasks = [delayed(_numbered)(work, ticket, position, item) for position, item in pending.items()]
    backend, _ = get_active_backend()
    if backend.supports_return_generator:
        # loky warns when it replaces a process whose memory grows.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        is_local = type(backend).__name__ == "LokyBackend"  # joblib starts processes on this machine
        watch = {"initializer": _end_with, "initargs": (os.getpid(),)} if is_local else {}
        options = {"n_jobs": n_jobs, "return_as": "generator_unordered", "max_nbytes": _MAPPED, **watch}
        yield from Parallel(**options)(tasks)
        return
    size = _ROUND * n_processes(n_jobs)  # Ray returns all results at once, so tasks are sent in rounds
    with Parallel(n_jobs=n_jobs) as parallel:
        for start in range(0, len(tasks), size):
            yield from parallel(tasks[start : start + size])


def _is_loss(error: Exception) -> bool:
    """Whether a process was lost, rather than the work having failed."""
    from_ray = type(error).__module__ == "ray.exceptions" and "Died" in type(error).__name__
    return isinstance(error, (BrokenExecutor, CancelledError)) or from_ray


# --- how data travel ----------------------------------------------------------------------------------


def _store_of(backend: Any) -> Any:
    """The object store of a cluster: the Dask client, or Ray; None on this machine."""
    if type(backend).__module__.startswith("ray."):
        import ray

        return ray
    return getattr(backend, "client", None)


def _put(shared: Shared[Any], store: Any) -> Any:
    if store is None:
        packed = pickle.dumps(shared) if shared.is_small() else b""
        # Only joblib can send what is defined in a notebook.
        is_whole = packed and b"__main__" not in packed
        return _Packed(np.frombuffer(packed, dtype=np.uint8), shared.token) if is_whole else shared
    if hasattr(store, "scatter"):
        # Sent to every worker, so that losing one does not lose the data.
        return store.scatter(shared, broadcast=True, hash=False)
    return _InRay(store.put(shared), shared.token)


class _Packed:
    """Small data as one array, which joblib puts into one file that is read once."""

    def __init__(self, packed: Any, token: str) -> None:
        self._packed, self._token = packed, token

    def result(self) -> Any:
        return _received.get(self._token) or pickle.loads(self._packed)


class _InRay:
    """A reference to Ray's store, wrapped because Ray does not resolve bare ones in batches of tasks."""

    def __init__(self, reference: Any, token: str) -> None:
        self._reference, self._token = reference, token

    def result(self) -> Any:
        import ray

        return _received.get(self._token) or ray.get(self._reference)


# --- in the worker processes -----------------------------------------------------------------------------

_received: dict[str, Shared[Any]] = {}  # by token
_timers: list[Timer] = []  # at most one, which releases the data


def _end_with(parent: int) -> None:
    """End this process when its parent is gone, even by `kill -9`; it might wait for a message forever."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    if sys.platform != "win32":  # where the parent's id does not change
        Thread(target=watch, daemon=True).start()


def _numbered(work: Callable[[Any, Any], Any], ticket: Any, position: int, item: Any) -> tuple[int, Any]:
    """One task, without nested parallelism."""
    # If only one process remains, joblib works in this one, where Dask's data is still a future.
    shared = ticket if isinstance(ticket, Shared) else ticket.result()
    _keep_data()
    try:
        with parallel_config(backend="sequential"), one_blas_thread():
            return position, work(shared.value(), item)
    finally:
        _release_when_idle()


def _arrived(value: Any, token: str) -> Shared[Any]:
    """The data received earlier under this token, with its caches; otherwise the new copy."""
    known = _received.get(token)
    if known is None:
        _received.clear()  # of an earlier run
        known = _received[token] = Shared(value, token)
    return known


def _keep_data() -> None:
    while _timers:
        _timers.pop().cancel()


def _release_when_idle() -> None:
    """Release the data after a while without tasks; a process outlives the run that started it."""
    if _received:
        _keep_data()
        timer = Timer(_IDLE_SECONDS, _received.clear)
        timer.daemon = True
        timer.start()
        _timers.append(timer)


def _copy_sharing_arrays(value: Data) -> Data:
    """A deep copy that shares its arrays with the original."""
    arrays: list[Any] = []
    copied = io.BytesIO()
    _WithoutArrays(copied, arrays).dump(value)
    copied.seek(0)
    return _WithArrays(copied, arrays).load()


class _WithoutArrays(pickle.Pickler):
    def __init__(self, file: io.BytesIO, arrays: list[Any]) -> None:
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self._arrays = arrays

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, np.ndarray):
            return None
        self._arrays.append(value)
        return len(self._arrays) - 1


class _WithArrays(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, arrays: list[Any]) -> None:
        super().__init__(file)
        self._arrays = arrays

    def persistent_load(self, index: Any) -> Any:
        return self._arrays[index]
