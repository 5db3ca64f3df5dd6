"""Run methods in a separate process, with a time limit."""

from __future__ import annotations

import base64
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dcd.evaluation.baselines.registry import find_method
from dcd.evaluation.baselines.worker import receive, send
from dcd.graph.cpdag import CPDAG
from dcd.graph.equivalence import with_arrows
from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.runtime.errors import BaselineError, InputError, check_choice, check_number
from dcd.table.checks import linear_combinations, raise_all
from dcd.table.columns import Kind, TableColumn, column_list
from dcd.table.dataset import Dataset, TableOptions
from dcd.table.reading import read_columns

Status = Literal["ok", "failed", "timeout"]
_THREAD_LIMITS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_LOADING_SECONDS = 600.0
# Imports this package even if it is not installed, without shadowing the standard library.
_START_WORKER = """
import sys
if sys.argv[1] not in sys.path:
    sys.path.insert(0, sys.argv[1])
from dcd.evaluation.baselines.worker import main
main()
"""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one run.

    Attributes
    ----------
    status : "ok", "failed" (an error within the method) or "timeout".
    reason : why there is no graph.
    cpdag : the graph, if there is one.
    contradictory : the method returned a partial graph without a DAG extension, which `cpdag` repairs. Cyclic
        weights, which are pruned first, do not count.
    seconds : wall time of the method alone, on one thread.
    peak_mb : peak memory of its process, including shared libraries; None if unknown.
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
    kinds: Mapping[str, Kind] | None = None,
    missing: Literal["refuse", "complete-rows"] = "refuse",
    drop_degenerate: bool = False,
    knowledge: Knowledge | None = None,
    random_state: int = 0,
    time_limit: float | None = None,
    **options: Any,
) -> CPDAG:
    """Run a method of `METHODS` on a table.

    Parameters
    ----------
    method : a name in `METHODS`, such as "ges".
    table : NumPy array, or pandas, polars or pyarrow table. Only methods of this package and those for
        categorical data accept unordered categories.
    kinds, missing, drop_degenerate : as in `dcd.DCD`, without testwise deletion.
    knowledge : background knowledge, for methods that can use it (`METHODS[method].takes_knowledge`). PC
        draws no forbidden arrow, but may miss a required edge.
    random_state : seed of methods that draw random numbers.
    time_limit : seconds after which the run is stopped, not counting the loading of libraries.
    options : parameters of the method's adapter, such as `alpha=0.01` for PC.

    Raises
    ------
    InputError
        for an invalid table, method or option.
    MissingLibraryError
        if an extra has to be installed.
    BaselineError
        if the method failed or took too long.
    """
    check_number("random_state", random_state, at_least=0, whole=True, suggestion=0)
    reading = TableOptions(kinds, missing, drop_degenerate)
    with Worker() as worker:
        outcome = worker.solve(
            method,
            table,
            reading=reading,
            knowledge=knowledge,
            seed=random_state,
            time_limit=time_limit,
            options=options,
        )
    if outcome.cpdag is None:
        raise BaselineError(method, outcome)
    return outcome.cpdag


