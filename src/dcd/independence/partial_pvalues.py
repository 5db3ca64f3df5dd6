r"""Partial association of two variables given a set.

For the pair x, y and a set S, the normal scores of x and of y are regressed on scores of the variables in S
(`adjustment`). Scores of what is left, adjusted for S once more, are correlated (`null_distribution`). Three
groups of scores, lines alone, the bulk, and the tails, each give a p-value; three times the smallest is the
result, so that a straight line loses next to nothing for being looked at in three ways.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.features.rank_scores import BULK_CUBE, BULK_SQUARE, CUBE, LINEAR, SQUARE, Scores
from dcd.features.whitening import whiteners
from dcd.independence.adjustment import SMALLEST_VARIANCE, Adjustment, Residuals
from dcd.independence.null_distribution import group_log_pvalues
from dcd.runtime.array_types import BoolArray, FloatArray

LINES, BULK, TAILS = (LINEAR,), (LINEAR, BULK_SQUARE, BULK_CUBE), (LINEAR, SQUARE, CUBE)
_GROUPS = (LINES, BULK, TAILS)
_FEWEST_DEGREES = 5


def adjusted_log_pvalues(scores: Scores, given: Sequence[int]) -> FloatArray:
    """Log p-values (d, d) of every two variables given a set; 0 on the diagonal and for the set."""
    adjustment = Adjustment.to(scores, given)
    outside = [v for v in range(scores.n_variables) if v not in given]
    result = np.zeros((scores.n_variables, scores.n_variables))
    degrees = degrees_of_freedom(adjustment)
    if degrees is not None:
        result[np.ix_(outside, outside)] = log_pvalues(Residuals(adjustment, outside, outside), degrees)
    np.fill_diagonal(result, 0.0)
    return result


def degrees_of_freedom(adjustment: Adjustment) -> float | None:
    """What is left of the sample to test with; None if that is too little."""
    ess = 1.0 / float(adjustment.probabilities @ adjustment.probabilities)
    degrees = ess * (1.0 - adjustment.n_parameters / adjustment.scores.n_samples) - 1.0
    return degrees if degrees >= _FEWEST_DEGREES else None


def log_pvalues(residuals: Residuals, degrees: float) -> FloatArray:
    """Log p-values (l, r) of each variable on the left against each on the right."""
    scores = residuals.adjustment.scores
    masks = group_masks(scores, residuals.variables, residuals.width)
    smallest = np.minimum.reduce(group_log_pvalues(residuals, masks, degrees))
    left, right = (
        [residuals.variables[place] for place in side] for side in (residuals.left, residuals.right)
    )
    return best_of_looks(smallest, n_looks(scores, left, right))


def partial_correlation(adjustment: Adjustment, x: int, y: int) -> float:
    """Correlation of the normal scores of two variables, once adjusted.

    For a nominal variable of several categories the largest correlation of any function of it, without a
    sign.
    """
    scores = adjustment.scores
    shown = [scores.variables[v].adjusters if scores.kinds[v] == "nominal" else LINES for v in (x, y)]
    columns = list(zip((x, y), shown, strict=True))
    width = sum(map(len, shown))
    coefficients = adjustment.coefficients(lambda rows: scores.part(rows, columns), width)
    covariance = np.zeros((width, width))
    for rows, shares in scores.weighted(adjustment.probabilities):
        part = scores.part(rows, columns)
        part = part - adjustment.design.part(rows) @ coefficients.astype(part.dtype)
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


def group_masks(scores: Scores, variables: Sequence[int], width: int) -> list[BoolArray]:
    """For lines, bulk and tails, as far as they differ, which columns (v, k) of each variable belong to it.

    A nominal variable has all its columns in each; an ordinal one of few values has a line, and the rest.
    """
    masks: list[BoolArray] = []
    for group in _GROUPS:
        mask = np.zeros((len(variables), width), dtype=bool)
        for place, variable in enumerate(variables):
            if scores.variables[variable].codes is None:
                mask[place, list(group)] = True
            elif scores.kinds[variable] == "ordinal" and group == LINES:
                mask[place, 0] = True
            else:
                mask[place, : len(scores.variables[variable].adjusters)] = True
        if not any(np.array_equal(mask, other) for other in masks):
            masks.append(mask)
    return masks


def n_looks(scores: Scores, left: Sequence[int], right: Sequence[int]) -> FloatArray:
    """In how many different ways (l, r) each two variables are looked at."""
    sides = [np.array([_looks_at(scores, v) for v in side]) for side in (left, right)]
    return np.maximum(sides[0][:, None], sides[1][None, :])


def _looks_at(scores: Scores, variable: int) -> float:
    if scores.variables[variable].codes is None:
        return 3.0
    several = scores.kinds[variable] == "ordinal" and len(scores.variables[variable].adjusters) > 1
    return 2.0 if several else 1.0


def best_of_looks(smallest: FloatArray, n_looks: FloatArray) -> FloatArray:
    """From the smallest of a few log p-values to the log p-value of all of them."""
    return np.minimum(smallest + np.log(n_looks), 0.0)
