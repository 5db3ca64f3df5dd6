"""Run a method in a process of its own: with a time limit, and with nothing of it left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dcd.baselines.messages import receive, send
from dcd.baselines.registry import find_method
from dcd.data import Dataset, SmallSampleWarning, read_table
from dcd.graph import CPDAG
from dcd.validation import InputError, check_number

Status = Literal["ok", "failed", "timeout"]
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class BaselineError(RuntimeError):
    """A method gave no graph; `outcome` has the status and the reason."""

    def __init__(self, method: str, outcome: Outcome) -> None:
        self.outcome = outcome
        super().__init__(f"method {method!r} gave no graph: {outcome.reason}")


@dataclass(frozen=True)
class Outcome:
    """What came of one run.

    Attributes
    ----------
    status : "ok", "failed" (an error within the method) or "timeout".
    reason : why there is no graph.
    cpdag : the graph, if there is one.
    contradictory : what the method returned fits no DAG, and `cpdag` is the nearest that was found.
    seconds : wall time of the method alone, one thread.
    peak_mb : largest memory of its process; None where it cannot be told.
    """

    status: Status
    reason: str = ""
    cpdag: CPDAG | None = None
    contradictory: bool = False
    seconds: float | None = None
    peak_mb: float | None = None


def run(
    method: str,
    table: Any,
    *,
    random_state: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> CPDAG:
    """The CPDAG that a method of `METHODS` finds in a table.

    Parameters
    ----------
    method : a name in `METHODS`, such as "ges".
    table : NumPy array, or pandas, polars or pyarrow table of numbers; checked before anything else.
    random_state : seed of methods that draw random numbers.
    time_limit : seconds after which the run is stopped; none by default.
    options : parameters of the method's adapter, such as `alpha=0.01` for PC.

    Raises
    ------
    InputError
        for a table, a method or an option that makes no sense.
    MissingLibraryError
        naming the extra to install.
    BaselineError
        if the method failed or took too long.
    """
    dataset = read_for(method, table)
    check_number("random_state", random_state, at_least=0, whole=True, suggestion=0)
    with Worker() as worker:
        outcome = worker.solve(method, dataset, seed=random_state, time_limit=time_limit, options=options)
    if outcome.cpdag is None:
        raise BaselineError(method, outcome)
    return outcome.cpdag


def read_for(method: str, table: Any) -> Dataset:
    """The table, checked for what a method can take."""
    combinations = find_method(method).combinations
    with warnings.catch_warnings():
        # It speaks of weighting, and `DCD` gives it itself.
        warnings.simplefilter("ignore", SmallSampleWarning)
        return read_table(table, combinations=combinations)


class Worker:
    """A process that runs methods one after the other, each apart from the others; started when needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def solve(
        self,
        method: str,
        dataset: Dataset,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        options: dict[str, Any] | None = None,
    ) -> Outcome:
        """Run one method; failures and overtime are outcomes, bad options an `InputError`."""
        find_method(method)
        if time_limit is not None:
            check_number("time_limit", time_limit, above=0, suggestion=600)
        task = {"method": method, "seed": int(seed), "options": options or {}}
        try:
            answer = self._ask(task, dataset, time_limit)
        except BaseException:  # an interrupt among them: what runs now must not run on
            self.close()
            raise
        return _read_answer(answer, dataset.names)

    def _ask(self, task: dict[str, Any], dataset: Dataset, time_limit: float | None) -> dict[str, Any]:
        """Send a task and wait for the answer, or kill the process when the time is up.

        The time counts from when the library is loaded.
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        overtime = threading.Event()

        def stop() -> None:
            overtime.set()
            _kill(process)

        timer = threading.Timer(time_limit or threading.TIMEOUT_MAX, stop)
        timer.daemon = True
        try:
            send(process.stdin, task, dataset.values)
            received = receive(process.stdout)
            if received is not None:
                timer.start()
                received = receive(process.stdout)
        except BrokenPipeError:
            received = None
        finally:
            timer.cancel()
        if received is None or overtime.is_set() or received[0].pop("used_up", False):
            self.close()
        if overtime.is_set():
            return {"status": "timeout", "reason": f"stopped after {time_limit:g} s"}
        return received[0] if received else {"status": "failed", "reason": "the process died"}

    def _started(self) -> subprocess.Popen[bytes]:
        """The running process, started now if there is none; on one thread, and in a session of its own."""
        if self._process is None:
            package_root = str(Path(__file__).parents[2])
            path = os.pathsep.join(filter(None, [package_root, os.environ.get("PYTHONPATH")]))
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "dcd.baselines.worker"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env={**os.environ, **dict.fromkeys(_THREAD_LIMITS, "1"), "PYTHONPATH": path},
                start_new_session=True,
            )
        return self._process

    def close(self) -> None:
        """Stop the process and what it has forked."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()
        process.wait()


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and, where there are sessions, everything in its session."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _read_answer(answer: dict[str, Any], names: tuple[str, ...]) -> Outcome:
    """The outcome that a worker's answer tells; an `InputError` comes out as one."""
    if answer["status"] == "bad input":
        raise InputError(*answer["reason"])
    adjacency = answer.pop("adjacency", None)
    cpdag = None if adjacency is None else CPDAG(names, np.array(adjacency, dtype=np.int8))
    return Outcome(cpdag=cpdag, **answer)
