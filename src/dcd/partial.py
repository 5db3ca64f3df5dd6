r"""Partial association of two variables given a set.

For the pair x, y and a set S, the normal scores of x and of y are regressed on scores of the variables in S
(`dcd.adjustment`). Scores of what is left, adjusted for S once more, are correlated (`dcd.statistic`). Three
groups of scores, lines alone, the bulk, and the tails, each give a p-value; three times the smallest is the
result, so that a straight line loses next to nothing for being looked at in three ways.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.adjustment import Adjustment, adjustment_for, tested_scores
from dcd.arrays import BoolArray, FloatArray
from dcd.scores import BULK_CUBE, BULK_SQUARE, CUBE, LINEAR, SQUARE, Scores
from dcd.statistic import group_log_pvalues, whiteners

LINES, BULK, TAILS = (LINEAR,), (LINEAR, BULK_SQUARE, BULK_CUBE), (LINEAR, SQUARE, CUBE)
_GROUPS = (LINES, BULK, TAILS)
_FEWEST_DEGREES = 5


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
    gram = design.T @ (probabilities[:, None] * design)
    adjustment = Adjustment(design, probabilities, gram, surveyed=scores.surveyed)
    return float(_log_pvalues(scores, [x, y], adjustment, degrees)[0, 1])


def partial_correlation(scores: Scores, x: int, y: int, given: Sequence[int]) -> float:
    """Correlation of the normal scores of two variables, adjusted for all scores of a set.

    For a nominal variable of several categories the largest correlation of any function of it, without a
    sign.
    """
    shown = [scores.adjusters[v] if scores.kinds[v] == "nominal" else LINES for v in (x, y)]
    blocks = [scores.columns[:, v][:, own] for v, own in zip((x, y), shown, strict=True)]
    adjustment = adjustment_for(scores, given)
    left = [block - adjustment.fitted(block) if adjustment.n_columns else block for block in blocks]
    weighted = [scores.probabilities[:, None] * block for block in left]
    white = [
        whiteners((block.T @ weighted_block)[None])[0][0]
        for block, weighted_block in zip(left, weighted, strict=True)
    ]
    correlation = white[0] @ (left[0].T @ weighted[1]) @ white[1].T
    if correlation.size == 1:
        return float(correlation[0, 0] * np.sign(white[0][0, 0] * white[1][0, 0]))
    return float(np.linalg.norm(correlation, ord=2))


def _log_pvalues(
    scores: Scores, variables: Sequence[int], adjustment: Adjustment, degrees: float
) -> FloatArray:
    """Log p-values (v, v) of every two of some variables, once adjusted."""
    residuals = tested_scores(scores, variables, adjustment)
    smallest = np.zeros((len(variables), len(variables)))
    for mask in group_masks(scores, variables, residuals.shape[2]):
        used = np.flatnonzero(mask.any(axis=0))
        part = (residuals[:, :, used] * mask[:, used]).reshape(len(residuals), -1)
        smallest = np.minimum(smallest, group_log_pvalues(part, len(used), adjustment, degrees))
    return best_of_looks(smallest, n_looks(scores, variables))


def group_masks(scores: Scores, variables: Sequence[int], width: int) -> list[BoolArray]:
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


def n_looks(scores: Scores, variables: Sequence[int]) -> FloatArray:
    """In how many different ways (v, v) each two variables are looked at."""
    looks = np.full(len(variables), 3.0)
    for place, variable in enumerate(variables):
        if scores.codes[variable] is not None:
            several = scores.kinds[variable] == "ordinal" and len(scores.adjusters[variable]) > 1
            looks[place] = 2.0 if several else 1.0
    return np.maximum(looks[:, None], looks[None, :])


def best_of_looks(smallest: FloatArray, n_looks: FloatArray) -> FloatArray:
    """From the smallest of a few log p-values to the log p-value of all of them."""
    return np.minimum(smallest + np.log(n_looks), 0.0)
