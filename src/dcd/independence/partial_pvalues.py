r"""Partial association of one variable with others given a set: five statistics and their p-value.

With the columns of two variables (`residual_columns`), l for leads, c for curves of residuals, a for both and
h for curves of values, the products whose means are tested are

* *line*: :math:`l_x l_y`;
* *residuals*: :math:`a_x a_y`: any dependence of the residuals, such as a spread that varies;
* *spread*: a few products of the leads and :math:`t = l^2 - 1`: joint extremes;
* *curves*: :math:`h_x l_y` and :math:`l_x h_y`: the mean of y is a curved function of x, or the reverse;
* *modification*: :math:`a_x l_y \varphi` and :math:`l_x c_y \varphi` with :math:`\varphi` the leading
  principal components of the set: the effect of x on y varies with the set, even in sign.

Each column has a weight that decreases with its order. The smallest of the five p-values, each divided by its
share of the level (`SHARES`), is the result (weighted Bonferroni), so that testing in five ways costs a
linear relation little power.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcd.features.rank_scores import LINEAR
from dcd.features.whitening import whiteners
from dcd.independence.adjustment import SMALLEST_VARIANCE, Adjustment
from dcd.independence.null_distribution import null_log_sf
from dcd.independence.residual_columns import ResidualColumns
from dcd.independence.set_design import Rows
from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.runtime.rows import group_sums

SHARES = {"line": 0.32, "residuals": 0.15, "spread": 0.13, "curves": 0.24, "modification": 0.16}
_MOST_PRODUCTS = 128  # of columns and components: categories can have many columns
_MOST_ESTIMATED = 512  # products whose covariance is estimated; time and memory grow with their square
# Components of the set, and where they are clipped, so that a few extreme rows do not decide.
_COMPONENTS, _FARTHEST = 6, 2.0
# The weight of a column of order j is j to minus this power.
_FALL_OF_RESIDUALS, _FALL_OF_CURVES, _FALL_OF_MODIFICATION = 0.6, 0.25, 0.35


def log_pvalues(columns: ResidualColumns, target: int, others: Sequence[int]) -> FloatArray:
    """Log p-values (r,) of one variable against others, all by position among those of `columns`."""
    if not columns.adjustment.can_test:
        return np.zeros(len(others))
    statistics = statistic_log_pvalues(columns, target, others)
    values = np.array(list(statistics.values()))
    # The share of a statistic without products goes to the others.
    shares = np.array([SHARES[name] for name in statistics])[:, None] * ~np.isnan(values)
    with np.errstate(divide="ignore"):
        shared = np.nan_to_num(values) - np.log(shares / np.maximum(shares.sum(axis=0), 1e-300))
    return np.minimum(shared.min(axis=0), 0.0)


def statistic_log_pvalues(
    columns: ResidualColumns, target: int, others: Sequence[int]
) -> dict[str, FloatArray]:
    """Log p-values (r,) of each statistic on its own; NaN if it has no products of its own.

    The residuals of two variables without curves have only the products of the line.
    """
    adjustment, pairs = columns.adjustment, list(others)
    penalties = columns.penalties
    inflation = adjustment.inflation(penalties[pairs], np.full(len(pairs), penalties[target]))
    n_components = min(_COMPONENTS, len(adjustment.variances))
    groups = adjustment.scores.groups
    n_groups = 0 if groups is None else int(groups.max()) + 1
    sums = {
        name: [_Sums(terms, columns.varies[[other, target]], n_components, n_groups) for other in pairs]
        for name, terms in _statistics(columns).items()
    }
    of_target, decoupled = _of_target(columns, target)
    for rows in adjustment.scores.blocks:
        part = columns.part(rows)
        weight = (adjustment.probabilities[rows] * adjustment.scores.n_samples).astype(part.dtype)
        right = weight * np.stack([of_target[:, rows], of_target[:, decoupled[rows]]], axis=1)
        modifiers = _modifiers(adjustment, rows, n_components)
        for of_pairs in sums.values():
            for other, pair in zip(pairs, of_pairs, strict=True):
                pair.add(part[other], right, modifiers, None if groups is None else groups[rows])
    log_pvalues = dict(zip(sums, _log_pvalues(list(sums.values()), adjustment.ess, inflation), strict=True))
    same = [
        one.n_products == other.n_products for one, other in zip(sums["line"], sums["residuals"], strict=True)
    ]
    log_pvalues["residuals"][same] = np.nan
    return log_pvalues


def _modifiers(adjustment: Adjustment, rows: slice, n_components: int) -> FloatArray:
    """Some rows of the leading components (c, b) of the set, with their weights."""
    components = np.clip(adjustment.components(rows, n_components).T, -_FARTHEST, _FARTHEST)
    weights = _falling(1, n_components, _FALL_OF_MODIFICATION)[:, None]
    return components * weights.astype(components.dtype)


def _of_target(columns: ResidualColumns, target: int) -> tuple[FloatArray, Rows]:
    """All rows (k, n) of the columns of the target, and for each row the one used for its distribution.

    If samples have weights, given or learned, that is the row itself: a nearby row with little weight can be
    far from those with much. The same applies to groups, because nearby rows are of other groups.
    """
    adjustment = columns.adjustment
    scores = adjustment.scores
    every = scores.memory.array((scores.n_samples, columns.width), scores.dtype).T
    for rows in scores.blocks:
        every[:, rows] = columns.part(rows)[target]
    weighted = np.ptp(adjustment.probabilities) > 1e-12 * adjustment.probabilities.max()
    own = weighted or scores.groups is not None
    return every, np.arange(scores.n_samples) if own else adjustment.next_row


def _log_pvalues(sums: Sequence[Sequence[_Sums]], ess: float, inflation: FloatArray) -> FloatArray:
    """Log p-values (s, r) of the statistics."""
    values = np.array([[p.cumulants(ess, by) for p, by in zip(of, inflation, strict=True)] for of in sums])
    squared_means = np.array([[pair.squared_mean for pair in of_pairs] for of_pairs in sums])
    log_sf = null_log_sf(ess * squared_means, *np.moveaxis(values.reshape(*squared_means.shape, 3), -1, 0))
    return np.where([[pair.n_products > 0 for pair in of_pairs] for of_pairs in sums], log_sf, np.nan)


@dataclass(frozen=True)
class _Term:
    """Products of columns: the weights (k,) of the columns of either side; with components or without."""

    left: FloatArray
    right: FloatArray
    modified: bool = False


def _statistics(columns: ResidualColumns) -> dict[str, tuple[_Term, ...]]:
    """The terms of each statistic."""
    lead = _weights(columns, [columns.lead], 0.0)
    residuals = _weights(columns, [columns.lead, columns.curves], _FALL_OF_RESIDUALS)
    own = _weights(columns, [columns.own_curves], _FALL_OF_CURVES)
    tail = _weights(columns, [columns.tail], 0.0)
    statistics = {
        "line": (_Term(lead, lead),),
        "residuals": (_Term(residuals, residuals),),
        "spread": (_Term(tail, tail), _Term(tail, lead), _Term(lead, tail)),
        "curves": (_Term(own, lead), _Term(lead, own)),
    }
    if len(columns.adjustment.variances):
        every = _weights(columns, [columns.lead, columns.curves], _FALL_OF_MODIFICATION)
        curves = _weights(columns, [columns.curves], _FALL_OF_MODIFICATION)
        statistics["modification"] = (_Term(every, lead, modified=True), _Term(lead, curves, modified=True))
    return statistics


def _weights(columns: ResidualColumns, groups: Sequence[slice], fall: float) -> FloatArray:
    """Weights (k,) of the columns of some groups: 1 for leads, decreasing with the order for curves."""
    weights = np.zeros(columns.width)
    for group in groups:
        n_columns = group.stop - group.start
        weights[group] = 1.0 if group == columns.lead else _falling(2, n_columns, fall)
    return weights


def _falling(first: int, n_columns: int, power: float) -> FloatArray:
    falling: FloatArray = (first + np.arange(n_columns, dtype=np.float64)) ** -power
    return falling


_Side = tuple[Positions, FloatArray]  # the columns of one side, and their weights


def _side(weights: FloatArray, varies: BoolArray) -> _Side:
    chosen = np.flatnonzero(varies & (weights > 0))
    return chosen, weights[chosen]


class _Sums:
    """Sums over the rows of the products w (m,) of a statistic for one pair, times n p, and of w w'.

    With groups of rows, w are the sums over each group.
    """

    def __init__(
        self, terms: Sequence[_Term], varies: BoolArray, n_components: int, n_groups: int = 0
    ) -> None:
        self._terms = [(_side(term.left, varies[0]), _side(term.right, varies[1])) for term in terms]
        n_columns = sum(len(left[0]) * len(right[0]) for left, right in self._terms)
        most = max(_MOST_PRODUCTS // max(n_columns, 1), 1)
        self._n_components = min(most, n_components) if terms[0].modified else 0
        self.n_products = n_columns * max(self._n_components, 1)
        self._n_samples, self._fourth = 0, 0.0
        self._estimated = self.n_products <= _MOST_ESTIMATED
        size = self.n_products if self._estimated else 0
        self._sum, self._squares = np.zeros(self.n_products), np.zeros((size, size))
        self._of_groups = np.zeros((n_groups, size))

    def add(
        self, left: FloatArray, right: FloatArray, modifiers: FloatArray, groups: Positions | None
    ) -> None:
        """Add some rows.

        Parameters
        ----------
        left, right : columns (k, b) of one side, and (k, 2, b) of the other in the same and in nearby rows.
        modifiers : (c, b) the components of the set.
        groups : (b,) those of the rows.
        """
        self._n_samples += left.shape[-1]
        needs_nearby = self._estimated and groups is None
        products = self._products(left, right if needs_nearby else right[:, :1], modifiers)
        self._sum += products[:, 0].sum(axis=1, dtype=np.float64)
        if groups is not None and self._estimated:
            self._of_groups += group_sums(products[:, 0].T, groups, len(self._of_groups))
        elif self._estimated:
            self._add_squares(products.reshape(len(products), 2 * left.shape[-1]), 0.5)

    def _add_squares(self, products: FloatArray, share: float) -> None:
        self._squares += share * (products @ products.T)
        lengths = np.einsum("mb,mb->b", products, products, dtype=np.float64)
        self._fourth += share**2 * float(lengths @ lengths)

    def _products(self, left: FloatArray, right: FloatArray, modifiers: FloatArray) -> FloatArray:
        """(m, 1 or 2, b) in the same rows and, if they are given, in nearby rows."""
        products, start = np.empty((self.n_products, *right.shape[1:]), dtype=left.dtype), 0
        for (chosen, weights), (others, other_weights) in self._terms:
            one = left[chosen] * weights[:, None].astype(left.dtype)
            if self._n_components:
                one = (one[:, None] * modifiers[: self._n_components]).reshape(-1, left.shape[-1])
            other = right[others] * other_weights[:, None, None].astype(left.dtype)
            stop = start + len(one) * len(other)
            np.multiply(one[:, None, None], other, out=products[start:stop].reshape(len(one), *other.shape))
            start = stop
        return products

    @property
    def squared_mean(self) -> float:
        """|sum of p w|²."""
        return float(self._sum @ self._sum) / self._n_samples**2

    def cumulants(self, ess: float, inflation: float) -> tuple[float, float, float]:
        """The first three cumulants of the statistic, by the effective sample size and variance inflation."""
        if not self._estimated:  # columns of many categories, orthonormal on each side
            powers = [
                sum(float(np.outer(one**order, other**order).sum()) for (_, one), (_, other) in self._terms)
                for order in (2, 4, 6)
            ]
            return powers[0] * inflation, 2.0 * powers[1] * inflation**2, 8.0 * powers[2] * inflation**3
        if len(self._of_groups):
            self._add_squares(self._of_groups.T, 1.0)
        scale = ess * inflation / self._n_samples**2
        covariance = scale * self._squares
        square = covariance @ covariance
        # In the square of a covariance from n samples, the terms of a sample with itself are bias.
        plain, own = float(np.trace(square)), float(np.square(np.diag(covariance)).sum())
        second = max(plain - self._fourth * scale**2, own)
        third = float((square * covariance).sum()) * (second / max(plain, 1e-300)) ** 1.5
        return float(np.trace(covariance)), 2.0 * second, 8.0 * third


def partial_correlation(adjustment: Adjustment, x: int, y: int) -> float:
    """Correlation of the adjusted normal scores of two variables.

    For a nominal variable with several categories, the largest correlation of any function of it, without
    sign.
    """
    scores = adjustment.scores
    shown = [scores.variables[v].adjusters if scores.kinds[v] == "nominal" else (LINEAR,) for v in (x, y)]
    columns = list(zip((x, y), shown, strict=True))
    width = sum(map(len, shown))
    fit = adjustment.fit(lambda rows: scores.part(rows, columns), width)
    covariance = np.zeros((width, width))
    for rows, shares in scores.weighted(adjustment.probabilities):
        part = adjustment.residuals(fit, rows, scores.part(rows, columns))
        covariance += part.T @ (shares * part)
    first = len(shown[0])
    white = [
        whiteners(own[None], SMALLEST_VARIANCE)[0][0]
        for own in (covariance[:first, :first], covariance[first:, first:])
    ]
    correlation = white[0] @ covariance[:first, first:] @ white[1].T
    if correlation.size == 1:
        return float(correlation[0, 0] * np.sign(white[0][0, 0] * white[1][0, 0]))
    return float(np.linalg.norm(correlation, ord=2))
