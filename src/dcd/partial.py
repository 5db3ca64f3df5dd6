r"""Partial association of two variables given a set: the statistic, its distribution, and interactions.

**Adjust.** For the pair x, y and a set S, the normal scores of x and of y are regressed on scores of the
variables in S (`dcd.scores`). Scores of what is left, adjusted for S once more, are whitened. With :math:`R`
their cross-correlation matrix and m the degrees of freedom that are left, :math:`Q = m |R|^2` is chi-square
with :math:`k_x k_y` degrees of freedom under independence if the scores are Gaussian. They are not: scores
that see tails have tails. The first three cumulants of Q under independence are, with
:math:`M = E|a|^4 - k(k+2)` the excess of each side,

.. math:: \kappa_1 = k_x k_y, \quad \kappa_2 = 2 k_x k_y + M_x M_y / m, \quad
          \kappa_3 \approx 8 k_x k_y + 12 M_x M_y / m + N_x N_y / m^2 ,

(N the sixth-order excess) and a shifted gamma distribution with these three gives the p-value. If the spread
of both sides varies with S, Q is divided by what that adds to its mean. Three groups of scores, lines alone,
the bulk, and the tails, each give a p-value; three times the smallest is the result, so that a straight line
loses next to nothing for being looked at in three ways.

**Interactions.** Does a variable depend on a set through more than a sum of functions of single variables?
Wilks' lambda of its scores against products of scores of two variables of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaincc, gammaln

from dcd.arrays import FloatArray
from dcd.scores import BULK_CUBE, BULK_SQUARE, CUBE, LINEAR, N_TESTED, SQUARE, Scores, score_columns

LINES, BULK, TAILS = (LINEAR,), (LINEAR, BULK_SQUARE, BULK_CUBE), (LINEAR, SQUARE, CUBE)
_INTERACTIONS = ((LINEAR, LINEAR), (LINEAR, BULK_SQUARE), (BULK_SQUARE, LINEAR), (BULK_SQUARE, BULK_SQUARE))

_RIDGE = 1e-7  # on scores of variance 1; keeps collinear adjusters from blowing up
_SMALLEST_VARIANCE = 1e-6  # of a residual score that still can be tested
_MOST_ADJUSTERS = 1 / 3  # of the sample
_FEWEST_ADJUSTERS = 5  # of a variable
_FEWEST_DEGREES = 5


# --- adjusting under equal weights, all pairs at once ----------------------------------------------------


def adjusted_log_pvalues(scores: Scores, given: Sequence[int]) -> FloatArray:
    """Log p-values (d, d) of every two variables given a set, under equal weights; 0 on the diagonal."""
    n_samples, n_variables = scores.n_samples, scores.n_variables
    rows = _adjuster_rows(scores, given)
    degrees = n_samples - 1 - len(rows)
    if degrees < _FEWEST_DEGREES:
        return np.zeros((n_variables, n_variables))
    adjustment = _equal_adjustment(scores, rows)
    tested = residual_scores(scores, adjustment, range(n_variables)) if rows else scores.columns
    result = _log_pvalues(tested, adjustment, degrees)
    np.fill_diagonal(result, 0.0)
    return result


def _equal_adjustment(scores: Scores, rows: Sequence[int]) -> _Adjustment:
    equal = np.full(scores.n_samples, 1.0 / scores.n_samples)
    return _Adjustment(scores.flat[:, rows], equal, scores.gram[np.ix_(rows, rows)])


def residual_scores(scores: Scores, adjustment: _Adjustment, variables: Sequence[int]) -> FloatArray:
    """Scores (n, v, 5) of what is left of variables once their normal scores are adjusted for a set.

    Scores of residuals rather than residuals of scores: the square of a sum of two causes contains their
    product, the square of what is left does not. A variable that the set decides has no scores.
    """
    normal = scores.columns[:, variables, LINEAR]
    left = normal - adjustment.fitted(normal)
    # Ties of categories must stay ties, so what differs by rounding alone is made equal.
    left = np.where(np.square(left).mean(axis=0) > _SMALLEST_VARIANCE, np.round(left, 9), 0.0)
    return score_columns(left)


def _log_pvalues(tested: FloatArray, adjustment: _Adjustment, degrees: float) -> FloatArray:
    """Log p-values (v, v) of every two of v variables from their scores (n, v, k), once adjusted."""
    n_samples, n_variables = tested.shape[:2]
    columns = tested[:, :, :N_TESTED].reshape(n_samples, -1)
    columns = columns - adjustment.probabilities @ columns
    residuals = (columns - adjustment.fitted(columns)).reshape(n_samples, n_variables, N_TESTED)
    smallest = np.zeros((n_variables, n_variables))
    for group in (LINES, BULK, TAILS):
        part = residuals[:, :, group].reshape(n_samples, -1)
        log_pvalues = _group_log_pvalues(part, len(group), adjustment, degrees)
        smallest = np.minimum(smallest, log_pvalues)
    return _bonferroni(smallest)


class _Adjustment:
    """Regression on adjusters (n, p) under probabilities of the samples; `gram` are their mean products."""

    def __init__(self, design: FloatArray, probabilities: FloatArray, gram: FloatArray) -> None:
        self.design, self.probabilities = design, probabilities
        self._factor = _factor(gram) if len(gram) else None

    def solve(self, cross: FloatArray) -> FloatArray:
        """Coefficients, from mean products of adjusters and responses."""
        if self._factor is None:
            return cross
        coefficients: FloatArray = cho_solve(self._factor, cross, check_finite=False)
        return coefficients

    def fitted(self, responses: FloatArray) -> FloatArray:
        """Fitted values of responses (n, q)."""
        return self.design @ self.solve(self.design.T @ (self.probabilities[:, None] * responses))


def partial_correlation(scores: Scores, x: int, y: int, given: Sequence[int]) -> float:
    """Correlation of the normal scores of two variables, adjusted for all scores of a set."""
    rows, pair = _adjuster_rows(scores, given), scores.positions([x, y], LINES)
    covariance = scores.gram[np.ix_(pair, pair)]
    if rows:
        cross = scores.gram[np.ix_(rows, pair)]
        covariance = covariance - cross.T @ _equal_adjustment(scores, rows).solve(cross)
    scale = float(np.sqrt(covariance[0, 0] * covariance[1, 1]))
    return float(covariance[0, 1]) / scale if scale > _SMALLEST_VARIANCE else 0.0


def _adjuster_rows(scores: Scores, given: Sequence[int]) -> list[int]:
    """Rows of the Gram matrix to adjust for.

    About the square root of n in all, shared by the variables, but at least five of each while that is less
    than a third of the sample: one variable that decides another almost alone (low noise) needs many, and
    many variables cannot have as many each.
    """
    if not given:
        return []
    share = max(np.sqrt(scores.n_samples) / len(given), _FEWEST_ADJUSTERS)
    affordable = max(1, int(min(share, _MOST_ADJUSTERS * scores.n_samples / len(given))))
    return [row for v in given for row in scores.positions([v], scores.adjusters[v][:affordable])]


def _factor(gram: FloatArray) -> Any:
    return cho_factor(gram + _RIDGE * np.eye(len(gram)), check_finite=False)


def _bonferroni(smallest: FloatArray) -> FloatArray:
    """From the smallest of three log p-values to the log p-value of the three."""
    return np.minimum(smallest + np.log(3.0), 0.0)


# --- under weights, one pair -----------------------------------------------------------------------------


def weighted_log_pvalue(
    scores: Scores, x: int, y: int, adjusters: FloatArray, weights: FloatArray
) -> float | None:
    """Log p-value of x and y under weights, with the columns of `adjusters` (n, p) adjusted for.

    None if too little of the sample is left to test with.
    """
    probabilities = weights / weights.sum()
    ess = 1.0 / float(probabilities @ probabilities)
    degrees = ess * (1.0 - adjusters.shape[1] / scores.n_samples) - 1.0
    if degrees < _FEWEST_DEGREES:
        return None
    design = adjusters - probabilities @ adjusters
    adjustment = _Adjustment(design, probabilities, design.T @ (probabilities[:, None] * design))
    tested = residual_scores(scores, adjustment, [x, y]) if design.size else scores.columns[:, [x, y]]
    return float(_log_pvalues(tested, adjustment, degrees)[0, 1])


def interaction_adjusters(scores: Scores, given: Sequence[int]) -> FloatArray:
    """All independent scores of a set and products of two variables' scores, as far as n affords."""
    singles = scores.flat[:, _adjuster_rows(scores, given)]
    products = interaction_columns(scores, given)
    room = int(_MOST_ADJUSTERS * scores.n_samples) - singles.shape[1]
    return np.hstack([singles, products[:, : max(room, 0)]])


