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
from itertools import combinations, product
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import gammaincc, gammaln

from dcd.arrays import BoolArray, FloatArray
from dcd.scores import (
    BULK_CUBE,
    BULK_SQUARE,
    CUBE,
    LINEAR,
    N_TESTED,
    SQUARE,
    Scores,
    score_columns,
    standardised,
)

LINES, BULK, TAILS = (LINEAR,), (LINEAR, BULK_SQUARE, BULK_CUBE), (LINEAR, SQUARE, CUBE)
_GROUPS = (LINES, BULK, TAILS)
_INTERACTING = (LINEAR, BULK_SQUARE)  # columns of which products are taken
_MOST_INTERACTING = 4  # of a variable of few values

_RIDGE = 1e-7  # on scores of variance 1; keeps collinear adjusters from blowing up
_SMALLEST_VARIANCE = 1e-6  # of a residual score that still can be tested
_MOST_ADJUSTERS = 1 / 3  # of the sample
_FEWEST_ADJUSTERS = 5  # of a variable
_FEWEST_DEGREES = 5
_FEWEST_IN_A_CELL = 10  # samples, on average, to adjust for every combination of values


# --- adjusting under equal weights, all pairs at once ----------------------------------------------------


def adjusted_log_pvalues(scores: Scores, given: Sequence[int]) -> FloatArray:
    """Log p-values (d, d) of every two variables given a set, under equal weights; 0 on the diagonal."""
    n_variables = scores.n_variables
    adjustment = adjustment_for(scores, given)
    degrees = scores.ess * (1.0 - adjustment.n_columns / scores.n_samples) - 1.0
    if degrees < _FEWEST_DEGREES:
        return np.zeros((n_variables, n_variables))
    result = _log_pvalues(scores, range(n_variables), adjustment, degrees)
    np.fill_diagonal(result, 0.0)
    return result


def adjustment_for(scores: Scores, given: Sequence[int]) -> Adjustment:
    """The regression on all scores of a set, under the shares of the samples."""
    cells = _cell_columns(scores, given)
    if cells is None:
        rows = _adjuster_rows(scores, given)
        return Adjustment(scores.flat[:, rows], scores.probabilities, scores.gram[np.ix_(rows, rows)])
    smooth = [variable for variable in given if scores.codes[variable] is None]
    design = np.hstack([scores.flat[:, _adjuster_rows(scores, smooth)], cells])
    gram = design.T @ (scores.probabilities[:, None] * design)
    return Adjustment(design, scores.probabilities, gram)


def _cell_columns(scores: Scores, given: Sequence[int]) -> FloatArray | None:
    """Columns (n, c) that tell every combination of the variables of few values in a set apart.

    With them the adjustment is exact where a sum over single variables would not be. None if there are fewer
    than two such variables, or more combinations than the sample affords.
    """
    codes = [code for code in (scores.codes[variable] for variable in given) if code is not None]
    if len(codes) < 2:
        return None
    cells = np.zeros(scores.n_samples, dtype=np.intp)
    for code in codes:  # renumbered each time, so that the numbers of combinations stay small
        cells = np.unique(cells * (code.max() + 1) + code, return_inverse=True)[1].reshape(-1)
    n_cells = int(cells.max()) + 1
    if n_cells * _FEWEST_IN_A_CELL > scores.n_samples:
        return None
    largest = int(np.bincount(cells).argmax())
    indicators = cells[:, None] == np.delete(np.arange(n_cells), largest)
    return standardised(indicators.astype(np.float64), scores.probabilities)


def _tested(scores: Scores, variables: Sequence[int], adjustment: Adjustment) -> FloatArray:
    """Scores (n, v, k) of what is left of variables once adjusted for a set, adjusted once more.

    Of measurements, scores of residuals rather than residuals of scores: the square of a sum of two causes
    contains their product, the square of what is left does not. What is left of a variable of few values
    has no ranks to speak of, so its columns are adjusted as they are. A variable that the set decides has no
    scores.
    """
    few = [place for place, variable in enumerate(variables) if scores.codes[variable] is not None]
    width = max([N_TESTED, *(len(scores.adjusters[variables[place]]) for place in few)])
    tested = np.zeros((scores.n_samples, len(variables), width))
    smooth = [place for place in range(len(variables)) if place not in few]
    if smooth:
        chosen = [variables[place] for place in smooth]
        left = residual_scores(scores, adjustment, chosen) if adjustment.n_columns else None
        tested[:, smooth, :N_TESTED] = scores.columns[:, chosen, :N_TESTED] if left is None else left
    for place in few:
        own = scores.adjusters[variables[place]]
        tested[:, place, : len(own)] = scores.columns[:, variables[place]][:, own]
    columns = tested.reshape(scores.n_samples, -1)
    columns = columns - adjustment.probabilities @ columns
    return (columns - adjustment.fitted(columns)).reshape(tested.shape)


