"""From rows to tables in Markdown: means ± standard errors over graphs, with the number of graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd

from benchmarks.evaluation.cells import CELLS, GROWING, MOST_GRAPHS, NETWORK_SIZES, NETWORKS
from benchmarks.evaluation.methods import METHODS
from dcd.runtime.array_types import FloatArray

OURS = ("Robust DCD", "Robust DCD, one graph")
ABLATIONS = tuple(name for name in METHODS if name.startswith("Robust DCD"))
PEERS = tuple(name for name, method in METHODS.items() if name not in ABLATIONS and not method.control)
CONTROLS = tuple(name for name, method in METHODS.items() if method.control)
NETWORK_CELLS = [f"{name}-{n}" for name in NETWORKS for n in NETWORK_SIZES]
DIGITS = {"shd_c": 1, "f1": 2, "ancestor_aid": 2, "cpu_seconds": 3, "shd_c_no_arrows": 1, "f1_no_arrows": 2}
NO_ARROWS = "{}, no arrows"


def spread(values: FloatArray, digits: int) -> str:
    """Mean ± standard error; without the error for one value, empty for none."""
    if len(values) == 0:
        return ""
    error = f" ± {values.std(ddof=1) / np.sqrt(len(values)):.{digits}f}" if len(values) > 1 else ""
    return f"{values.mean():.{digits}f}{error}"


def markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(head), *lines]) + "\n"


def part_of(rows: pd.DataFrame, cell: str, method: str) -> pd.DataFrame:
    """The rows of a method in a cell that have a graph."""
    return rows[(rows["cell"] == cell) & (rows["method"] == method) & (rows["status"] == "ok")]


# --- one score, methods side by side ----------------------------------------------------------------------


def entry(part: pd.DataFrame, scores: Sequence[str], usual: int) -> str:
    """The scores of a method in a cell, the first with its error, and the number of graphs if unusual."""
    if part.empty:
        return ""
    first = spread(part[scores[0]].to_numpy(dtype=np.float64), DIGITS[scores[0]])
    shown = " / ".join([first, *(f"{part[score].mean():.{DIGITS[score]}f}" for score in scores[1:])])
    return shown if len(part) == usual else f"{shown} ({len(part)})"


def wide(rows: pd.DataFrame, cells: Sequence[str], methods: Sequence[str], scores: Sequence[str]) -> str:
    """A line for each cell and a column for each method that has rows; the number of graphs unless said."""
    present = [name for name in methods if rows.loc[rows["cell"].isin(cells), "method"].eq(name).any()]
    lines = []
    for cell in cells:
        parts = [part_of(rows, cell, method) for method in present]
        usual = max(map(len, parts), default=0)
        if usual:
            lines.append([CELLS[cell].title, str(usual), *(entry(part, scores, usual) for part in parts)])
    return markdown(["data", "graphs", *present], lines)


def paired(rows: pd.DataFrame, cells: Sequence[str], methods: Sequence[str]) -> str:
    """How much larger the SHD_c of each method is than ours, graph by graph: mean ± standard error."""
    ours = next(name for name in OURS if rows["method"].eq(name).any())
    lines = []
    for cell in cells:
        own = part_of(rows, cell, ours).set_index("seed")["shd_c"]
        shown = []
        for method in methods:
            gaps = (part_of(rows, cell, method).set_index("seed")["shd_c"] - own).dropna().to_numpy()
            text = spread(gaps, 1) if len(gaps) > 1 else ""
            shown.append(f"+{text}" if text and not text.startswith("-") else text)
        if any(shown):
            lines.append([CELLS[cell].title, str(len(own)), *shown])
    return f"SHD_c minus that of {ours}:\n\n" + markdown(["data", "graphs", *methods], lines)


def without_arrows(rows: pd.DataFrame, cells: Sequence[str], methods: Sequence[str]) -> str:
    """The value of arrows: SHD_c and F1 as drawn, and with every edge of the skeleton undirected."""
    present = [name for name in methods if rows["method"].eq(name).any()]
    head = ["data"]
    for name in present:
        head += [name, NO_ARROWS.format(name)]
    lines = []
    for cell in cells:
        line = [CELLS[cell].title]
        for method in present:
            part = part_of(rows, cell, method)
            scores = (("shd_c", "f1"), ("shd_c_no_arrows", "f1_no_arrows"))
            line += [entry(part, pair, len(part)) for pair in scores]
        if any(line[1:]):
            lines.append(line)
    return markdown(head, lines)


# --- other tables -----------------------------------------------------------------------------------------


def sortabilities(rows: pd.DataFrame, cells: Sequence[str]) -> str:
    """Means over the tables of each cell."""
    lines = []
    for cell in cells:
        drawn = rows[rows["cell"] == cell].drop_duplicates("seed")
        if len(drawn):
            shares = [
                drawn[name].to_numpy(dtype=np.float64) for name in ("var_sortability", "r2_sortability")
            ]
            lines.append([CELLS[cell].title, str(len(drawn)), *(spread(share, 2) for share in shares)])
    return markdown(["data", "tables", "by variance", "by R²"], lines)


def growing(rows: pd.DataFrame, methods: Sequence[str]) -> str:
    """SHD_c and processor time as rows are added."""
    lines = []
    for degree, method in product((2, 4), methods):
        parts = [part_of(rows, f"er{degree}-bounded-n{n}", method) for n in GROWING]
        shown = [entry(part, ("shd_c", "cpu_seconds"), MOST_GRAPHS) for part in parts]
        if any(shown):
            lines.append([str(degree), method, *shown])
    return markdown(["degree", "method", *(f"n = {n:,}" for n in GROWING)], lines)


def one_cell(rows: pd.DataFrame, cell: str) -> str:
    """All methods in one cell."""
    lines = []
    for method in METHODS:
        tried = rows[(rows["cell"] == cell) & (rows["method"] == method)]
        part = part_of(rows, cell, method)
        if len(tried):
            shown = [
                spread(part[score].to_numpy(dtype=np.float64), DIGITS[score])
                for score in ("shd_c", "f1", "ancestor_aid", "cpu_seconds")
            ]
            failed = len(tried) - len(part)
            lines.append([method, str(len(part)), *shown, str(failed) if failed else ""])
    head = ["method", "graphs", "SHD_c", "F1", "ancestor AID", "CPU seconds", "without a graph"]
    return markdown(head, lines)


def everything(rows: pd.DataFrame) -> str:
    """All cells, one after the other."""
    parts = [
        "Means ± standard errors over graphs, the same for all methods. d = 10 and n = 800 by default; "
        "graphs of a degree are Erdős\N{EN DASH}Rényi; seconds are processor time of a graph.\n"
    ]
    for cell in CELLS:
        drawn = rows[rows["cell"] == cell].drop_duplicates("seed")
        if len(drawn):
            by_variance, by_r2 = drawn["var_sortability"].mean(), drawn["r2_sortability"].mean()
            sorting = f"Sortability by variance {by_variance:.2f}, by R² {by_r2:.2f}.\n"
            parts += [f"## {CELLS[cell].title}\n", sorting, one_cell(rows, cell)]
    return "\n".join(parts)
