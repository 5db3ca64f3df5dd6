"""Graphs from files: saved results, CSV matrices or edge lists, GraphML and DOT."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dcd.runtime.errors import InputError
from dcd.runtime.files import read_text

if TYPE_CHECKING:
    import pandas as pd

    from dcd.graph.cpdag import CPDAG
    from dcd.results.model import Result

_FROM = ("from", "cause", "source")
_TO = ("to", "effect", "target")
_TYPE = ("type", "edge", "mark", "kind")
_DIRECTED = ("->", "-->", "directed")
_UNDIRECTED = ("-", "--", "---", "undirected")


def read_given_graph(path: str) -> CPDAG | Result:
    """The graph in a file, its arrows taken as known; a result unchanged, with its sampled graphs."""
    from dcd.estimators.effects import as_given

    if Path(path).suffix.lower() == ".json":
        from dcd.results.model import load_result

        return load_result(path)
    return as_given(read_graph(path, as_written=True))


def read_graph(path: str, *, with_knowledge: bool = False, as_written: bool = False) -> pd.DataFrame:
    """The labelled adjacency matrix in a file: `[i, j] = 1` for `i -> j`, both for `i - j`.

    The file is a result of `dcd discover --json`, GraphML, DOT, a CSV matrix with names on both sides, or a
    CSV list of edges with columns such as `from,to` and optionally `type` (`->` or `-`). A list need not name
    variables without edges, so `attrs["open"]` of the matrix is set. Arrows of a result that follow from
    knowledge alone are directed only `with_knowledge`. With `as_written`, a DAG is not replaced by its class,
    and a result has all arrows; `attrs["n_uncertain"]` counts those that it draws as lines.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        from dcd.results.model import load_result

        cpdag = load_result(path).cpdag
        if as_written:
            frame = replace(cpdag, uncertain=()).to_frame()
            frame.attrs["n_uncertain"] = len(cpdag.uncertain)
            return frame
        return (cpdag if with_knowledge else cpdag.without_background()).to_frame()
    if suffix in (".graphml", ".dot", ".gv"):
        from dcd.interop import common
        from dcd.interop.dot import read_dot
        from dcd.interop.graphml import read_graphml

        written = (read_graphml if suffix == ".graphml" else read_dot)(read_text(path))
        return written if as_written else common.class_of_frame(written).to_frame()
    if suffix in (".csv", ".tsv"):
        return _from_csv(path, "\t" if suffix == ".tsv" else ",")
    problem = "has an extension that no graph format uses"
    raise InputError(f"file '{path}'", problem, "Use .json, .csv, .graphml or .dot.")


def _from_csv(path: str, delimiter: str) -> pd.DataFrame:
    reader = csv.reader(io.StringIO(read_text(path), newline=""), delimiter=delimiter)
    rows = [[cell.strip() for cell in row] for row in reader if row]
    if not rows:
        raise InputError(f"file '{path}'", "is empty", "Check that it was written completely.")
    header = [cell.casefold() for cell in rows[0]]
    if len(header) > 1 and header[0] in _FROM and header[1] in _TO:
        return _edges_to_matrix(path, header, rows[1:])
    return _cells_to_matrix(path, rows)


def _edges_to_matrix(path: str, header: list[str], rows: list[list[str]]) -> pd.DataFrame:
    import pandas as pd

    type_position = next((index for index, name in enumerate(header) if name in _TYPE), None)
    edges = []
    for line, row in enumerate(rows, start=2):
        complete = len(row) == len(header) and row[0] and row[1]
        mark = row[type_position].casefold() if complete and type_position is not None else "->"
        if not complete or mark not in (*_DIRECTED, *_UNDIRECTED):
            remedy = "Write two names and, if needed, '->' or '-'."
            raise InputError(f"file '{path}', line {line}", "is not an edge", remedy)
        edges += [(row[0], row[1]), (row[1], row[0])] if mark in _UNDIRECTED else [(row[0], row[1])]
    names = list(dict.fromkeys(name for edge in edges for name in edge))
    matrix = pd.DataFrame(0, index=names, columns=names)
    for edge in edges:
        matrix.loc[edge] = 1
    matrix.attrs["open"] = True
    return matrix


def _cells_to_matrix(path: str, rows: list[list[str]]) -> pd.DataFrame:
    import pandas as pd

    names, labels = rows[0][1:], [row[0] for row in rows[1:]]
    cells = [row[1:] for row in rows[1:]]
    square = labels == names and all(len(row) == len(names) for row in cells)
    if not square or not names or len(set(names)) < len(names):
        raise InputError(
            f"file '{path}'",
            "is neither a matrix with the same names on both sides nor a list of edges",
            "Write the names in the first line and the first column, or edges under the header from,to,type.",
        )
    wrong = [cell for row in cells for cell in row if cell not in ("0", "1")]
    if wrong:
        remedy = "Write 1 in the row of the cause and the column of the effect, 0 elsewhere."
        raise InputError(f"file '{path}'", f"has the entry {wrong[0]!r}, which is not 0 or 1", remedy)
    return pd.DataFrame([[int(cell) for cell in row] for row in cells], index=names, columns=names)
