r"""The distribution of the statistic of partial association under independence.

With :math:`R` the cross-correlation matrix of the whitened scores of two variables and m degrees of freedom,
:math:`Q = m |R|^2` is chi-square with :math:`k_x k_y` degrees of freedom under independence if the scores are
Gaussian. They are not: scores that see tails have tails. The first three cumulants of Q under independence
are, with :math:`M = E|a|^4 - k(k+2)` the excess of each side,

.. math:: \kappa_1 = k_x k_y, \quad \kappa_2 = 2 k_x k_y + M_x M_y / m, \quad
          \kappa_3 \approx 8 k_x k_y + 12 M_x M_y / m + N_x N_y / m^2 ,

(N the sixth-order excess) and a shifted gamma distribution with these three gives the p-value. If the spread
of both sides varies with the set that is adjusted for, Q is divided by the factor by which that raises its
mean. The same holds if samples have weights of their own that depend on x or y: then the mean of Q is
:math:`\sum_k q_k |a_k|^2 |b_k|^2` with :math:`q \propto p^2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.special import gammaincc, gammaln

from dcd.features.whitening import whiteners
from dcd.independence.adjustment import SMALLEST_VARIANCE, Residuals, variable_chunks
from dcd.runtime.array_types import BoolArray, FloatArray


@dataclass(frozen=True)
class Moments:
    """Of the whitened scores of v variables: how many there are, and the means of |a|⁴ and |a|⁶."""

    ranks: FloatArray
    fourth: FloatArray
    sixth: FloatArray

    def of(self, variables: Sequence[int]) -> Moments:
        """The moments of some variables."""
        chosen = list(variables)
        return Moments(self.ranks[chosen], self.fourth[chosen], self.sixth[chosen])


def group_log_pvalues(residuals: Residuals, masks: Sequence[BoolArray], degrees: float) -> list[FloatArray]:
    """For each group of scores, log p-values (l, r) of the variables on the left against those on the right.

    Parameters
    ----------
    masks : for each group, which scores (v, k) of each variable belong to it.
    degrees : effective degrees of freedom, m.
    """
    groups = [_Group.of(residuals, mask) for mask in masks]
    moments, spreads = _moments_and_spreads(residuals, groups)
    log_pvalues = []
    for group, of_group, spread in zip(groups, moments, spreads, strict=True):
        left, right = group.whitener[residuals.left][:, None], group.whitener[residuals.right][None]
        correlation = left @ residuals.across @ right.swapaxes(-1, -2)
        statistic = degrees * np.square(correlation).sum(axis=(2, 3)) / spread
        log_pvalues.append(
            shifted_gamma_log_sf(
                statistic, of_group.of(residuals.left), of_group.of(residuals.right), degrees
            )
        )
    return log_pvalues


@dataclass(frozen=True)
class _Group:
    """A group of scores: whitener (v, g, k) and number of scores (v,) of each variable."""

    whitener: FloatArray
    ranks: FloatArray

    @classmethod
    def of(cls, residuals: Residuals, mask: BoolArray) -> _Group:
        used = np.flatnonzero(mask.any(axis=0))
        part = residuals.own[:, used[:, None], used] * (mask[:, used, None] & mask[:, None, used])
        small, ranks = whiteners(part, SMALLEST_VARIANCE)
        whitener = np.zeros((len(mask), len(used), residuals.width))
        whitener[:, :, used] = small * mask[:, None, used]
        return cls(whitener, ranks)


def _moments_and_spreads(residuals: Residuals, groups: Sequence[_Group]) -> tuple[list[Moments], FloatArray]:
    """Moments of every group, and how much larger Q is as both spreads vary with the set, (g, l, r)."""
    adjustment = residuals.adjustment
    scores, n_variables, n_groups = adjustment.scores, len(residuals.variables), len(groups)
    squared_lengths = _SquaredLengths(residuals, groups)
    ranks = np.stack([group.ranks for group in groups])
    fourth, sixth = np.zeros((2, n_groups * n_variables))
    cross = np.zeros((adjustment.n_columns, n_groups * n_variables))
    products = np.zeros((n_groups, len(residuals.left), len(residuals.right)))
    weight = scores.n_samples * adjustment.probabilities  # of about 1; q is in proportion to its square
    surveyed = scores.surveyed
    for rows, shares in scores.weighted(adjustment.probabilities):
        lengths = squared_lengths(rows)
        powers = lengths * lengths
        fourth += shares[:, 0] @ powers
        powers *= lengths
        sixth += shares[:, 0] @ powers
        if surveyed:
            squares = np.square(weight[rows, None]).astype(scores.dtype)
            products += _products(lengths, squares, residuals, n_groups)
        elif adjustment.n_columns:
            lengths -= ranks.reshape(-1).astype(scores.dtype)
            lengths *= shares
            cross += adjustment.design.part(rows).T @ lengths
    fourth, sixth = fourth.reshape(ranks.shape), sixth.reshape(ranks.shape)
    moments = [Moments(*parts) for parts in zip(ranks, fourth, sixth, strict=True)]
    expected = np.maximum(ranks[:, residuals.left, None] * ranks[:, None, residuals.right], 1.0)
    if surveyed:
        products /= np.square(weight).sum()
    elif adjustment.n_columns:
        products = _common_spread(residuals, adjustment.solve(cross), ranks)
    else:
        products = expected
    return moments, np.maximum(products / expected, 0.5)


class _SquaredLengths:
    """Squared lengths of the whitened scores, some rows (b, g v): all variables of a group side by side."""

    def __init__(self, residuals: Residuals, groups: Sequence[_Group]) -> None:
        self._residuals, self._n_groups = residuals, len(groups)
        dtype = residuals.adjustment.scores.dtype
        widths = [group.whitener.shape[1] for group in groups]
        whitener = np.concatenate([group.whitener for group in groups], axis=1)  # (v, sum of g, k)
        member = np.repeat(np.eye(len(groups)), widths, axis=0)  # which column is of which group
        self._chunks = [
            (
                start,
                stop,
                block_diag(*whitener[start:stop].swapaxes(1, 2)).astype(dtype),
                # Columns are in the order of variables, then groups; sums are in that of groups first.
                np.concatenate(
                    [np.kron(np.eye(stop - start), member[:, [g]]) for g in range(len(groups))], axis=1
                ).astype(dtype),
            )
            for start, stop in variable_chunks(len(residuals.variables))
        ]

    def __call__(self, rows: slice) -> FloatArray:
        part, width = self._residuals.part(rows), self._residuals.width
        n_variables = len(self._residuals.variables)
        lengths = np.empty((self._n_groups, n_variables, len(part)), dtype=part.dtype)
        for start, stop, whitener, summing in self._chunks:
            white = part[:, start * width : stop * width] @ whitener
            np.square(white, out=white)
            lengths[:, start:stop] = (white @ summing).T.reshape(self._n_groups, stop - start, -1)
        return lengths.reshape(-1, len(part)).T


def _common_spread(residuals: Residuals, coefficients: FloatArray, ranks: FloatArray) -> FloatArray:
    """The mean of the product of the expected squared lengths given the set, (g, l, r).

    If the residuals of x and of y are both wider where the set has some value, this and not k_x k_y is the
    mean of Q.
    """
    adjustment = residuals.adjustment
    products = np.zeros((len(ranks), len(residuals.left), len(residuals.right)))
    for rows, shares in adjustment.scores.weighted(adjustment.probabilities):
        expected = adjustment.design.part(rows) @ coefficients.astype(shares.dtype)
        expected += ranks.reshape(-1).astype(shares.dtype)
        np.maximum(expected, 0.0, out=expected)
        products += _products(expected, shares, residuals, len(ranks))
    return products


def _products(lengths: FloatArray, shares: FloatArray, residuals: Residuals, n_groups: int) -> FloatArray:
    """Sums of products of columns on the left and on the right, group by group, (g, l, r)."""
    n_variables = len(residuals.variables)
    sums = np.empty((n_groups, len(residuals.left), len(residuals.right)))
    for group in range(n_groups):
        part = lengths[:, group * n_variables : (group + 1) * n_variables]
        sums[group] = (shares * part[:, residuals.left]).T @ part[:, residuals.right]
    return sums


def shifted_gamma_log_sf(statistic: FloatArray, left: Moments, right: Moments, degrees: float) -> FloatArray:
    """Log of the upper tail of Q for all pairs of variables, (l, r), from the moments of whitened scores.

    A variable without scores (rank 0) leaves nothing to test.
    """
    excess = [side.fourth - side.ranks * (side.ranks + 2) for side in (left, right)]
    sixth_excess = [
        side.sixth - side.ranks * (side.ranks + 2) * (side.ranks + 4) - 3 * (side.ranks + 4) * own
        for side, own in zip((left, right), excess, strict=True)
    ]
    together = np.outer(left.ranks, right.ranks)
    mean = np.maximum(together, 1.0)
    fourth_term = np.outer(*excess) / degrees
    variance = np.maximum(2 * mean + fourth_term, 0.5 * mean)
    third = 8 * mean + 12 * fourth_term + np.maximum(np.outer(*sixth_excess), 0.0) / degrees**2
    # A gamma distribution without a shift has third = 2 variance² / mean; a lighter tail is not believed.
    third = np.maximum(third, 2 * variance**2 / mean)
    shift, scale, shape = mean - 2 * variance**2 / third, third / (2 * variance), 4 * variance**3 / third**2
    log_sf = gamma_log_sf(np.maximum(statistic - shift, 0.0) / scale, shape)
    return np.where(together > 0, log_sf, 0.0)


def gamma_log_sf(x: FloatArray, shape: FloatArray) -> FloatArray:
    """Log of the upper tail of the gamma distribution, also where the tail is too small for a float."""
    with np.errstate(divide="ignore"):
        log_sf: FloatArray = np.log(gammaincc(shape, x))
    lost = ~np.isfinite(log_sf)
    far, a = x[lost], shape[lost]
    log_sf[lost] = (a - 1.0) * np.log(far) - far - gammaln(a) + np.log1p(np.maximum(a - 1.0, 0.0) / far)
    return log_sf
