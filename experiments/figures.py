"""Figures in the paper's form: SHD_c left, F1 right, over noise or sample size; bars over topologies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from dcd.evaluation.baselines import METHODS
from experiments.plan import BRIDGES, ROBUST_METHODS, Experiment
from experiments.summary import Cell

# Left out for readability. The paper also omits the first three: each lags a line that is shown.
OMITTED = ("pc-fisherz", "pc-e-fisherz", "directlingam", *ROBUST_METHODS[1:], *BRIDGES)

# Okabe and Ito's colours are distinct for any colour vision; marker and dash distinguish the lines without
# colour.
_STYLES = {
    "robust-dcd": ("#D55E00", "h", "-"),
    "dcd": ("#D55E00", "o", "--"),
    "pc-kcit": ("#0072B2", "s", "-"),
    "pc-e-kcit": ("#0072B2", "D", "--"),
    "ges": ("#009E73", "^", "-"),
    "icalingam": ("#CC79A7", "v", "-"),
    "notears": ("#E69F00", "P", "-"),
    "grandag": ("#56B4E9", "X", "-"),
    "golem": ("#000000", "*", "-"),
    "pc-fisherz": ("#0072B2", "<", ":"),
    "pc-e-fisherz": ("#0072B2", ">", "-."),
    "directlingam": ("#CC79A7", "d", "--"),
}
_PLAIN = ("#777777", ".", ":")
_AXES = {"noise_std": "noise level (signal: 1)", "n": "sample size"}


def draw(experiment: Experiment, cells: Sequence[Cell], target: Path, *, all_methods: bool = False) -> None:
    """Write the figure of an experiment as SVG and PNG."""
    there = {cell.method for cell in cells if cell.ours}
    omitted = () if all_methods or there <= set(OMITTED) else OMITTED
    methods = [method for method in experiment.methods if method in there and method not in omitted]
    shown = [cell for cell in cells if cell.method in methods and cell.ours]
    # Text stays text, and no date is included: the same rows make the same file.
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": experiment.title}):
        figure = _bars(experiment, methods, shown) if experiment.bars else _lines(experiment, methods, shown)
        figure.savefig(target.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(target.with_suffix(".png"), dpi=150)


def _lines(experiment: Experiment, methods: Sequence[str], cells: Sequence[Cell]) -> Figure:
    assert experiment.axis is not None
    figure = Figure(figsize=(10, 4.2), layout="constrained")
    for axes, metric, name in zip(figure.subplots(1, 2), ("shd_c", "f1"), ("SHD$_c$", "F1"), strict=True):
        for method in methods:
            own = [cell for cell in cells if cell.method == method]
            x = [getattr(cell.setting, experiment.axis) for cell in own]
            colour, marker, dash = _STYLES.get(method, _PLAIN)
            width, order = (2.6, 3) if method in ("dcd", "robust-dcd") else (1.4, 2)
            y = [cell.ours[metric].mean for cell in own]
            label = _label(method, cells)
            axes.plot(x, y, dash, color=colour, marker=marker, lw=width, zorder=order, label=label)
        _finish(
            axes,
            _AXES.get(experiment.axis, experiment.axis),
            name,
            better="lower" if metric == "shd_c" else "higher",
        )
    handles, labels = figure.axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _bars(experiment: Experiment, methods: Sequence[str], cells: Sequence[Cell]) -> Figure:
    figure = Figure(figsize=(10, 4.4), layout="constrained")
    axes = figure.subplots()
    width = 0.84 / len(methods)
    for index, method in enumerate(methods):
        own = {cell.setting: cell.ours["shd_c"] for cell in cells if cell.method == method}
        spreads = [own.get(setting) for setting in experiment.settings]
        x = np.arange(len(spreads)) + (index - (len(methods) - 1) / 2) * width
        axes.bar(
            x,
            [spread.mean if spread else np.nan for spread in spreads],
            0.92 * width,
            yerr=[spread.deviation if spread else np.nan for spread in spreads],
            color=_STYLES.get(method, _PLAIN)[0],
            hatch="///" if "--" in _STYLES.get(method, _PLAIN)[2] else None,
            edgecolor="white",
            error_kw={"elinewidth": 1, "ecolor": "#444444"},
            label=_label(method, cells),
        )
    short = {"scale-free": "SF", "erdos-renyi": "ER"}
    axes.set_xticks(
        range(len(experiment.settings)),
        [f"{short[setting.graph]}, degree {setting.degree}" for setting in experiment.settings],  # type: ignore[union-attr]
    )
    axes.set_xlim(-0.55, len(experiment.settings) - 0.45)
    _finish(axes, "", "SHD$_c$", better="lower")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    return figure


def _label(method: str, cells: Sequence[Cell]) -> str:
    """The method's name, and the number of graphs if it is smaller than that of others."""
    fewest = min(cell.count for cell in cells if cell.method == method)
    few = fewest < max(cell.count for cell in cells)
    return METHODS[method].label + (f", {fewest} graphs" if few else "")


def _finish(axes: Axes, x_name: str, y_name: str, *, better: str) -> None:
    axes.set_xlabel(x_name)
    axes.set_ylabel(f"{y_name} ({better} is better)")
    axes.set_ylim(bottom=0)
    axes.grid(axis="y", color="#DDDDDD", lw=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
