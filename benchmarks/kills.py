"""Workers killed at random moments of fits: every result must equal that of a run without kills.

    PYTHONPATH=tests python benchmarks/kills.py loky [--kills 100] [--seed 0]
    PYTHONPATH=tests python benchmarks/kills.py dask [--kills 100] [--seed 0]
    PYTHONPATH=tests python benchmarks/kills.py ray [--kills 100] [--seed 0]

With `loky`, `n_jobs=2` on this machine; with `dask`, a scheduler and three workers in separate processes,
each of which is replaced when killed; with `ray`, a cluster of three cores on this machine, whose processes
are killed while they start, work or wait. Fits alternate with resamples. Prints kills, runs, wrong answers
and errors; a run of more than five minutes ends it.
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import os
import random
import re
import signal
import sys
import tempfile
import threading
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from joblib import parallel_config
from support.tables import collider_with_bystanders

import dcd

SECONDS = 300  # for a run, with its kills
TABLE = collider_with_bystanders(200, 0)
WORK: dict[str, Callable[[int | None], Any]] = {
    "RobustDCD": lambda n_jobs: _told(dcd.RobustDCD(n_jobs=n_jobs, progress=False).fit(TABLE)),
    "DCD": lambda n_jobs: _told(dcd.DCD(n_jobs=n_jobs, progress=False).fit(TABLE)),
    "stability": lambda n_jobs: dcd.stability(
        dcd.RobustDCD(), TABLE, n_resamples=8, n_jobs=n_jobs, progress=False
    ),
}


def _told(model: Any) -> tuple[Any, ...]:
    probabilities = model.probabilities_
    return model.cpdag_, str(model.diagnostics_), None if probabilities is None else probabilities.to_csv()


class Local:
    """Processes of loky on this machine."""

    n_jobs: int | None = 2
    commands = re.compile(rb"popen_loky_posix")

    def kill_one(self, r: random.Random) -> bool:
        """Kill one of the processes, if there are any."""
        workers = [pid for pid in _descendants(os.getpid()) if self.commands.search(_command(pid))]
        if workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(r.choice(workers), signal.SIGKILL)
                return True
        return False

    def prepare(self) -> None:
        """Nothing: lost processes are replaced."""


class OnRay(Local):
    """A cluster of Ray with three cores on this machine."""

    n_jobs = None
    commands = re.compile(rb"^(ray::PoolActor|ray::IDLE|[^\0]*/bin/python[^\0]*\0.*default_worker\.py)")

    def __init__(self) -> None:
        import ray
        from ray.util.joblib import register_ray

        register_ray()
        paths = {"PYTHONPATH": os.pathsep.join(sys.path[1:])}
        ray.init(
            num_cpus=3,
            include_dashboard=False,
            log_to_driver=False,
            runtime_env={"env_vars": paths},
            # Ray waits a minute for a process that was killed while it started.
            _system_config={"worker_register_timeout_seconds": 10},
        )


class OnDask:
    """A cluster of Dask with three workers."""

    n_jobs = None

    def __init__(self, folder: Path) -> None:
        from runtime.test_cluster import Cluster

        self._cluster = Cluster(folder)
        self.prepare()

    def kill_one(self, r: random.Random) -> bool:
        """Kill one of the workers."""
        self._cluster.kill(r.choice(self._cluster.workers))
        return True

    def prepare(self) -> None:
        """Start workers in place of those that were killed."""
        while len(self._cluster.workers) < 3:
            self._cluster.add_worker(1)
        self._cluster.wait()

    def close(self) -> None:
        """End all processes."""
        self._cluster.close()


def _descendants(pid: int) -> Iterator[int]:
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):  # of a process that has ended
            for child in map(int, file.read_text().split()):
                yield child
                yield from _descendants(child)


def _command(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    return b""


@contextlib.contextmanager
def killing(where: Local | OnDask, r: random.Random, longest: float) -> Iterator[list[float]]:
    """Kill one or two workers while the block runs; yields the times of the kills."""
    moments: list[float] = []
    finished, begun = threading.Event(), time.monotonic()
    waits = [r.uniform(0.0, longest) for _ in range(r.choice([1, 1, 2]))]

    def kill() -> None:
        for wait in waits:
            until = begun + wait
            while not finished.wait(0.01):
                if time.monotonic() > until and where.kill_one(r):
                    moments.append(time.monotonic() - begun)
                    break

    killer = threading.Thread(target=kill, daemon=True)
    killer.start()
    try:
        yield moments
    finally:
        finished.set()
        killer.join()


def run(where: Local | OnDask, n_kills: int, seed: int) -> Counter[str]:
    """Runs until there are enough kills."""
    r, counts = random.Random(seed), Counter[str]()
    expected = {name: work(1) for name, work in WORK.items()}
    durations = dict.fromkeys(WORK, 2.0)
    where.prepare()
    for work in WORK.values():
        work(where.n_jobs)  # the first run of a process loads the libraries
    while counts["kills"] < n_kills:
        name = r.choice(list(WORK))
        where.prepare()
        faulthandler.dump_traceback_later(SECONDS, exit=True)
        begun = time.monotonic()
        try:
            with killing(where, r, durations[name]) as moments:
                found = WORK[name](where.n_jobs)
            counts["wrong answers"] += found != expected[name]
        except Exception as error:
            counts["errors"] += 1
            print(f"{name}: {type(error).__name__}: {error}", *moments, flush=True)
        faulthandler.cancel_dump_traceback_later()
        if not moments:
            durations[name] = time.monotonic() - begun
        counts["runs"] += 1
        counts["kills"] += len(moments)
        print(f"{counts['kills']} kills, {name} {time.monotonic() - begun:.1f} s", flush=True)
    return counts


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("where", choices=["loky", "dask", "ray"])
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        where: Local | OnDask = Local()
        if options.where == "dask":
            where = OnDask(Path(folder))
            stack.callback(where.close)
            stack.enter_context(parallel_config(backend="dask", wait_for_workers_timeout=60))
        elif options.where == "ray":
            where = OnRay()
            stack.enter_context(parallel_config(backend="ray", n_jobs=-1))
        counts = run(where, options.kills, options.seed)
    names = ("kills", "runs", "wrong answers", "errors")
    print(f"{options.where}, seed {options.seed}: " + ", ".join(f"{counts[name]} {name}" for name in names))
    return 1 if counts["wrong answers"] or counts["errors"] else 0


if __name__ == "__main__":
    sys.exit(main())