def interaction_columns(scores: Scores, given: Sequence[int]) -> FloatArray:
    """Products of low-degree scores of two variables, mean 0 and variance 1; those of degree (1, 1) first."""
    products = [
        scores.columns[:, i, a] * scores.columns[:, j, b]
        for a, b in _INTERACTIONS
        for i, j in combinations(given, 2)
    ]
    columns = np.column_stack(products)
    columns = columns - columns.mean(axis=0)
    scale = np.sqrt(np.square(columns).mean(axis=0))
    return columns[:, scale > 1e-8] / scale[scale > 1e-8]


def interaction_log_pvalues(scores: Scores, given: Sequence[int]) -> FloatArray:
    """For every variable (d,), the log p-value that it depends on a set through sums of functions only.

    Wilks' lambda of the variable's scores against the products of scores, both adjusted for the scores of the
    set, with Bartlett's correction; the smallest over the groups of scores, times their number. 0 for the
    variables of the set.
    """
    n_samples, n_variables = scores.n_samples, scores.n_variables
    rows = _adjuster_rows(scores, given)
    singles, products = _orthonormal(scores.flat[:, rows], interaction_columns(scores, given))
    room = int(_MOST_ADJUSTERS * n_samples) - singles.shape[1]
    products = products[:, : max(room, 0)]
    outside = [variable for variable in range(n_variables) if variable not in given]
    n_products = products.shape[1]
    result = np.zeros(n_variables)
    if not n_products or not outside:
        return result
    left = residual_scores(scores, _equal_adjustment(scores, rows), outside)
    for group in (LINES, BULK, TAILS):
        own = left[:, :, group].transpose(1, 0, 2)
        own = own - singles @ (singles.T @ own)
        further = products.T @ own
        whole = own.transpose(0, 2, 1) @ own + _RIDGE * n_samples * np.eye(len(group))
        log_lambda = np.linalg.slogdet(whole - further.transpose(0, 2, 1) @ further)[1]
        log_lambda = log_lambda - np.linalg.slogdet(whole)[1]
        degrees = n_samples - 1 - singles.shape[1] - (n_products + len(group) + 1) / 2
        half = np.full(len(outside), 0.5 * n_products * len(group))
        log_pvalues = _gamma_log_sf(np.maximum(-0.5 * degrees * log_lambda, 1e-12), half)
        result[outside] = np.minimum(result[outside], log_pvalues)
    return _bonferroni(result)


