"""`dcd compare`: several methods on one table, side by side."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.agreement import DISTANCES, against_knowledge, agreement
from dcd.cli.compare_page import compare_page
from dcd.cli.graph_text import rows_used, show_columns_left_out
from dcd.cli.options import TableFile
from dcd.cli.output_files import check_outputs, write_json, write_text
from dcd.cli.running import FINE, METHOD_FAILED
from dcd.cli.terminal import remark, say, show_table
from dcd.cli.wording import input_error_lines
from dcd.runtime.errors import InputError, check_choice

if TYPE_CHECKING:
    import pandas as pd

    from dcd.evaluation.baselines import Outcome
    from dcd.graph.bound_knowledge import BoundKnowledge
    from dcd.graph.cpdag import CPDAG
    from dcd.graph.knowledge import Knowledge
    from dcd.table.dataset import TableOptions, TableSummary

_SHORT = {"pc": "pc-fisherz", "robust": "robust-dcd"}
_DEFAULT = "robust-dcd,dcd,pc,ges"
_USES = {True: "used", False: "cannot be used", None: ""}
_EPILOG = """\b
Examples:
  dcd compare data.csv
  dcd compare data.csv --report compare.html
  dcd compare data.csv --methods robust-dcd,dcd,pc-kcit,ges --time-limit 600
  dcd compare data.csv --knowledge known.toml
  dcd compare data.csv --json - | jq .shd

