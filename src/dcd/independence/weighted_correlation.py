r"""Weighted correlation test of each decoupled variable against every target (Section 3.3).

.. math:: r_w = \frac{\sum_k w_k (x_k - \bar x_w)(y_k - \bar y_w)}
          {\sqrt{\sum_k w_k (x_k - \bar x_w)^2 \sum_k w_k (y_k - \bar y_w)^2}}, \qquad
          t = r_w \sqrt{\frac{\mathrm{ESS} - 2}{1 - r_w^2}}

with :math:`t` held against Student's distribution with :math:`\mathrm{ESS} - 2` degrees of freedom,
two-sided: the sample counts for as much as its weights leave of it.

A nominal variable takes part with a column for each category but one. The strength is then the largest
canonical correlation, and the test Wilks' lambda with Bartlett's correction, again at ESS for n.

If rows have weights of their own (a survey), which may go along with x or y, n is what makes the variance of
the weighted correlation right: one over the sum of :math:`p^2 a^2 b^2` for standardised a and b.

Of a table of many rows all this comes from the weighted covariance of its columns, which takes a block of
rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise, product
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from dcd.runtime.array_types import FloatArray
from dcd.weights.objective import LARGEST_DENSE

_ROWS = 16_384  # of a block
Columns = npt.NDArray[Any]  # (n, k) numbers or truth values of one variable


def weighted_correlation(left: Columns, right: Columns, weights: FloatArray) -> FloatArray:
    """Weighted Pearson correlation of every column of `left` (n, a) with every column of `right` (n, b).

    A column without spread under the weights has no correlation; 0 is returned for it.
    """
    probabilities = weights / weights.sum()
    left, right = _centred(left, probabilities), _centred(right, probabilities)
    covariance = left.T @ (probabilities[:, None] * right)
    scale = np.sqrt(np.outer(probabilities @ np.square(left), probabilities @ np.square(right)))
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return np.clip(correlation, -1.0, 1.0)


def weighted_association(
    left: Sequence[Columns],
    right: Sequence[Columns],
    weights: FloatArray,
    *,
    surveyed: bool = False,
) -> tuple[FloatArray, FloatArray]:
    """Strength and p-value, each (a, b), of every block of `left` with every one of `right`.

    A block (n, k) is one variable: a column of numbers, or the categories of a nominal one but the last.
    `surveyed` tells that rows have weights of their own.
    """
    if len(weights) > LARGEST_DENSE:
        return association_in_blocks(left, right, weights, surveyed=surveyed)
    if surveyed:
        return _surveyed_association(left, right, weights)
    ess = float(weights.sum() ** 2 / np.square(weights).sum())
    strength, pvalues = np.zeros((len(left), len(right))), np.ones((len(left), len(right)))
    plain = [[i for i, block in enumerate(side) if block.shape[1] == 1] for side in (left, right)]
    if all(plain):
        columns = [np.hstack([side[i] for i in own]) for side, own in zip((left, right), plain, strict=True)]
        correlation = weighted_correlation(columns[0], columns[1], weights)
        strength[np.ix_(*plain)] = correlation
        pvalues[np.ix_(*plain)] = correlation_pvalues(correlation, ess)
    for i, j in product(range(len(left)), range(len(right))):
        if left[i].shape[1] > 1 or right[j].shape[1] > 1:
            strength[i, j], pvalues[i, j] = canonical_correlation(left[i], right[j], weights, ess)
    return strength, pvalues


def _surveyed_association(
    left: Sequence[Columns], right: Sequence[Columns], weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    probabilities = weights / weights.sum()
    root = np.sqrt(probabilities)[:, None]
    strength, pvalues = np.zeros((len(left), len(right))), np.ones((len(left), len(right)))
    # p |a|² of every row, with a of unit variance
    lengths = [
        [np.square(_orthonormal(root * _centred(block, probabilities))).sum(axis=1) for block in side]
        for side in (left, right)
    ]
    for i, j in product(range(len(left)), range(len(right))):
        ranks = lengths[0][i].sum() * lengths[1][j].sum()
        ess = float(ranks / max(lengths[0][i] @ lengths[1][j], 1e-300))
        if left[i].shape[1] == right[j].shape[1] == 1:
            correlation = weighted_correlation(left[i], right[j], weights)
            strength[i, j], pvalues[i, j] = correlation[0, 0], correlation_pvalues(correlation, ess)[0, 0]
        else:
            strength[i, j], pvalues[i, j] = canonical_correlation(left[i], right[j], weights, ess)
    return strength, pvalues


def canonical_correlation(
    left: Columns, right: Columns, weights: FloatArray, ess: float
) -> tuple[float, float]:
    """The largest correlation of combinations of two blocks of columns, and Wilks' p-value of all."""
    root = np.sqrt(weights / weights.sum())[:, None]
    bases = [_orthonormal(root * _centred(block, weights / weights.sum())) for block in (left, right)]
    correlations = np.linalg.svd(bases[0].T @ bases[1], compute_uv=False)
    return _wilks(correlations, (bases[0].shape[1], bases[1].shape[1]), ess)


