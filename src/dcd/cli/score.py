"""`dcd score`: how far a graph is from the true one."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

import click

from dcd.cli import options
from dcd.cli.graph_files import read_graph
from dcd.cli.output_files import check_outputs, write_text
from dcd.cli.running import FINE, PROBLEMS, with_debug
from dcd.cli.terminal import remark, say, show_table

if TYPE_CHECKING:
    import pandas as pd

_EPILOG = """\b
Examples:
  dcd score result.json truth.csv
  dcd score result.json truth.csv --min-f1 0.8
  dcd score mine.csv theirs.csv --json -

\b
A graph is a result of 'discover --json', a CSV matrix with names on both
sides (1: row causes column; 1 both ways: undirected), a CSV list of edges
(from,to,type with '->' or '-'), or a .graphml or .dot file.
A DAG counts as its CPDAG, which is all that data can tell of it, and so
does a result with arrows that only knowledge directs.
The exit code is 1 if --min-f1 or --max-shd is missed."""


@click.command(epilog=_EPILOG, short_help="How far a graph is from the true one.")
@click.argument("estimated")
@click.argument("truth")
@click.option("--as-given", is_flag=True, help="Score arrows as they stand: of a DAG, by knowledge.")
@click.option("--min-f1", type=click.FloatRange(0, 1), help="Least F1 that is good enough.")
@click.option("--max-shd", type=click.IntRange(min=0), help="Largest distance that is good enough.")
@options.json_file
@with_debug
def score(
    *,
    estimated: str,
    truth: str,
    as_given: bool,
    min_f1: float | None,
    max_shd: int | None,
    json_path: str | None,
) -> int:
    """Score the graph ESTIMATED against the graph TRUTH."""
    check_outputs({"--json": json_path}, [estimated, truth])
    from dataclasses import asdict

    from dcd.evaluation.metrics import compare

    if min_f1 is not None and math.isnan(min_f1):  # which click accepts
        raise click.BadParameter("must be a number from 0 to 1.", param_hint="'--min-f1'")
    estimate, true = (read_graph(path, with_knowledge=as_given) for path in (estimated, truth))
    estimate, true = _over_the_same_names(estimate, true)
    if not as_given:
        estimate, true = _as_cpdag(estimate), _as_cpdag(true)
    scores = compare(true, estimate)
    if json_path is not None:
        write_text(json_path, json.dumps(asdict(scores), indent=1))
    if json_path != "-":
        say(f"SHD {scores.shd_c}: pairs of variables on which the graphs differ", style="bold")
        say()
        values = list(asdict(scores).values())  # of edges with direction, then of the skeleton
        rows = [("edges with direction", *values[:4]), ("edges", *values[4:])]
        header = ["", "SHD", "precision", "recall", "F1"]
        show_table(header, [[a, b, *(f"{x:.2f}" for x in rest)] for a, b, *rest in rows], right=header[1:])
    return _verdict(scores.f1, scores.shd_c, min_f1, max_shd)


def _verdict(f1: float, shd: int, min_f1: float | None, max_shd: int | None) -> int:
    missed = []
    if min_f1 is not None and f1 < min_f1:
        missed.append(f"F1 is {f1:.2f}, less than {min_f1:g}")
    if max_shd is not None and shd > max_shd:
        missed.append(f"SHD is {shd}, more than {max_shd}")
    for reason in missed:
        remark("missed", reason)
    return PROBLEMS if missed else FINE


def _over_the_same_names(first: pd.DataFrame, second: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both matrices over the names of both, where a list of edges may omit some."""
    return _extended(first, list(second.columns)), _extended(second, list(first.columns))


def _extended(matrix: pd.DataFrame, others: list[str]) -> pd.DataFrame:
    if not matrix.attrs.get("open"):
        return matrix
    names = list(dict.fromkeys([*matrix.columns, *others]))
    return matrix.reindex(index=names, columns=names, fill_value=0)


def _as_cpdag(matrix: pd.DataFrame) -> pd.DataFrame:
    """The CPDAG of a DAG; other graphs are unchanged."""
    import pandas as pd

    from dcd.graph.adjacency import is_acyclic, undirected_part
    from dcd.graph.equivalence import dag_to_cpdag

    if undirected_part(matrix).any() or not is_acyclic(matrix):
        return matrix
    return pd.DataFrame(dag_to_cpdag(matrix), index=matrix.index, columns=matrix.columns)
