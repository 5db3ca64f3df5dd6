r"""The decoupling loss of a set of variables (Section 3.3), as a function of the weights.

With probabilities :math:`p` (weights :math:`w = n p`), kernels :math:`K_i` and the weighted mean embedding
removed, the weighted HSIC of two variables is

.. math:: \mathrm{HSIC}_w(i, j) = p^\top (K_i \circ K_j) p + (p^\top K_i p)(p^\top K_j p)
          - 2 \sum_k p_k (K_i p)_k (K_j p)_k ,

which for equal weights is the usual biased estimate :math:`\mathrm{tr}(K_i H K_j H) / n^2`. The loss is its
sum over the ordered pairs :math:`i \neq j`.

The pair sum never becomes a pair loop. Two forms of the same loss, chosen by cost (`dcd.descent` has a third,
for tables of many rows):

* `DenseObjective`, O(n² + nR) a step, R the total number of feature columns: the first term over all pairs
  is one matrix, made once.
* `LowRankObjective`, O(nR²) a step and O(nR) memory: the loss is the squared Frobenius norm of the weighted
  covariance between the features of different variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt
from scipy.linalg.blas import dsymv

from dcd.arrays import FloatArray
from dcd.feature_blocks import FeatureBlocks

# Nanoseconds a step, measured on one core: an entry of the (n, n) matrix, its set-up shared over a hundred
# steps, with and without the matrix in the cache; and an entry of the (R, R) covariance for each sample.
_DENSE_IN_CACHE, _DENSE_OUT_OF_CACHE, _LOW_RANK = 0.12, 0.45, 0.1
_CACHE_BYTES = 24 * 2**20
LARGEST_DENSE = 8000  # rows; the (n, n) array then takes 0.5 GB
_BAND = 64

Features = Sequence[FloatArray] | FeatureBlocks


def pairwise_hsic(features: Features, probabilities: FloatArray) -> FloatArray:
    """Weighted HSIC of every two variables, shape (m, m); the diagonal is each with itself."""
    return _hsic_of(_weighted_covariance(features, probabilities), features)


def dependence(features: Features, probabilities: FloatArray) -> tuple[FloatArray, float]:
    """`pairwise_hsic`, and the loss in units of what is to be expected if the variables are independent.

    The weighted HSIC of two independent variables has mean v_i v_j / ESS to first order in 1 / ESS, v the
    total variance of features.
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
    return hsic, _off_diagonal(hsic) / chance if len(hsic) > 1 else 0.0


def _hsic_of(covariance: FloatArray, features: Features) -> FloatArray:
    starts = _starts(features)
    by_row = np.add.reduceat(np.square(covariance), starts, axis=0)
    return np.add.reduceat(by_row, starts, axis=1)


def _weighted_covariance(features: Features, probabilities: FloatArray) -> FloatArray:
    if isinstance(features, FeatureBlocks):
        return features.covariance(probabilities)
    stacked = np.hstack(features)
    centred = stacked - probabilities @ stacked
    covariance: FloatArray = centred.T @ (probabilities[:, None] * centred)
    return covariance


def _starts(features: Features) -> npt.NDArray[np.intp]:
    """Where the features of each variable start among those of all."""
    if isinstance(features, FeatureBlocks):
        widths = [int((features.owner == member).sum()) for member in features.members]
    else:
        widths = [block.shape[1] for block in features]
    return np.cumsum([0, *widths[:-1]])


def _off_diagonal(matrix: FloatArray) -> float:
    return float(matrix.sum() - np.trace(matrix))


# --- the loss, twice -------------------------------------------------------------------------------------


class Objective(Protocol):
    """The decoupling loss of one set of variables as a function of the probabilities."""

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """Loss, and its gradient up to a constant vector (which the softmax makes vanish)."""
        ...


class LowRankObjective:
    """The loss through the (R, R) weighted covariance of the stacked features."""

    def __init__(self, features: Sequence[FloatArray]) -> None:
        stacked = np.hstack(features)
        # Centring changes nothing in exact arithmetic; it keeps the means that are subtracted below small.
        self._stacked = stacked - stacked.mean(axis=0)
        owner = np.repeat(np.arange(len(features)), [block.shape[1] for block in features])
        self._across = (owner[:, None] != owner[None, :]).astype(np.float64)

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `Objective`."""
        means = probabilities @ self._stacked
        scaled = np.sqrt(probabilities)[:, None] * self._stacked
        covariance = scaled.T @ scaled - np.outer(means, means)
        covariance *= self._across
        value = float(np.square(covariance).sum())
        products = self._stacked @ covariance
        gradient = np.einsum("kr,kr->k", products, self._stacked) - 2.0 * (products @ means)
        return value, 2.0 * gradient


class DenseObjective:
    """The loss through one (n, n) matrix that holds the first term of all pairs."""

    def __init__(self, features: Sequence[FloatArray]) -> None:
        # Features as rows: both products of `_apply_kernels` then run along contiguous memory.
        self._rows = [np.ascontiguousarray(block.T) for block in features]
        self._pairs = _sum_of_kernel_products(features)

    def _apply_kernels(self, vectors: Iterable[FloatArray]) -> FloatArray:
        """K_i v_i for every variable, shape (m, n)."""
        return np.stack([(rows @ vector) @ rows for rows, vector in zip(self._rows, vectors, strict=True)])

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `Objective`."""
        embeddings = self._apply_kernels([probabilities] * len(self._rows))
        norms = embeddings @ probabilities
        total, total_norm = embeddings.sum(axis=0), norms.sum()
        others = total - embeddings
        pairs: FloatArray = dsymv(1.0, self._pairs.T, probabilities)  # reads half of the matrix
        cross = np.einsum("mk,mk->k", embeddings, others)
        value = probabilities @ (pairs - 2.0 * cross) + total_norm**2 - norms @ norms
        gradient = (
            2.0 * (pairs - cross)
            + 4.0 * ((total_norm - norms) @ embeddings)
            - 4.0 * self._apply_kernels(probabilities * others).sum(axis=0)
        )
        return float(value), gradient


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


def choose_objective(features: Sequence[FloatArray]) -> Objective:
    """The cheaper of the two forms, by what a hundred steps and the set-up take."""
    n_samples = features[0].shape[0]
    n_columns = sum(block.shape[1] for block in features)
    fits_in_cache = 8 * n_samples**2 <= _CACHE_BYTES
    dense_cost = n_samples**2 * (_DENSE_IN_CACHE if fits_in_cache else _DENSE_OUT_OF_CACHE)
    low_rank_cost = n_samples * n_columns**2 * _LOW_RANK
    if n_samples > LARGEST_DENSE or low_rank_cost < dense_cost:
        return LowRankObjective(features)
    return DenseObjective(features)
