"""The worker process of `isolation`: runs methods one after the other, each in a fork.

Tasks arrive on standard input, results go to standard output, each as a line of JSON; nothing is pickled, so
messages cannot carry code. Libraries are imported once and shared by the forks; changes of global state
(seeds, default types, memory) end with the fork. Without a safe fork (Windows, macOS) the method runs in the
worker itself, which is then not reused.
"""

from __future__ import annotations

import base64
import json
import os
import select
import signal
import sys
import threading
import time
from inspect import Parameter, signature
from typing import IO, Any

import numpy as np

from dcd.evaluation.baselines.registry import METHODS, Adapter
from dcd.graph.adjacency import directed_part, undirected_part
from dcd.graph.equivalence import consistent_extension, to_cpdag
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError, suggest

_CAN_FORK = sys.platform.startswith("linux")


def main() -> None:
    """Run tasks until standard input is closed."""
    tasks, answers = sys.stdin.buffer, _claim_stdout()
    while (task := receive(tasks)) is not None:
        values = np.frombuffer(base64.b64decode(task.pop("values"))).reshape(task.pop("shape")).copy()
        try:
            METHODS[task["method"]].load()  # before the fork, so that the next one has it too
        except Exception as error:
            send(answers, _failure(error))
            continue
        send(answers, {"status": "loaded"})
        if _CAN_FORK:
            _solve_in_fork(task, values, tasks, answers)
        else:
            threading.Thread(target=_leave_with, args=[tasks], daemon=True).start()
            send(answers, {**solve(task, values), "used_up": True})


def send(stream: IO[bytes], message: dict[str, Any]) -> None:
    """Write one message."""
    stream.write(json.dumps(message).encode() + b"\n")
    stream.flush()


def receive(stream: IO[bytes]) -> dict[str, Any] | None:
    """Read one message; None at the end of the stream, even within a message."""
    line = stream.readline()
    return json.loads(line) if line.endswith(b"\n") else None


def solve(task: dict[str, Any], values: FloatArray) -> dict[str, Any]:
    """Run one method; the answer is a CPDAG or the reason for having none."""
    try:
        method = METHODS[task["method"]]
        adapter = method.load()
        _check_options(task["method"], adapter, task["options"])
        given = {"kinds": task.get("kinds")} if method.takes_kinds else {}
        given |= {"knowledge": task["knowledge"]} if task.get("knowledge") else {}
        started = time.perf_counter()
        graph = adapter(values, seed=task["seed"], **given, **task["options"])
        seconds = time.perf_counter() - started
    except InputError as error:
        return {"status": "bad input", "reason": [error.subject, error.problem, error.remedy]}
    except Exception as error:  # of an outside library
        return _failure(error)
    try:
        cpdag, contradictory = to_cpdag(graph), consistent_extension(graph) is None
    except InputError as error:
        return _failure(error)
    answer = {"status": "ok", "adjacency": cpdag.tolist(), "contradictory": contradictory, "seconds": seconds}
    if task.get("knowledge") and not contradictory:  # arrows that the class alone leaves open
        answer["background"] = np.argwhere(directed_part(graph) & undirected_part(cpdag)).tolist()
    return answer


def _failure(error: Exception) -> dict[str, Any]:
    return {"status": "failed", "reason": f"{type(error).__name__}: {error}"}


def _check_options(method: str, adapter: Adapter, options: dict[str, Any]) -> None:
    """Raise `InputError` for an option that the adapter does not have."""
    kind_of = {name: parameter.kind for name, parameter in signature(adapter).parameters.items()}
    ours = ("seed", "kinds", "knowledge")
    known = [name for name in kind_of if kind_of[name] is Parameter.KEYWORD_ONLY and name not in ours]
    takes_any = Parameter.VAR_KEYWORD in kind_of.values()
    for option in options:
        if option in ours or (option not in known and not takes_any):
            remedy = suggest(option, known) if known else "It has none; random_state is its seed."
            raise InputError(f"parameter {option!r}", f"is not an option of {method!r}", remedy)


def _solve_in_fork(task: dict[str, Any], values: FloatArray, tasks: IO[bytes], answers: IO[bytes]) -> None:
    """Solve in a fork, and add the peak memory to the answer; stop if the parent is gone."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read_end)
        with os.fdopen(write_end, "wb") as answer_pipe:
            send(answer_pipe, solve(task, values))
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as pipe:
        # Tasks come one at a time, so readable input means the end of the stream.
        ready, _, _ = select.select([pipe, tasks], [], [])
        if pipe not in ready:
            os.kill(child, signal.SIGKILL)
        answer = receive(pipe)
    _, code, usage = os.wait4(child, 0)
    if answer is not None:
        send(answers, {**answer, "peak_mb": usage.ru_maxrss / 1024})
    elif pipe in ready:
        died_of = f"signal {os.WTERMSIG(code)}" if os.WIFSIGNALED(code) else f"exit code {code >> 8}"
        send(answers, {"status": "failed", "reason": f"the process died ({died_of})"})


def _leave_with(tasks: IO[bytes]) -> None:
    """Exit when the parent is gone, even in the middle of a run."""
    tasks.read()
    os._exit(1)


def _claim_stdout() -> IO[bytes]:
    """Reserve standard output for results: output of libraries goes to standard error."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()
