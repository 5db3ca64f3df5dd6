r"""The distribution of a quadratic statistic under independence.

A statistic is :math:`Q = m |\sum_k p_k w_k|^2` with :math:`w_k` the vector of weighted products of columns
of x and of y in sample k, :math:`p_k` the probability of the sample and :math:`m = 1 / \sum_k p_k^2`. Under
independence the products have mean 0, and :math:`\sqrt m \sum_k p_k w_k` has the covariance :math:`C = m
\sum_k p_k^2 w_k w_k^\top`, even if the spread of x and y varies (White's heteroscedasticity-consistent
covariance). If samples belong to groups, :math:`p_k w_k` are first summed over each group, so that samples of
a group may depend on each other in any way (Liang and Zeger 1986). The first three cumulants of Q are

.. math:: \kappa_1 = \mathrm{tr}\, C, \quad \kappa_2 = 2\, \mathrm{tr}\, C^2, \quad
          \kappa_3 = 8\, \mathrm{tr}\, C^3 ,

and a shifted gamma distribution with these three gives the p-value.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincc, gammaln

from dcd.runtime.array_types import FloatArray


def null_log_sf(
    statistic: FloatArray, mean: FloatArray, variance: FloatArray, third: FloatArray
) -> FloatArray:
    """Log of the upper tail of statistics with three cumulants; 0 if there is nothing to test.

    A gamma distribution without a shift has third = 2 variance² / mean; a lighter tail is not used.
    """
    testable = variance > 0
    mean, variance, third = (np.where(testable, cumulant, 1.0) for cumulant in (mean, variance, third))
    third = np.maximum(third, 2 * variance**2 / mean)
    shift, scale, shape = mean - 2 * variance**2 / third, third / (2 * variance), 4 * variance**3 / third**2
    return np.where(testable, gamma_log_sf(np.maximum(statistic - shift, 0.0) / scale, shape), 0.0)


def gamma_log_sf(x: FloatArray, shape: FloatArray) -> FloatArray:
    """Log of the upper tail of the gamma distribution, also where the tail is too small for a float."""
    with np.errstate(divide="ignore"):
        log_sf: FloatArray = np.log(gammaincc(shape, x))
    lost = ~np.isfinite(log_sf)
    far, a = x[lost], shape[lost]
    log_sf[lost] = (a - 1.0) * np.log(far) - far - gammaln(a) + np.log1p(np.maximum(a - 1.0, 0.0) / far)
    return log_sf
