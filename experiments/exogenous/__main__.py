"""Run the experiment and show its results: `python -m experiments.exogenous run --role choose`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dcd.runtime.errors import InputError, check_choice, check_number
from experiments.exogenous.methods import METHODS
from experiments.exogenous.roles import ROLES
from experiments.exogenous.running import FOLDER, KNOWLEDGE, run_tasks, tasks
from experiments.exogenous.showing import show_role
from experiments.exogenous.tables import TABLES


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.action(options)
    except (InputError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nStopped. Every finished row is kept; the same command goes on from there.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments.exogenous", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="action")

    run = actions.add_parser("run", help="run what has no row yet; can be stopped and started again")
    run.add_argument("--methods", default=",".join(METHODS), help="only these, separated by commas")
    run.add_argument("--tables", help="only these tables of the role, separated by commas")
    run.add_argument(
        "--knowledge", choices=KNOWLEDGE, default="none", help="half: every other column is told"
    )
    run.add_argument("--time-limit", type=float, default=900.0, help="seconds of processor time for one fit")
    run.add_argument("--redo", action="store_true", help="run all again, after a change to a method")
    run.set_defaults(action=_run)

    show = actions.add_parser("show", help="print the results and write them beside the rows")
    show.set_defaults(action=_show)
    for action in (run, show):
        action.add_argument("--role", choices=ROLES, default="choose", help="which of the tables")
        action.add_argument("--results", type=Path, default=FOLDER, help="folder of the rows")
    return parser


def _run(options: argparse.Namespace) -> None:
    check_number("--time-limit", options.time_limit, above=0, suggestion=600)
    methods = options.methods.split(",")
    for method in methods:
        check_choice("--methods", method, tuple(METHODS))
    tables = [table for table in TABLES if table.role == options.role]
    if options.tables:
        known = {table.name: table for table in tables}
        for name in options.tables.split(","):
            check_choice("--tables", name, tuple(known))
        tables = [known[name] for name in options.tables.split(",")]
    planned = list(tasks(tables, methods, options.knowledge))
    run_tasks(planned, time_limit=options.time_limit, redo=options.redo, folder=options.results)


def _show(options: argparse.Namespace) -> None:
    print(show_role(options.role, options.results))


if __name__ == "__main__":
    sys.exit(main())
