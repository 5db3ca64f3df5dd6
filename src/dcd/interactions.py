"""Interactions: which variables depend on a set through more than a sum of functions of single variables.

Wilks' lambda of its scores against products of scores of two variables of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np

from dcd.adjustment import MOST_ADJUSTERS, RIDGE, SMALLEST_VARIANCE, adjustment_for, tested_scores
from dcd.arrays import FloatArray
from dcd.partial import best_of_looks, group_masks, n_looks
from dcd.scores import BULK_SQUARE, LINEAR, Scores, standardised
from dcd.statistic import gamma_log_sf

_INTERACTING = (LINEAR, BULK_SQUARE)  # columns of which products are taken


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
    room = int(MOST_ADJUSTERS * n_samples) - singles.shape[1]
    products = products[:, : max(room, 0)]
    outside = [variable for variable in range(scores.n_variables) if variable not in given]
    n_products = products.shape[1]
    result = np.zeros(scores.n_variables)
    if not n_products or not outside:
        return result
    left = root[:, None] * tested_scores(scores, outside, adjustment)
    for mask in group_masks(scores, outside, left.shape[2]):
        used = np.flatnonzero(mask.any(axis=0))
        own = (left[:, :, used] * mask[:, used]).transpose(1, 0, 2)
        own = own - singles @ (singles.T @ own)
        further = products.T @ own
        whole = own.transpose(0, 2, 1) @ own + RIDGE * n_samples * np.eye(len(used))
        log_lambda = np.linalg.slogdet(whole - further.transpose(0, 2, 1) @ further)[1]
        log_lambda = log_lambda - np.linalg.slogdet(whole)[1]
        widths = mask.sum(axis=1)
        degrees = scores.ess - 1 - singles.shape[1] - (n_products + widths + 1) / 2
        log_pvalues = gamma_log_sf(np.maximum(-0.5 * degrees * log_lambda, 1e-12), 0.5 * n_products * widths)
        result[outside] = np.minimum(result[outside], log_pvalues)
    result[outside] = best_of_looks(result[outside], np.diag(n_looks(scores, outside)))
    return result


def interaction_adjusters(scores: Scores, given: Sequence[int]) -> FloatArray:
    """All independent scores of a set and products of two variables' scores, as far as n affords."""
    singles = adjustment_for(scores, given).design
    products = interaction_columns(scores, given)
    room = int(MOST_ADJUSTERS * scores.n_samples) - singles.shape[1]
    return np.hstack([singles, products[:, : max(room, 0)]])


def interaction_columns(scores: Scores, given: Sequence[int]) -> FloatArray:
    """Products of scores of two variables, mean 0 and variance 1; those of low degree first.

    As many as the sample affords.
    """
    blocks = {v: scores.block(v, _INTERACTING) for v in given}
    longest = range(max(len(block) for block in blocks.values()))
    orders = sorted(product(longest, repeat=2), key=lambda order: (sum(order), order))
    factors = [
        (i, blocks[i][a], j, blocks[j][b])
        for a, b in orders
        for i, j in combinations(given, 2)
        if a < len(blocks[i]) and b < len(blocks[j])
    ]
    products = np.zeros((scores.n_samples, 0))
    if factors:
        afforded = factors[: int(MOST_ADJUSTERS * scores.n_samples)]
        products = np.column_stack(
            [scores.columns[:, i, a] * scores.columns[:, j, b] for i, a, j, b in afforded]
        )
    columns = standardised(products, scores.probabilities)
    return columns[:, np.abs(columns).any(axis=0)]


def _orthonormal(first: FloatArray, second: FloatArray) -> tuple[FloatArray, FloatArray]:
    """An orthonormal basis of the first columns, and one of what the second add to it."""
    both = np.hstack([first, second])
    basis, triangle = np.linalg.qr(both)
    alive = np.square(np.diag(triangle)) > SMALLEST_VARIANCE * len(both)
    n_first = first.shape[1]
    return basis[:, :n_first][:, alive[:n_first]], basis[:, n_first:][:, alive[n_first:]]
