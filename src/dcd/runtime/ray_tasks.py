"""Work on a Ray cluster, with a limit for every wait.

Ray's backend for joblib is a pool of actors: losing one loses the results of all, new ones take
seconds to start, and its waits have no limit. Ray's own tasks are independent: Ray repeats those of a lost
process in another one, and returns each result as soon as it is available.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any

_WATCH_SECONDS = 1.0
_REPETITIONS = 3  # of a task whose process was lost


def results_on_ray(
    ray: Any,
    function: Callable[..., Any],
    tasks: Sequence[tuple[Any, ...]],
    *,
    n_at_once: int,
    limit: float,
    options: Mapping[str, Any],
) -> Iterator[Any]:
    """`function(*task)` of all tasks, as they are done.

    Raises `TimeoutError` if the cluster has no machine with a core for `limit` seconds. `ray` is the module,
    and `options` are those of `ray.remote`, such as the number of cores for each task.
    """
    remote = ray.remote(**{"max_retries": _REPETITIONS, **options})(function)
    waiting, seen = iter(tasks), time.monotonic()
    running = [remote.remote(*task) for task in islice(waiting, n_at_once)]
    try:
        while running:
            done, running = ray.wait(running, timeout=_WATCH_SECONDS)
            running += [remote.remote(*task) for task in islice(waiting, len(done))]
            if done or _has_cores(ray):
                seen = time.monotonic()
            elif time.monotonic() - seen > limit:
                raise _no_machines(limit)
            for reference in done:
                yield _result(ray, reference, limit)
    finally:
        for reference in running:
            with suppress(Exception):  # of a cluster that is gone
                ray.cancel(reference, force=True)


def _result(ray: Any, reference: Any, limit: float) -> Any:
    """The result of a finished task; raises the error of its work, if any, as it was raised there."""
    try:
        return ray.get(reference, timeout=limit)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, Exception) and not isinstance(error.cause, ray.exceptions.RayError):
            raise error.cause from error
        raise


def _has_cores(ray: Any) -> bool:
    with suppress(Exception):  # of a head node that does not answer
        return any(node["Alive"] and node["Resources"].get("CPU") for node in ray.nodes())
    return False


def _no_machines(limit: float) -> TimeoutError:
    return TimeoutError(
        f"the Ray cluster has had no machine with a core for {limit:.0f} seconds. Start one and run it "
        "again: with a checkpoint, it resumes where it stopped."
    )
