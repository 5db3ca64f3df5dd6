"""`dcd simulate`: a table from a random causal graph, with the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from dcd.cli import options
from dcd.cli.output_files import check_outputs, write_text

if TYPE_CHECKING:
    import pandas as pd

_EPILOG = """\b
Examples:
  dcd simulate --variables 10 --rows 800 --out data.csv --truth truth.csv
  dcd simulate --graph erdos-renyi --degree 4 --mechanism mlp --noise-std 0.5 --out data.csv
  dcd simulate --seed 3 --truth truth.csv | dcd discover -

\b
The truth is the matrix of the graph: 1 in the row of the cause and the
column of the effect. 'dcd score' reads it."""


@click.command(epilog=_EPILOG, short_help="A table from a random causal graph.")
@click.option(
    "--variables", type=click.IntRange(min=3), default=10, show_default=True, help="Number of columns."
)
@click.option("--rows", type=click.IntRange(min=2), default=800, show_default=True, help="Number of rows.")
@options.choice("--graph", ["scale-free", "erdos-renyi"], "Kind of random graph.")
@click.option(
    "--degree", type=int, default=2, show_default=True, help="Neighbours of a variable, on average."
)
@options.choice(
    "--mechanism",
    ["func", "bounded", "linear", "mlp", "product", "mixed"],
    "How effects depend on causes: a function of their sum, a bounded one, their sum itself, a neural "
    "network, products, or a mix of numbers and categories (half of the columns are text).",
)
@click.option(
    "--noise",
    type=click.Choice(["gaussian", "laplace", "student-t", "uniform"]),
    help="Distribution of the noise; by default, one is drawn for each variable.",
)
@click.option(
    "--noise-std",
    type=float,
    default=2.0,
    show_default=True,
    help="Standard deviation of the noise; the signal's is 1.",
)
@options.seed
@click.option("--out", default="-", show_default=True, metavar="FILE", help="File for the table, as CSV.")
@click.option("--truth", metavar="FILE", help="File for the graph, as CSV.")
def simulate(
    *,
    variables: int,
    rows: int,
    graph: str,
    degree: int,
    mechanism: str,
    noise: str | None,
    noise_std: float,
    seed: int,
    out: str,
    truth: str | None,
) -> None:
    """Draw a random causal graph and a table from it."""
    check_outputs({"--out": out, "--truth": truth})
    import numpy as np
    import pandas as pd

    from dcd.evaluation.simulate import random_dag, sample, sample_mixed

    if noise is not None and mechanism == "mixed":
        raise click.BadParameter("has no effect with --mechanism mixed.", param_hint="'--noise'")
    rng = np.random.default_rng(seed)
    dag = random_dag(variables, graph=graph, degree=degree, random_state=rng)
    names = [f"x{index}" for index in range(1, variables + 1)]
    if mechanism == "mixed":
        table = sample_mixed(dag, rows, noise_std=noise_std, random_state=rng).set_axis(names, axis="columns")
    else:
        values = sample(dag, rows, mechanism=mechanism, noise=noise, noise_std=noise_std, random_state=rng)
        table = pd.DataFrame(values, columns=names)
    write_text(out, _csv(table, index=False))
    if truth is not None:
        write_text(truth, _csv(pd.DataFrame(dag, index=names, columns=names), index=True))


def _csv(frame: pd.DataFrame, *, index: bool) -> str:
    return frame.to_csv(index=index, float_format="%.9g", lineterminator="\n")
