"""The bars of a search over whole graphs: accuracy and processor time of Robust DCD, FLOP, PC and GES.

    python -m benchmarks.whole_graph --graphs 30 --jobs 2
    python -m benchmarks.whole_graph --cells 'er4-*' alarm-500 --methods "Robust DCD" FLOP --redo
    python -m benchmarks.whole_graph --graphs 0
    python -m benchmarks.whole_graph --speed breast-cancer diabetes

Appends a row to benchmarks/results/whole_graph.csv for each run as soon as it is done, skips those that are
there already (`--redo` drops them first, for a changed method), and writes whole_graph.md; `--graphs 0` only
writes. Every method gets the same tables. Seeds start at 7,000,000; nothing was chosen on them. FLOP draws
its restarts without a seed, so that its rows come out a little differently each time. `--speed` prints the
ratios of processor time on the tables named, or on all.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from fnmatch import fnmatch
from functools import cache
from importlib.metadata import version
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from benchmarks import whole_graph_speed as speed
from benchmarks.whole_graph_cells import CELLS
from benchmarks.whole_graph_methods import METHODS, OutOfTimeError, timed, warm_up
from dcd.runtime.array_types import FloatArray, IntArray
from experiments.settings import Problem

ROWS = Path(__file__).parent / "results" / "whole_graph.csv"
FIRST_SEED = 7_000_000
KEY = ["cell", "method", "seed"]
SCORES = ["shd_c", "f1", "skeleton_shd", "cpu_seconds"]
COLUMNS = [*KEY, "n", "d", *SCORES, "version", "commit", "status"]
Task = tuple[str, str, int]  # cell, method, seed
Row = dict[str, Any]


# --- one row ----------------------------------------------------------------------------------------------


def one_row(task: Task, limit: float) -> Row:
    """What a method finds on one table, or why it finds nothing."""
    cell, method, seed = task
    setting = CELLS[cell].setting
    row: Row = {**dict(zip(KEY, task, strict=True)), "n": setting.n, "d": setting.d}
    row |= {"version": f"{METHODS[method].package} {version(METHODS[method].package)}", "commit": commit()}
    problem = CELLS[cell].draw(seed)
    warnings.simplefilter("ignore")
    try:
        warm_up(method, discrete=setting.discrete)
        adjacency, seconds = timed(method, problem.table, limit)
    except OutOfTimeError as error:
        return {**row, "status": f"timeout: {error}"}
    except Exception as error:  # of any library
        return {**row, "status": f"failed: {type(error).__name__}: {' '.join(str(error).split())}"}
    return {**row, **scored(problem, adjacency), "cpu_seconds": round(seconds, 4), "status": "ok"}


def scored(problem: Problem, adjacency: IntArray) -> Row:
    """The distances from the truth; a variable that was constant, and so left out, has no edges."""
    names, measured = list(problem.cpdag.names), list(problem.table.columns)
    whole = pd.DataFrame(0, index=names, columns=names)
    whole.loc[measured, measured] = dcd.graph.to_cpdag(adjacency)
    scores = dcd.metrics.compare(problem.cpdag, whole)
    return {"shd_c": scores.shd_c, "f1": round(scores.f1, 4), "skeleton_shd": scores.skeleton_shd}


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
    """One for each graph, cell and method that takes its tables, graph by graph."""
    seeds = range(FIRST_SEED, FIRST_SEED + n_graphs)
    return [
        (cell, method, seed)
        for seed, cell, method in product(seeds, cells, methods)
        if METHODS[method].takes(CELLS[cell].setting.discrete)
    ]


def read_rows(path: Path) -> pd.DataFrame:
    """The rows so far."""
    # A commit such as 12e4567890 is not a number.
    return pd.read_csv(path, dtype={"commit": str}) if path.exists() else pd.DataFrame(columns=COLUMNS)


def drop_rows(path: Path, tasks: Sequence[Task]) -> None:
    """Take the rows of tasks out of the file."""
    rows, dropped = read_rows(path), set(tasks)
    kept = [task not in dropped for task in rows[KEY].itertuples(index=False, name=None)]
    rows.loc[np.array(kept, dtype=bool)].to_csv(path, index=False)


def drop_cut_line(path: Path) -> None:
    """Take out a last line that a kill has cut."""
    text = path.read_bytes() if path.exists() else b""
    if whole := text[: text.rfind(b"\n") + 1]:
        path.write_bytes(whole)
    else:
        path.unlink(missing_ok=True)


def append_row(path: Path, row: Row) -> None:
    """Write one line, after the header if the file is new."""
    fresh = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            writer.writeheader()
        writer.writerow(row)


def run(tasks: Sequence[Task], path: Path, *, jobs: int, limit: float) -> int:
    """Add the rows that are missing, in `jobs` processes; return how many those were."""
    done = set(read_rows(path)[KEY].itertuples(index=False, name=None))
    missing = [task for task in tasks if task not in done]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        running = [pool.submit(one_row, task, limit) for task in missing]
        try:
            for index, future in enumerate(as_completed(running), start=1):
                row = future.result()
                append_row(path, row)
                print(f"{index}/{len(missing)}", *(row.get(name, "") for name in COLUMNS), flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return len(missing)


# --- the table --------------------------------------------------------------------------------------------


def summary(rows: pd.DataFrame) -> str:
    """A Markdown table: a line for each cell and method, means ± standard errors over its graphs."""
    lines = [
        "Means ± standard errors. d = 10 and n = 800 unless said; seconds are processor time of a graph.",
        "",
        "| cell | method | graphs | SHD_c | F1 | skeleton SHD | CPU seconds | without a graph |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for cell, method in product(CELLS, METHODS):
        part = rows[(rows["cell"] == cell) & (rows["method"] == method)]
        if len(part):
            lines.append(f"| {CELLS[cell].title} | {method} | {cells_of(part)} |")
    return "\n".join(lines) + "\n"


def cells_of(part: pd.DataFrame) -> str:
    """Number of graphs, the four scores, and how many runs gave no graph."""
    done = part[part["status"] == "ok"]
    digits = dict(zip(SCORES, (1, 2, 1, 3), strict=True))
    shown = [spread(done[score].to_numpy(dtype=np.float64), digits[score]) for score in SCORES]
    failed = len(part) - len(done)
    return " | ".join([str(len(done)), *shown, str(failed) if failed else ""])


def spread(values: FloatArray, digits: int) -> str:
    """Mean ± standard error; without the error for one value, empty for none."""
    if len(values) == 0:
        return ""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{error}"


# --- command line -----------------------------------------------------------------------------------------


def arguments_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line, with patterns of cells replaced by the cells."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cells", nargs="+", default=["*"], metavar="CELL", help=f"of {', '.join(CELLS)}")
    parser.add_argument("--graphs", type=int, default=30, help="graphs a cell")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds of processor time for one call")
    parser.add_argument("--redo", action="store_true", help="make the rows of these cells and methods again")
    parser.add_argument("--rows", type=Path, default=ROWS, help="the CSV file; the table is beside it")
    named = list(speed.tables(FIRST_SEED))
    parser.add_argument("--speed", nargs="*", choices=named, help="ratios of time on these tables, or on all")
    parser.add_argument("--repeats", type=int, default=3, help="calls of which --speed takes the median")
    options = parser.parse_args(arguments)
    for pattern in options.cells:
        if not any(fnmatch(cell, pattern) for cell in CELLS):
            parser.error(f"argument --cells: there is no {pattern!r} (choose from {', '.join(CELLS)})")
    options.cells = [cell for cell in CELLS if any(fnmatch(cell, pattern) for pattern in options.cells)]
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = arguments_of(arguments)
    if options.speed is not None:
        warnings.simplefilter("ignore")
        names = options.speed or list(speed.tables(FIRST_SEED))
        for line in speed.markdown(names, seed=FIRST_SEED, repeats=options.repeats, limit=options.limit):
            print(line, flush=True)
        return
    tasks = tasks_of(options.cells, options.methods, options.graphs)
    drop_cut_line(options.rows)
    if options.redo:
        drop_rows(options.rows, tasks)
    run(tasks, options.rows, jobs=options.jobs, limit=options.limit)
    table = summary(read_rows(options.rows))
    options.rows.with_suffix(".md").write_text(table, encoding="utf-8")
    print(table)


if __name__ == "__main__":
    main()
