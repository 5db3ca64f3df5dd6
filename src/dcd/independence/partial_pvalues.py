r"""Partial association of two variables given a set.

For the pair x, y and a set S, the normal scores of x and of y are regressed on scores of the variables in S
(`adjustment`). Scores of the residuals, adjusted for S once more, are correlated (`null_distribution`). Three
groups of scores, the linear one alone, the bulk, and the tails, each give a p-value; three times the smallest
is the result (Bonferroni), so that a linear relation loses little power to being tested in three ways.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.features.rank_scores import BULK_CUBE, BULK_SQUARE, CUBE, LINEAR, SQUARE, Scores
from dcd.features.whitening import whiteners
from dcd.independence.adjustment import SMALLEST_VARIANCE, Adjustment, Residuals
from dcd.independence.null_distribution import group_log_pvalues
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.rows import effective_sample_size

_LINE, _BULK, _TAILS = (LINEAR,), (LINEAR, BULK_SQUARE, BULK_CUBE), (LINEAR, SQUARE, CUBE)
_GROUPS = (_LINE, _BULK, _TAILS)
_FEWEST_DEGREES = 5


def degrees_of_freedom(adjustment: Adjustment) -> float | None:
    """Degrees of freedom of a test after adjusting; None if there are too few."""
    ess = effective_sample_size(adjustment.probabilities)
    degrees = ess * (1.0 - adjustment.n_parameters / adjustment.scores.n_samples) - 1.0
    return degrees if degrees >= _FEWEST_DEGREES else None


def log_pvalues(residuals: Residuals, degrees: float) -> FloatArray:
    """Log p-values (l, r) of each variable on the left against each on the right."""
    scores = residuals.adjustment.scores
    masks = group_masks(scores, residuals.variables, residuals.width)
    smallest = np.minimum.reduce(group_log_pvalues(residuals, masks, degrees))
    left, right = (
        [residuals.variables[index] for index in side] for side in (residuals.left, residuals.right)
    )
    return bonferroni(smallest, n_groups(scores, left, right))


def partial_correlation(adjustment: Adjustment, x: int, y: int) -> float:
    """Correlation of the normal scores of two variables, once adjusted.

    For a nominal variable of several categories the largest correlation of any function of it, without a
    sign.
    """
    scores = adjustment.scores
    shown = [scores.variables[v].adjusters if scores.kinds[v] == "nominal" else _LINE for v in (x, y)]
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
    """For each group, as far as they differ, which columns (v, k) of each variable belong to it.

    A nominal variable has all its columns in each; an ordinal one of few values has a linear one, and all.
    """
    masks: list[BoolArray] = []
    for group in _GROUPS:
        mask = np.zeros((len(variables), width), dtype=bool)
        for row, variable in zip(mask, variables, strict=True):
            if scores.variables[variable].codes is None:
                row[list(group)] = True
            elif scores.kinds[variable] == "ordinal" and group == _LINE:
                row[0] = True
            else:
                row[: len(scores.variables[variable].adjusters)] = True
        if not any(np.array_equal(mask, other) for other in masks):
            masks.append(mask)
    return masks


def n_groups(scores: Scores, left: Sequence[int], right: Sequence[int]) -> FloatArray:
    """In how many different groups of scores (l, r) each two variables are tested."""
    sides = [np.array([_n_groups(scores, v) for v in side]) for side in (left, right)]
    return np.maximum(sides[0][:, None], sides[1][None, :])


def _n_groups(scores: Scores, variable: int) -> float:
    if scores.variables[variable].codes is None:
        return 3.0
    several = scores.kinds[variable] == "ordinal" and len(scores.variables[variable].adjusters) > 1
    return 2.0 if several else 1.0


def bonferroni(smallest: FloatArray, n_tests: FloatArray) -> FloatArray:
    """From the smallest of a few log p-values to the log p-value of all of them."""
    return np.minimum(smallest + np.log(n_tests), 0.0)
