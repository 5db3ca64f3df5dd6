"""`dcd score`: how far a graph is from the true one."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from dcd.cli import options
from dcd.cli.graph_files import read_graph
from dcd.cli.output_files import check_outputs, write_json
from dcd.cli.running import FINE, PROBLEMS
from dcd.cli.terminal import remark, say, show_table

if TYPE_CHECKING:
    import pandas as pd

    from dcd.evaluation.metrics import AdjustmentDistances

_EPILOG = """\b
Examples:
  dcd score result.json truth.csv
  dcd score result.json truth.csv --min-f1 0.8
  dcd score mine.csv theirs.csv --effects --json -

\b
A graph is a result of 'discover --json', a CSV matrix with names on both
sides (1: row causes column; 1 both ways: undirected), a CSV list of edges
(from,to,type with '->' or '-'), or a .graphml or .dot file.
A DAG is scored as its CPDAG, which is all that data can determine, and so is
a result with arrows that come from knowledge alone.
The exit code is 1 if --min-f1 or --max-shd is missed."""


@click.command(epilog=_EPILOG, short_help="How far a graph is from the true one.")
@click.argument("estimated")
@click.argument("truth")
@click.option(
    "--as-given", is_flag=True, help="Score all arrows as given, including those of a DAG or from knowledge."
)
@click.option(
    "--effects", is_flag=True, help="Also count the effects that the graph gets wrong; needs gadjid."
)
@click.option("--min-f1", type=click.FloatRange(0, 1), help="Exit with code 1 if F1 is lower.")
@click.option("--max-shd", type=click.IntRange(min=0), help="Exit with code 1 if the SHD is larger.")
@options.json_file
def score(
    *,
    estimated: str,
    truth: str,
    as_given: bool,
    effects: bool,
    min_f1: float | None,
    max_shd: int | None,
    json_path: str | None,
) -> int:
    """Score the graph ESTIMATED against the graph TRUTH."""
    check_outputs({"--json": json_path}, [estimated, truth])
    from dcd.evaluation.metrics import adjustment_distances, compare

    if min_f1 is not None and math.isnan(min_f1):  # which click accepts
        raise click.BadParameter("must be a number from 0 to 1.", param_hint="'--min-f1'")
    first, second = (read_graph(path, with_knowledge=as_given) for path in (estimated, truth))
    estimate, true = _extended(first, second), _extended(second, first)
    pair = (true, estimate) if as_given else (_as_cpdag(true), _as_cpdag(estimate))
    scores = compare(*pair)
    distances = adjustment_distances(*pair) if effects else None
    write_json(json_path, asdict(scores) | ({"effects": asdict(distances)} if distances else {}))
    if json_path != "-":
        say(f"SHD {scores.shd_c}: pairs of variables on which the graphs differ", style="bold")
        say()
        values = list(asdict(scores).values())  # of edges with direction, then of the skeleton
        rows = [("edges with direction", *values[:4]), ("edges", *values[4:])]
        header = ["", "SHD", "precision", "recall", "F1"]
        show_table(header, [[a, b, *(f"{x:.2f}" for x in rest)] for a, b, *rest in rows], right=header[1:])
        if distances is not None:
            _show_effects(distances)
    code = FINE
    if min_f1 is not None and scores.f1 < min_f1:
        remark("missed", f"F1 is {scores.f1:.2f}, less than {min_f1:g}")
        code = PROBLEMS
    if max_shd is not None and scores.shd_c > max_shd:
        remark("missed", f"SHD is {scores.shd_c}, more than {max_shd}")
        code = PROBLEMS
    return code


def _show_effects(distances: AdjustmentDistances) -> None:
    say()
    say(f"Wrong effects, out of {distances.n_effects} (adjustment distances)", style="bold")
    rows = [
        ("adjusting for parents", distances.parent),
        ("for ancestors", distances.ancestor),
        ("for the optimal set", distances.optimal),
    ]
    if distances.sid is not None:
        rows.append(("structural intervention distance", distances.sid))
    show_table(["", "wrong"], rows, right=["wrong"])


def _extended(matrix: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """The matrix over the names of both, if it comes from a list of edges, which may omit variables."""
    if not matrix.attrs.get("open"):
        return matrix
    names = list(dict.fromkeys([*matrix.columns, *other.columns]))
    return matrix.reindex(index=names, columns=names, fill_value=0)


def _as_cpdag(matrix: pd.DataFrame) -> pd.DataFrame:
    """The CPDAG of a DAG; other graphs are unchanged."""
    import pandas as pd

    from dcd.graph.adjacency import is_acyclic, undirected_part
    from dcd.graph.equivalence import dag_to_cpdag

    if undirected_part(matrix).any() or not is_acyclic(matrix):
        return matrix
    return pd.DataFrame(dag_to_cpdag(matrix), index=matrix.index, columns=matrix.columns)
