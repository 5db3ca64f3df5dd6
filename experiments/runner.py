"""Run the tasks without a row, some at a time, and write each row when it is done."""

from __future__ import annotations

import queue
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tqdm import tqdm

import dcd
from dcd.evaluation.baselines import METHODS, Outcome, Worker
from dcd.evaluation.baselines.registry import find_method
from dcd.table.dataset import TableOptions
from experiments.forecast import Forecast
from experiments.plan import Task
from experiments.settings import Problem
from experiments.store import RESULTS, appending, forget, key_of, path_of, read_rows, setting_values

Row = dict[str, Any]
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} rows [{elapsed}{postfix}]"


def run_tasks(
    experiment: str,
    tasks: Sequence[Task],
    *,
    jobs: int,
    time_limit: float,
    retry: bool = False,
    redo: bool = False,
    folder: Path = RESULTS,
) -> int:
    """Run missing tasks and return how many rows were written.

    `retry` repeats tasks without a graph, `redo` all tasks; their existing rows are dropped first.
    """
    for method in {task.method for task in tasks}:
        find_method(method)  # a missing library stops the run here, not in the middle
    known = read_rows(folder)
    again = {
        key
        for key in map(key_of, tasks)
        if key in known and (redo or (retry and known[key]["status"] != "ok"))
    }
    forget(again, folder)
    missing = [task for task in tasks if key_of(task) not in known.keys() - again]
    forecast = Forecast(known.values(), missing, jobs)
    with (
        appending(path_of(experiment, folder)) as appender,
        tqdm(total=len(tasks), initial=len(tasks) - len(missing), desc=experiment, bar_format=_BAR) as bar,
        _rows_of(missing, jobs, time_limit) as rows,
    ):
        failures = []
        for task, row, seconds in rows:
            appender.append(row)
            if row["status"] != "ok":
                failures.append(f"{row['method']} {row['status']}: {row['reason']}")
            forecast.finished(task, seconds)
            bar.set_postfix_str(forecast.time_left(), refresh=False)
            bar.update()
    _tell(failures)
    return len(missing)


def _tell(failures: Sequence[str]) -> None:
    """Report how many runs gave no graph, and why the first did not."""
    if failures:
        print(f"{len(failures)} run(s) without a graph, the first: {failures[0]}", file=sys.stderr)
        print("They are rows with their reason; --retry runs them again.", file=sys.stderr)


@contextmanager
def _rows_of(
    tasks: Sequence[Task], jobs: int, time_limit: float
) -> Iterator[Iterator[tuple[Task, Row, float]]]:
    """Rows in the order in which they are done, from `jobs` threads.

    Each thread has a worker for every outside library, so that the peak memory of a fit does not depend on
    libraries loaded for others. Leaving the block, even by an interrupt, stops the workers.
    """
    waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
    done: queue.SimpleQueue[tuple[Task, Row, float] | BaseException] = queue.SimpleQueue()
    extras = {METHODS[task.method].extra for task in tasks}
    workers = [{extra: Worker() for extra in extras} for _ in range(jobs)]
    stopping = threading.Event()
    for task in tasks:
        waiting.put(task)

    def serve(own: dict[str | None, Worker]) -> None:
        try:
            while not stopping.is_set():
                task = waiting.get_nowait()
                worker = own[METHODS[task.method].extra]
                started = time.perf_counter()
                done.put((task, run_task(task, worker, time_limit), time.perf_counter() - started))
        except queue.Empty:
            pass
        except BaseException as error:
            done.put(error)

    def results() -> Iterator[tuple[Task, Row, float]]:
        for _ in tasks:
            result = done.get()
            if isinstance(result, BaseException):
                raise result
            yield result

    threads = [threading.Thread(target=serve, args=[own], daemon=True) for own in workers]
    for thread in threads:
        thread.start()
    try:
        yield results()
    finally:
        stopping.set()
        for worker in (worker for own in workers for worker in own.values()):
            worker.close()


def run_task(task: Task, worker: Worker, time_limit: float) -> Row:
    """One row: the result of the method on one data set, or the reason for its failure."""
    problem = task.setting.draw(task.seed)
    # The states of a discrete network are numbers in the table, but categories for methods that accept them.
    as_categories = task.setting.discrete and METHODS[task.method].takes_kinds
    reading = TableOptions(
        kinds=dict.fromkeys(map(str, problem.table.columns), "nominal") if as_categories else None
    )
    try:
        outcome = worker.solve(
            task.method, problem.table, reading=reading, seed=task.seed, time_limit=time_limit
        )
    except dcd.InputError as error:
        return _row(task, "refused", str(error))
    return {**_row(task, outcome.status, outcome.reason), **_measured(problem, outcome)}


def _row(task: Task, status: str, reason: str) -> Row:
    return {
        **setting_values(task.setting),
        "method": task.method,
        "seed": task.seed,
        "status": status,
        "reason": " ".join(reason.split()),
        "versions": _versions(task.method),
        "commit": commit_of_code(),
    }


def _measured(problem: Problem, outcome: Outcome) -> Row:
    measured: Row = {}
    if outcome.peak_mb is not None:
        measured["peak_mb"] = round(outcome.peak_mb)
    if outcome.cpdag is not None:
        found = outcome.cpdag
        scores = asdict(dcd.metrics.compare(problem.cpdag, found))
        measured |= {name: round(score, 4) for name, score in scores.items()}
        measured["n_edges"] = len(found.directed_edges) + len(found.undirected_edges)
        measured["contradictory"] = int(outcome.contradictory)
        measured["seconds"] = round(outcome.seconds or 0.0, 3)
    return measured


@cache
def _versions(method: str) -> str:
    packages = ("numpy", "scipy", *METHODS[method].packages)
    return "; ".join([f"dcd {dcd.__version__}", *(f"{package} {version(package)}" for package in packages)])


@cache
def commit_of_code() -> str:
    """The commit of the code, with a + if files that git knows differ from it; empty outside a checkout."""
    here = Path(__file__).parent
    try:
        commit = subprocess.run(
            ["git", "rev-parse", "--short=10", "HEAD"], cwd=here, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(
            ["git", "diff", "--quiet", "HEAD", "--", "../src", "*.py"], cwd=here, check=False
        ).returncode
    except (OSError, subprocess.CalledProcessError):
        return ""
    return commit + ("+" if changed else "")
