"""Parallel work by joblib, on this machine or within `joblib.parallel_config(backend="dask")` or `"ray"`.

Two additions to joblib:

* Data that all tasks need are sent to each process once and stay there with its caches. On this machine
  joblib maps large arrays from a file; Dask and Ray have an object store.
* A lost process (killed, out of memory, machine switched off) does not end the run. If all of a cluster are
  lost, the run waits for others, but not forever.
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
from contextlib import contextmanager, suppress
from copy import deepcopy
from threading import Event, Thread, Timer, get_ident
from typing import Any, Generic, TypeVar
from uuid import uuid4

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from joblib.parallel import get_active_backend

from dcd.runtime.ray_tasks import results_on_ray
from dcd.runtime.threads import one_blas_thread

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")

_WATCH_SECONDS = 1.0
_IDLE_SECONDS = 5.0  # after which a process releases the data
_SEND_SECONDS = 20.0  # for data to arrive at all workers of a cluster, besides the time for their bytes
_SEND_BYTES = 2**22  # per second
_WORKER_SECONDS = 60.0  # for workers to join a cluster that has lost all of them; joblib's limit if longer
_SMALL = 2**25  # bytes up to which each process gets its own copy
_MAPPED = "16K"  # larger arrays are in a memory-mapped file
_MOST_LOSSES = 3  # of processes in succession, without a result between them
_LOSSES = {  # errors of a cluster that do not come from the work, by library
    "distributed": ("KilledWorker",),
    "ray": (
        "GetTimeoutError",
        "NodeDiedError",
        "ObjectLostError",
        "OutOfMemoryError",
        "RayActorError",
        "WorkerCrashedError",
    ),
}


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
        """The value for this thread, which shares only its arrays with that of another thread."""
        thread = get_ident()
        if thread not in self._of_thread:
            arrays = _Arrays(self._value).found
            self._of_thread[thread] = deepcopy(self._value, {id(array): array for array in arrays})
        return self._of_thread[thread]

    def ticket(self) -> Any:
        """A reference that is sent with a task instead of the data."""
        backend, _ = get_active_backend()
        if getattr(backend, "supports_sharedmem", False):
            return self
        store = getattr(backend, "client", None)  # the Dask client; None on this machine
        if _is_ray(backend):
            import ray

            store = ray
        if hasattr(store, "scatter"):
            _await_workers(store, _patience(backend))
        if self._stored is None or self._stored[0] is not store:
            self._stored = (store, self._put(store))
        return self._stored[1]

    def _put(self, store: Any) -> Any:
        """The ticket of the data, put into the object store of a cluster if there is one."""
        if hasattr(store, "scatter"):
            return _scattered(store, self)
        if store is not None:
            return _Ticket(store.put(self), self.token, self.sending_seconds())
        is_small = self.n_bytes() <= _SMALL
        packed = pickle.dumps(self) if is_small else b""
        # Only joblib can send objects that are defined in a notebook.
        is_whole = packed and b"__main__" not in packed
        return _Ticket(np.frombuffer(packed, dtype=np.uint8), self.token) if is_whole else self

    def n_bytes(self) -> int:
        """The size of all arrays in the data."""
        return sum(array.nbytes for array in _Arrays(self._value).found)

    def sending_seconds(self) -> float:
        """How long the data may take to arrive at a worker of a cluster."""
        return _SEND_SECONDS + self.n_bytes() / _SEND_BYTES

    def send_again(self) -> None:
        """Assume that the sent copy is lost."""
        self._stored = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self._value, self.token)


def n_processes(n_jobs: int | None) -> int:
    """The number of parallel processes; None means joblib's default: one, or that of its context."""
    try:
        return int(effective_n_jobs(n_jobs))
    except KeyError:  # Ray has lost all machines with cores, for which tasks can wait
        return 2


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
    tasks = [(work, ticket, position, item) for position, item in pending.items()]
    backend, _ = get_active_backend()
    if _is_ray(backend):
        import ray

        options = getattr(backend, "ray_remote_args", None) or {}
        at_once, limit = n_processes(n_jobs), _patience(backend)
        yield from results_on_ray(ray, _numbered, tasks, n_at_once=at_once, limit=limit, options=options)
        return
    # loky warns when it replaces a process whose memory grows.
    warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
    how: dict[str, Any] = {"n_jobs": n_jobs, "return_as": "generator_unordered", "max_nbytes": _MAPPED}
    kind = type(backend).__name__
    if kind in ("LokyBackend", "MultiprocessingBackend"):  # joblib starts processes on this machine
        how |= {"initializer": _end_with, "initargs": (os.getpid(),)}
    if kind == "MultiprocessingBackend":  # it would wait forever for a lost process
        how |= {"n_jobs": n_processes(n_jobs), "backend": "loky"}
    elif not backend.supports_return_generator:
        how["return_as"] = "list"
    parallel = Parallel(**how)
    with _while_there_are_workers(parallel, backend):
        yield from parallel(delayed(_numbered)(*task) for task in tasks)