def _orthonormal(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis of the first columns, and one of what the second add to it."""
    both = np.hstack([first, second])
    basis, triangle = np.linalg.qr(both)
    alive = np.square(np.diag(triangle)) > _SMALLEST_VARIANCE * len(both)
    n_first = first.shape[1]
    return basis[:, :n_first][:, alive[:n_first]], basis[:, n_first:][:, alive[n_first:]]


# --- the distribution of the statistic -------------------------------------------------------------------


def _group_log_pvalues(
    residuals: FloatArray, width: int, adjustment: _Adjustment, degrees: float
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
    whitener, ranks = _whiteners(blocks[own, own])
    transposed = whitener.transpose(0, 2, 1)
    correlation = whitener[:, None] @ blocks @ transposed[None, :]
    statistic = degrees * np.square(correlation).sum(axis=(2, 3))
    white = residuals.reshape(-1, n_variables, width).transpose(1, 0, 2) @ transposed
    lengths = np.einsum("vnk,vnk->vn", white, white)
    squared, chances = np.square(lengths), adjustment.probabilities
    statistic = statistic / _common_spread(lengths, ranks, adjustment)
    return shifted_gamma_log_sf(statistic, ranks, squared @ chances, (squared * lengths) @ chances, degrees)


def _common_spread(lengths: FloatArray, ranks: FloatArray, adjustment: _Adjustment) -> FloatArray:
    """By how much Q is larger under independence because both spreads vary with the set, (v, v).

    If the residuals of x and of y are both wider where the set has some value, the mean of Q is not k_x k_y
    but the mean of the product of the two expected squared lengths given the set.
    """
    expected = ranks[:, None] + adjustment.fitted(lengths.T - ranks).T
    expected = np.maximum(expected, 0.0)
    product = (expected * adjustment.probabilities) @ expected.T
    return np.maximum(product / np.maximum(np.outer(ranks, ranks), 1.0), 0.5)


def _whiteners(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each covariance (v, k, k) a matrix that makes it the identity, and its rank.

    Directions with next to no variance left (ties, or all explained by the set) cannot be tested and are
    mapped to zero.
    """
    variances, directions = np.linalg.eigh(covariances)
    alive = variances > _SMALLEST_VARIANCE
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
    log_sf = _gamma_log_sf(np.maximum(statistic - shift, 0.0) / scale, shape)
    return np.where(np.outer(ranks, ranks) > 0, log_sf, 0.0)


def _gamma_log_sf(x: FloatArray, shape: FloatArray) -> FloatArray:
    """Log of the upper tail of the gamma distribution, also where the tail is too small for a float."""
    with np.errstate(divide="ignore"):
        log_sf: FloatArray = np.log(gammaincc(shape, x))
    lost = ~np.isfinite(log_sf)
    far, a = x[lost], shape[lost]
    log_sf[lost] = (a - 1.0) * np.log(far) - far - gammaln(a) + np.log1p(np.maximum(a - 1.0, 0.0) / far)
    return log_sf
