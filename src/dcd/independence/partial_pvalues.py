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
from dcd.independence.null_distribution import null_log_sf
from dcd.independence.residual_columns import ResidualColumns
from dcd.runtime.array_types import FloatArray

SHARES = {"line": 0.22, "residuals": 0.26, "curves": 0.27, "modification": 0.25}
_COMPONENTS, _FARTHEST = 6, 2.0  # components of the set, and where they are cut off: tails of theirs decide nothing
# The weight of a column of order j is j to minus this power.
_FALL_OF_RESIDUALS, _FALL_OF_CURVES, _FALL_OF_MODIFICATION = 0.6, 0.25, 0.35


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
    adjustment, pairs = columns.adjustment, list(others)
    scores = adjustment.scores
    penalties = columns.penalties
    inflation = adjustment.inflation(penalties[pairs], np.full(len(pairs), penalties[target]))
    statistics = _statistics(columns)
    sums = {name: [_Sums(terms) for _ in pairs] for name, terms in statistics.items()}
    n_components = max(len(term.components) for terms in statistics.values() for term in terms)
    for rows in adjustment.scores.blocks:
        part = columns.part(rows)
        weight = (adjustment.probabilities[rows, None] * scores.n_samples).astype(part.dtype)
        components = np.clip(adjustment.components(rows, n_components), -_FARTHEST, _FARTHEST)
        for name, terms in statistics.items():
            right = [weight * term.on_the_right(part[:, target], components) for term in terms]
            for index, pair in zip(pairs, sums[name], strict=True):
                sides = zip(terms, right, strict=True)
                pair.add(np.hstack([term.products(part[:, index], side) for term, side in sides]))
    return {
        name: np.array([pair.log_pvalue(adjustment.ess, by) for pair, by in zip(of_pairs, inflation, strict=True)])
        for name, of_pairs in sums.items()
    }


@dataclass(frozen=True)
class _Term:
    """Products of columns: weights (k,) of those of one side and of the other, and of components."""

    left: FloatArray
    right: FloatArray
    components: FloatArray

    @property
    def n_products(self) -> int:
        """Number of products."""
        n_left, n_right = np.count_nonzero(self.left), np.count_nonzero(self.right)
        return int(n_left * n_right * max(len(self.components), 1))

    def on_the_right(self, right: FloatArray, components: FloatArray) -> FloatArray:
        """Some rows of the products of columns of the target and components, (b, m)."""
        columns = right[:, self.right > 0] * self.right[self.right > 0].astype(right.dtype)
        if not len(self.components):
            return columns
        scaled = components * self.components.astype(components.dtype)
        return (columns[:, :, None] * scaled[:, None, :]).reshape(len(right), -1)

    def products(self, left: FloatArray, right: FloatArray) -> FloatArray:
        """Some rows of the products of columns of the other side with these."""
        columns = left[:, self.left > 0] * self.left[self.left > 0].astype(left.dtype)
        return (columns[:, :, None] * right[:, None, :]).reshape(len(left), -1)


def _statistics(columns: ResidualColumns) -> dict[str, tuple[_Term, ...]]:
    """The terms of each statistic."""
    none = np.empty(0)
    lead = _weights(columns, [columns.lead], 0.0)
    residuals = _weights(columns, [columns.lead, columns.curves], _FALL_OF_RESIDUALS)
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


class _Sums:
    """Sums over the rows of the products w (m,) of a statistic for one pair, times n p, and of w w'."""

    def __init__(self, terms: Sequence[_Term]) -> None:
        n_products = sum(term.n_products for term in terms)
        self._n_samples, self._fourth = 0, 0.0
        self._sum, self._squares = np.zeros(n_products), np.zeros((n_products, n_products))

    def add(self, products: FloatArray) -> None:
        """Take in some rows."""
        self._n_samples += len(products)
        self._sum += products.sum(axis=0, dtype=np.float64)
        self._squares += products.T @ products
        lengths = np.einsum("bm,bm->b", products, products, dtype=np.float64)
        self._fourth += float(lengths @ lengths)

    def log_pvalue(self, ess: float, inflation: float) -> float:
        """Of the statistic, with the effective sample size and the inflation of its variance."""
        mean, factor = self._sum / self._n_samples, ess * inflation / self._n_samples**2
        covariance = factor * self._squares
        square = covariance @ covariance
        # In the square of a covariance from n samples, the terms of each sample with itself are bias.
        plain, own = float(np.trace(square)), float(np.square(np.diag(covariance)).sum())
        second = max(plain - self._fourth * factor**2, own)
        third = float((square * covariance).sum()) * (second / max(plain, 1e-300)) ** 1.5
        return null_log_sf(ess * float(mean @ mean), (float(np.trace(covariance)), 2.0 * second, 8.0 * third))


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