def _is_ray(backend: Any) -> bool:
    return type(backend).__module__.startswith("ray.")


def _is_loss(error: Exception) -> bool:
    """Whether a process was lost, rather than the work having failed."""
    kinds = ((kind.__module__.partition(".")[0], kind.__name__) for kind in type(error).__mro__)
    of_cluster = any(name in _LOSSES.get(library, ()) for library, name in kinds)
    return isinstance(error, (BrokenExecutor, CancelledError)) or of_cluster


# --- a Dask cluster that has lost its workers ------------------------------------------------------------


def _patience(backend: Any) -> float:
    """How many seconds to wait for workers."""
    return max(_WORKER_SECONDS, getattr(backend, "wait_for_workers_timeout", None) or 0.0)


def _has_workers(client: Any) -> bool:
    with suppress(Exception):  # of a scheduler that does not answer
        return bool(client.ncores(callback_timeout=_SEND_SECONDS))
    return False


def _no_workers(limit: float) -> TimeoutError:
    return TimeoutError(
        f"the cluster has had no worker for {limit:.0f} seconds. Start workers and run it again: with a "
        "checkpoint, it resumes where it stopped. For a longer limit, use "
        "parallel_config(backend='dask', wait_for_workers_timeout=600)."
    )


def _await_workers(client: Any, limit: float) -> None:
    """Wait for a worker; a `TimeoutError` if none comes."""
    until = time.monotonic() + limit
    while not _has_workers(client):
        if time.monotonic() > until:
            raise _no_workers(limit)
        time.sleep(0.2)


@contextmanager
def _while_there_are_workers(parallel: Parallel, backend: Any) -> Iterator[None]:
    """End a wait for results, by its `timeout`, when a cluster has had no worker for too long."""
    client, limit = getattr(backend, "client", None), _patience(backend)
    finished, given_up = Event(), Event()

    def watch() -> None:
        seen = time.monotonic()
        while not finished.wait(_WATCH_SECONDS) and not given_up.is_set():
            if _has_workers(client):
                seen = time.monotonic()
            elif time.monotonic() - seen > limit:
                given_up.set()
                parallel.timeout = 0.0

    if client is not None:
        Thread(target=watch, daemon=True).start()
    try:
        yield
    except Exception as error:  # joblib's TimeoutError is that of multiprocessing
        if not given_up.is_set():
            raise
        raise _no_workers(limit) from error
    finally:
        finished.set()


def _scattered(client: Any, shared: Shared[Any]) -> Any:
    """Data sent to one Dask worker, from which the others fetch them with their first task.

    Sending them to all (`broadcast=True`) hangs if one of these is lost meanwhile. If the one worker is lost,
    Dask raises one of several errors or waits forever, so sending is done in a separate thread, which is
    abandoned after a time that should have been enough.
    """
    outcome: list[Any] = []
    errors: list[BaseException] = []

    def send() -> None:
        try:
            outcome.append(client.scatter(shared, hash=False))
        except BaseException as error:
            errors.append(error)

    sender = Thread(target=send, daemon=True)
    sender.start()
    sender.join(_SEND_SECONDS)
    if sender.is_alive():
        sender.join(shared.sending_seconds() - _SEND_SECONDS)
    if outcome:
        return outcome[0]
    if errors and not isinstance(errors[0], (KeyError, OSError, TimeoutError, CancelledError)):
        raise errors[0]
    lost = BrokenExecutor("a worker was lost while data were sent to it, or they took too long")
    raise lost from (errors[0] if errors else None)


class _Arrays(pickle.Pickler):
    """All arrays inside a value."""

    def __init__(self, value: Any) -> None:
        super().__init__(io.BytesIO(), protocol=pickle.HIGHEST_PROTOCOL)
        self.found: list[npt.NDArray[Any]] = []
        self.dump(value)

    def persistent_id(self, value: Any) -> int | None:
        if not isinstance(value, np.ndarray):
            return None
        self.found.append(value)
        return len(self.found)


class _Ticket:
    """Data in transit to a process, which unpacks them unless it already has them.

    Small data are one array, which joblib puts into one file that is read once. A reference to Ray's store is
    wrapped because Ray does not resolve bare ones in batches of tasks.
    """

    def __init__(self, content: Any, token: str, limit: float | None = None) -> None:
        self._content, self._token, self._limit = content, token, limit

    def result(self) -> Any:
        if self._token in _received:
            return _received[self._token]
        if isinstance(self._content, np.ndarray):
            return pickle.loads(self._content.data)
        import ray

        return ray.get(self._content, timeout=self._limit)


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
