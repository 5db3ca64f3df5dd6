"""`dcd discover`: from a table to its causal graph."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.graph_text import show_result
from dcd.cli.options import Handling, TableFile
from dcd.cli.output_files import check_outputs, check_plot, draw, write_json, write_text
from dcd.cli.running import State, silent_children
from dcd.cli.terminal import remark
from dcd.runtime.errors import InputError

if TYPE_CHECKING:
    from dcd.estimators.base import Discovery
    from dcd.results.changes import Changes
    from dcd.results.model import Result

_EPILOG = """\b
Examples:
  dcd discover data.csv
  dcd discover data.csv --report graph.html --stability 100
  dcd discover survey.xlsx --kinds region=nominal --missing complete-rows
  dcd discover data.parquet --exclude 'id_*' --json - | jq .
  dcd discover large.parquet --memory-limit 4GiB
  dcd discover large.parquet --checkpoint run.dcd --max-time 8h
  zcat big.csv.gz | dcd discover - --method dcd --alpha 0.01

\b
In the answer, a -> b is an arrow from cause to effect; in a - b the
data leave the direction open. "arrow 93 %, edge 99 %" are
the probabilities of this arrow and of any edge between the two."""


@click.command(epilog=_EPILOG, short_help="The causal graph behind a table.")
@options.method
@options.alpha
@click.option(
    "--arrow-probability",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Draw directions with at least this probability as arrows, others as lines.  [default: 0.75]",
)
@options.knowledge
@options.compare_with
@click.option(
    "--stability",
    "n_resamples",
    type=click.IntRange(min=2),
    metavar="N",
    help="Show how often each edge is found in N subsamples of the rows.",
)
@click.option("--checkpoint", metavar="FILE", help="Save finished work to this file, and resume from it.")
@options.max_time
@click.option("--report", metavar="FILE", help="Write the report (HTML); '-' is standard output.")
@options.json_file
@click.option("--plot", metavar="FILE", help="Draw the graph (.png, .svg or .pdf).")
@options.rows
@click.option("--title", help="Title of the page; the file's name by default.")
@click.option("--verbose", is_flag=True, help="List every conflict; by default, long lists are cut short.")
@options.jobs
@options.seed
@options.handles_real_columns
@options.reads_table
@click.pass_obj
def discover(
    state: State,
    *,
    source: TableFile,
    method: str,
    alpha: float,
    arrow_probability: float | None,
    handling: Handling,
    knowledge: str | None,
    compare_with: str | None,
    n_resamples: int | None,
    checkpoint: str | None,
    max_time: float | None,
    report: str | None,
    json_path: str | None,
    plot: str | None,
    rows: bool,
    title: str | None,
    verbose: bool,
    jobs: int | None,
    seed: int,
) -> None:
    """Find the causal graph behind the table DATA ('-' is standard input)."""
    if checkpoint == "-":
        raise click.UsageError("--checkpoint is read again later: it needs a file, not standard output.")
    if checkpoint is not None:
        state.when_interrupted = f"run the same command again to resume from '{checkpoint}'"
    started = time.monotonic()
    outputs = {"--report": report, "--json": json_path, "--plot": plot, "--checkpoint": checkpoint}
    check_outputs(outputs, [source.path, knowledge, compare_with])
    check_plot(plot)

    import dcd

    parameters = {"alpha": alpha, "n_jobs": jobs, "random_state": seed, **handling.parameters}
    model = _estimator(method, parameters, arrow_probability, knowledge)
    table, weights = handling.read(source)
    before = None if compare_with is None else _earlier_result(compare_with, table, weights)
    if n_resamples is not None:
        from dcd.estimators.resampling import check_memory

        check_memory(model, len(table), jobs)
    with silent_children(really=jobs not in (None, 1) and not state.debug):
        model.fit(table, **weights, checkpoint=checkpoint, max_time=_remaining(max_time, started))
        stability = None
        if n_resamples is not None:
            how = {"n_jobs": jobs, "random_state": seed, "checkpoint": checkpoint, **weights}
            how["max_time"] = _remaining(max_time, started)
            stability = dcd.stability(model, table, n_resamples=n_resamples, **how)
    file = None if source.path == "-" else source.title
    result = dcd.summarise(model, stability=stability, title=title or source.title, rows=rows, source=file)
    if "-" not in (json_path, report):
        name = "DCD" if method == "dcd" else "Robust DCD"
        show_result(result, name, _changes(before, result), verbose=verbose)
    if json_path is not None:
        _save(result, json_path)
    if report is not None:
        write_text(report, dcd.report.render(result, before=before))
    if plot is not None:
        draw(model, plot)


def _changes(before: Result | None, result: Result) -> Changes | None:
    if before is None:
        return None
    from dcd.results.changes import changes_since

    return changes_since(before, result)


def _estimator(
    method: str, parameters: dict[str, Any], arrow_probability: float | None, knowledge: str | None
) -> Discovery:
    import dcd

    if knowledge is not None:
        parameters = {**parameters, "knowledge": dcd.Knowledge.from_toml(knowledge)}
    if arrow_probability is None:
        return dcd.DCD(**parameters) if method == "dcd" else dcd.RobustDCD(**parameters)
    if method == "dcd":
        raise click.UsageError("--arrow-probability needs --method robust-dcd: dcd has no probabilities.")
    return dcd.RobustDCD(arrow_probability=arrow_probability, **parameters)


def _earlier_result(path: str, table: Any, weights: dict[str, Any]) -> Result:
    """A saved result; raises `InputError` before the fit if it has another table, unless rows have counts."""
    import dcd

    before = dcd.load_result(path)
    if "counts" not in weights and before.data.fingerprint != dcd.results.fingerprint(table):
        remedy = "Compare results of the same rows and columns."
        raise InputError(f"option --compare-with, file '{path}'", "is a result of another table", remedy)
    return before


def _save(result: Any, path: str) -> None:
    if path == "-":
        write_json(path, result.to_dict())
        return
    result.save(path)
    remark("wrote", path)


def _remaining(max_time: float | None, started: float) -> float | None:
    """The remaining time, after the time spent on reading the table."""
    return None if max_time is None else max(1e-3, max_time - (time.monotonic() - started))