def residual_scores(scores: Scores, adjustment: Adjustment, variables: Sequence[int]) -> FloatArray:
    """Scores (n, v, 5) of what is left of measurements once their normal scores are adjusted for a set."""
    normal = scores.columns[:, variables, LINEAR]
    left = normal - adjustment.fitted(normal)
    # Ties of categories must stay ties, so what differs by rounding alone is made equal.
    left = np.where(np.square(left).mean(axis=0) > _SMALLEST_VARIANCE, np.round(left, 9), 0.0)
    return score_columns(left)


def _group_masks(scores: Scores, variables: Sequence[int], width: int) -> list[BoolArray]:
    """For lines, bulk and tails, as far as they differ, which columns (v, k) of each variable belong to it.

    A nominal variable has all its columns in each; an ordinal one of few values has a line, and the rest.
    """
    masks: list[BoolArray] = []
    for group in _GROUPS:
        mask = np.zeros((len(variables), width), dtype=bool)
        for place, variable in enumerate(variables):
            if scores.codes[variable] is None:
                mask[place, list(group)] = True
            elif scores.kinds[variable] == "ordinal" and group == LINES:
                mask[place, 0] = True
            else:
                mask[place, : len(scores.adjusters[variable])] = True
        if not any(np.array_equal(mask, other) for other in masks):
            masks.append(mask)
    return masks


def _log_pvalues(
    scores: Scores, variables: Sequence[int], adjustment: Adjustment, degrees: float
) -> FloatArray:
    """Log p-values (v, v) of every two of some variables, once adjusted."""
    residuals = _tested(scores, variables, adjustment)
    smallest = np.zeros((len(variables), len(variables)))
    for mask in _group_masks(scores, variables, residuals.shape[2]):
        used = np.flatnonzero(mask.any(axis=0))
        part = (residuals[:, :, used] * mask[:, used]).reshape(len(residuals), -1)
        smallest = np.minimum(smallest, _group_log_pvalues(part, len(used), adjustment, degrees))
    return _bonferroni(smallest, _n_looks(scores, variables))


def _n_looks(scores: Scores, variables: Sequence[int]) -> FloatArray:
    """In how many different ways (v, v) each two variables are looked at."""
    looks = np.full(len(variables), 3.0)
    for place, variable in enumerate(variables):
        if scores.codes[variable] is not None:
            several = scores.kinds[variable] == "ordinal" and len(scores.adjusters[variable]) > 1
            looks[place] = 2.0 if several else 1.0
    return np.maximum(looks[:, None], looks[None, :])


class Adjustment:
    """Regression on adjusters (n, p) under probabilities of the samples; `gram` are their mean products."""

    def __init__(self, design: FloatArray, probabilities: FloatArray, gram: FloatArray) -> None:
        self.design, self.probabilities = design, probabilities
        self._factor = _factor(gram) if len(gram) else None

    @property
    def n_columns(self) -> int:
        """Number of adjusters, p."""
        return self.design.shape[1]

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
    """Correlation of the normal scores of two variables, adjusted for all scores of a set.

    For a variable of several categories the largest correlation of any function of it, without a sign.
    """
    blocks = [scores.columns[:, variable][:, scores.block(variable, LINES)] for variable in (x, y)]
    adjustment = adjustment_for(scores, given)
    left = [block - adjustment.fitted(block) if adjustment.n_columns else block for block in blocks]
    weighted = [scores.probabilities[:, None] * block for block in left]
    whiteners = [
        _whiteners((block.T @ weighted_block)[None])[0][0]
        for block, weighted_block in zip(left, weighted, strict=True)
    ]
    correlation = whiteners[0] @ (left[0].T @ weighted[1]) @ whiteners[1].T
    if correlation.size == 1:
        return float(correlation[0, 0] * np.sign(whiteners[0][0, 0] * whiteners[1][0, 0]))
    return float(np.linalg.norm(correlation, ord=2))


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
    rows = []
    for variable in given:
        most = affordable if scores.codes[variable] is None else None
        rows += scores.positions([variable], scores.adjusters[variable][:most])
    return rows


