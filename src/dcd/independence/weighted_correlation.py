r"""Weighted correlation test of each decoupled variable against every target (Section 3.3).

.. math:: r_w = \frac{\sum_k w_k (x_k - \bar x_w)(y_k - \bar y_w)}
          {\sqrt{\sum_k w_k (x_k - \bar x_w)^2 \sum_k w_k (y_k - \bar y_w)^2}}, \qquad
          t = r_w \sqrt{\frac{\mathrm{ESS} - 2}{1 - r_w^2}}

with :math:`t` compared with Student's distribution with :math:`\mathrm{ESS} - 2` degrees of freedom,
two-sided: the effective sample size takes the place of n.

A nominal variable has a column for each category but one. The strength is then the largest canonical
correlation, and the test Wilks' lambda with Bartlett's correction, again with ESS in place of n.

If rows have survey weights, which may depend on x or y, n is the number that makes the variance of the
weighted correlation right: one over the sum of :math:`p^2 a^2 b^2` for standardised a and b.

Everything follows from the weighted covariance of the columns, computed a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dcd.features.whitening import whiteners
from dcd.runtime.array_types import FloatArray
from dcd.runtime.memory import BLOCK_ROWS, Memory
from dcd.runtime.rows import effective_sample_size

_NO_VARIANCE = 1e-12  # share of the largest variance of a variable
Columns = npt.NDArray[Any]  # (n, k) numbers or Booleans of one variable


def weighted_correlation(left: Columns, right: Columns, weights: FloatArray) -> FloatArray:
    """Weighted Pearson correlation of every column of `left` (n, a) with every column of `right` (n, b).

    A column without variance under the weights has no correlation; 0 is returned for it.
    """
    return weighted_association(left.T[:, :, None], right.T[:, :, None], weights)[0]


def weighted_association(
    left: Sequence[Columns] | Columns,
    right: Sequence[Columns] | Columns,
    weights: FloatArray,
    *,
    surveyed: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Strength and p-value, each (a, b), of every block of `left` with every block of `right`.

    A block (n, k) is one variable: a column of numbers, or indicators of all categories but one.
    `surveyed` means that rows have survey weights.
    """
    table = _Whitened([*left, *right], weights / weights.sum())
    first, second = range(len(left)), range(len(left), len(left) + len(right))
    ess = np.full((len(table.own),) * 2, effective_sample_size(weights))
    ess = (table.surveyed_ess() if surveyed else ess)[np.ix_(first, second)]
    starts = np.array([columns.start for columns in table.own])
    strength = np.clip(table.covariance[np.ix_(starts[first], starts[second])], -1.0, 1.0)
    pvalues = correlation_pvalues(strength, ess)
    for i, j in product(first, second):
        block = table.covariance[table.own[i], table.own[j]]
        if block.size > 1:
            at = i, j - len(left)
            strength[at], pvalues[at] = _wilks(block, (table.ranks[i], table.ranks[j]), ess[at])
    return strength, pvalues


def correlation_pvalues(correlation: FloatArray, ess: float | FloatArray) -> FloatArray:
    """Two-sided p-values of weighted correlations by Student's t with `ess - 2` degrees of freedom.

    1 if the effective sample size is at most 2.
    """
    degrees = np.asarray(ess) - 2.0
    usable = np.where(degrees > 0, degrees, 1.0)
    # A correlation of exactly 1 gives t = inf and p = 0, as it should.
    with np.errstate(divide="ignore"):
        t = np.abs(correlation) * np.sqrt(usable / (1.0 - np.square(correlation)))
    return np.where(degrees > 0, 2.0 * stats.t.sf(t, usable), 1.0)


def _wilks(correlation: FloatArray, ranks: tuple[float, float], ess: float) -> tuple[float, float]:
    """The largest canonical correlation of two whitened blocks, and the p-value of all of them."""
    factor = ess - 1.0 - (sum(ranks) + 1.0) / 2.0
    if not all(ranks) or factor <= 0:
        return 0.0, 1.0
    canonical = np.linalg.svd(correlation, compute_uv=False)
    statistic = -factor * np.log1p(-np.minimum(np.square(canonical), 1.0 - 1e-15)).sum()
    return float(min(canonical[0], 1.0)), float(stats.chi2.sf(statistic, ranks[0] * ranks[1]))


class _Whitened:
    """Columns of variables, each variable whitened under the weights.

    Attributes
    ----------
    own : the columns of each variable.
    covariance : (k, k) of all whitened columns.
    ranks : (v,) number of columns of each variable that vary.
    """

    def __init__(self, variables: Sequence[Columns], probabilities: FloatArray) -> None:
        edges = np.cumsum([0, *(columns.shape[1] for columns in variables)])
        self.own = [slice(start, stop) for start, stop in pairwise(edges)]
        self._probabilities = probabilities
        self._part = _standardised(variables, probabilities)
        covariance = np.zeros((edges[-1], edges[-1]))
        for rows in self._blocks():
            part = self._part(rows)
            covariance += part.T @ (probabilities[rows, None] * part)
        variances = np.diag(covariance)
        scale = np.sqrt(np.where(variances > 0, variances, np.inf))
        self._whitener, self.ranks = np.diag(1.0 / scale), (variances[edges[:-1]] > 0).astype(np.float64)
        for v, columns in enumerate(self.own):
            if columns.stop - columns.start > 1:
                smallest = _NO_VARIANCE * float(variances[columns].max())
                whitener, ranks = whiteners(covariance[None, columns, columns], smallest)
                self._whitener[columns, columns], self.ranks[v] = whitener[0], ranks[0]
        self.covariance = self._whitener @ covariance @ self._whitener.T

    def surveyed_ess(self) -> FloatArray:
        """(v, v) the number of rows that makes the variance of each weighted correlation right."""
        products = np.zeros((len(self.own), len(self.own)))
        for rows in self._blocks():
            squares = np.square(self._part(rows) @ self._whitener.T)
            lengths = np.add.reduceat(squares, [columns.start for columns in self.own], axis=1)
            shares = self._probabilities[rows, None] * lengths
            products += shares.T @ shares
        return np.outer(self.ranks, self.ranks) / np.maximum(products, 1e-300)

    def _blocks(self) -> list[slice]:
        return Memory().blocks(len(self._probabilities), bytes_per_row=0, most=BLOCK_ROWS)


def _standardised(variables: Sequence[Columns], probabilities: FloatArray) -> Callable[[slice], FloatArray]:
    """Some rows of all columns without their weighted means, scaled so that squares stay in range."""
    centre = np.concatenate([probabilities @ columns for columns in variables])
    lows, highs = (
        np.concatenate([extreme(columns, axis=0) for columns in variables]) for extreme in (np.min, np.max)
    )
    largest = np.maximum(highs - centre, centre - lows)
    scale = np.where(largest > 0, largest, 1.0)

    def part(rows: slice) -> FloatArray:
        return (np.hstack([columns[rows] for columns in variables]) - centre) / scale

    return part
