"""From rows to a report: how many arrows at exogenous columns are impossible, by method and by table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from dcd.runtime.errors import InputError
from experiments.exogenous.base import Source
from experiments.exogenous.counting import count_edges
from experiments.exogenous.methods import METHODS
from experiments.exogenous.roles import role_of
from experiments.exogenous.running import (
    CONTROLS,
    COUNTS,
    DRAWN,
    FOLDER,
    Task,
    control_counts,
    graph_of,
    read_rows,
)
from experiments.exogenous.tables import TABLES
from experiments.tables import Table, to_markdown

RESAMPLES = 10_000  # of the tables, for standard errors
_ARROWS = ["possible", "impossible"]
_NONE = "\N{EN DASH}"
_LEGEND = (
    "Pairs of a column that cannot be an effect and a column that can. Of the arrows between them, those "
    "into the former are impossible. The standard error of their share is that of a bootstrap over tables. "
    "`seconds`: median processor time. With half of the exogenous columns known as roots, only arrows at the "
    "others count. No arrows and random directions are controls on the skeletons of Robust DCD, random ones "
    "as a mean over 100 random orders of the columns, each made a CPDAG."
)


def show_role(role: str, folder: Path = FOLDER) -> str:
    """The report on the tables of one role, also written to `<role>.md`."""
    rows = _frame(role, folder)
    if rows.empty:
        raise InputError(
            f"role {role!r}", "has no rows yet", f"python -m experiments.exogenous run --role {role}"
        )
    made_with = sorted({part for text in rows["versions"] for part in str(text).split("; ") if part})
    commits = sorted({str(commit) for commit in rows["commit"] if commit})
    parts = [
        f'# Arrows into columns that cannot be effects, tables of the role "{role}"',
        _LEGEND,
        to_markdown(_totals(rows)),
        to_markdown(_by_table(rows)),
        f"Made with {', '.join(made_with)}, commit {', '.join(commits)}.",
    ]
    text = "\n\n".join(parts) + "\n"
    (folder / f"{role}.md").write_text(text, encoding="utf-8")
    return text


_TOLD = {
    "none": "",
    "half": ", half of the columns known: arrows at the others",
    "none, same pairs": ", nothing known: arrows at these others",
}


def in_short(role: str, folder: Path = FOLDER) -> str:
    """The arrows of each method; for Robust DCD also as drawn, with knowledge, and above thresholds."""
    lines = []
    rows = _frame(role, folder)
    for (method, knowledge, threshold), group in _groups(rows[rows["status"] == "ok"]):
        told = _TOLD[knowledge]
        arrows = {"": "", DRAWN: ", as drawn", "0.75": ", probability at least 0.75", "0.9": ", at least 0.9"}
        if threshold not in arrows or method == "no-arrows" or (told and threshold != DRAWN):
            continue
        name = f"{_label(method)}{arrows[threshold]}{told}"
        possible, impossible = group[_ARROWS].sum()
        share, error = share_impossible(group)
        lines.append([name, f"{possible:.0f}", f"{impossible:.0f}", f"{share:.0%} ± {error:.0%}"])
    return to_markdown(Table("", ["", "possible", "impossible", "share impossible"], lines))


def _frame(role: str, folder: Path) -> pd.DataFrame:
    rows = [row for row in read_rows(folder).values() if role_of(row["table"]) == role]
    derived = [one for row in rows for one in (*_controls(row), *_same_pairs(row, rows))]
    frame = pd.DataFrame([*rows, *derived])
    if not frame.empty:
        frame[[*COUNTS, "seconds"]] = frame[[*COUNTS, "seconds"]].apply(pd.to_numeric)
    return frame


def _controls(row: Mapping[str, str]) -> Iterable[dict[str, object]]:
    """The rows of the controls, from the skeleton in a row of Robust DCD."""
    if row["method"] != "robust-dcd" or row["threshold"] or not _has_edges(row, "none"):
        return
    for control, counts in control_counts(_table(row), row["edges"]).items():
        yield {**row, **vars(counts), "method": control, "seconds": "", "versions": "", "commit": ""}


def _same_pairs(row: Mapping[str, str], rows: Iterable[Mapping[str, str]]) -> Iterable[dict[str, object]]:
    """For a graph with knowledge, the one without it counted at the same columns."""
    if not _has_edges(row, "half"):
        return
    task = Task(_table(row), row["method"], "half")
    same = ("table", "method", "threshold")
    for other in rows:
        if all(other[name] == row[name] for name in same) and _has_edges(other, "none"):
            columns = task.table.columns
            graph = graph_of(columns, other["edges"])
            counts = count_edges(columns, graph, task.table.exogenous, task.counted)
            yield {**other, **vars(counts), "knowledge": "none, same pairs"}


def _has_edges(row: Mapping[str, str], knowledge: str) -> bool:
    return row["status"] == "ok" and row["knowledge"] == knowledge and row["threshold"] in ("", DRAWN)


def _table(row: Mapping[str, str]) -> Source:
    return next(table for table in TABLES if table.name == row["table"])


def table_of_tables() -> str:
    """Every table with its exogenous columns, for the README."""
    lines = []
    for table in TABLES:
        by_reason: dict[str, list[str]] = {}
        for column, reason in table.exogenous.items():
            by_reason.setdefault(reason, []).append(f"`{column}`")
        why = "; ".join(f"{', '.join(columns)}: {reason}" for reason, columns in by_reason.items())
        lines.append([table.name, table.role, table.item, str(len(table.columns)), why, table.note])
    header = ["table", "role", "source", "columns", "columns that cannot be effects", "note"]
    return to_markdown(Table("Tables", header, lines))


def share_impossible(counts: pd.DataFrame) -> tuple[float, float]:
    """The share of impossible arrows, and its standard error by a bootstrap over the rows, one a table."""
    arrows = counts[_ARROWS].to_numpy(dtype=np.float64)
    draws = np.random.default_rng(0).integers(len(arrows), size=(RESAMPLES, len(arrows)))
    possible, impossible = arrows[draws].sum(axis=1).T
    total = possible + impossible
    shares = impossible[total > 0] / total[total > 0]
    if not arrows.sum():
        return float("nan"), float("nan")
    return float(arrows[:, 1].sum() / arrows.sum()), float(shares.std())


def _totals(rows: pd.DataFrame) -> Table:
    header = ["method", "known", "arrow from", "tables", "possible", "impossible", "impossible, share"]
    lines = []
    for (method, knowledge, threshold), group in _groups(rows):
        good = group[group["status"] == "ok"]
        missing = group.loc[group["status"] != "ok", "status"].value_counts()
        tables = ", ".join([str(len(good)), *(f"{count} {status}" for status, count in missing.items())])
        counts = [f"{total:.0f}" for total in good[list(COUNTS)].sum()]
        share, error = share_impossible(good) if len(good) else (float("nan"),) * 2
        seconds = good["seconds"].median() if good["seconds"].notna().any() else float("nan")
        lines.append(
            [
                *(_label(method), knowledge, threshold or _NONE, tables, *counts[:2]),
                _NONE if np.isnan(share) else f"{share:.1%} ± {error:.1%}",
                *(*counts[2:], _NONE if np.isnan(seconds) else f"{seconds:.2f}"),
            ]
        )
    return Table("All tables", [*header, "undirected", "no edge", "seconds"], lines)


def _by_table(rows: pd.DataFrame) -> Table:
    drawn = rows[(rows["knowledge"] == "none") & (rows["threshold"] == "") & (rows["method"] != "no-arrows")]
    methods = [key[0] for key, _ in _groups(drawn)]
    lines = []
    for name, group in drawn.groupby("table"):
        by_method = {row["method"]: row for _, row in group.iterrows()}
        lines.append([str(name), *(_arrows(by_method.get(method)) for method in methods)])
    header = ["table", *(_label(method) for method in methods)]
    return Table("Possible + impossible arrows of each table", header, lines)


def _arrows(row: pd.Series | None) -> str:
    if row is None:
        return _NONE
    if row["status"] != "ok":
        return str(row["status"])
    return f"{row['possible']:.3g} + {row['impossible']:.3g}"


def _groups(rows: pd.DataFrame) -> list[tuple[tuple[str, str, str], pd.DataFrame]]:
    """Rows by method, knowledge and threshold, methods in the order of their registry, controls last."""
    order = [*METHODS, *CONTROLS]
    groups = [
        ((str(method), str(knowledge), str(threshold)), group)
        for (method, knowledge, threshold), group in rows.groupby(["method", "knowledge", "threshold"])
    ]
    return sorted(groups, key=lambda one: (one[0][1] != "none", order.index(one[0][0]), one[0][2]))


def _label(method: str) -> str:
    return METHODS[method].label if method in METHODS else CONTROLS[method]
