"""Pictures of decoupling: the weights, the dependence before and after, and a boundary member by member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dcd.arrays import FloatArray
from dcd.balancing import Balance
from dcd.data import Dataset, read_columns
from dcd.decoupling import DecouplingResult, one_blas_thread, pairwise_hsic
from dcd.dependence import weighted_correlation
from dcd.kernels import kernel_features
from dcd.plot.style import BLUE, GREY, ORANGE, import_pyplot
from dcd.selection import MarkovBoundary
from dcd.svg import short
from dcd.validation import InputError, check_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LARGEST_DOT, _NAMED_AT_MOST = 60.0, 24


def plot_weights(weights: MarkovBoundary | DecouplingResult | Balance, X: Any = None) -> Figure:
    """Draw how decoupling weights are distributed, and the dependence before and after.

    Parameters
    ----------
    weights : what `dcd.decoupling_weights` or `dcd.convex_weights` returns, or a fitted `MarkovBoundary`.
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
    X, y : what it was fitted to.
    most : most members to draw, those with the smallest p-values.

    Returns
    -------
    The figure: a row for each member. On the left every row of the table counts the same; on the right dots
    are the larger and darker the greater their weight. Lines are the least-squares ones, r the correlations,
    and p the p-value of the model: of the weighted correlation, or, if the model has the strategies of
    `RobustDCD`, of the association given the rest of the boundary.
    """
    check_number("most", most, at_least=1, whole=True, suggestion=6)
    table, target = _table_of_model(model, X, y)
    if not model.boundary_:
        raise InputError("the boundary", f"of {target!r} is empty", "There is nothing to draw.")
    names = [str(name) for name in getattr(model, "feature_names_in_", table.names)]
    members = sorted(model.boundary_, key=lambda name: model.pvalues_[names.index(name)])[:most]
    plt = import_pyplot()
    figure, axes = plt.subplots(
        len(members),
        2,
        figsize=(7.6, 2.7 * len(members) + 0.4),
        layout="constrained",
        squeeze=False,
        sharex="row",
        sharey=True,
    )
    values = table.values[:, table.names.index(target)]
    for row, member in zip(axes, members, strict=True):
        column = table.values[:, table.names.index(member)]
        for ax, label, weight in (
            (row[0], "as measured", np.ones(len(values))),
            (row[1], "decoupled", model.weights_),
        ):
            r = _draw_scatter(ax, column, values, weight)
            said = f"{label}: r = {r:.2f}"
            if label == "decoupled":
                given = " given the rest" if isinstance(model.decoupling_, Balance) else ""
                said += f", {_pvalue(model.pvalues_[names.index(member)])}{given}"
            ax.set_title(said, fontsize="medium")
            ax.set_xlabel(short(member), parse_math=False)
        row[0].set_ylabel(short(target), parse_math=False)
    if len(model.boundary_) > most:
        figure.suptitle(f"{most} of {len(model.boundary_)} members", fontsize="medium")
    return figure


# --- what there is to draw -------------------------------------------------------------------------------


def _result_and_table(weights: Any, X: Any) -> tuple[DecouplingResult | Balance, Dataset | None]:
    """The weights with their account, and the columns that they decouple if those are known."""
    if not isinstance(weights, MarkovBoundary):
        if not isinstance(weights, (DecouplingResult, Balance)):
            raise InputError(
                "parameter 'weights'",
                f"must be a result of decoupling or a fitted MarkovBoundary, got {type(weights).__name__}",
                "Pass what dcd.convex_weights or dcd.decoupling_weights returns.",
            )
        table = None if X is None else read_columns(X)
        _check_rows(weights.weights, table)
        return weights, table
    check_is_fitted(weights)
    result = weights.decoupling_
    if X is None:
        return result, None
    table = read_columns(X)
    _check_rows(weights.weights_, table)
    if isinstance(result, Balance):
        return result, _columns_of(table, weights.boundary_)
    if weights.target is None:
        return result, table
    target = table.names[table.position(weights.target)]
    return result, _columns_of(table, [name for name in table.names if name != target])


def _columns_of(table: Dataset, names: Sequence[str]) -> Dataset:
    places = [table.names.index(name) for name in names]
    return Dataset(table.values[:, places], tuple(names), table.named)


def _table_of_model(model: Any, X: Any, y: Any) -> tuple[Dataset, str]:
    """The table that a model was fitted to, and its target."""
    if not isinstance(model, MarkovBoundary):
        raise InputError(
            "parameter 'model'",
            f"must be a fitted MarkovBoundary, got {type(model).__name__}",
            "Fit one: dcd.MarkovBoundary(target=...).fit(X).",
        )
    check_is_fitted(model)
    table, target = model._read(X, y)
    _check_rows(model.weights_, table)
    return table, target


def _check_rows(weights: FloatArray, table: Dataset | None) -> None:
    if table is not None and len(table.values) != len(weights):
        raise InputError(
            "parameter 'X'",
            f"has {len(table.values)} rows, the weights are of {len(weights)}",
            "Pass the table that was decoupled.",
        )


def _dependence_matrices(
    result: DecouplingResult | Balance, table: Dataset | None
) -> tuple[FloatArray, FloatArray] | None:
    """Pairwise HSIC before and after, if it is known or can be had."""
    if isinstance(result, DecouplingResult):
        matrices = result.hsic_before, result.hsic_after
    elif table is not None:
        n_rows = len(table.values)
        with one_blas_thread():
            features = [kernel_features(column) for column in table.values.T]
            before = pairwise_hsic(features, np.full(n_rows, 1 / n_rows))
            matrices = before, pairwise_hsic(features, result.weights / result.weights.sum())
    else:
        return None
    return matrices if len(matrices[0]) > 1 else None


# --- drawing ---------------------------------------------------------------------------------------------


def _draw_histogram(ax: Axes, result: DecouplingResult | Balance) -> None:
    weights = result.weights
    ax.hist(weights, bins=30, color=BLUE)
    ax.axvline(1.0, color=GREY, lw=1, ls="dotted")
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
    hidden = [np.where(np.eye(len(matrix), dtype=bool), np.nan, matrix) for matrix in matrices]
    most = max(float(np.nanmax(matrix)) for matrix in hidden)
    for ax, matrix, label, units in zip(axes, hidden, ("before", "after"), dependence, strict=True):
        image = ax.imshow(matrix, vmin=0, vmax=most, cmap="Blues")
        ax.set_title(f"{label}: dependence {units:.1f} times chance", fontsize="medium")
        ax.spines[:].set_visible(False)
        if len(names) <= _NAMED_AT_MOST:
            labels = [short(name, 14) for name in names]
            ax.set_xticks(range(len(names)), labels, rotation=90, parse_math=False, fontsize="small")
            ax.set_yticks(range(len(names)), labels, parse_math=False, fontsize="small")
        else:
            ax.set_xticks([])
            ax.set_yticks([])
    figure.colorbar(image, ax=list(axes), label="HSIC", shrink=0.8)


def _draw_scatter(ax: Axes, x: FloatArray, y: FloatArray, weights: FloatArray) -> float:
    """Dots by weight with their line; the weighted correlation is returned."""
    relative = weights / weights.max()
    size = 12.0 if np.ptp(weights) == 0 else np.minimum(10 * weights / weights.mean(), _LARGEST_DOT)
    alpha = 0.45 if np.ptp(weights) == 0 else 0.1 + 0.7 * relative
    ax.scatter(x, y, s=size, alpha=alpha, color=BLUE, linewidths=0)
    r = float(weighted_correlation(x[:, None], y[:, None], weights)[0, 0])
    covariance = np.cov(x, y, aweights=weights)
    ends = np.array([x.min(), x.max()])
    slope = covariance[0, 1] / max(covariance[0, 0], np.finfo(float).tiny)
    line = np.average(y, weights=weights) + slope * (ends - np.average(x, weights=weights))
    ax.plot(ends, line, color=ORANGE, lw=2)
    ax.spines[["top", "right"]].set_visible(False)
    return r


def _pvalue(p: float) -> str:
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}" if p < 0.001 else f"p = {p:.3f}"
