"""The methods that are compared: from a table to a graph, within a limit of processor time.

Other packages take numbers only. Categories enter them as codes 0, 1, ... in their order, or in the order of
their names if they have none; one column for each category is not possible, because these would have to stay
together. Arrows are counted as a method draws them.
"""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from types import FrameType

import numpy as np
import pandas as pd

import dcd
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.table.columns import Kind

FLOP_PENALTY, FLOP_RESTARTS = 2.0, 20  # the penalty is the one that its authors recommend
ALPHA = 0.05  # of PC
SHORTEST_WAIT = 0.01  # seconds between two looks at the clock


@dataclass(frozen=True)
class Found:
    """A graph (`[i, j] = 1` is i -> j, both 1 is i - j), and the probabilities of a fit that has them."""

    adjacency: IntArray
    probabilities: pd.DataFrame | None = None


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    label : its name in tables.
    find : from a table, the kinds of its columns and the names of its roots to a graph.
    packages : whose versions go into a row.
    takes_roots : whether it can be told that columns have no causes in the table.
    """

    label: str
    find: Callable[[pd.DataFrame, Mapping[str, Kind], Sequence[str]], Found]
    packages: tuple[str, ...] = ()
    takes_roots: bool = False


def as_numbers(table: pd.DataFrame) -> FloatArray:
    """The table with codes for categories."""
    columns = [
        table[name]
        if pd.api.types.is_numeric_dtype(table[name])
        else table[name].astype("category").cat.codes
        for name in table
    ]
    return np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])


def robust(table: pd.DataFrame, kinds: Mapping[str, Kind], roots: Sequence[str]) -> Found:
    """`RobustDCD` at its defaults."""
    knowledge = dcd.Knowledge(roots=roots) if roots else None
    model = dcd.RobustDCD(kinds=dict(kinds) or None, knowledge=knowledge, progress=False, random_state=0)
    model.fit(table)
    return Found(
        model.cpdag_.reorder([str(name) for name in table]).adjacency, getattr(model, "probabilities_", None)
    )


def flop(table: pd.DataFrame, _: Mapping[str, Kind], __: Sequence[str]) -> Found:
    """FLOP: in its matrix 1 is an arrow from row to column, and 2, which is symmetric, an undirected edge."""
    import flopsearch

    marks = flopsearch.flop(np.ascontiguousarray(as_numbers(table)), FLOP_PENALTY, restarts=FLOP_RESTARTS)
    return Found(((marks == 1) | (marks == 2)).astype(np.int8))


def pc(table: pd.DataFrame, _: Mapping[str, Kind], roots: Sequence[str]) -> Found:
    """PC with Fisher's z test."""
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc as causal_learn_pc
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    from dcd.evaluation.baselines.causal_learn_methods import from_causal_learn

    knowledge = BackgroundKnowledge()
    for root in roots:
        for other in (name for name in table if name != root):
            knowledge.add_forbidden_by_node(GraphNode(other), GraphNode(root))
    graph = causal_learn_pc(
        as_numbers(table),
        ALPHA,
        "fisherz",
        background_knowledge=knowledge if roots else None,
        show_progress=False,
        node_names=list(table),
    ).G.graph
    return Found(from_causal_learn(graph))


def ges(table: pd.DataFrame, _: Mapping[str, Kind], __: Sequence[str]) -> Found:
    """GES with the Gaussian BIC score."""
    return Found(dcd.baselines.METHODS["ges"].load()(as_numbers(table), seed=0))


def boss(table: pd.DataFrame, _: Mapping[str, Kind], __: Sequence[str]) -> Found:
    """BOSS with the Gaussian BIC score; it draws from the global generator."""
    from causallearn.search.PermutationBased.BOSS import boss as causal_learn_boss

    from dcd.evaluation.baselines.causal_learn_methods import from_causal_learn

    random.seed(0)
    graph = causal_learn_boss(as_numbers(table), "local_score_BIC_from_cov", verbose=False).graph
    return Found(from_causal_learn(graph))


METHODS: dict[str, Method] = {
    "robust-dcd": Method("Robust DCD", robust, takes_roots=True),
    "flop": Method("FLOP", flop, ("flopsearch",)),
    "pc": Method("PC (FisherZ)", pc, ("causal-learn",), takes_roots=True),
    "ges": Method("GES", ges, ("causal-learn",)),
    "boss": Method("BOSS", boss, ("causal-learn",)),
}


@cache
def warm_up(method: str) -> None:
    """Run a method once in this process, so that what it loads or compiles on first use is not timed."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((100, 3)), columns=["a", "b", "c"])
    table = table.assign(a=table.sum(axis=1), d=rng.permuted(["x", "y"] * 50))
    METHODS[method].find(table, {}, ())


class OutOfTimeError(BaseException):
    """The processor time of a call is used up; not an `Exception`, which libraries catch."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` after that much processor time; in the main thread of a process only.

    A timer of wall time that looks at the processor time when it goes off: a timer of processor time makes
    the clock of the process coarse on Linux. Compiled code is interrupted when it returns.
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
