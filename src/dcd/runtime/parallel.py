"""Work shared out over processes, here or on other machines. The only module that knows joblib.

joblib runs on this machine by itself, and on a cluster within `joblib.parallel_config(backend="dask")` or
`"ray"`; nothing else in this library knows where it runs. Two things are added to what joblib does.

* What all tasks need is sent to a process once, not with each task, and stays there with what tasks leave in
  it. On this machine joblib maps large arrays from a file; Dask and Ray have a store of their own.
* A process that is lost (killed, out of memory, its machine switched off) does not end the run.
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
_IDLE_SECONDS = 5.0  # after which a process lets go of the data
_SMALL = 2**25  # bytes of data of which each process has a copy of its own
_MAPPED = "16K"  # arrays from this size on are in a file that processes of this machine map
_ROUND = 8  # tasks for each process
_MOST_LOSSES = 3  # of processes, one after the other without a result between them


class Shared(Generic[Data]):
    """What many tasks need. A process keeps it, with all that tasks leave in it, while there is work.

    Pass the same one to several runs that follow each other: they go on with what is known.
    """

    def __init__(self, value: Data, token: str | None = None) -> None:
        self._value = value
        self.token = token or uuid4().hex
        self._of_thread = {get_ident(): value}
        self._stored: tuple[Any, Any] | None = None

    def value(self) -> Data:
        """The value for this thread, which no other thread changes."""
        thread = get_ident()
        if thread not in self._of_thread:
            self._of_thread[thread] = _with_the_same_arrays(self._value)
        return self._of_thread[thread]

    def ticket(self) -> Any:
        """What is sent with a task in place of this."""
        backend, _ = get_active_backend()
        if getattr(backend, "supports_sharedmem", False):
            return self
        store = _store_of(backend)
        if self._stored is None or self._stored[0] is not store:
            self._stored = (store, _put(self, store))
        return self._stored[1]

    def is_small(self) -> bool:
        """Whether a process may as well have a copy of its own, rather than map large arrays."""
        arrays: list[Any] = []
        _WithoutArrays(io.BytesIO(), arrays).dump(self._value)
        return sum(array.nbytes for array in arrays) <= _SMALL

    def send_again(self) -> None:
        """Take what was sent for lost."""
        self._stored = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self._value, self.token)


def n_processes(n_jobs: int | None) -> int:
    """How many processes work at the same time; None leaves it to joblib: one, or what its context says."""
    return int(effective_n_jobs(n_jobs))


def as_done(
    work: Callable[[Data, Item], Result],
    items: Sequence[Item],
    *,
    shared: Shared[Data],
    n_jobs: int | None = None,
    effort: Callable[[Item], float] | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """`(position, work(value, item))` of every item as soon as it is there, in any order.

    Parameters
    ----------
    work : a function of a module. Its result must not depend on what was done before it.
    shared : holds the value that all items need.
    n_jobs : as of `n_processes`; 1 is this process.
    effort : of an item, if that can be told. Those with most begin first, so that none is left over at the
        end for one process while the others wait.
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
            with one_blas_thread():  # here as well, for those who work may be threads
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
        # loky takes a process whose memory grows for one that leaks, starts another in its place, and warns.
        warnings.filterwarnings("ignore", "A worker stopped while some jobs", UserWarning)
        ours = {"initializer": _end_with, "initargs": (os.getpid(),)} if _is_local(backend) else {}
        how = {"n_jobs": n_jobs, "return_as": "generator_unordered", "max_nbytes": _MAPPED, **ours}
        yield from Parallel(**how)(tasks)
        return
    size = _ROUND * n_processes(n_jobs)  # Ray gives results all at once, so it is asked for some at a time
    with Parallel(n_jobs=n_jobs) as parallel:
        for start in range(0, len(tasks), size):
            yield from parallel(tasks[start : start + size])


def _is_local(backend: Any) -> bool:
    """Whether joblib starts the processes itself, on this machine."""
    return type(backend).__name__ == "LokyBackend"


def _is_loss(error: Exception) -> bool:
    """Whether a process was lost, and with it work or data, rather than that the work failed."""
    from_ray = type(error).__module__ == "ray.exceptions" and "Died" in type(error).__name__
    return isinstance(error, (BrokenExecutor, CancelledError)) or from_ray


# --- how data travel ----------------------------------------------------------------------------------


def _store_of(backend: Any) -> Any:
    """What keeps data for a cluster: the client of Dask, or Ray; None for processes of this machine."""
    if type(backend).__module__.startswith("ray."):
        import ray

        return ray
    return getattr(backend, "client", None)


def _put(shared: Shared[Any], store: Any) -> Any:
    if store is None:
        packed = pickle.dumps(shared) if shared.is_small() else b""
        # What is defined in a notebook only joblib can send.
        is_whole = packed and b"__main__" not in packed
        return _Packed(np.frombuffer(packed, dtype=np.uint8), shared.token) if is_whole else shared
    if hasattr(store, "scatter"):
        # On every worker from the start, so that none of them can take the only copy with it.
        return store.scatter(shared, broadcast=True, hash=False)
    return _InRay(store.put(shared), shared.token)


class _Packed:
    """Small data in one piece, which joblib puts into one file: tasks pass quickly, and it is read once."""

    def __init__(self, packed: Any, token: str) -> None:
        self._packed, self._token = packed, token

    def result(self) -> Any:
        return _here.get(self._token) or pickle.loads(self._packed)


class _InRay:
    """A reference to what is in Ray's store. A bare one would not be looked up within a batch of tasks."""

    def __init__(self, reference: Any, token: str) -> None:
        self._reference, self._token = reference, token

    def result(self) -> Any:
        import ray

        return _here.get(self._token) or ray.get(self._reference)


# --- where the work is done ------------------------------------------------------------------------------

_here: dict[str, Shared[Any]] = {}  # what other processes sent
_leaving: list[Timer] = []  # at most one, which lets go of it


def _end_with(parent: int) -> None:
    """End this process when the one that started it has gone, be it by `kill -9`.

    Otherwise it may wait for the rest of a message for ever, with the data and whatever it writes to.
    """

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_WATCH_SECONDS)
        os._exit(1)

    if sys.platform != "win32":  # where a process does not learn of it
        Thread(target=watch, daemon=True).start()


def _numbered(work: Callable[[Any, Any], Any], ticket: Any, position: int, item: Any) -> tuple[int, Any]:
    return position, _alone(work, ticket, item)


def _alone(work: Callable[[Any, Any], Any], ticket: Any, item: Any) -> Any:
    """One piece of work, with nothing parallel within it."""
    # joblib works here if only one process is left, and what is with Dask is then still a promise.
    shared = ticket if isinstance(ticket, Shared) else ticket.result()
    _stay()
    try:
        with parallel_config(backend="sequential"), one_blas_thread():
            return work(shared.value(), item)
    finally:
        _leave_soon()


def _arrived(value: Any, token: str) -> Shared[Any]:
    """What came under this token before, with what tasks left in it; the new copy if nothing did."""
    known = _here.get(token)
    if known is None:
        _here.clear()  # of a run before
        known = _here[token] = Shared(value, token)
    return known


def _stay() -> None:
    while _leaving:
        _leaving.pop().cancel()


def _leave_soon() -> None:
    """Let go of the data if nothing comes for a while; a process outlives the run that started it."""
    if _here:
        _stay()
        timer = Timer(_IDLE_SECONDS, _here.clear)
        timer.daemon = True
        timer.start()
        _leaving.append(timer)


def _with_the_same_arrays(value: Data) -> Data:
    """A copy that can be changed without changing the other, but for arrays, which both have."""
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
