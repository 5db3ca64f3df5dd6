r"""The decoupling loss of a set of variables (Section 3.3), as a function of the weights.

With probabilities :math:`p` (weights :math:`w = n p`), kernels :math:`K_i` and the weighted mean embedding
removed, the weighted HSIC of two variables is

.. math:: \mathrm{HSIC}_w(i, j) = p^\top (K_i \circ K_j) p + (p^\top K_i p)(p^\top K_j p)
          - 2 \sum_k p_k (K_i p)_k (K_j p)_k ,

which for equal weights is the usual biased estimate :math:`\mathrm{tr}(K_i H K_j H) / n^2`. The loss is its
sum over the ordered pairs :math:`i \neq j`.

The sum over pairs needs no loop over pairs. There are two forms of the same loss, chosen by cost (`descent`
has a third, for tables with many rows):

* `DenseObjective`, O(n² + nR) per step, R the number of features :math:`\Phi_i` (r, n) of all variables: with
  :math:`a_i = \Phi_i p`, :math:`u_i = \Phi_i^\top a_i`, :math:`U = \sum u_i` and
  :math:`Q = \sum_{i \neq j} K_i \circ K_j`, computed once, it is
  :math:`p^\top Q p + (\sum |a_i|^2)^2 - \sum |a_i|^4 - 2 p^\top (U^2 - \sum u_i^2)`.
* `LowRankObjective`, O(nR²) per step and O(nR) memory: twice the sum over :math:`i < j` of the squared norm
  of the weighted covariance between the features of i and of j.

Most sets that Algorithm 1 needs are small and take a fraction of a millisecond per step, so both make few
calls on large arrays: a loop in Python would cost more than the arithmetic, and block other threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsymv

from dcd.features.kernel_blocks import FeatureBlocks, Features
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import DENSE_ROWS

# Nanoseconds, measured on one core: a product in `LowRankObjective`; an entry of the (n, n) matrix per step,
# in the cache and not; per feature when it is computed, shared over fifty steps; a feature of a sample.
_LOW_RANK, _IN_CACHE, _OUT_OF_CACHE, _MAKING, _FEATURE = 0.09, 0.1, 0.3, 0.002, 0.7
_CACHE_BYTES = 24 * 2**20
_BAND = 64
_PADDED = 8  # numbers of features are rounded up to multiples of this


def pairwise_hsic(features: Features, probabilities: FloatArray) -> FloatArray:
    """Weighted HSIC of all pairs of variables, shape (m, m); the diagonal is that of each with itself."""
    return _hsic_of(_weighted_covariance(features, probabilities), features)


def dependence(features: Features, probabilities: FloatArray) -> tuple[FloatArray, float]:
    """`pairwise_hsic`, and the loss relative to its mean for independent variables.

    The weighted HSIC of two independent variables has mean v_i v_j / ESS to first order in 1 / ESS, with v
    the total variance of the features.
    """
    covariance = _weighted_covariance(features, probabilities)
    hsic = _hsic_of(covariance, features)
    if isinstance(features, FeatureBlocks):
        spreads = np.add.reduceat(np.diag(covariance), _starts(features))
    else:
        spreads = np.array(
            [probabilities @ np.square(block - probabilities @ block).sum(axis=1) for block in features]
        )
    chance = float((spreads.sum() ** 2 - spreads @ spreads) * (probabilities @ probabilities))
    return hsic, float(hsic.sum() - np.trace(hsic)) / chance if len(hsic) > 1 else 0.0


def _hsic_of(covariance: FloatArray, features: Features) -> FloatArray:
    starts = _starts(features)
    by_row = np.add.reduceat(np.square(covariance), starts, axis=0)
    return np.add.reduceat(by_row, starts, axis=1)


def _weighted_covariance(features: Features, probabilities: FloatArray) -> FloatArray:
    if isinstance(features, FeatureBlocks):
        return features.covariance(probabilities)
    stacked = np.hstack(features)
    scaled = np.sqrt(probabilities)[:, None] * (stacked - probabilities @ stacked)
    covariance: FloatArray = scaled.T @ scaled  # half the work of a product of two different arrays
    return covariance


def _starts(features: Features) -> npt.NDArray[np.intp]:
    """Where the features of each variable start among those of all."""
    if isinstance(features, FeatureBlocks):
        widths = [int((features.owner == member).sum()) for member in features.members]
    else:
        widths = [block.shape[1] for block in features]
    return np.cumsum([0, *widths[:-1]])


# --- two forms of the loss -------------------------------------------------------------------------------


class LowRankObjective:
    """The loss through the weighted covariance between the features of different variables."""

    def __init__(self, features: Sequence[FloatArray]) -> None:
        rows = np.vstack([block.T for block in features])
        # Centring changes nothing in exact arithmetic; it keeps the means that are subtracted below small.
        rows -= rows.mean(axis=1, keepdims=True)
        self._rows = rows
        self._stops = np.cumsum([block.shape[1] for block in features])
        self._products = np.empty((len(rows) - self._stops[0], rows.shape[1]))

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """Loss, and its gradient up to a constant vector (which the softmax cancels)."""
        means = self._rows @ probabilities
        value, gradient, linear = 0.0, np.zeros_like(probabilities), np.zeros_like(means)
        start = 0
        for stop in self._stops[:-1]:  # each variable with all later ones
            own, later = self._rows[start:stop], self._rows[stop:]
            covariance = (own * probabilities) @ later.T
            covariance -= np.outer(means[start:stop], means[stop:])
            value += float(np.vdot(covariance, covariance))
            products = np.matmul(covariance.T, own, out=self._products[: len(later)])
            gradient += np.einsum("rk,rk->k", products, later)
            linear[start:stop] += covariance @ means[stop:]
            linear[stop:] += means[start:stop] @ covariance
            start = stop
        return 2.0 * value, 4.0 * (gradient - linear @ self._rows)


class DenseObjective:
    """The loss through one (n, n) matrix that holds the first term of all pairs."""

    def __init__(self, features: Sequence[FloatArray]) -> None:
        self._pairs = _sum_of_kernel_products(features)
        widths = np.array([_PADDED * -(-block.shape[1] // _PADDED) for block in features])
        order = np.argsort(widths, kind="stable")
        self._widths = widths[order]
        self._starts = np.cumsum(self._widths) - self._widths
        # Rows of zeros make variables the same size, so that one call serves all of that size.
        self._rows = np.zeros((widths.sum(), features[0].shape[0]))
        for start, index in zip(self._starts, order, strict=True):
            self._rows[start : start + features[index].shape[1]] = features[index].T
        sizes, first, counts = np.unique(self._widths, return_index=True, return_counts=True)
        self._groups = [
            _ColumnGroup(
                slice(i, i + count), slice(self._starts[i], self._starts[i] + count * width), int(width)
            )
            for i, count, width in zip(first, counts, sizes, strict=True)
        ]

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `LowRankObjective`."""
        means = self._rows @ probabilities
        embeddings = np.empty((len(self._widths), len(probabilities)))
        for group in self._groups:
            vectors = means[group.rows].reshape(-1, 1, group.width)
            np.matmul(vectors, self._features(group), out=embeddings[group.variables, None])
        norms = np.add.reduceat(np.square(means), self._starts)
        total, total_norm = embeddings.sum(axis=0), norms.sum()
        pairs: FloatArray = dsymv(1.0, self._pairs.T, probabilities)  # reads half of the matrix
        cross = np.square(total) - np.einsum("mk,mk->k", embeddings, embeddings)
        value = probabilities @ (pairs - 2.0 * cross) + total_norm**2 - norms @ norms
        others = np.subtract(total, embeddings, out=embeddings)
        others *= probabilities
        coefficients = np.repeat(total_norm - norms, self._widths) * means
        for group in self._groups:
            coefficients[group.rows] -= np.matmul(
                self._features(group), others[group.variables, :, None]
            ).ravel()
        return float(value), 2.0 * (pairs - cross) + 4.0 * (coefficients @ self._rows)

    def _features(self, group: _ColumnGroup) -> FloatArray:
        """The features of a group of variables, shape (variables, width, n)."""
        return self._rows[group.rows].reshape(-1, group.width, self._rows.shape[1])


