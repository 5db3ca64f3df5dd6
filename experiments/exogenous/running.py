"""From tasks to rows: one line for each table, method, knowledge and threshold, written when it is done."""

from __future__ import annotations

import csv
import io
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm import tqdm

import dcd
from dcd.runtime.array_types import IntArray
from experiments.exogenous.base import PACKAGE, Source
from experiments.exogenous.counting import Counts, count_edges, count_probable, random_classes
from experiments.exogenous.methods import METHODS, Found, warm_up
from experiments.runner import commit_of_code
from experiments.store import RESULTS, appending, replace_rows, whole_lines
from experiments.timing import OutOfTimeError, cpu_limit

FOLDER = RESULTS / "exogenous"
KNOWLEDGE = ("none", "half")
THRESHOLDS = (0.5, 0.6, 0.7, 0.75, 0.8, 0.9, 0.95)  # of probabilities, for fits that have them
DRAWN = "drawn"  # in place of a threshold: the graph as drawn
RANDOM_DRAWS = 100
KEY = ("table", "method", "knowledge", "threshold")
COUNTS = ("possible", "impossible", "undirected", "none")
COLUMNS = (*KEY, "status", "reason", *COUNTS, "seconds", "edges", "versions", "commit")
CONTROLS = {"no-arrows": "No arrows", "random": "Random directions"}  # on the skeleton of Robust DCD

Row = dict[str, Any]


@dataclass(frozen=True)
class Task:
    """One fit to come."""

    table: Source
    method: str
    knowledge: str

    @property
    def key(self) -> tuple[str, ...]:
        """The key of the row of its graph."""
        return (self.table.name, self.method, self.knowledge, "")

    @property
    def roots(self) -> list[str]:
        """The exogenous columns that are declared as roots: none, or every other one by name."""
        return sorted(self.table.exogenous)[1::2] if self.knowledge == "half" else []

    @property
    def counted(self) -> list[str]:
        """The exogenous columns at which arrows are counted: those that are not declared."""
        return [name for name in sorted(self.table.exogenous) if name not in self.roots]


def tasks(tables: Sequence[Source], methods: Sequence[str], knowledge: str) -> Iterator[Task]:
    """All methods on one table before the next; with knowledge only if there are columns to declare."""
    for table in tables:
        for method in methods:
            task = Task(table, method, knowledge)
            if knowledge == "none" or (METHODS[method].takes_roots and task.roots):
                yield task


def read_rows(folder: Path = FOLDER) -> dict[tuple[str, ...], dict[str, str]]:
    """The rows by key; of two with the same key, the later counts."""
    path = folder / "rows.csv"
    rows = csv.DictReader(io.StringIO(whole_lines(path))) if path.exists() else ()
    return {tuple(row[name] for name in KEY): row for row in rows}


def run_tasks(
    planned: Sequence[Task], *, time_limit: float, redo: bool = False, folder: Path = FOLDER
) -> None:
    """Run tasks without a row; `redo` first drops existing rows."""
    path = folder / "rows.csv"
    known = read_rows(folder)
    if redo and known:
        again = {task.key[:-1] for task in planned}
        replace_rows(path, [row for key, row in known.items() if key[:-1] not in again], COLUMNS)
        known = read_rows(folder)
    with appending(path, COLUMNS) as appender:
        for task in tqdm([task for task in planned if task.key not in known], unit="fit"):
            for row in rows_of(task, time_limit):
                appender.append(row)


def rows_of(task: Task, time_limit: float) -> Iterator[Row]:
    """The rows of one fit, that of its graph last: without it the fit is run again."""
    table = task.table.load()
    warm_up(task.method)
    try:
        with warnings.catch_warnings(), threadpool_limits(1), cpu_limit(time_limit):
            warnings.simplefilter("ignore")
            started = time.process_time()
            found = METHODS[task.method].find(table, task.table.kinds, task.roots)
            seconds = time.process_time() - started
    except OutOfTimeError as error:
        yield _row(task, status="timeout", reason=str(error))
        return
    except Exception as error:  # of any library, recorded in the row
        yield _row(task, status="failed", reason=" ".join(f"{type(error).__name__}: {error}".split()))
        return
    yield from _counted(task, task.table.columns, found, round(seconds, 3))


def _counted(task: Task, names: Sequence[str], found: Found, seconds: float) -> Iterator[Row]:
    exogenous, counted = task.table.exogenous, task.counted
    if found.probabilities is not None:
        for threshold in THRESHOLDS:
            counts = count_probable(found.probabilities, exogenous, counted, threshold)
            yield _row(task, counts, threshold=threshold, seconds=seconds)
    if found.drawn is not None:
        counts = count_edges(names, found.drawn, exogenous, counted)
        yield _row(task, counts, threshold=DRAWN, seconds=seconds, edges=edge_list(names, found.drawn))
    counts = count_edges(names, found.adjacency, exogenous, counted)
    yield _row(task, counts, seconds=seconds, edges=edge_list(names, found.adjacency))


def _row(task: Task, counts: Counts | None = None, status: str = "ok", **values: object) -> Row:
    packages = ("numpy", "scipy", PACKAGE, *METHODS[task.method].packages)
    return {
        **dict(zip(KEY, task.key, strict=True)),
        "status": status,
        **({name: int(count) for name, count in asdict(counts).items()} if counts else {}),
        "versions": "; ".join([f"dcd {dcd.__version__}", *(f"{name} {version(name)}" for name in packages)]),
        "commit": commit_of_code(),
        **values,
    }


# --- graphs as text, and the controls that are made from them --------------------------------------------


def edge_list(names: Sequence[str], adjacency: IntArray) -> str:
    """The edges of a graph, such as "age -> wage; sex - union"."""
    arrows = [f"{names[i]} -> {names[j]}" for i, j in np.argwhere(adjacency) if not adjacency[j, i]]
    lines = [f"{names[i]} - {names[j]}" for i, j in np.argwhere(adjacency & adjacency.T) if i < j]
    return "; ".join(arrows + lines)


def graph_of(names: Sequence[str], edges: str) -> IntArray:
    """The adjacency matrix of a list of edges."""
    adjacency = np.zeros((len(names), len(names)), dtype=np.int8)
    for edge in edges.split("; ") if edges else ():
        first, mark, second = edge.split(" ")
        i, j = names.index(first), names.index(second)
        adjacency[i, j] = 1
        adjacency[j, i] = mark == "-"
    return adjacency


def control_counts(table: Source, edges: str) -> dict[str, Counts]:
    """The counts of "no arrows" and random directions on the skeleton of a graph; means over many draws."""
    names, exogenous = table.columns, table.exogenous
    adjacency = graph_of(names, edges)
    skeleton = adjacency | adjacency.T
    classes = random_classes(adjacency, RANDOM_DRAWS, np.random.default_rng(0))
    drawn = [count_edges(names, graph, exogenous, exogenous) for graph in classes]
    return {
        "no-arrows": count_edges(names, skeleton, exogenous, exogenous),
        "random": sum(drawn, start=Counts()) / RANDOM_DRAWS,
    }
