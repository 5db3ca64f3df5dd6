r"""The distribution of a quadratic statistic under independence.

A statistic is :math:`Q = m |\sum_k p_k w_k|^2` with :math:`w_k` the vector of weighted products of columns of x and of y in
sample k, :math:`p_k` the probability of the sample and m = 1 / \sum p_k^2. Under independence its mean is
:math:`\mu = m \sum_k p_k^2 |w_k|^2`, whatever the spread of x and y depends on (the heteroscedasticity-consistent variance
of White). With C the covariance of :math:`w`, in proportion to which :math:`\mu` is shared among the directions, the first
three cumulants are

.. math:: \kappa_1 = \mu, \quad \kappa_2 = 2 \mu^2 \frac{\mathrm{tr}\, C^2}{(\mathrm{tr}\, C)^2} + \varepsilon, \quad
          \kappa_3 = 8 \mu^3 \frac{\mathrm{tr}\, C^3}{(\mathrm{tr}\, C)^3} ,

where :math:`\varepsilon` is what tails heavier than Gaussian ones add. A shifted gamma distribution with these three gives
the p-value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import gammaincc, gammaln

from dcd.runtime.array_types import FloatArray


@dataclass(frozen=True)
class NullMoments:
    """Of statistics Q, arrays of one shape: the mean, traces of C, C² and C³, and the excess of the variance."""

    mean: FloatArray
    traces: tuple[FloatArray, FloatArray, FloatArray]
    excess: FloatArray | float = 0.0

    def log_sf(self, statistic: FloatArray) -> FloatArray:
        """Log of the upper tail; 0 where there is nothing to test."""
        first = np.maximum(self.traces[0], 1e-300)
        testable = (self.traces[0] > 0) & (self.mean > 0)
        mean = np.where(testable, self.mean, 1.0)
        plain = 2.0 * np.where(testable, self.traces[1] / first**2, 1.0) * mean**2
        variance = np.maximum(plain + self.excess, 0.5 * plain)
        third = 8.0 * np.where(testable, self.traces[2] / first**3, 1.0) * mean**3
        log_pvalues = shifted_gamma_log_sf(statistic, mean, variance, third)
        return np.where(testable, log_pvalues, 0.0)


def shifted_gamma_log_sf(
    statistic: FloatArray, mean: FloatArray, variance: FloatArray, third: FloatArray
) -> FloatArray:
    """Log of the upper tail of the shifted gamma distribution with three cumulants.

    A gamma distribution without a shift has third = 2 variance² / mean; a lighter tail is not believed.
    """
    third = np.maximum(third, 2 * variance**2 / mean)
    shift, scale, shape = mean - 2 * variance**2 / third, third / (2 * variance), 4 * variance**3 / third**2
    return gamma_log_sf(np.maximum(statistic - shift, 0.0) / scale, shape)


def gamma_log_sf(x: FloatArray, shape: FloatArray) -> FloatArray:
    """Log of the upper tail of the gamma distribution, also where the tail is too small for a float."""
    with np.errstate(divide="ignore"):
        log_sf: FloatArray = np.log(gammaincc(shape, x))
    lost = ~np.isfinite(log_sf)
    far, a = x[lost], shape[lost]
    log_sf[lost] = (a - 1.0) * np.log(far) - far - gammaln(a) + np.log1p(np.maximum(a - 1.0, 0.0) / far)
    return log_sf
