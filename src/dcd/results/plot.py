"""Plots with matplotlib: graphs, decoupling weights and their dependence, and Markov boundaries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dcd.estimators.base import table_options
from dcd.estimators.markov_boundary import MarkovBoundary
from dcd.features.kernel_blocks import features_of
from dcd.graph.drawing.cpdag_plot import LABEL_CELLS, import_pyplot, plot_cpdag
from dcd.independence.weighted_correlation import weighted_correlation
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError, check_number, check_type
from dcd.runtime.text import shortened
from dcd.runtime.threads import one_blas_thread
from dcd.table.dataset import Dataset
from dcd.table.reading import read_columns
from dcd.weights.base import SampleWeights
from dcd.weights.objective import pairwise_hsic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot_boundary", "plot_cpdag", "plot_weights"]

_BLUE, _ORANGE, _GREY = "#0072B2", "#D55E00", "#777777"
_LARGEST_DOT, _NAMED_AT_MOST = 60.0, 24


def plot_weights(weights: MarkovBoundary | SampleWeights, X: Any = None) -> Figure:
    """Draw the distribution of decoupling weights, and the dependence before and after.

    Parameters
    ----------
    weights : the result of `convex_weights` or `decoupling_weights`, or a fitted `MarkovBoundary`.
    X : the table that was decoupled (for a model, the one it was fitted to). It names the variables, and the
        matrices of convex weights cannot be drawn without it.

    Returns
    -------
    The figure: a histogram of the weights with the effective sample size, and, for each pair of variables,
    the weighted HSIC under equal and under these weights, on one scale.
    """
    result, table = _result_and_table(weights, X)
    matrices = _dependence_matrices(result, table)
    plt = import_pyplot()
    if matrices is None:
        figure, axes = plt.subplots(figsize=(4.2, 3.6), layout="constrained", squeeze=False)
    else:
        figure, axes = plt.subplots(1, 3, figsize=(11.5, 3.6), layout="constrained", squeeze=False)
        names = list(table.names) if table is not None else [str(index) for index in range(len(matrices[0]))]
        _draw_matrices(figure, axes[0, 1:], matrices, names, (result.dependence_before, result.dependence))
    _draw_histogram(axes[0, 0], result)
    return figure


def plot_boundary(model: MarkovBoundary, X: Any, y: Any = None, *, most: int = 6) -> Figure:
    """Draw each member of a Markov boundary against the target, as measured and under the weights.

    Parameters
    ----------
    model : a fitted `MarkovBoundary`.
    X, y : the table and target it was fitted to.
    most : the largest number of members to draw, those with the smallest p-values.

    Returns
    -------
    The figure: a row for each member. On the left every row of the table counts the same; on the right the
    size and darkness of a dot show its weight. Lines are least-squares fits and r is the correlation;
    categories have neither. p is the p-value of the model: that of the association given the rest of the
    boundary or, with the published method, of the weighted correlation.
    """
    check_number("most", most, at_least=1, whole=True, suggestion=6)
    table, target = _table_of_model(model, X, y)
    if not model.boundary_:
        raise InputError("the boundary", f"of {target!r} is empty", "There is nothing to draw.")
    pvalues = dict(zip(table.summary.columns, model.pvalues_, strict=True))
    members = sorted(model.boundary_, key=lambda name: pvalues[name])[:most]
    plt = import_pyplot()
    size = (7.6, 2.7 * len(members) + 0.4)
    shared = {"sharex": "row", "sharey": True, "squeeze": False}
    figure, axes = plt.subplots(len(members), 2, figsize=size, layout="constrained", **shared)
    condition = " given the rest" if model.method == "robust" else ""
    for row, member in zip(axes, members, strict=True):
        pair = table.complete_in([table.names.index(member), table.names.index(target)])
        weights = model.weights_[pair.rows]
        _draw_pair(row[0], pair, np.ones(len(weights)), "as measured")
        _draw_pair(row[1], pair, weights, "decoupled", f"{_pvalue(pvalues[member])}{condition}")
        row[0].set_ylabel(shortened(target, LABEL_CELLS), parse_math=False)
    if len(model.boundary_) > most:
        figure.suptitle(f"{most} of {len(model.boundary_)} members", fontsize="medium")
    return figure


# --- the data of a plot ----------------------------------------------------------------------------------


def _result_and_table(weights: Any, X: Any) -> tuple[SampleWeights, Dataset | None]:
    """The weights with their diagnostics, and the columns that they decouple if those are known."""
    if isinstance(weights, SampleWeights):
        return weights, None if X is None else _read(X, None, weights.weights)
    remedy = "Pass the result of dcd.weights.convex_weights or dcd.weights.decoupling_weights."
    check_type("weights", weights, (SampleWeights, MarkovBoundary), remedy)
    check_is_fitted(weights)
    if X is None:
        return weights.decoupling_, None
    table = _read(X, None, weights.weights_, options=table_options(weights))
    decoupled = list(range(len(table.names)))
    if weights.method == "robust":
        decoupled = [table.names.index(name) for name in weights.boundary_]
    elif weights.target is not None:
        decoupled.remove(table.position(weights.target))
    return weights.decoupling_, table.select(decoupled)


def _table_of_model(model: Any, X: Any, y: Any) -> tuple[Dataset, str]:
    """The table that a model was fitted to, and its target."""
    check_type("model", model, MarkovBoundary, "Fit one: dcd.MarkovBoundary(target=...).fit(X).")
    check_is_fitted(model)
    if (y is None) != (model.target is not None):
        problem = "is None, but the model was fitted to y" if y is None else "was not the target of the fit"
        raise InputError("parameter 'y'", problem, "Pass it if, and only if, the model was fitted to it.")
    table = _read(X, y, model.weights_, options=table_options(model))
    return table, table.names[-1 if model.target is None else table.position(model.target)]


def _read(X: Any, y: Any, weights: FloatArray, **options: Any) -> Dataset:
    """The table that was decoupled; raises `InputError` if its number of rows is not that of the weights."""
    table = read_columns(X, y, **options)
    if table.summary.n_rows != len(weights):
        raise InputError(
            "parameter 'X'",
            f"has {table.summary.n_rows} rows, but the weights have {len(weights)}",
            "Pass the table that was decoupled.",
        )
    return table


def _dependence_matrices(
    result: SampleWeights, table: Dataset | None
) -> tuple[FloatArray, FloatArray] | None:
    """Pairwise HSIC before and after, if it is known or can be computed."""
    before, after = result.hsic_before, result.hsic_after
    if not before.size:
        if table is None:
            return None
        complete = table.complete_in(range(len(table.names)))
        weights = result.weights[complete.rows]
        with one_blas_thread():
            features = features_of(complete)
            before = pairwise_hsic(features, np.full(len(weights), 1 / len(weights)))
            after = pairwise_hsic(features, weights / weights.sum())
    return (before, after) if len(before) > 1 else None


# --- drawing ---------------------------------------------------------------------------------------------


def _draw_histogram(ax: Axes, result: SampleWeights) -> None:
    weights = result.weights
    ax.hist(weights, bins=30, color=_BLUE)
    ax.axvline(1.0, color=_GREY, lw=1, ls="dotted")
    share = result.ess / len(weights)
    ax.set_title(f"effective sample size {result.ess:.0f} of {len(weights)} ({share:.0%})", fontsize="medium")
    ax.set(xlabel="weight (1 is as measured)", ylabel="rows")
    ax.spines[["top", "right"]].set_visible(False)


def _draw_matrices(
    figure: Figure,
    axes: Sequence[Axes],
    matrices: tuple[FloatArray, FloatArray],
    names: Sequence[str],
    dependence: tuple[float, float],
) -> None:
    off_diagonal = [np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix) for matrix in matrices]
    most = float(np.nanmax(off_diagonal))
    labels = [shortened(name, 14) for name in names] if len(names) <= _NAMED_AT_MOST else []
    for ax, matrix, label, units in zip(axes, off_diagonal, ("before", "after"), dependence, strict=True):
        image = ax.imshow(matrix, vmin=0, vmax=most, cmap="Blues")
        ax.set_title(f"{label}: dependence {units:.1f} times chance", fontsize="medium")
        ax.spines[:].set_visible(False)
        ax.set_xticks(range(len(labels)), labels, rotation=90, parse_math=False, fontsize="small")
        ax.set_yticks(range(len(labels)), labels, parse_math=False, fontsize="small")
    figure.colorbar(image, ax=list(axes), label="HSIC", shrink=0.8)


def _draw_pair(ax: Axes, pair: Dataset, weights: FloatArray, label: str, remark: str = "") -> None:
    """Dots by weight; between numbers, with their line and correlation."""
    x, y = pair.values.T
    equal = np.ptp(weights) == 0
    size = 12.0 if equal else np.minimum(10 * weights / weights.mean(), _LARGEST_DOT)
    alpha = 0.45 if equal else 0.1 + 0.7 * weights / weights.max()
    ax.scatter(x, y, s=size, alpha=alpha, color=_BLUE, linewidths=0)
    remarks = [remark] if remark else []
    if "nominal" not in pair.kinds:
        remarks.insert(0, f"r = {weighted_correlation(x[:, None], y[:, None], weights)[0, 0]:.2f}")
        ax.plot(*_line(x, y, weights), color=_ORANGE, lw=2)
    ax.set_title(f"{label}: {', '.join(remarks)}" if remarks else label, fontsize="medium")
    ax.set_xlabel(shortened(pair.names[0], LABEL_CELLS), parse_math=False)
    for axis, name in zip((ax.xaxis, ax.yaxis), pair.names, strict=True):
        levels = pair.summary.levels.get(name, ())
        if 0 < len(levels) <= _NAMED_AT_MOST:
            axis.set_ticks(range(len(levels)), [shortened(level, 14) for level in levels], parse_math=False)
    ax.spines[["top", "right"]].set_visible(False)


def _line(x: FloatArray, y: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The weighted least-squares line, over the range of x."""
    covariance = np.cov(x, y, aweights=weights)
    slope = covariance[0, 1] / max(covariance[0, 0], np.finfo(float).tiny)
    ends = np.array([x.min(), x.max()])
    return ends, np.average(y, weights=weights) + slope * (ends - np.average(x, weights=weights))


def _pvalue(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}" if p < 0.001 else f"p = {p:.3f}"
