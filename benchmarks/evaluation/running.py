"""The rows of the evaluation: one for each cell, method and seed, written as soon as it is done."""

from __future__ import annotations

import csv
import subprocess
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from benchmarks.evaluation.cells import CELLS, content_of
from benchmarks.evaluation.methods import METHODS, timed, warm_up
from dcd.runtime.array_types import IntArray
from experiments.settings import Problem
from experiments.timing import OutOfTimeError

ROWS = Path(__file__).parents[1] / "results" / "evaluation.csv"
FIRST_SEED = 7_000_000
KEY = ["cell", "method", "seed"]
SCORES = ["shd_c", "f1", "skeleton_shd", "shd_c_no_arrows", "f1_no_arrows"]
EFFECTS = ["parent_aid", "ancestor_aid", "optimal_aid"]  # shares of the d (d - 1) effects
SORTING = ["var_sortability", "r2_sortability"]
COLUMNS = [
    *KEY, "n", "d", *SCORES, *EFFECTS, *SORTING, "cpu_seconds", "edges", "version", "commit", "status",
]  # fmt: skip
Task = tuple[str, str, int]  # cell, method, seed
Row = dict[str, Any]


# --- one row ----------------------------------------------------------------------------------------------


def one_row(task: Task, limit: float) -> Row:
    """The result of a method on one table, or the reason for its failure."""
    cell, label, seed = task
    setting, method = CELLS[cell].setting, METHODS[label]
    row: Row = {**dict(zip(KEY, task, strict=True)), "n": setting.n, "d": setting.d}
    release = dcd.__version__ if method.package == "dcd" else version(method.package)
    row |= {"version": f"{method.package} {release}", "commit": commit()}
    problem = CELLS[cell].draw(seed)
    warnings.simplefilter("ignore")
    row |= sortabilities(problem)
    try:
        warm_up(label, content_of(setting))
        adjacency, seconds = timed(method, problem.table, limit, content_of(setting))
    except OutOfTimeError as error:
        return {**row, "status": f"timeout: {error}"}
    except Exception as error:  # of any library
        return {**row, "status": f"failed: {type(error).__name__}: {' '.join(str(error).split())}"}
    return {**row, **scored(problem, adjacency), "cpu_seconds": round(seconds, 4), "status": "ok"}


def scored(problem: Problem, adjacency: IntArray) -> Row:
    """The distances from the truth; a constant variable, which is left out, has no edges."""
    names, measured = list(problem.cpdag.names), list(problem.table.columns)
    whole = pd.DataFrame(0, index=names, columns=names)
    whole.loc[measured, measured] = dcd.graph.to_cpdag(adjacency)
    truth, found = problem.cpdag.adjacency, whole.to_numpy(dtype=np.int8)
    scores, undirected = (dcd.metrics.compare(truth, graph) for graph in (found, found | found.T))
    effects = dcd.metrics.adjustment_distances(truth, found)
    shares = [getattr(effects, name.removesuffix("_aid")) / effects.n_effects for name in EFFECTS]
    values = [scores.shd_c, scores.f1, scores.skeleton_shd, undirected.shd_c, undirected.f1, *shares]
    return {
        **{name: round(value, 4) for name, value in zip([*SCORES, *EFFECTS], values, strict=True)},
        "edges": edge_list(found),
    }


def sortabilities(problem: Problem) -> Row:
    """Sortability of the table by its DAG, if that is known; constant columns are ignored."""
    if problem.dag is None:
        return {}
    measured = [list(problem.cpdag.names).index(name) for name in problem.table]
    dag = problem.dag[np.ix_(measured, measured)]
    by = {"var_sortability": "variance", "r2_sortability": "r2"}
    return {
        name: round(dcd.metrics.sortability(dag, problem.table, by=criterion), 4)
        for name, criterion in by.items()
    }


def edge_list(adjacency: IntArray) -> str:
    """A graph as text: `0>2 1-3` is 0 -> 2 and 1 - 3."""
    arrows = [f"{i}>{j}" for i, j in np.argwhere(adjacency) if not adjacency[j, i]]
    lines = [f"{i}-{j}" for i, j in np.argwhere(adjacency) if adjacency[j, i] and i < j]
    return " ".join(arrows + lines)


@cache
def commit() -> str:
    """The commit of the package that is measured, with a + if its files differ from it."""
    folder = Path(dcd.__file__).parent
    try:
        head = subprocess.run(
            ["git", "rev-parse", "--short=10", "HEAD"], cwd=folder, capture_output=True, text=True, check=True
        ).stdout.strip()
        changed = subprocess.run(["git", "diff", "--quiet", "HEAD", "--", "."], cwd=folder, check=False)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return head + ("+" if changed.returncode else "")


# --- all rows ---------------------------------------------------------------------------------------------


def tasks_of(cells: Sequence[str], methods: Sequence[str], n_graphs: int) -> list[Task]:
    """One for each graph, cell and method that accepts its tables, graph by graph."""
    return [
        (cell, label, FIRST_SEED + graph)
        for graph, cell, label in product(range(n_graphs), cells, methods)
        if METHODS[label].takes(CELLS[cell].setting) and graph < CELLS[cell].graphs
    ]


def read_rows(path: Path = ROWS, columns: Sequence[str] = COLUMNS) -> pd.DataFrame:
    """The rows so far."""
    # A commit such as 12e4567890 is not a number, nor is an empty graph a missing one.
    text = {"commit": str, "edges": str}
    return pd.read_csv(path, dtype=text) if path.exists() else pd.DataFrame(columns=columns)


def drop_rows(path: Path, tasks: Sequence[Task]) -> None:
    """Take the rows of tasks out of the file."""
    rows, dropped = read_rows(path), set(tasks)
    kept = [task not in dropped for task in rows[KEY].itertuples(index=False, name=None)]
    rows.loc[np.array(kept, dtype=bool)].to_csv(path, index=False)


def drop_cut_line(path: Path) -> None:
    """Remove a last line that a kill has truncated."""
    text = path.read_bytes() if path.exists() else b""
    if whole := text[: text.rfind(b"\n") + 1]:
        path.write_bytes(whole)
    else:
        path.unlink(missing_ok=True)


def append_row(path: Path, row: Row, columns: Sequence[str] = COLUMNS) -> None:
    """Write one line, after the header if the file is new."""
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


def run(tasks: Sequence[Task], path: Path, *, jobs: int, limit: float) -> int:
    """Add the missing rows, in `jobs` processes; returns their number."""
    done = set(read_rows(path)[KEY].itertuples(index=False, name=None))
    missing = [task for task in tasks if task not in done]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(one_row, task, limit) for task in missing]
        try:
            for index, future in enumerate(as_completed(running), start=1):
                row = future.result()
                append_row(path, row)
                shown = (*KEY, "shd_c", "f1", "ancestor_aid", "cpu_seconds", "status")
                print(f"{index}/{len(missing)}", *(row.get(name, "") for name in shown), flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return len(missing)