\b
'dcd methods' lists the methods. If one is not installed, fails or takes too
long, the reason is shown; the others still run, and the exit code is 3. Without
--methods, those that are not installed are left out.
Background knowledge is passed to every method that can use it; the answer lists
where each graph contradicts it."""


@click.command(epilog=_EPILOG, short_help="Several methods side by side.")
@options.several("--methods", text=f"Methods to run.  [default: {_DEFAULT}]")
@click.option("--time-limit", type=float, metavar="SECONDS", help="Stop a method that runs longer.")
@options.knowledge
@options.seed
@click.option(
    "--report", "--page", "report", metavar="FILE", help="Write a page (HTML) with the graphs side by side."
)
@options.json_file
@click.option("--title", help="Title of the page; the file's name by default.")
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
    knowledge: str | None,
    seed: int,
    report: str | None,
    json_path: str | None,
    title: str | None,
) -> int:
    """Run several methods on the table DATA and show where their graphs agree."""
    check_outputs({"--report": report, "--json": json_path}, [source.path, knowledge])
    chosen = _known_methods(methods or _installed(_DEFAULT.split(",")))
    if time_limit is not None and not (time_limit > 0 and math.isfinite(time_limit)):
        raise click.BadParameter("must be a number of seconds above 0.", param_hint="'--time-limit'")
    from dcd.graph.knowledge import Knowledge, bind_knowledge
    from dcd.table.dataset import TableOptions
    from dcd.table.reading import read_columns, warn_of_lost_rows

    known = None if knowledge is None else Knowledge.from_toml(knowledge)
    # Not every method supports testwise deletion.
    reading = TableOptions(kinds or None, missing, drop_degenerate, testwise_possible=False)
    frame = source.read()
    table = read_columns(frame, options=reading, combinations=True).summary  # refuses what no method can use
    bound = bind_knowledge(known, table.names, table.dropped)
    warn_of_lost_rows(table, stacklevel=2)
    task = _Task(frame, reading, known, bound, seed, time_limit)
    outcomes, graphs = _run_all(chosen, task)
    answer = {
        "n_rows": table.n_rows,
        "n_rows_used": table.n_rows_used,
        "dropped": table.dropped,
        "knowledge": [] if known is None else list(known.statements()),
        "methods": outcomes,
        **agreement(graphs, table.names),
    }
    write_json(json_path, answer)
    if "-" not in (json_path, report):
        _show(answer, table)
    if report is not None:
        write_text(report, compare_page(answer, graphs, table, title or source.title))
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


# --- running ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Task:
    """The input of every method."""

    frame: pd.DataFrame = field(repr=False)
    reading: TableOptions
    knowledge: Knowledge | None
    bound: BoundKnowledge
    seed: int
    time_limit: float | None


def _run_all(methods: Sequence[str], task: _Task) -> tuple[dict[str, Any], dict[str, CPDAG]]:
    """The outcome of each method as in the JSON answer, and the graphs of those that have one."""
    from dcd.evaluation.baselines import METHODS, Worker

    outcomes: dict[str, Any] = {}
    graphs: dict[str, CPDAG] = {}
    with Worker() as worker:
        for method in _watched(methods):
            takes = METHODS[method].takes_knowledge if task.bound.says_something else None
            try:
                outcome = worker.solve(
                    method,
                    task.frame,
                    reading=task.reading,
                    knowledge=task.knowledge if takes else None,
                    seed=task.seed,
                    time_limit=task.time_limit,
                )
            except InputError as error:
                outcomes[method] = {"failed": " ".join(input_error_lines(error))}
                continue
            if outcome.cpdag is None:
                outcomes[method] = {"failed": outcome.reason}
                continue
            graphs[method] = outcome.cpdag
            outcomes[method] = _told(outcome, outcome.cpdag, task.bound, takes)
    return outcomes, graphs


def _told(outcome: Outcome, cpdag: CPDAG, bound: BoundKnowledge, takes: bool | None) -> dict[str, Any]:
    return {
        "directed": cpdag.directed_edges,
        "undirected": cpdag.undirected_edges,
        "seconds": outcome.seconds,
        "peak_mb": outcome.peak_mb,
        "contradictory": outcome.contradictory,
        "takes_knowledge": takes,
        "against_knowledge": against_knowledge(cpdag, bound),
    }


def _watched(methods: Sequence[str]) -> Iterator[str]:
    """The methods, with a progress bar on a terminal."""
    from dcd.runtime.runs import progress_bar

    with progress_bar("methods", len(methods), 0) as bar:
        bar.leave = False
        for method in methods:
            bar.set_description(method)
            yield method
            bar.update()


# --- the terminal ----------------------------------------------------------------------------------------


def _show(answer: dict[str, Any], table: TableSummary) -> None:
    methods = answer["methods"]
    ran = [method for method in methods if "failed" not in methods[method]]
    say(f"{len(table.names)} variables, {rows_used(table)}, {len(methods)} methods", style="bold")
    show_columns_left_out(table)
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
    _show_against(methods, ran)
    _show_methods(methods, ran)


def _show_distances(answer: dict[str, Any], ran: Sequence[str]) -> None:
    say()
    say("Edges of each pair of methods", style="bold")
    header = ["first", "second", "same", "different", "first only", "second only"]
    show_table(header, [list(pair.values()) for pair in answer["pairs"]], right=header[2:])
    for key, distance in DISTANCES.items():
        say()
        say(distance.heading, style="bold")
        rows = [[method, *(f"{value:g}" for value in answer[key][method].values())] for method in ran]
        show_table(["", *ran], rows, right=ran)


def _show_against(methods: dict[str, Any], ran: Sequence[str]) -> None:
    """Where each method contradicts the given knowledge."""
    found = [(method, words) for method in ran for words in methods[method]["against_knowledge"]]
    if found:
        say()
        say(f"Against knowledge ({len(found)})", style="bold")
        show_table(["", ""], found)


def _show_methods(methods: dict[str, Any], ran: Sequence[str]) -> None:
    """Times, which differ from run to run, come last."""
    say()
    say("Methods", style="bold")
    header = ["method", "edges", "arrows", "seconds"]
    rows = [
        [
            method,
            len(methods[method]["directed"]) + len(methods[method]["undirected"]),
            len(methods[method]["directed"]),
            f"{methods[method]['seconds']:.2f}",
            _USES[methods[method]["takes_knowledge"]],
        ]
        for method in ran
    ]
    if "robust-dcd" in ran:
        say("robust-dcd has all arrows of its CPDAG here; dcd discover draws uncertain ones as lines.")
    informed = any(row[-1] for row in rows)
    shown = rows if informed else [row[:-1] for row in rows]
    show_table([*header, *(["knowledge"] if informed else [])], shown, right=header[1:])
