"""Interactions: which variables depend on a set by more than a sum of functions of single variables.

Wilks' lambda of its scores against products of scores of two variables of the set.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
from scipy.linalg import solve_triangular

from dcd.features.rank_scores import BULK_SQUARE, LINEAR, Scores, independent
from dcd.independence.adjustment import MOST_ADJUSTERS, RIDGE, SMALLEST_VARIANCE, Adjustment, Residuals
from dcd.independence.null_distribution import gamma_log_sf
from dcd.independence.partial_pvalues import bonferroni, group_masks, n_groups
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import BlockMatrix

_INTERACTING = (LINEAR, BULK_SQUARE)  # columns of which products are taken


class Products:
    """Products of scores of two variables of a set, (n, q), those of low degree first.

    As many as the sample affords. Mean 0 and variance 1, but for constant ones, which are 0.
    """

    def __init__(self, scores: Scores, given: Sequence[int]) -> None:
        self._scores = scores
        blocks = {v: scores.variables[v].standing_for(_INTERACTING) for v in given}
        longest = range(max((len(block) for block in blocks.values()), default=0))
        orders = sorted(product(longest, repeat=2), key=lambda order: (sum(order), order))
        factors = [
            (i, blocks[i][a], j, blocks[j][b])
            for a, b in orders
            for i, j in combinations(given, 2)
            if a < len(blocks[i]) and b < len(blocks[j])
        ]
        self._factors = factors[: int(MOST_ADJUSTERS * scores.n_samples)]
        self._columns = list(blocks.items())
        singles = [(v, column) for v, block in blocks.items() for column in block]
        self._first = [singles.index((i, a)) for i, a, _, _ in self._factors]
        self._second = [singles.index((j, b)) for _, _, j, b in self._factors]
        self.mean, self.scale = self._moments()

    @property
    def n_columns(self) -> int:
        """Number of products, q."""
        return len(self._factors)

    def _raw(self, rows: slice) -> FloatArray:
        singles = self._scores.part(rows, self._columns)
        return singles[:, self._first] * singles[:, self._second]

    def _moments(self) -> tuple[FloatArray, FloatArray]:
        mean, square = np.zeros((2, self.n_columns))
        for rows, shares in self._scores.weighted(self._scores.probabilities):
            raw = self._raw(rows)
            mean += (shares * raw).sum(axis=0, dtype=np.float64)
            square += np.einsum("bq,bq->q", shares * raw, raw, dtype=np.float64)
        variance = np.maximum(square - np.square(mean), 0.0)
        alive = variance > (1e-12 if self._scores.dtype == np.float32 else 1e-14) * np.maximum(square, 1.0)
        return mean, np.where(alive, np.sqrt(variance), np.inf)

    def part(self, rows: slice) -> FloatArray:
        """Some rows."""
        raw = self._raw(rows)
        return (raw - self.mean.astype(raw.dtype)) / self.scale.astype(raw.dtype)


def interaction_log_pvalues(residuals: Residuals, products: Products) -> FloatArray:
    """For the variables (v,), the log p-value that each depends on a set by sums of functions only.

    Wilks' lambda of the variable's scores against the products of scores, both adjusted for the scores of the
    set, with Bartlett's correction; the smallest over the groups of scores, times their number.
    """
    scores, variables = residuals.adjustment.scores, residuals.variables
    result = np.zeros(len(variables))
    if not products.n_columns:
        return result
    n_singles, n_products, sums, further = _explained(residuals, products)
    if not n_products:
        return result
    for mask in group_masks(scores, variables, residuals.width):
        used = np.flatnonzero(mask.any(axis=0))
        shown = mask[:, used, None] & mask[:, None, used]
        ridge = RIDGE * np.eye(len(used))
        without, with_them = (
            np.linalg.slogdet(part[:, used[:, None], used] * shown + ridge)[1] for part in (sums, further)
        )
        widths = mask.sum(axis=1)
        degrees = scores.ess - 1 - n_singles - (n_products + widths + 1) / 2
        statistic = np.maximum(-0.5 * degrees * (with_them - without), 1e-12)
        log_pvalues = gamma_log_sf(statistic, 0.5 * n_products * widths)
        result = np.minimum(result, log_pvalues)
    return bonferroni(result, np.diag(n_groups(scores, variables, variables)))


def _explained(residuals: Residuals, products: Products) -> tuple[int, int, FloatArray, FloatArray]:
    """Numbers of singles and products, and covariances (v, k, k) once adjusted for the first, and for both.

    Columns that depend linearly on those before them are not counted.
    """
    adjustment = residuals.adjustment
    n_singles, n_both = adjustment.n_columns, adjustment.n_columns + products.n_columns
    gram = np.zeros((n_both, products.n_columns))
    cross = np.zeros((products.n_columns, residuals.coefficients.shape[1]))
    for rows, shares in adjustment.scores.weighted(adjustment.probabilities):
        part = products.part(rows)
        weighted = shares * part
        gram[:n_singles] += adjustment.design.part(rows).T @ weighted
        gram[n_singles:] += part.T @ weighted
        cross += weighted.T @ residuals.part(rows)
    both = np.empty((n_both, n_both))
    both[:n_singles, :n_singles] = adjustment.gram
    both[:, n_singles:], both[n_singles:, :n_singles] = gram, gram[:n_singles].T
    alive = independent(both, SMALLEST_VARIANCE)
    n_first = sum(column < n_singles for column in alive)
    room = max(int(MOST_ADJUSTERS * adjustment.scores.n_samples) - n_first, 0)
    kept = alive[: n_first + room]
    # The scores are adjusted for the singles already, but for the ridge; so they hardly depend on them.
    sides = np.vstack([RIDGE * residuals.coefficients, cross])[kept]
    factor = np.linalg.cholesky(both[np.ix_(kept, kept)])
    explained = solve_triangular(factor, sides, lower=True, check_finite=False)
    squares = [
        np.stack(np.hsplit(part, len(residuals.variables)))
        for part in (explained[:n_first], explained[n_first:])
    ]
    own, more = (part.swapaxes(1, 2) @ part for part in squares)
    return n_first, len(kept) - n_first, residuals.own - own, residuals.own - own - more


def interaction_design(adjustment: Adjustment, products: Products) -> BlockMatrix:
    """All independent scores of a set and products of two variables' scores, as far as n affords."""
    scores, singles = adjustment.scores, adjustment.design
    room = max(int(MOST_ADJUSTERS * scores.n_samples) - singles.n_columns, 0)
    varying = np.flatnonzero(np.isfinite(products.scale))[:room]
    return scores.matrix(
        lambda rows: np.hstack([singles.part(rows), products.part(rows)[:, varying]]),
        singles.n_columns + len(varying),
    )