class _ColumnGroup(NamedTuple):
    """Variables with the same number of features, and where these are."""

    variables: slice
    rows: slice
    width: int


def _sum_of_kernel_products(features: Sequence[FloatArray]) -> FloatArray:
    """Sum of K_i ∘ K_j over ordered pairs i != j, as (sum K_i)² - sum K_i², shape (n, n).

    A band of rows at a time, so that the sums stay in the cache, and only the part right of the diagonal:
    three times as fast as whole matrices at n = 800.
    """
    n_samples = features[0].shape[0]
    pairs = np.empty((n_samples, n_samples))
    for start in range(0, n_samples, _BAND):
        stop = min(start + _BAND, n_samples)
        total, squares = np.zeros((2, stop - start, n_samples - start))
        for block in features:
            kernel = block[start:stop] @ block[start:].T
            total += kernel
            squares += np.square(kernel, out=kernel)
        band = np.square(total, out=total)
        band -= squares
        pairs[start:stop, start:] = band
        pairs[stop:, start:stop] = band[:, stop - start :].T
    return pairs


Objective = LowRankObjective | DenseObjective


def choose_objective(features: Sequence[FloatArray]) -> Objective:
    """The cheaper of the two forms, by the time of fifty steps and the set-up."""
    n_samples, widths = features[0].shape[0], np.array([block.shape[1] for block in features])
    n_columns = int(widths.sum())
    low_rank_cost = _LOW_RANK * n_samples * (n_columns**2 - int(widths @ widths))
    entry = _IN_CACHE if 8 * n_samples**2 <= _CACHE_BYTES else _OUT_OF_CACHE
    dense_cost = n_samples**2 * (entry + _MAKING * n_columns) + _FEATURE * n_samples * n_columns
    if n_samples > DENSE_ROWS or low_rank_cost < dense_cost:
        return LowRankObjective(features)
    return DenseObjective(features)
