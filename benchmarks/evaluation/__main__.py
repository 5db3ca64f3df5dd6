"""Run the evaluation, or show its tables.

    python -m benchmarks.evaluation run --jobs 2
    python -m benchmarks.evaluation run --methods "Robust DCD" --redo
    python -m benchmarks.evaluation run --cells 'er4-*' alarm-500 --methods FLOP BOSS --graphs 5
    python -m benchmarks.evaluation show
    python -m benchmarks.evaluation speed breast-cancer diabetes

`run` appends a row to benchmarks/results/evaluation.csv for each fit as soon as it is done and skips those
that are already there (`--redo` drops them first, for a changed method). `show` writes evaluation.md beside
it. Every method gets the same tables. Seeds start at 7,000,000; no setting was chosen on them. FLOP draws its
restarts without a seed, so its rows differ slightly from run to run. `speed` measures processor time
on the named tables, or on all, and writes cost.csv. `make evidence` updates the tables of the pages.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.evaluation import running, speed, tables
from benchmarks.evaluation.cells import CELLS, MOST_GRAPHS
from benchmarks.evaluation.methods import METHODS


def arguments_of(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The command line, with patterns of cells replaced by the cells."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    run = commands.add_parser("run", help="make the rows that are missing")
    run.add_argument("--cells", nargs="+", default=["*"], metavar="CELL", help=f"of {', '.join(CELLS)}")
    run.add_argument("--graphs", type=int, default=MOST_GRAPHS, help="most graphs of a cell")
    run.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    run.add_argument("--jobs", type=int, default=1, help="processes")
    run.add_argument("--limit", type=float, default=1800.0, help="seconds of processor time for one call")
    run.add_argument("--redo", action="store_true", help="make the rows of these cells and methods again")
    show = commands.add_parser("show", help="write the tables")
    for command in (run, show):
        command.add_argument("--rows", type=Path, default=running.ROWS, help="the CSV file of rows")
    ratios = commands.add_parser("speed", help="processor time on dense, real and large tables")
    named = list(speed.tables(running.FIRST_SEED))
    ratios.add_argument("tables", nargs="*", help=f"of {', '.join(named)}; all by default")
    ratios.add_argument("--repeats", type=int, default=3, help="calls of which the median is taken")
    ratios.add_argument("--limit", type=float, default=1800.0, help="seconds of processor time for one call")
    options = parser.parse_args(arguments)
    if options.command == "run":
        for pattern in options.cells:
            if not any(fnmatch(cell, pattern) for cell in CELLS):
                parser.error(f"argument --cells: unknown cell {pattern!r} (choose from {', '.join(CELLS)})")
        options.cells = [cell for cell in CELLS if any(fnmatch(cell, pattern) for pattern in options.cells)]
    if options.command == "speed" and (unknown := set(options.tables) - set(named)):
        parser.error(f"unknown table {sorted(unknown)[0]!r} (choose from {', '.join(named)})")
    return options


def main(arguments: Sequence[str] | None = None) -> None:
    options = arguments_of(arguments)
    if options.command == "speed":
        warnings.simplefilter("ignore")
        names = options.tables or list(speed.tables(running.FIRST_SEED))
        speed.run(names, seed=running.FIRST_SEED, repeats=options.repeats, limit=options.limit)
        return
    if options.command == "run":
        tasks = running.tasks_of(options.cells, options.methods, options.graphs)
        running.drop_cut_line(options.rows)
        if options.redo:
            running.drop_rows(options.rows, tasks)
        running.run(tasks, options.rows, jobs=options.jobs, limit=options.limit)
    text = tables.everything(running.read_rows(options.rows))
    options.rows.with_suffix(".md").write_text(text, encoding="utf-8")
    if options.command == "show":
        print(text)


if __name__ == "__main__":
    main()