class Worker:
    """A process that runs methods one after the other, in isolation; started when needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def solve(
        self,
        method: str,
        table: Any,
        *,
        reading: TableOptions | None = None,
        knowledge: Knowledge | None = None,
        seed: int = 0,
        time_limit: float | None = None,
        options: dict[str, Any] | None = None,
    ) -> Outcome:
        """Run one method; failures and timeouts are outcomes; bad input raises `InputError`.

        The parameters are those of `run`; `reading` holds those for the table.
        """
        dataset = _read(method, table, reading or TableOptions())
        if time_limit is not None:
            check_number("time_limit", time_limit, above=0, at_most=1e9, suggestion=600)
        plain_options = {name: _plain(name, value) for name, value in (options or {}).items()}
        task = {"method": method, "seed": int(seed), "options": plain_options, "kinds": dataset.kinds}
        task["knowledge"] = _arrows(method, knowledge, dataset)
        numbers = np.ascontiguousarray(dataset.values, dtype=np.float64)
        task |= {"shape": numbers.shape, "values": base64.b64encode(numbers.tobytes()).decode("ascii")}
        try:
            answer = self._ask(task, time_limit)
        except BaseException:  # also on interrupts, the method must not continue
            self.close()
            raise
        return _read_answer(answer, dataset.names)

    def _ask(self, task: dict[str, Any], time_limit: float | None) -> dict[str, Any]:
        """Send a task and wait for the answer; loading the library does not count as time."""
        process = self._started()
        assert process.stdin is not None
        try:
            send(process.stdin, task)
        except OSError:  # the process is gone
            return self._died(process)
        answer = _receive_within(process, _LOADING_SECONDS)
        if answer is not None and answer["status"] == "loaded":
            answer = _receive_within(process, time_limit)
        if answer is None:
            return self._died(process)
        if answer.pop("used_up", False) or answer["status"] == "timeout":
            self.close()
        return answer

    def _started(self) -> subprocess.Popen[bytes]:
        """The worker process, started if there is none; on one thread, in its own session."""
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._process is None:
            self._errors = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _START_WORKER, str(Path(__file__).parents[2])],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env={**os.environ, **dict.fromkeys(_THREAD_LIMITS, "1")},
                start_new_session=True,
                creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
            )
        self._errors.seek(0)
        self._errors.truncate()
        return self._process

    def _died(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """The answer for a process that died, with the last line it wrote."""
        self._errors.seek(0)
        lines = self._errors.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.close()
        reason = f"the process died (exit code {process.returncode})"
        return {"status": "failed", "reason": f"{reason}: {last[-200:]}" if last else reason}

    def close(self) -> None:
        """Stop the process and its forks."""
        process, self._process = self._process, None
        if process is None:
            return
        _kill(process)
        for stream in (process.stdin, process.stdout):
            assert stream is not None
            with contextlib.suppress(OSError):
                stream.close()
        self._errors.close()
        process.wait()


def _read(method: str, table: Any, reading: TableOptions) -> Dataset:
    """The table, checked for the method."""
    entry = find_method(method)
    reading.check()
    check_choice("missing", reading.missing, ("refuse", "complete-rows"))
    dataset = read_columns(table, options=reading, combinations=entry.combinations)
    kinds, levels = dataset.summary.kinds, dataset.summary.levels
    if entry.discrete:
        if measured := [name for name in kinds if kinds[name] == "continuous"]:
            problem = f"measurements, which {method!r} would take for categories"
            remedy = "Leave them out, bin them, or use robust-dcd or ges-cg."
            raise InputError(column_list(measured), problem, remedy)
    elif not entry.takes_kinds:
        if unordered := [name for name in kinds if kinds[name] == "nominal" and len(levels[name]) > 2]:
            problem = f"unordered categories, which {method!r} cannot use"
            remedy = "Leave them out, or use robust-dcd, dcd, ges-cg, pc-gsq or ges-bdeu."
            raise InputError(column_list(unordered), problem, remedy)
        if not entry.combinations:  # such a method treats two categories as numbers
            numbers = zip(dataset.names, dataset.values.T, strict=True)
            columns = [TableColumn(name, values) for name, values in numbers]
            raise_all(linear_combinations(columns, TableOptions(memory=dataset.memory))[:1])
    return dataset


def _arrows(method: str, knowledge: Knowledge | None, dataset: Dataset) -> dict[str, Any] | None:
    """The required and forbidden arrows among the columns, by position; None without any."""
    bound = bind_knowledge(knowledge, dataset.names, dataset.summary.dropped)
    if not bound.says_something:
        return None
    if not find_method(method).takes_knowledge:
        remedy = "Leave it out; METHODS[name].takes_knowledge shows which methods can."
        raise InputError("parameter 'knowledge'", f"cannot be used by {method!r}", remedy)
    return {key: np.argwhere(getattr(bound, key)).tolist() for key in ("required", "forbidden")}


def _receive_within(process: subprocess.Popen[bytes], limit: float | None) -> dict[str, Any] | None:
    """The next message; None if the process dies. After the limit it is killed."""
    assert process.stdout is not None
    with ThreadPoolExecutor(max_workers=1) as reader:
        message = reader.submit(receive, process.stdout)
        try:
            return message.result(None if limit is None else min(limit, threading.TIMEOUT_MAX))
        except TimeoutError:
            return {"status": "timeout", "reason": f"stopped after {limit:g} s"}
        finally:
            if not message.done():  # also on interrupts
                _kill(process)  # which ends the reading


def _plain(name: str, value: object) -> object:
    """The value as a JSON scalar."""
    value = value.item() if isinstance(value, np.generic) else value
    if not (value is None or isinstance(value, (bool, int, float, str))):
        problem = f"must be a number or a word, got {value!r:.60}"
        raise InputError(f"parameter {name!r}", problem, "See the method's help.")
    return value


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and its session."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _read_answer(answer: dict[str, Any], names: tuple[str, ...]) -> Outcome:
    """The outcome in a worker's answer; bad input is raised as `InputError`."""
    if answer["status"] == "bad input":
        raise InputError(*answer["reason"])
    adjacency, background = answer.pop("adjacency", None), answer.pop("background", [])
    if adjacency is None:
        return Outcome(**answer)
    cpdag = with_arrows(np.array(adjacency, dtype=np.int8), background)
    arrows = tuple((names[i], names[j]) for i, j in background)
    return Outcome(cpdag=CPDAG(names, cpdag, arrows), **answer)
