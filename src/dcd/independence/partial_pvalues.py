r"""Partial association of one variable with others given a set: four statistics and their p-value.

With the columns of two variables (`residual_columns`), l for leads, a for all residual columns and h for curves
of values, the products whose means are tested are

* *line*: :math:`l_x l_y`;
* *residuals*: :math:`a_x a_y`: any dependence of the residuals, such as a spread that varies;
* *curves*: :math:`h_x l_y` and :math:`l_x h_y`: y has a mean that bends with x, or the reverse;
* *modification*: :math:`a_x l_y \varphi` and :math:`l_x c_y \varphi` with :math:`\varphi` the leading principal components of
  the set: the effect of x on y differs with the set, even in its sign.

Each column has a weight that falls with its order. The smallest of the four p-values, each divided by its share
of the level (`SHARES`), is the result (weighted Bonferroni), so that a linear relation loses little power to
being tested in four ways.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dcd.features.rank_scores import LINEAR
from dcd.features.whitening import whiteners
from dcd.independence.adjustment import SMALLEST_VARIANCE, Adjustment
from dcd.independence.null_distribution import NullMoments
from dcd.independence.residual_columns import ResidualColumns
from dcd.runtime.array_types import FloatArray

SHARES = {"line": 0.28, "residuals": 0.22, "curves": 0.25, "modification": 0.25}
_COMPONENTS = 8
# The weight of a column of order j is j to minus this power.
_FALL_OF_CURVES, _FALL_OF_MODIFICATION = 0.25, 0.35


def log_pvalues(columns: ResidualColumns, target: int, others: Sequence[int]) -> FloatArray:
    """Log p-values (r,) of one variable against others, all by position among those of `columns`."""
    if not columns.adjustment.can_test:
        return np.zeros(len(others))
    statistics = statistic_log_pvalues(columns, target, others)
    total = sum(SHARES[name] for name in statistics)
    shared = [log_pvalue - np.log(SHARES[name] / total) for name, log_pvalue in statistics.items()]
    return np.minimum(np.minimum.reduce(shared), 0.0)


def statistic_log_pvalues(
    columns: ResidualColumns, target: int, others: Sequence[int]
) -> dict[str, FloatArray]:
    """Log p-values (r,) of each statistic on its own."""
    adjustment, sides = columns.adjustment, list(others)
    penalties = columns.penalties
    inflation = adjustment.inflation(penalties[sides], np.full(len(sides), penalties[target]))
    result = {}
    for name, terms in _statistics(columns).items():
        sums = [_TermSums(term, columns, target, sides) for term in terms]
        for rows in adjustment.scores.blocks:
            for part in sums:
                part.add(rows)
        moments = NullMoments(
            mean=sum(part.mean for part in sums) * inflation,
            traces=tuple(sum(part.trace(power) for part in sums) for power in (1, 2, 3)),
            excess=sum(part.excess for part in sums) * inflation**2,
        )
        result[name] = moments.log_sf(sum(part.statistic for part in sums))
    return result


@dataclass(frozen=True)
class _Term:
    """Products of columns: weights (k,) of those of one side and of the other, and of components."""

    left: FloatArray
    right: FloatArray
    components: FloatArray


def _statistics(columns: ResidualColumns) -> dict[str, tuple[_Term, ...]]:
    """The terms of each statistic."""
    none = np.empty(0)
    lead = _weights(columns, [columns.lead], 0.0)
    residuals = _weights(columns, [columns.lead, columns.curves], 1.0)
    own = _weights(columns, [columns.own_curves], _FALL_OF_CURVES)
    statistics = {
        "line": (_Term(lead, lead, none),),
        "residuals": (_Term(residuals, residuals, none),),
        "curves": (_Term(own, lead, none), _Term(lead, own, none)),
    }
    n_components = min(_COMPONENTS, len(columns.adjustment.variances))
    if n_components:
        components = (1.0 + np.arange(n_components)) ** -_FALL_OF_MODIFICATION
        every = _weights(columns, [columns.lead, columns.curves], _FALL_OF_MODIFICATION)
        curves = _weights(columns, [columns.curves], _FALL_OF_MODIFICATION)
        statistics["modification"] = (_Term(every, lead, components), _Term(lead, curves, components))
    return statistics


def _weights(columns: ResidualColumns, groups: Sequence[slice], fall: float) -> FloatArray:
    """Weights (k,) of the columns of some groups: 1 for leads, falling with the order for curves."""
    weights = np.zeros(columns.width)
    for group in groups:
        n_columns = group.stop - group.start
        weights[group] = 1.0 if group == columns.lead else (2.0 + np.arange(n_columns)) ** -fall
    return weights


class _TermSums:
    """Sums over the rows for one term, for a target against others."""

    def __init__(self, term: _Term, columns: ResidualColumns, target: int, others: list[int]) -> None:
        self._term, self._columns, self._target, self._others = term, columns, target, others
        self._left, self._right = np.flatnonzero(term.left), np.flatnonzero(term.right)
        n_products = len(self._right) * max(len(term.components), 1)
        self._means = np.zeros((len(others) * len(self._left), n_products))
        self._mean_square = np.zeros(len(others))
        self._fourth = np.zeros(len(others)), np.zeros(1)

    def add(self, rows: slice) -> None:
        """Take in some rows."""
        term, adjustment = self._term, self._columns.adjustment
        part = self._columns.part(rows)
        shares = adjustment.probabilities[rows].astype(part.dtype)
        left = part[:, self._others][:, :, self._left] * term.left[self._left].astype(part.dtype)
        right = part[:, self._target, self._right] * term.right[self._right].astype(part.dtype)
        lengths, length = np.square(left).sum(axis=2), np.square(right).sum(axis=1)
        for sums, squares in zip(self._fourth, (lengths, length[:, None]), strict=True):
            sums += shares.astype(np.float64) @ np.square(squares)
        if len(term.components):
            components = adjustment.components(rows, len(term.components))
            components = components * term.components.astype(part.dtype)
            right = (right[:, :, None] * components[:, None, :]).reshape(len(part), -1)
            length = length * np.square(components).sum(axis=1)
        self._means += left.reshape(len(part), -1).T @ (shares[:, None] * right)
        self._mean_square += (np.square(shares * len(shares)) * length).astype(np.float64) @ lengths / len(shares) ** 2

    @property
    def statistic(self) -> FloatArray:
        """Q (r,)."""
        squares = np.square(self._means).sum(axis=1).reshape(len(self._others), -1)
        return self._columns.adjustment.ess * squares.sum(axis=1)

    @property
    def mean(self) -> FloatArray:
        """The mean of Q under independence, (r,)."""
        return self._columns.adjustment.ess * self._mean_square

    def trace(self, power: int) -> FloatArray:
        """The trace of a power of C, (r,); columns are orthonormal, so that C is diagonal."""
        left, right = self._sides(power)
        components = self._term.components
        return left * right * (np.sum(components ** (2 * power)) if len(components) else 1.0)

    def _sides(self, power: int) -> tuple[FloatArray, FloatArray]:
        alive = self._columns.alive
        return (
            alive[self._others] @ self._term.left ** (2 * power),
            alive[self._target] @ self._term.right ** (2 * power),
        )

    @property
    def excess(self) -> FloatArray:
        """What tails add to the variance of Q, (r,); components, of which there are many, are left out."""
        if len(self._term.components):
            return np.zeros(len(self._others))
        first, second = self._sides(1), self._sides(2)
        beyond = [
            fourth - np.square(one) - 2.0 * two
            for fourth, one, two in zip(self._fourth, first, second, strict=True)
        ]
        return beyond[0] * beyond[1] / self._columns.adjustment.ess


def partial_correlation(adjustment: Adjustment, x: int, y: int) -> float:
    """Correlation of the normal scores of two variables, once adjusted.

    For a nominal variable of several categories the largest correlation of any function of it, without a
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
