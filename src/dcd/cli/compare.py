"""`dcd compare`: several methods on one table, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.agreement import agreement
from dcd.cli.graph_text import show_losses
from dcd.cli.options import TableFile
from dcd.cli.output_files import check_outputs, write_json
from dcd.cli.running import FINE, METHOD_FAILED
from dcd.cli.terminal import remark, say, show_table
from dcd.cli.wording import input_error_words
from dcd.runtime.errors import InputError, check_choice

if TYPE_CHECKING:
    import pandas as pd

    from dcd.graph.cpdag import CPDAG
    from dcd.table.dataset import TableOptions, TableSummary

_SHORT = {"pc": "pc-fisherz", "robust": "robust-dcd"}
_DEFAULT = "robust-dcd,dcd,pc,ges"
_EPILOG = """\b
Examples:
  dcd compare data.csv
  dcd compare data.csv --methods robust-dcd,dcd,pc-kcit,ges --time-limit 600
  dcd compare data.csv --json - | jq .shd

\b
'dcd methods' lists what there is. A method that is not installed, fails or
takes too long says so; the others still run, and the exit code is 3."""


@click.command(epilog=_EPILOG, short_help="Several methods side by side.")
@options.several("--methods", text=f"Methods to run.  [default: {_DEFAULT}]")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Stop a method that runs longer.")
@options.seed
@options.json_file
@options.kinds
@options.missing("refuse", "complete-rows")
@options.drop_degenerate
@options.reads_table
def compare(
    *,
    source: TableFile,
    kinds: dict[str, Any],
    missing: Any,
    drop_degenerate: bool,
    methods: tuple[str, ...],
    time_limit: float | None,
    seed: int,
    json_path: str | None,
) -> int:
    """Run several methods on the table DATA and show where their graphs agree."""
    check_outputs({"--json": json_path}, [source.path])
    chosen = _known_methods(methods or _installed(_DEFAULT.split(",")))
    if time_limit is not None and not (time_limit > 0 and math.isfinite(time_limit)):
        raise click.BadParameter("must be a number of seconds above 0.", param_hint="'--time-limit'")
    from dcd.table.dataset import TableOptions
    from dcd.table.reading import read_columns, warn_of_lost_rows

    # Not every method supports testwise deletion.
    reading = TableOptions(kinds or None, missing, drop_degenerate, testwise_possible=False)
    frame = source.read()
    table = read_columns(frame, options=reading, combinations=True).summary  # refuses what no method can use
    warn_of_lost_rows(table, stacklevel=2)
    outcomes, graphs = _run_all(chosen, frame, reading, seed, time_limit)
    answer = {
        "n_rows": table.n_rows,
        "n_rows_used": table.n_rows_used,
        "dropped": table.dropped,
        "methods": outcomes,
        **agreement(graphs, table.names),
    }
    write_json(json_path, answer)
    if json_path != "-":
        _show(answer, table)
    return FINE if len(graphs) == len(chosen) else METHOD_FAILED


def _installed(names: Sequence[str]) -> tuple[str, ...]:
    """The default methods that are installed."""
    from dcd.evaluation.baselines import installed

    available = tuple(name for name in names if installed(_SHORT.get(name, name)))
    absent = [name for name in names if name not in available]
    if absent:
        remark("note", f"{', '.join(absent)}: not installed, left out ('dcd methods' says what to install)")
    return available


def _known_methods(names: Sequence[str]) -> list[str]:
    from dcd.evaluation.baselines import METHODS

    chosen = list(dict.fromkeys(_SHORT.get(name, name) for name in names))
    for name in chosen:
        check_choice("methods", name, tuple(METHODS))
    if len(chosen) < 2:
        raise click.BadParameter("name two methods or more to compare.", param_hint="'--methods'")
    return chosen


def _run_all(
    methods: Sequence[str], frame: pd.DataFrame, reading: TableOptions, seed: int, time_limit: float | None
) -> tuple[dict[str, Any], dict[str, CPDAG]]:
    """The outcome of each method as in the JSON answer, and the graphs of those that have one."""
    from dcd.evaluation.baselines import Worker

    outcomes: dict[str, Any] = {}
    graphs: dict[str, CPDAG] = {}
    with Worker() as worker:
        for method in _watched(methods):
            try:
                outcome = worker.solve(method, frame, reading=reading, seed=seed, time_limit=time_limit)
            except InputError as error:
                outcomes[method] = {"failed": input_error_words(error)}
                continue
            if outcome.cpdag is None:
                outcomes[method] = {"failed": outcome.reason}
                continue
            graphs[method] = outcome.cpdag
            outcomes[method] = {
                "directed": outcome.cpdag.directed_edges,
                "undirected": outcome.cpdag.undirected_edges,
                "seconds": outcome.seconds,
            }
    return outcomes, graphs


def _watched(methods: Sequence[str]) -> Iterator[str]:
    """The methods, with a progress bar on a terminal."""
    from dcd.runtime.runs import progress_bar

    with progress_bar("methods", len(methods), 0) as bar:
        bar.leave = False
        for method in methods:
            bar.set_description(method)
            yield method
            bar.update()


def _show(answer: dict[str, Any], table: TableSummary) -> None:
    methods, ran = answer["methods"], list(answer["shd"])
    say(f"{len(table.names)} variables, {table.n_rows} rows, {len(methods)} methods", style="bold")
    show_losses(table)
    for method, outcome in methods.items():
        if "failed" in outcome:
            say(f"{method} gave no graph: {outcome['failed']}")
    if not ran:
        return
    say()
    rows = [
        [
            edge["a"],
            edge["b"],
            *((edge["marks"][method] or ".") if method in ran else "failed" for method in methods),
            f"{edge['agree']} of {len(ran)}",
        ]
        for edge in answer["edges"]
    ]
    if rows:
        show_table(["a", "b", *methods, "agree"], rows)
    else:
        say("No method found an edge.")
    if len(ran) > 1:
        _show_distances(answer, ran)


def _show_distances(answer: dict[str, Any], ran: Sequence[str]) -> None:
    say()
    say("Edges of two methods", style="bold")
    header = ["first", "second", "same", "drawn otherwise", "first only", "second only"]
    show_table(header, [list(pair.values()) for pair in answer["pairs"]], right=header[2:])
    say()
    say("Pairs of variables on which they differ (SHD)", style="bold")
    rows = [[method, *answer["shd"][method].values()] for method in ran]
    show_table(["", *ran], rows, right=ran)
