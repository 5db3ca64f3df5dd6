"""Work shared out over processes, here or on other machines. The only module that knows joblib.

joblib runs on this machine by itself, and on a cluster within `joblib.parallel_config(backend="dask")` or
`"ray"`; nothing else in this library knows where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from threading import Timer
from typing import Any, Generic, TypeVar
from uuid import uuid4

from joblib import Parallel, delayed, parallel_config

from dcd.progress import watched
from dcd.threads import one_blas_thread

Data = TypeVar("Data")
Item = TypeVar("Item")
Result = TypeVar("Result")

_IDLE_SECONDS = 5.0  # after which a process lets go of the data


class Shared(Generic[Data]):
    """What many tasks need. A process keeps it, with all that tasks leave in it, while there is work.

    Pass the same one to several runs that follow each other: they go on with what is known.
    """

    def __init__(self, value: Data) -> None:
        self.value = value
        self._token = uuid4().hex

    def __reduce__(self) -> tuple[Any, ...]:
        return _arrived, (self._token, self.value)


def run(
    work: Callable[[Data, Item], Result],
    items: Sequence[Item],
    *,
    shared: Shared[Data],
    n_jobs: int | None = None,
    label: str | None = None,
) -> Iterator[Result]:
    """`work(shared.value, item)` for all items: each result once it and all before it are there.

    Parameters
    ----------
    work : a function of a module. Its result must not depend on what was done before it.
    n_jobs : processes; None leaves it to joblib: one, or what `joblib.parallel_config` says.
    label : of a progress bar, or None.
    """
    tasks = (delayed(_alone)(work, shared, item) for item in items)
    done = Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    yield from watched(done, label, total=len(items))


def as_done(
    work: Callable[[Data, Item], Result],
    items: Sequence[Item],
    *,
    shared: Shared[Data],
    n_jobs: int | None = None,
) -> Generator[tuple[int, Result], None, None]:
    """As `run`, but `(position, result)` of each as soon as it is there, whatever those before it do."""
    tasks = (delayed(_numbered)(work, shared, *numbered) for numbered in enumerate(items))
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)


def _numbered(
    work: Callable[[Any, Any], Any], shared: Shared[Any], position: int, item: Any
) -> tuple[int, Any]:
    return position, _alone(work, shared, item)


def _alone(work: Callable[[Any, Any], Any], shared: Shared[Any], item: Any) -> Any:
    """One piece of work, with nothing parallel within it."""
    _stay()
    try:
        with parallel_config(backend="sequential"), one_blas_thread():
            return work(shared.value, item)
    finally:
        _leave_soon()


# --- in a process that works for another one --------------------------------------------------------------

_here: dict[str, Shared[Any]] = {}
_leaving: list[Timer] = []  # at most one, which lets go of what is here


def _arrived(token: str, value: Any) -> Shared[Any]:
    """What came under this token before, with what tasks left in it; the new copy if nothing did."""
    if token not in _here:
        _here.clear()  # of a run before
        _here[token] = Shared(value)
    return _here[token]


def _stay() -> None:
    while _leaving:
        _leaving.pop().cancel()


def _leave_soon() -> None:
    """Let go of the data if nothing comes for a while; processes outlive a run."""
    if _here:
        _stay()
        _leaving.append(Timer(_IDLE_SECONDS, _here.clear))
        _leaving[-1].daemon = True
        _leaving[-1].start()
