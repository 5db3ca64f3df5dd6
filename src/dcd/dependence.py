r"""Weighted correlation test of each decoupled variable against every target (Section 3.3).

.. math:: r_w = \frac{\sum_k w_k (x_k - \bar x_w)(y_k - \bar y_w)}
          {\sqrt{\sum_k w_k (x_k - \bar x_w)^2 \sum_k w_k (y_k - \bar y_w)^2}}, \qquad
          t = r_w \sqrt{\frac{\mathrm{ESS} - 2}{1 - r_w^2}}

with :math:`t` held against Student's distribution with :math:`\mathrm{ESS} - 2` degrees of freedom,
two-sided: the sample counts for as much as its weights leave of it.
"""

from __future__ import annotations

import numpy as np
from scipy import stats

from dcd.arrays import FloatArray


def weighted_correlation(left: FloatArray, right: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted Pearson correlation of every column of `left` (n, a) with every column of `right` (n, b).

    A column without spread under the weights has no correlation; 0 is returned for it.
    """
    probabilities = weights / weights.sum()
    left, right = _centred(left, probabilities), _centred(right, probabilities)
    covariance = left.T @ (probabilities[:, None] * right)
    scale = np.sqrt(np.outer(probabilities @ np.square(left), probabilities @ np.square(right)))
    correlation = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
    return np.clip(correlation, -1.0, 1.0)


def _centred(columns: FloatArray, probabilities: FloatArray) -> FloatArray:
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
