r"""A fast kernel conditional independence test (KCIT; Zhang, Peters, Janzing, Schölkopf 2011).

With centred kernels :math:`K` of :math:`(x, z/2)`, :math:`L` of y and :math:`M` of z, and the residual maker
:math:`R = \varepsilon (M + \varepsilon I)^{-1}`, the statistic is the sum of
:math:`H = (RKR) \circ (RLR)`. Under independence given z it is approximately gamma distributed with mean
:math:`\operatorname{tr} H` and variance :math:`2 \|H\|_F^2`. H is the Gram matrix of the products of
eigenvectors that other implementations build, so these are not needed. Nor are the kernels: a pivoted
Cholesky factor :math:`Z Z^\top = M` of small rank gives
:math:`R = I - Z (Z^\top Z + \varepsilon I)^{-1} Z^\top`.

Kernel widths, regularisation and null distribution are those of causal-learn. The p-values agree to half a
percent, mostly because causal-learn drops small eigenvalues, in a fifth (many conditions) to a fortieth (one
condition) of the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.linalg import cho_factor, cho_solve
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.stats import gamma
from sklearn.metrics.pairwise import rbf_kernel

from dcd.features.kernels import rbf_features
from dcd.runtime.array_types import FloatArray

Floats = npt.NDArray[np.floating[Any]]

_EPSILON = 1e-3
_TOLERANCE = 1e-8
_CACHE_BYTES = 200_000_000  # for conditions of 12 n² bytes each
# Rule-of-thumb widths for standardised data: below 200 rows, below 1,200, above.
_WIDTHS_WITHOUT_GIVEN = (0.8, 0.5, 0.3)
_WIDTHS_WITH_GIVEN = (1.2, 0.7, 0.4)


class KernelTest:
    """`test(x, y, given) -> p` for columns of one table (n, d)."""

    def __init__(self, values: FloatArray) -> None:
        deviations = values.std(axis=0, ddof=1)
        self.values = (values - values.mean(axis=0)) / np.where(deviations > 0, deviations, 1.0)
        self.max_rank = len(values) // 4  # beyond, full matrices are cheaper
        self._known: dict[tuple[int, int, tuple[int, ...]], float] = {}
        # Searches test many pairs with the same condition.
        self._condition = lru_cache(maxsize=_CACHE_BYTES // (12 * len(values) ** 2) + 1)(self._condition_on)

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> float:
        """The p-value; symmetric in `x` and `y`."""
        key = (min(x, y), max(x, y), tuple(sorted(given)))
        if key not in self._known:
            self._known[key] = self._conditional(*key) if given else self._marginal(*key[:2])
        return self._known[key]

    def _marginal(self, x: int, y: int) -> float:
        width = self._width(_WIDTHS_WITHOUT_GIVEN)
        first, second = (_factor(self.values[:, [column]], width) for column in (x, y))
        n = len(first)
        statistic = np.square(first.T @ second).sum()
        mean = np.square(first).sum() * np.square(second).sum() / n
        variance = 2 * np.square(first.T @ first).sum() * np.square(second.T @ second).sum() / n**2
        return _gamma_tail(statistic, mean, variance)

    def _conditional(self, x: int, y: int, given: tuple[int, ...]) -> float:
        condition = self._condition(given)
        extended = np.column_stack([self.values[:, x], 0.5 * self.values[:, list(given)]])
        product = condition.residual_kernel(extended)
        product *= condition.residual_kernel(self.values[:, [y]])
        variance = 2 * float(np.vdot(product, product))
        return _gamma_tail(float(product.sum(dtype=np.float64)), float(np.trace(product)), variance)

    def _condition_on(self, given: tuple[int, ...]) -> _Condition:
        width = self._width(_WIDTHS_WITH_GIVEN) * np.sqrt(len(given))
        return _Condition(self.values[:, list(given)], width, self.max_rank)

    def _width(self, widths: tuple[float, float, float]) -> float:
        return widths[np.searchsorted([200, 1200], len(self.values), side="right")]


class _Condition:
    """Removes from a kernel the part explained by the variables of one condition.

    Kernels of small rank are represented by factors. The others are full matrices in single precision, which
    takes half the time and changes p-values by less than dropping eigenvalues does.
    """

    def __init__(self, points: FloatArray, width: float, max_rank: int) -> None:
        self.width, self.max_rank = width, max_rank
        factor = _factor(points, width, max_rank)
        self.rank = factor.shape[1]
        self.has_small_rank = self.rank < max_rank
        if self.has_small_rank:
            gram = cho_factor(factor.T @ factor + _EPSILON * np.eye(factor.shape[1]))
            self.factor, self.solved = factor, cho_solve(gram, factor.T)
        else:
            kernel = _centred_kernel(points, width)
            kernel[np.diag_indices_from(kernel)] += _EPSILON
            self.maker = _EPSILON * _inverse(kernel)
            self.single_maker = self.maker.astype(np.float32)

    def residual_kernel(self, points: FloatArray) -> Floats:
        """`R K R` for the kernel K of `points`, (n, n)."""
        # Each additional variable multiplies the rank by about 5, and failed attempts are expensive.
        may_be_small = 4 * self.rank < self.max_rank or points.shape[1] == 1
        factor = _factor(points, self.width, self.max_rank) if may_be_small else None
        if factor is not None and factor.shape[1] < self.max_rank:
            residual = self._remove(factor).astype(np.float32)
            return residual @ residual.T
        kernel = _centred_kernel(points, self.width).astype(np.float32)
        return self._remove(self._remove(kernel).T)

    def _remove(self, array: Floats) -> Floats:
        """`R @ array`, in the precision of the array."""
        if self.has_small_rank:
            solved, factor = (part.astype(array.dtype, copy=False) for part in (self.solved, self.factor))
            return array - factor @ (solved @ array)
        return (self.single_maker if array.dtype == np.float32 else self.maker) @ array


def _factor(points: FloatArray, width: float, max_rank: int | None = None) -> FloatArray:
    """Features of the centred kernel, (n, r); cut off at `max_rank`."""
    features = rbf_features(points, width, _TOLERANCE, max_rank)
    return features - features.mean(axis=0)


def _centred_kernel(points: FloatArray, width: float) -> FloatArray:
    kernel: FloatArray = rbf_kernel(points, gamma=0.5 / width**2)
    means = kernel.mean(axis=0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    return kernel


def _inverse(matrix: FloatArray) -> FloatArray:
    """Inverse of a symmetric positive definite matrix."""
    lower, failed = dpotrf(matrix, lower=1, clean=1)
    inverse, _ = dpotri(lower, lower=1)
    assert not failed
    return np.tril(inverse) + np.tril(inverse, -1).T


def _gamma_tail(statistic: float, mean: float, variance: float) -> float:
    """Probability that a gamma variable of that mean and variance exceeds the statistic."""
    if not variance > 0:  # the residuals of x or y are zero
        return 1.0
    return float(gamma.sf(statistic, mean**2 / variance, scale=variance / mean))
