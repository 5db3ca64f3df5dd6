"""`dcd falsify`: test a graph against data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dcd.cli import options
from dcd.cli.graph_files import read_graph
from dcd.cli.options import Handling, TableFile
from dcd.cli.output_files import check_outputs, write_json, write_text
from dcd.cli.running import FINE, PROBLEMS, State, silent_children
from dcd.cli.terminal import count, remark, say, show_table

if TYPE_CHECKING:
    from dcd.evaluation.falsification import Falsification, Independence

_SHOWN = 20  # violated statements and needless edges in the terminal
_EPILOG = """\b
Examples:
  dcd falsify expert.dot data.csv
  dcd falsify paper.csv data.csv --report page.html
  dcd falsify result.json other.csv --permutations 0 --json -
  dcd falsify expert.dot survey.csv --missing testwise --kinds region=nominal

\b
A graph is a .dot or .graphml file, a CSV list of edges (from,to,type with
'->' or '-'), a CSV matrix with names on both sides (1: row causes column;
1 both ways: undirected), or a result of 'discover --json'.
Columns that are not in the graph are ignored.
The exit code is 1 if the data contradict the graph."""


@click.command(epilog=_EPILOG, short_help="Test a graph against data.")
@click.argument("graph")
@options.level("--alpha", 0.05, "Upper bound on the probability of any violation if the graph is true.")
@click.option(
    "--permutations",
    "n_permutations",
    type=click.IntRange(min=0, max=100_000),
    default=100,
    show_default=True,
    metavar="N",
    help="Compare with N random relabellings of the graph.",
)
@click.option(
    "--max-rows",
    type=click.IntRange(min=10),
    default=5000,
    show_default=True,
    metavar="N",
    help="Test on at most N rows, drawn with a fixed seed.",
)
@click.option(
    "--report", "--page", "report", metavar="FILE", help="Write a page (HTML); '-' is standard output."
)
@options.json_file
@options.rows
@click.option("--title", help="Title of the page; the names of the files by default.")
@options.jobs
@options.seed
@options.handles_rows
@options.reads_table
@click.pass_obj
def falsify(
    state: State,
    *,
    graph: str,
    source: TableFile,
    handling: Handling,
    alpha: float,
    n_permutations: int,
    max_rows: int,
    report: str | None,
    json_path: str | None,
    rows: bool,
    title: str | None,
    jobs: int | None,
    seed: int,
) -> int:
    """Test the graph GRAPH: find where the table DATA contradicts it."""
    check_outputs({"--report": report, "--json": json_path}, [graph, source.path])
    matrix = read_graph(graph, with_knowledge=True, as_written=True)
    if n_uncertain := matrix.attrs.get("n_uncertain"):
        drawn = "a line, tested as an arrow" if n_uncertain == 1 else "lines, tested as arrows"
        remark("note", f"{count(n_uncertain, 'uncertain arrow')} of the result, drawn there as {drawn}")
    import dcd

    table, weights = handling.read(source)
    with silent_children(really=jobs not in (None, 1) and not state.debug):
        checked = dcd.falsify(
            matrix,
            table,
            alpha=alpha,
            n_permutations=n_permutations,
            max_rows=max_rows,
            rows=rows,
            **handling.parameters,
            **weights,
            title=title or f"{options.file_name(graph)} on {source.title}",
            n_jobs=jobs,
            random_state=seed,
        )
    write_json(json_path, checked.to_dict())
    if "-" not in (json_path, report):
        _show(checked)
    if report is not None:
        write_text(report, checked.to_html())
    return PROBLEMS if checked.violated else FINE


def _show(checked: Falsification) -> None:
    if checked.ignored:
        ignored = ", ".join(checked.ignored[:_SHOWN]) + (", ..." if len(checked.ignored) > _SHOWN else "")
        remark("note", f"not in the graph, ignored: {ignored}")
    say(f"{len(checked.names)} variables, {checked.n_rows_tested} rows, level {checked.alpha:g}")
    say()
    for index, finding in enumerate(checked.findings()):
        say(finding, style="" if index else "bold")
    if checked.violated:
        say()
        say("Violated", style="bold")
        header = ["independent in the graph", "given", "p-value", "adjusted", "correlation"]
        rows = [
            [f"{one.first}, {one.second}", ", ".join(one.given) or "-", *_numbers(one)]
            for one in checked.violated
        ]
        _show_some(header, rows)
    if checked.unneeded:
        say()
        say("Edges without support", style="bold")
        header = ["edge", "given", "p-value"]
        edges = [[str(edge), ", ".join(edge.given) or "-", f"{edge.pvalue:.2g}"] for edge in checked.unneeded]
        _show_some(header, edges)


def _numbers(one: Independence) -> list[str]:
    correlation = "" if one.correlation is None else f"{one.correlation:+.2f}"
    return [f"{one.pvalue:.2g}", f"{one.adjusted:.2g}", correlation]


def _show_some(header: list[str], rows: list[list[str]]) -> None:
    show_table(header, rows[:_SHOWN], right=header[2:])
    if len(rows) > _SHOWN:
        say(f"  and {len(rows) - _SHOWN} more (in the page and the JSON)")
