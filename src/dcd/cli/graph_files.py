"""Graphs from files: a saved result, a CSV matrix or list of edges, and what `dcd.interop` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

_FROM = ("from", "cause", "source")
_TO = ("to", "effect", "target")
_TYPE = ("type", "edge", "mark", "kind")
_DIRECTED = ("->", "-->", "directed")
_UNDIRECTED = ("-", "--", "---", "undirected")


def read_graph(path: str, *, with_knowledge: bool = False) -> pd.DataFrame:
    """The labelled adjacency matrix in a file: `[i, j] = 1` for `i -> j`, both for `i - j`.

    A file is a result of `dcd discover --json`, a CSV matrix with names on both sides, or a CSV list of edges
    with columns such as `from,to` and maybe `type` (`->` or `-`). Names that a list does not mention have no
    edges: `attrs["open"]` of the matrix tells that others may be added.

    Of a result, the arrows that stand there by knowledge beyond the data are read as such only
    `with_knowledge`; else the graph is the CPDAG.
    """
    from dcd.runtime.errors import InputError

    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        return _from_result(path, with_knowledge)
    if suffix in (".graphml", ".dot", ".gv"):
        from dcd import interop

        cpdag = (
            interop.from_graphml(_text_of(path)) if suffix == ".graphml" else interop.from_dot(_text_of(path))
        )
        return cpdag.to_frame()
    if suffix in (".csv", ".tsv"):
        return _from_csv(path, "\t" if suffix == ".tsv" else ",")
    raise InputError(
        f"file '{path}'", "has an extension that names no kind of graph", "Use .json, .csv, .graphml or .dot."
    )


def _from_result(path: str, with_knowledge: bool) -> pd.DataFrame:
    import dcd

    cpdag: Any = dcd.load_result(path).cpdag
    matrix: pd.DataFrame = (cpdag if with_knowledge else cpdag.without_background()).to_frame()
    return matrix


def _text_of(path: str) -> str:
    from dcd.runtime.errors import InputError

    try:
        return Path(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise InputError(f"file '{path}'", "does not exist", "Check the name and the folder.") from None
    except UnicodeDecodeError:
        raise InputError(f"file '{path}'", "is not UTF-8", "Save it as UTF-8.") from None


def _from_csv(path: str, delimiter: str) -> pd.DataFrame:
    import csv
    import io

    from dcd.runtime.errors import InputError

    reader = csv.reader(io.StringIO(_text_of(path).removeprefix("\ufeff"), newline=""), delimiter=delimiter)
    rows = [[cell.strip() for cell in row] for row in reader if row]
    if not rows:
        raise InputError(f"file '{path}'", "is empty", "Check that it was written completely.")
    header = [cell.casefold() for cell in rows[0]]
    if len(header) > 1 and header[0] in _FROM and header[1] in _TO:
        return _edges_to_matrix(path, rows)
    return _cells_to_matrix(path, rows)


def _edges_to_matrix(path: str, rows: list[list[str]]) -> pd.DataFrame:
    import pandas as pd

    from dcd.runtime.errors import InputError

    header = [cell.casefold() for cell in rows[0]]
    type_position = next((index for index, name in enumerate(header) if name in _TYPE), None)
    edges = []
    for line, row in enumerate(rows[1:], start=2):
        mark = (
            "->"
            if type_position is None
            else row[type_position].casefold()
            if len(row) == len(header)
            else ""
        )
        if len(row) != len(header) or not row[0] or not row[1] or mark not in (*_DIRECTED, *_UNDIRECTED):
            raise InputError(
                f"file '{path}', line {line}", "is no edge", "Write two names and, if needed, '->' or '-'."
            )
        edges.append((row[0], row[1], mark in _UNDIRECTED))
    names = list(dict.fromkeys(name for a, b, _ in edges for name in (a, b)))
    matrix = pd.DataFrame(0, index=names, columns=names)
    for a, b, both in edges:
        matrix.loc[a, b] = 1
        if both:
            matrix.loc[b, a] = 1
    matrix.attrs["open"] = True
    return matrix


def _cells_to_matrix(path: str, rows: list[list[str]]) -> pd.DataFrame:
    import pandas as pd

    from dcd.runtime.errors import InputError

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
