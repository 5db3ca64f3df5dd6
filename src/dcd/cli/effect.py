"""`dcd effect`: how much one column changes another, with its range over graphs."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import click

from dcd.cli import options
from dcd.cli.graph_files import read_given_graph
from dcd.cli.options import Handling, TableFile
from dcd.cli.output_files import check_outputs, check_plot, draw, write_json
from dcd.cli.running import State, silent_children
from dcd.cli.terminal import say

if TYPE_CHECKING:
    from dcd.estimators.effect_answers import Effect

_EPILOG = """\b
Examples:
  dcd effect data.csv --of dose --on response
  dcd effect data.csv --of dose --on response --knowledge known.toml
  dcd effect data.csv --of dose --on response --graph result.json
  dcd effect data.csv --of arm --on cured --levels placebo,drug
  dcd effect data.csv --of dose --on response --plot effect.svg --json -

\b
Each possible graph says what to hold fixed, or that the treatment does not
cause the outcome. Where the estimates differ, the effect is a range.
--graph takes a graph instead of finding one: a result of 'discover --json',
which gives the same answer as its fit, or a .csv, .graphml or .dot file, whose
arrows are taken as known. With --knowledge, the answer for a result covers all
graphs that its graph represents."""


@click.command(epilog=_EPILOG, short_help="How much one column changes another.")
@click.option("--of", "treatment", required=True, metavar="COLUMN", help="The treatment.")
@click.option("--on", "outcome", required=True, metavar="COLUMN", help="The outcome.")
@click.option("--graph", metavar="FILE", help="Use this graph instead of finding one.")
@options.knowledge
@options.method
@options.alpha
@options.several("--levels", text="Two levels of the treatment to compare: from, to.", metavar="FROM,TO")
@options.choice(
    "--adjust",
    ["optimal", "parents"],
    "Adjust for the set with the least variance, or for the direct causes of the treatment.",
)
@options.choice(
    "--estimator",
    ["flexible", "linear"],
    "Curves and boosted trees (double machine learning), or least squares.",
)
@options.level("--confidence", 0.95, "Confidence level of each interval.")
@options.json_file
@click.option("--plot", metavar="FILE", help="Draw the answers (.png, .svg or .pdf).")
@options.jobs
@options.seed
@options.handles_real_columns
@options.reads_table
@click.pass_obj
def effect(
    state: State,
    *,
    source: TableFile,
    handling: Handling,
    treatment: str,
    outcome: str,
    graph: str | None,
    knowledge: str | None,
    method: str,
    alpha: float,
    levels: tuple[str, ...],
    adjust: str,
    estimator: str,
    confidence: float,
    json_path: str | None,
    plot: str | None,
    jobs: int | None,
    seed: int,
) -> None:
    """Estimate the average effect of one column of the table DATA on another."""
    check_outputs({"--json": json_path, "--plot": plot}, [source.path, graph, knowledge])
    check_plot(plot)

    import dcd
    from dcd.estimators.effects import check_pair
    from dcd.runtime.errors import RowsLostWarning
    from dcd.table.sources import source_of

    known = None if knowledge is None else dcd.Knowledge.from_toml(knowledge)
    table, weights = handling.read(source, also=[treatment, outcome])
    check_pair(treatment, outcome, source_of(table).names, "table")  # before a fit that can take long
    asked: dict[str, Any] = {
        "levels": levels or None,
        "adjustment": adjust,
        "estimator": estimator,
        "confidence": confidence,
        "random_state": seed,
    }
    if graph is None:
        parameters: dict[str, Any] = {
            "alpha": alpha,
            "n_jobs": jobs,
            "random_state": seed,
            "knowledge": known,
        }
        model = (dcd.DCD if method == "dcd" else dcd.RobustDCD)(**parameters, **handling.parameters)
        with silent_children(really=jobs not in (None, 1) and not state.debug), warnings.catch_warnings():
            # A caveat of the answer counts these rows.
            warnings.simplefilter("ignore", RowsLostWarning)
            found = model.fit(table, **weights).effect(treatment, outcome, **asked)
    else:
        asked |= {"knowledge": known, "kinds": handling.kinds or None, **weights}
        found = dcd.effect(read_given_graph(graph), table, treatment, outcome, **asked)
    if json_path != "-":
        _show(found)
    write_json(json_path, found.to_dict())
    if plot is not None:
        draw(found, plot)


def _show(found: Effect) -> None:
    sentence, *others = found.lines
    say(sentence, style="bold")
    for line in others:
        say(line)