def _wilks(
    correlations: npt.NDArray[np.floating[Any]], ranks: tuple[int, int], ess: float
) -> tuple[float, float]:
    """The largest of canonical correlations, and the p-value of all."""
    factor = ess - 1.0 - (sum(ranks) + 1.0) / 2.0
    if not correlations.size or factor <= 0:
        return 0.0, 1.0
    squared = np.minimum(np.square(correlations), 1.0 - 1e-15)
    statistic = -factor * np.log1p(-squared).sum()
    return float(min(correlations[0], 1.0)), float(stats.chi2.sf(statistic, ranks[0] * ranks[1]))


def _orthonormal(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of what the columns span."""
    vectors, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return vectors[:, sizes > 1e-10 * max(sizes.max(initial=0.0), 1e-300)]


def _centred(columns: Columns, probabilities: FloatArray) -> FloatArray:
    """Columns without their weighted means, at a scale at which squares neither over- nor underflow."""
    deviations = columns - probabilities @ columns
    largest = np.abs(deviations).max(axis=0)
    return deviations / np.where(largest > 0, largest, 1.0)


def correlation_pvalues(correlation: FloatArray, ess: float) -> FloatArray:
    """Two-sided p-values of weighted correlations by Student's t with `ess - 2` degrees of freedom."""
    degrees = ess - 2.0
    if degrees <= 0:
        return np.ones_like(correlation)  # so little of the sample is left that nothing can be rejected
    # A correlation of exactly 1 gives t = inf and p = 0, which is what it should.
    with np.errstate(divide="ignore"):
        t = np.abs(correlation) * np.sqrt(degrees / (1.0 - np.square(correlation)))
    pvalues: FloatArray = 2.0 * stats.t.sf(t, degrees)
    return pvalues


# --- many rows -------------------------------------------------------------------------------------------


def association_in_blocks(
    left: Sequence[Columns], right: Sequence[Columns], weights: FloatArray, *, surveyed: bool = False
) -> tuple[FloatArray, FloatArray]:
    """What `weighted_association` returns, a block of rows at a time."""
    variables = [*left, *right]
    edges = np.cumsum([0, *(columns.shape[1] for columns in variables)])
    own = [slice(start, stop) for start, stop in pairwise(edges)]
    probabilities = weights / weights.sum()
    standardised = _standardised(variables, probabilities)
    covariance = np.zeros((edges[-1], edges[-1]))
    for rows in _blocks(len(weights)):
        part = standardised(rows)
        covariance += part.T @ (probabilities[rows, None] * part)
    bases = [_whitening(covariance[place, place]) for place in own]
    ess = np.full((len(own), len(own)), 1.0 / float(probabilities @ probabilities))
    if surveyed:
        ess = _surveyed_ess(standardised, probabilities, own, bases)
    strength, pvalues = np.zeros((len(left), len(right))), np.ones((len(left), len(right)))
    for i, j in product(range(len(left)), range(len(right))):
        k = len(left) + j
        across = bases[i].T @ covariance[own[i], own[k]] @ bases[k]
        if left[i].shape[1] == right[j].shape[1] == 1:
            strength[i, j] = np.clip(across.sum(), -1.0, 1.0)  # of one entry, or none without spread
            pvalues[i, j] = correlation_pvalues(strength[i, j], ess[i, k])
        else:
            correlations = np.linalg.svd(across, compute_uv=False)
            strength[i, j], pvalues[i, j] = _wilks(correlations, across.shape, ess[i, k])
    return strength, pvalues


def _blocks(n_samples: int) -> Iterator[slice]:
    return (slice(start, start + _ROWS) for start in range(0, n_samples, _ROWS))


def _standardised(variables: Sequence[Columns], probabilities: FloatArray) -> Callable[[slice], FloatArray]:
    """Some rows of all columns without their weighted means, at a scale as in `_centred`."""
    means, lows, highs = [], [], []
    for columns in variables:
        means.append(probabilities @ columns)
        lows.append(columns.min(axis=0))
        highs.append(columns.max(axis=0))
    centre = np.concatenate(means)
    largest = np.maximum(np.concatenate(highs) - centre, centre - np.concatenate(lows))
    scale = np.where(largest > 0, largest, 1.0)

    def part(rows: slice) -> FloatArray:
        return (np.hstack([columns[rows] for columns in variables]) - centre) / scale

    return part


def _whitening(covariance: FloatArray) -> FloatArray:
    """W with W' C W the identity on what the columns span."""
    variances, directions = np.linalg.eigh(covariance)
    kept = variances > 1e-12 * max(variances.max(initial=0.0), 1e-300)
    return directions[:, kept] / np.sqrt(variances[kept])


def _surveyed_ess(
    standardised: Callable[[slice], FloatArray],
    probabilities: FloatArray,
    own: Sequence[slice],
    bases: Sequence[FloatArray],
) -> FloatArray:
    """The number of rows that makes the variance of each weighted correlation right."""
    products = np.zeros((len(own), len(own)))
    for rows in _blocks(len(probabilities)):
        part = standardised(rows)
        lengths = [
            np.square(part[:, place] @ basis).sum(axis=1) for place, basis in zip(own, bases, strict=True)
        ]
        shares = probabilities[rows, None] * np.column_stack(lengths)
        products += shares.T @ shares
    ranks = np.array([basis.shape[1] for basis in bases])
    return np.outer(ranks, ranks) / np.maximum(products, 1e-300)
