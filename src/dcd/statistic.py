r"""The distribution of the statistic of partial association under independence.

With :math:`R` the cross-correlation matrix of the whitened scores of two variables and m degrees of freedom,
:math:`Q = m |R|^2` is chi-square with :math:`k_x k_y` degrees of freedom under independence if the scores are
Gaussian. They are not: scores that see tails have tails. The first three cumulants of Q under independence
are, with :math:`M = E|a|^4 - k(k+2)` the excess of each side,

.. math:: \kappa_1 = k_x k_y, \quad \kappa_2 = 2 k_x k_y + M_x M_y / m, \quad
          \kappa_3 \approx 8 k_x k_y + 12 M_x M_y / m + N_x N_y / m^2 ,

(N the sixth-order excess) and a shifted gamma distribution with these three gives the p-value. If the spread
of both sides varies with the set that is adjusted for, Q is divided by what that adds to its mean. So it is
if samples have weights of their own that go along with x or y: then the mean of Q is
:math:`\sum_k q_k |a_k|^2 |b_k|^2` with :math:`q \propto p^2`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammaincc, gammaln

from dcd.adjustment import SMALLEST_VARIANCE, Adjustment
from dcd.arrays import FloatArray


def group_log_pvalues(
    residuals: FloatArray, width: int, adjustment: Adjustment, degrees: float
) -> FloatArray:
    """Log p-values (v, v) between the residual scores of every two of v variables.

    Parameters
    ----------
    residuals : (n, v k), k = `width` scores of each variable.
    degrees : effective degrees of freedom, m.
    """
    n_variables = residuals.shape[1] // width
    covariance = residuals.T @ (adjustment.probabilities[:, None] * residuals)
    blocks = covariance.reshape(n_variables, width, n_variables, width).transpose(0, 2, 1, 3)
    own = np.arange(n_variables)
    whitener, ranks = whiteners(blocks[own, own])
    transposed = whitener.transpose(0, 2, 1)
    correlation = whitener[:, None] @ blocks @ transposed[None, :]
    statistic = degrees * np.square(correlation).sum(axis=(2, 3))
    white = residuals.reshape(-1, n_variables, width).transpose(1, 0, 2) @ transposed
    lengths = np.einsum("vnk,vnk->vn", white, white)
    squared, chances = np.square(lengths), adjustment.probabilities
    statistic = statistic / _common_spread(lengths, ranks, adjustment)
    return shifted_gamma_log_sf(statistic, ranks, squared @ chances, (squared * lengths) @ chances, degrees)


def _common_spread(lengths: FloatArray, ranks: FloatArray, adjustment: Adjustment) -> FloatArray:
    """By how much Q is larger under independence because both spreads vary with the set, (v, v).

    If the residuals of x and of y are both wider where the set has some value, the mean of Q is not k_x k_y
    but the mean of the product of the two expected squared lengths given the set.
    """
    if adjustment.surveyed:
        squares = np.square(adjustment.probabilities)
        product = (lengths * (squares / squares.sum())) @ lengths.T
    else:
        expected = ranks[:, None] + adjustment.fitted(lengths.T - ranks).T
        expected = np.maximum(expected, 0.0)
        product = (expected * adjustment.probabilities) @ expected.T
    return np.maximum(product / np.maximum(np.outer(ranks, ranks), 1.0), 0.5)


def whiteners(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each covariance (v, k, k) a matrix that makes it the identity, and its rank.

    Directions with next to no variance left (ties, or all explained by the set) cannot be tested and are
    mapped to zero.
    """
    variances, directions = np.linalg.eigh(covariances)
    alive = variances > SMALLEST_VARIANCE
    scale = np.where(alive, 1.0 / np.sqrt(np.where(alive, variances, 1.0)), 0.0)
    return scale[:, :, None] * directions.transpose(0, 2, 1), alive.sum(axis=1).astype(np.float64)


def shifted_gamma_log_sf(
    statistic: FloatArray, ranks: FloatArray, fourth: FloatArray, sixth: FloatArray, degrees: float
) -> FloatArray:
    """Log of the upper tail of Q for all pairs of v variables, from the moments of whitened scores.

    Parameters
    ----------
    statistic : (v, v) values of Q.
    ranks : (v,) number of scores k of each variable; 0 leaves nothing to test.
    fourth, sixth : (v,) means of |a|⁴ and |a|⁶.
    """
    excess = fourth - ranks * (ranks + 2)
    sixth_excess = sixth - ranks * (ranks + 2) * (ranks + 4) - 3 * (ranks + 4) * excess
    mean = np.maximum(np.outer(ranks, ranks), 1.0)
    fourth_term = np.outer(excess, excess) / degrees
    variance = np.maximum(2 * mean + fourth_term, 0.5 * mean)
    third = 8 * mean + 12 * fourth_term + np.maximum(np.outer(sixth_excess, sixth_excess), 0.0) / degrees**2
    # A gamma distribution without a shift has third = 2 variance² / mean; a lighter tail is not believed.
    third = np.maximum(third, 2 * variance**2 / mean)
    shift, scale, shape = mean - 2 * variance**2 / third, third / (2 * variance), 4 * variance**3 / third**2
    log_sf = gamma_log_sf(np.maximum(statistic - shift, 0.0) / scale, shape)
    return np.where(np.outer(ranks, ranks) > 0, log_sf, 0.0)


def gamma_log_sf(x: FloatArray, shape: FloatArray) -> FloatArray:
    """Log of the upper tail of the gamma distribution, also where the tail is too small for a float."""
    with np.errstate(divide="ignore"):
        log_sf: FloatArray = np.log(gammaincc(shape, x))
    lost = ~np.isfinite(log_sf)
    far, a = x[lost], shape[lost]
    log_sf[lost] = (a - 1.0) * np.log(far) - far - gammaln(a) + np.log1p(np.maximum(a - 1.0, 0.0) / far)
    return log_sf
