"""The methods of `whole_graph.py`, and processor time of one call.

All run in the process that measures them, on one thread. The time of `RobustDCD` includes the reading and the
checks of the table; the others get plain numbers.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import FrameType

import flopsearch
import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

import dcd
from dcd.runtime.array_types import IntArray
from experiments.settings import Network, Simulated

BIC_PENALTY, RESTARTS = 2.0, 20  # of FLOP; the penalty is the one that its authors recommend
SHORTEST_WAIT = 0.01  # seconds between two looks at the clock


@dataclass(frozen=True)
class Method:
    """From a table to an adjacency matrix of the encoding of `dcd.CPDAG`.

    Attributes
    ----------
    find : the method.
    package : whose version goes into a row.
    continuous, discrete : the tables it is run on.
    """

    find: Callable[[pd.DataFrame], IntArray]
    package: str
    continuous: bool = True
    discrete: bool = False

    def takes(self, discrete: bool) -> bool:
        """Whether it is run on tables of that kind."""
        return self.discrete if discrete else self.continuous


def robust(table: pd.DataFrame) -> IntArray:
    return dcd.RobustDCD(progress=False, random_state=0).fit(table).cpdag_.adjacency


def best_graph(table: pd.DataFrame) -> IntArray:
    """Robust DCD without its posterior: the best graph that tests confirm."""
    search = dcd.WholeGraph(chains=0)
    return dcd.RobustDCD(search=search, progress=False, random_state=0).fit(table).cpdag_.adjacency


def flop(table: pd.DataFrame) -> IntArray:
    """FLOP: in its matrix 1 is an arrow from row to column, and 2, which is symmetric, an undirected edge."""
    values = np.ascontiguousarray(table.to_numpy(dtype=np.float64))
    marks = flopsearch.flop(values, BIC_PENALTY, restarts=RESTARTS)
    adjacency: IntArray = ((marks == 1) | (marks == 2)).astype(np.int8)
    return adjacency


def baseline(name: str) -> Callable[[pd.DataFrame], IntArray]:
    """A method of `dcd.baselines`, called without its process of its own: only so can its time be taken."""

    def find(table: pd.DataFrame) -> IntArray:
        return dcd.baselines.METHODS[name].load()(table.to_numpy(dtype=np.float64), seed=0)

    return find


METHODS: dict[str, Method] = {
    "Robust DCD": Method(robust, "dcd", discrete=True),
    "Robust DCD one graph": Method(best_graph, "dcd", discrete=True),
    "FLOP": Method(flop, "flopsearch"),
    "PC": Method(baseline("pc-fisherz"), "causal-learn"),
    "GES": Method(baseline("ges"), "causal-learn"),
    "GES-BDeu": Method(baseline("ges-bdeu"), "causal-learn", continuous=False, discrete=True),
}


class OutOfTimeError(BaseException):
    """The processor time of a call is used up; not an `Exception`, which libraries catch."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` after that much processor time; in the main thread of a process only.

    A timer of wall time that looks at the processor time when it goes off. While a timer of processor time
    (ITIMER_PROF) runs, Linux advances the clock of the process in ticks: FLOP took 0.0 ms instead of 2.0.
    """
    end = time.process_time() + seconds

    def look(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if time.process_time() >= end:
            raise OutOfTimeError(f"more than {seconds:g} s of processor time")
        signal.setitimer(signal.ITIMER_REAL, max(end - time.process_time(), SHORTEST_WAIT))

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def timed(method: str, table: pd.DataFrame, limit: float) -> tuple[IntArray, float]:
    """The graph that a method finds, and its processor time in seconds."""
    with threadpool_limits(1), cpu_limit(limit):
        started = time.process_time()
        adjacency = METHODS[method].find(table)
        return adjacency, time.process_time() - started


@cache
def warm_up(method: str, *, discrete: bool) -> None:
    """Run a method once in this process, so that what it loads or compiles on first use is not counted."""
    problem = (Network("asia", 500) if discrete else Simulated(d=5, n=200)).draw(0)
    METHODS[method].find(problem.table.astype(int).astype(str) if discrete else problem.table)
