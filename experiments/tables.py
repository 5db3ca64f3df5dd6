"""Tables from cells, in Markdown and in LaTeX.

A table is a caption, a header and rows of text with a plain ±; the two writers differ only in lines and
escapes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields

from dcd.evaluation.baselines import METHODS
from experiments.plan import Experiment, varying_fields
from experiments.settings import Network, Setting
from experiments.summary import METRICS, Cell, Spread

_NAMES = {"shd_c": "SHD_c", "precision": "precision", "recall": "recall", "f1": "F1"}
_ENOUGH = 10
_NONE = "\N{EN DASH}"
_WORDS = {"noise_std": "noise", "noise_in_mechanism": "noise within the mechanism", "network": ""}


@dataclass(frozen=True)
class Table:
    """Text in rows and columns."""

    caption: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]


def tables_of(experiment: Experiment, cells: Sequence[Cell]) -> list[Table]:
    """One table per setting or, along an axis, one table per metric with the settings side by side."""
    if experiment.axis is None:
        return [
            _setting_table(experiment, setting, [cell for cell in cells if cell.setting == setting])
            for setting in experiment.settings
            if any(cell.setting == setting for cell in cells)
        ]
    return [_metric_table(experiment, metric, cells) for metric in ("shd_c", "f1")]


def agreement(cells: Sequence[Cell]) -> str:
    """How many numbers of the paper, except DCD's, are within two standard errors of ours.

    The standard error of fewer than ten graphs is too uncertain to judge by.
    """
    distances = [
        abs(cell.ours[metric].difference(cell.paper[metric]))
        for cell in cells
        if cell.method != "dcd" and cell.count >= _ENOUGH
        for metric in cell.paper
    ]
    if not distances:
        return ""
    near = sum(distance <= 2 for distance in distances)
    return (
        f"Of the paper's numbers for other methods, {near} of {len(distances)} ({near / len(distances):.0%}) "
        f"are within two standard errors of ours, where ours rest on {_ENOUGH} graphs or more."
    )


def label_of(experiment: Experiment, setting: Setting) -> str:
    """What distinguishes a setting within its experiment."""
    if isinstance(setting, Network):
        return f"{setting.network}, n = {setting.n}"
    varying = varying_fields(experiment.settings)
    names = [field.name for field in fields(setting) if field.name in varying]
    return ", ".join(f"{_WORDS.get(name, name)} = {getattr(setting, name)}" for name in names)


def _setting_table(experiment: Experiment, setting: Setting, cells: Sequence[Cell]) -> Table:
    with_paper = any(cell.paper for cell in cells)
    header = ["method", "graphs"]
    for metric in METRICS:
        header += [_NAMES[metric], *(["paper", "Δ"] if with_paper else [])]
    rows = []
    for cell in cells:
        row = [METHODS[cell.method].label, _count(cell)]
        for metric in METRICS:
            row.append(_spread(cell.ours.get(metric), metric))
            if with_paper:
                row += [_spread(cell.paper.get(metric), metric), _difference(cell, metric)]
        rows.append([*row, _number(cell.seconds), _number(cell.peak_mb)])
    return Table(label_of(experiment, setting), [*header, "seconds", "MB"], rows)


def _metric_table(experiment: Experiment, metric: str, cells: Sequence[Cell]) -> Table:
    by_place = {(cell.setting, cell.method): cell for cell in cells}
    header = ["method", *(label_of(experiment, setting) for setting in experiment.settings)]
    rows = []
    there = {cell.method for cell in cells}
    for method in (method for method in experiment.methods if method in there):
        texts = [_metric_cell(by_place.get((setting, method)), metric) for setting in experiment.settings]
        rows.append([METHODS[method].label, *texts])
    return Table(_NAMES[metric], header, rows)


def _metric_cell(cell: Cell | None, metric: str) -> str:
    if cell is None:
        return _NONE
    return f"{_spread(cell.ours.get(metric), metric)} ({_count(cell)})"


def _count(cell: Cell) -> str:
    missing = [f"{count} {status}" for status, count in cell.missing.items()]
    return ", ".join([str(cell.count), *missing])


def _spread(spread: Spread | None, metric: str) -> str:
    if spread is None:
        return _NONE
    digits = 1 if metric == "shd_c" else 2
    if math.isnan(spread.deviation):
        return f"{spread.mean:.{digits}f}"
    return f"{spread.mean:.{digits}f} ± {spread.deviation:.{digits}f}"


def _difference(cell: Cell, metric: str) -> str:
    """Ours less the paper's in standard errors of the difference."""
    if metric not in cell.paper or not cell.ours:
        return _NONE
    distance = cell.ours[metric].difference(cell.paper[metric])
    return f"{distance:+.1f}" if math.isfinite(distance) else _NONE


def _number(value: float) -> str:
    if math.isnan(value):
        return _NONE
    return f"{value:.2f}" if value < 1 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


# --- writers ---------------------------------------------------------------------------------------------


def to_markdown(table: Table) -> str:
    """A pipe table under its caption."""
    lines = [table.header, ["---"] * len(table.header), *table.rows]
    return f"**{table.caption}**\n\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines)


def to_latex(table: Table) -> str:
    """A `tabular` for the booktabs package, in a `table` with its caption."""
    columns = "l" + "r" * (len(table.header) - 1)
    header, *rows = (
        " & ".join(_escape(text) for text in line) + r" \\" for line in [table.header, *table.rows]
    )
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            rf"\caption{{{_escape(table.caption)}}}",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            header,
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _escape(text: str) -> str:
    """For LaTeX."""
    escaped = re.sub(r"([&%$#{}])", r"\\\1", text).replace("SHD_c", r"SHD$_c$")
    escaped = re.sub(r"(?<!\$)_", r"\\_", escaped)
    for symbol, latex in {"±": r"$\pm$", "Δ": r"$\Delta$", "²": "$^2$", _NONE: "--"}.items():
        escaped = escaped.replace(symbol, latex)
    return escaped
