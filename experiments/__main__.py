"""Run experiments and show their results: `python -m experiments run table1 --jobs 2`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from dcd.runtime.errors import InputError, check_choice, check_number
from experiments.plan import experiment_names, load_experiment, tasks
from experiments.runner import run_tasks
from experiments.store import RESULTS


def main(arguments: list[str] | None = None) -> int:
    """The command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.action(options)
    except (InputError, ImportError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:  # the reader has seen enough
        sys.stderr.close()
        return 0
    except KeyboardInterrupt:
        print("\nStopped. Every finished row is kept; the same command goes on from there.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    actions = parser.add_subparsers(required=True, metavar="action")

    run = actions.add_parser("run", help="run what has no row yet; can be stopped and started again")
    run.add_argument("names", nargs="+", metavar="NAME", help="|".join(experiment_names()))
    run.add_argument("--jobs", type=int, default=1, help="fits at the same time, one thread each")
    run.add_argument("--methods", help="only these, separated by commas")
    run.add_argument("--graphs", type=int, help="graphs a cell, instead of the number in the config")
    run.add_argument("--time-limit", type=float, help="seconds for one fit, instead of that in the config")
    run.add_argument("--retry", action="store_true", help="run again what failed or took too long")
    run.add_argument("--redo", action="store_true", help="run all again, after a change to a method")
    run.set_defaults(action=_run)

    show = actions.add_parser("show", help="print the results; write tables and figures beside them")
    show.add_argument("names", nargs="+", metavar="NAME", help="|".join(experiment_names()))
    show.add_argument("--all-methods", action="store_true", help="figures with all methods, not the paper's")
    show.set_defaults(action=_show)

    for action in (run, show):
        action.add_argument("--results", type=Path, default=RESULTS, help="folder of rows, tables, figures")

    listing = actions.add_parser("list", help="what there is to run")
    listing.set_defaults(action=_list)
    return parser


def _run(options: argparse.Namespace) -> None:
    check_number("--jobs", options.jobs, at_least=1, whole=True, suggestion=2)
    if options.graphs is not None:
        check_number("--graphs", options.graphs, at_least=1, whole=True, suggestion=10)
    if options.time_limit is not None:
        check_number("--time-limit", options.time_limit, above=0, suggestion=600)
    methods = options.methods.split(",") if options.methods else None
    experiments = {name: load_experiment(name) for name in options.names}
    for method in methods or ():
        for experiment in experiments.values():
            check_choice("--methods", method, experiment.methods)
    for name, experiment in experiments.items():
        run_tasks(
            name,
            list(tasks(experiment, methods, options.graphs)),
            jobs=options.jobs,
            time_limit=options.time_limit or experiment.time_limit,
            retry=options.retry,
            redo=options.redo,
            folder=options.results,
        )


def _show(options: argparse.Namespace) -> None:
    from experiments.show import show_experiment

    for name in options.names:
        show_experiment(name, load_experiment(name), all_methods=options.all_methods, folder=options.results)


def _list(_: argparse.Namespace) -> None:
    for name in experiment_names():
        experiment = load_experiment(name)
        n_tasks = sum(1 for _ in tasks(experiment))
        print(f"{name:20} {experiment.title}: {len(experiment.settings)} settings, {n_tasks} rows")


if __name__ == "__main__":
    sys.exit(main())