def _factor(gram: FloatArray) -> Any:
    return cho_factor(gram + _RIDGE * np.eye(len(gram)), check_finite=False)


def _bonferroni(smallest: FloatArray, n_looks: FloatArray) -> FloatArray:
    """From the smallest of a few log p-values to the log p-value of all of them."""
    return np.minimum(smallest + np.log(n_looks), 0.0)


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
    adjustment = Adjustment(design, probabilities, design.T @ (probabilities[:, None] * design))
    return float(_log_pvalues(scores, [x, y], adjustment, degrees)[0, 1])


def interaction_adjusters(scores: Scores, given: Sequence[int]) -> FloatArray:
    """All independent scores of a set and products of two variables' scores, as far as n affords."""
    singles = adjustment_for(scores, given).design
    products = interaction_columns(scores, given)
    room = int(_MOST_ADJUSTERS * scores.n_samples) - singles.shape[1]
    return np.hstack([singles, products[:, : max(room, 0)]])


def interaction_columns(scores: Scores, given: Sequence[int]) -> FloatArray:
    """Products of scores of two variables, mean 0 and variance 1; those of low degree first."""
    blocks = {v: scores.block(v, _INTERACTING)[:_MOST_INTERACTING] for v in given}
    orders = sorted(product(range(_MOST_INTERACTING), repeat=2), key=lambda order: (sum(order), order))
    products = [
        scores.columns[:, i, blocks[i][a]] * scores.columns[:, j, blocks[j][b]]
        for a, b in orders
        for i, j in combinations(given, 2)
        if a < len(blocks[i]) and b < len(blocks[j])
    ]
    columns = standardised(np.column_stack(products), scores.probabilities)
    return columns[:, np.abs(columns).any(axis=0)]


def interaction_log_pvalues(scores: Scores, given: Sequence[int]) -> FloatArray:
    """For every variable (d,), the log p-value that it depends on a set through sums of functions only.

    Wilks' lambda of the variable's scores against the products of scores, both adjusted for the scores of the
    set, with Bartlett's correction; the smallest over the groups of scores, times their number. 0 for the
    variables of the set.
    """
    n_samples = scores.n_samples
    adjustment = adjustment_for(scores, given)
    root = np.sqrt(n_samples * scores.probabilities)[:, None]  # turns weighted means into plain ones
    singles, products = _orthonormal(root * adjustment.design, root * interaction_columns(scores, given))
    room = int(_MOST_ADJUSTERS * n_samples) - singles.shape[1]
    products = products[:, : max(room, 0)]
    outside = [variable for variable in range(scores.n_variables) if variable not in given]
    n_products = products.shape[1]
    result = np.zeros(scores.n_variables)
    if not n_products or not outside:
        return result
    left = root[:, None] * _tested(scores, outside, adjustment)
    for mask in _group_masks(scores, outside, left.shape[2]):
        used = np.flatnonzero(mask.any(axis=0))
        own = (left[:, :, used] * mask[:, used]).transpose(1, 0, 2)
        own = own - singles @ (singles.T @ own)
        further = products.T @ own
        whole = own.transpose(0, 2, 1) @ own + _RIDGE * n_samples * np.eye(len(used))
        log_lambda = np.linalg.slogdet(whole - further.transpose(0, 2, 1) @ further)[1]
        log_lambda = log_lambda - np.linalg.slogdet(whole)[1]
        widths = mask.sum(axis=1)
        degrees = scores.ess - 1 - singles.shape[1] - (n_products + widths + 1) / 2
        log_pvalues = _gamma_log_sf(np.maximum(-0.5 * degrees * log_lambda, 1e-12), 0.5 * n_products * widths)
        result[outside] = np.minimum(result[outside], log_pvalues)
    result[outside] = _bonferroni(result[outside], np.diag(_n_looks(scores, outside)))
    return result


def _orthonormal(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis of the first columns, and one of what the second add to it."""
    both = np.hstack([first, second])
    basis, triangle = np.linalg.qr(both)
    alive = np.square(np.diag(triangle)) > _SMALLEST_VARIANCE * len(both)
    n_first = first.shape[1]
    return basis[:, :n_first][:, alive[:n_first]], basis[:, n_first:][:, alive[n_first:]]


# --- the distribution of the statistic -------------------------------------------------------------------


def _group_log_pvalues(
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
    whitener, ranks = _whiteners(blocks[own, own])
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
