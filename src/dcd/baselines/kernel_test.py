r"""The kernel conditional independence test (KCIT; Zhang, Peters, Janzing, Schölkopf 2011), fast.

With centred kernels :math:`K` of :math:`(x, z/2)`, :math:`L` of y and :math:`M` of z, and the residual maker
:math:`R = \varepsilon (M + \varepsilon I)^{-1}`, the statistic is the sum of
:math:`H = (RKR) \circ (RLR)`. Under independence given z it is close to a gamma law of mean
:math:`\operatorname{tr} H` and variance :math:`2 \|H\|_F^2`: the matrix of all products of eigenvectors that
implementations of this test build has H as its Gram matrix, so it need not be built. Nor need the kernels:
a pivoted Cholesky factor :math:`Z Z^\top = M` of small rank gives
:math:`R = I - Z (Z^\top Z + \varepsilon I)^{-1} Z^\top`.

Kernel widths, regularisation and null distribution are those of causal-learn, so that the p-values are, too
(to some 1e-4 of their size, which is what causal-learn's cut of small eigenvalues makes), in a twentieth of
the time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.stats import gamma
from sklearn.metrics.pairwise import rbf_kernel

from dcd.arrays import FloatArray
from dcd.kernels import rbf_features

_EPSILON = 1e-3
_TOLERANCE = 1e-9
# Rule-of-thumb widths for standardised data: below 200 rows, below 1,200, above.
_WIDTHS_WITHOUT_GIVEN = (0.8, 0.5, 0.3)
_WIDTHS_WITH_GIVEN = (1.2, 0.7, 0.4)


class KernelTest:
    """`test(x, y, given) -> p` for columns of one table (n, d)."""

    def __init__(self, values: FloatArray) -> None:
        self.values = (values - values.mean(axis=0)) / values.std(axis=0, ddof=1)
        self.max_rank = len(values) // 3  # beyond it full matrices are the cheaper form
        self._known: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def __call__(self, x: int, y: int, given: Sequence[int] = ()) -> float:
        """P-value of `x` and `y` being independent given the others; `x` and `y` may change places."""
        key = (min(x, y), max(x, y), tuple(sorted(given)))
        if key not in self._known:
            self._known[key] = self._conditional(*key) if given else self._marginal(*key[:2])
        return self._known[key]

    def _marginal(self, x: int, y: int) -> float:
        width = self._width(_WIDTHS_WITHOUT_GIVEN)
        first, second = (self._factor(self.values[:, [column]], width) for column in (x, y))
        n = len(first)
        statistic = np.square(first.T @ second).sum()
        mean = np.square(first).sum() * np.square(second).sum() / n
        variance = 2 * np.square(first.T @ first).sum() * np.square(second.T @ second).sum() / n**2
        return _gamma_tail(statistic, mean, variance)

    def _conditional(self, x: int, y: int, given: tuple[int, ...]) -> float:
        width = self._width(_WIDTHS_WITH_GIVEN) * np.sqrt(len(given))
        condition = self.values[:, list(given)]
        remove = self._residual_maker(condition, width)
        extended = np.column_stack([self.values[:, x], 0.5 * condition])
        product = self._residual_kernel(extended, width, remove)
        product *= self._residual_kernel(self.values[:, [y]], width, remove)
        return _gamma_tail(product.sum(), np.trace(product), 2 * float(np.vdot(product, product)))

    def _width(self, widths: tuple[float, float, float]) -> float:
        return widths[np.searchsorted([200, 1200], len(self.values), side="right")]

    def _factor(self, points: FloatArray, width: float, max_rank: int | None = None) -> FloatArray:
        """Features of the centred kernel, (n, r)."""
        features = rbf_features(points, width, _TOLERANCE, max_rank)
        return features - features.mean(axis=0)

    def _residual_maker(self, condition: FloatArray, width: float) -> Callable[[FloatArray], FloatArray]:
        """The map `array -> R @ array`."""
        factor = self._factor(condition, width, self.max_rank)
        if factor.shape[1] < self.max_rank:
            gram = cho_factor(factor.T @ factor + _EPSILON * np.eye(factor.shape[1]))
            return lambda array: array - factor @ cho_solve(gram, factor.T @ array)
        kernel = _centred_kernel(condition, width)
        kernel[np.diag_indices_from(kernel)] += _EPSILON
        maker = _EPSILON * cho_solve(cho_factor(kernel, overwrite_a=True), np.eye(len(kernel)))
        return lambda array: maker @ array

    def _residual_kernel(
        self, points: FloatArray, width: float, remove: Callable[[FloatArray], FloatArray]
    ) -> FloatArray:
        """`R K R` for the kernel of `points`, (n, n)."""
        factor = self._factor(points, width, self.max_rank)
        if factor.shape[1] < self.max_rank:
            residual = remove(factor)
            return residual @ residual.T
        return remove(remove(_centred_kernel(points, width)).T)


def _centred_kernel(points: FloatArray, width: float) -> FloatArray:
    kernel: FloatArray = rbf_kernel(points, gamma=0.5 / width**2)
    means = kernel.mean(axis=0)
    kernel -= means
    kernel -= (means - means.mean())[:, None]
    return kernel


def _gamma_tail(statistic: float, mean: float, variance: float) -> float:
    """Probability that a gamma variable of that mean and variance exceeds the statistic."""
    if not variance > 0:  # nothing is left of x or y: no sign of dependence
        return 1.0
    return float(gamma.sf(statistic, mean**2 / variance, scale=variance / mean))
