r"""Low-rank features of the RBF kernel of one variable.

The kernel of a variable is :math:`K_{kl} = \exp(-(x_k - x_l)^2 / 2\sigma^2)` with :math:`\sigma` the median
of :math:`|x_k - x_l|` over the pairs of rows that differ (Section 3.3). In one dimension its eigenvalues
decrease so fast that about 20 columns give it to 1e-10 at any sample size (more for heavy tails: 40 for
Student's t with 2 degrees of freedom, 90 for a strongly skewed lognormal): :math:`K \approx \Phi \Phi^\top`
with :math:`\Phi` of shape (n, r), by pivoted Cholesky.

The kernel of a nominal variable is 1 for two samples of the same category and 0 otherwise.

For a table with many rows a `FeatureMap` is computed from a few thousand order statistics of the column, and
the features of all rows from that, a block at a time. They are centred principal components, and only those
whose variance can matter: about half as many for the same loss to three digits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import numpy.typing as npt
from scipy.linalg import solve_triangular

from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.table.columns import Kind

_REMEMBERED_ROWS = 3_000  # of columns whose bandwidth is remembered; they recur in one set after another


def median_bandwidth(x: FloatArray, shares: FloatArray | None = None) -> float:
    """Median distance of two samples that differ, in O(n log n) time and O(n) memory.

    Pairs of equal values are left out, so that a zero-inflated count has a bandwidth, and a row that occurs
    twice counts like one with twice the share; `shares` (n,) are equal by default.
    """
    if x.size > _REMEMBERED_ROWS:
        return _median_distance(x, shares)
    # 2 ms for 800 rows, twice for each variable: a tenth of the time of learning weights.
    return _remembered_distance(
        x.astype(np.float64).tobytes(), None if shares is None else shares.astype(np.float64).tobytes()
    )


@lru_cache(maxsize=256)
def _remembered_distance(x: bytes, shares: bytes | None) -> float:
    return _median_distance(np.frombuffer(x), None if shares is None else np.frombuffer(shares))


def _median_distance(x: FloatArray, shares: FloatArray | None) -> float:
    values, of_row = np.unique(x, return_inverse=True)
    shares_of_values = np.bincount(of_row.reshape(-1), shares).astype(np.float64)
    masses = np.concatenate([[0.0], np.cumsum(shares_of_values)])

    @cache  # both sides try nearly the same distances
    def mass_of_pairs(distance: float) -> float:
        """Mass of the pairs that differ, by at most this distance."""
        within = np.searchsorted(values, values + distance, side="right")
        return float(shares_of_values @ (masses[within] - masses[1:]))

    half = 0.5 * mass_of_pairs(np.inf)
    if half == 0:  # a constant, whose kernel is 1 with any bandwidth
        return 1.0
    furthest = float(values[-1] - values[0])
    # A distance with exactly half of the pairs below it is one of the two in the middle.
    return 0.5 * sum(_distance_at(mass_of_pairs, furthest, half * (1.0 + side)) for side in (-1e-12, 1e-12))


def _distance_at(mass_of_pairs: Callable[[float], float], furthest: float, mass: float) -> float:
    """The smallest distance that reaches a mass of pairs, by bisection."""
    low, high = 0.0, furthest
    while high - low > 1e-12 * high and low < (middle := 0.5 * (low + high)) < high:
        if mass_of_pairs(middle) >= mass:
            high = middle
        else:
            low = middle
    return high


def rbf_features(
    x: FloatArray, bandwidth: float, tolerance: float = 1e-10, max_rank: int | None = None
) -> FloatArray:
    """Features of shape (n, r) whose Gram matrix is the RBF kernel, to `tolerance` in every entry.

    Parameters
    ----------
    x : one variable (n,) or several (n, k), whose squared distances add up.
    max_rank : stop at this rank, even with a residual above the tolerance; n by default, which never stops.
    """
    points = x.reshape(x.shape[0], -1)
    return rbf_cholesky(_in_bandwidths(points, bandwidth).T, tolerance, max_rank)[0]


def _in_bandwidths(points: FloatArray, bandwidth: float) -> FloatArray:
    with np.errstate(over="ignore"):
        return np.clip(points / bandwidth, -1e100, 1e100)  # the kernel at such distances is 0


def rbf_cholesky(
    scaled: FloatArray, tolerance: float, max_rank: int | None = None
) -> tuple[FloatArray, list[int]]:
    """Features (n, r) of points (k, n) in units of the bandwidth, and the r pivots.

    The features of the pivots are a lower triangular matrix.
    """

    def kernel(pivot: int) -> FloatArray:
        return np.exp(-0.5 * np.square(scaled - scaled[:, pivot, None]).sum(axis=0))

    n_samples = scaled.shape[1]
    rows = np.empty((32, n_samples))
    rows, pivots = pivoted_cholesky(kernel, rows, tolerance, n_samples if max_rank is None else max_rank)
    return np.ascontiguousarray(rows.T), pivots


def pivoted_cholesky(
    kernel: Callable[[int], FloatArray], rows: FloatArray, tolerance: float, max_rank: int
) -> tuple[FloatArray, list[int]]:
    """Features (r, n) whose products are a kernel with ones on its diagonal, and the r pivots.

    The next row is the kernel of the sample with the largest residual so far. The residual is positive
    semi-definite, so its largest diagonal entry bounds every entry.

    Parameters
    ----------
    kernel : the values (n,) of the kernel of one sample, by position, with all samples.
    rows : (k, n) space for the features; it grows if needed.
    """
    residual = np.ones(rows.shape[1])
    pivots: list[int] = []
    while (rank := len(pivots)) < max_rank:
        pivot = int(residual.argmax())
        if residual[pivot] <= tolerance:
            break
        if rank == len(rows):
            rows = np.concatenate([rows, np.empty_like(rows)])
        row = rows[rank]
        np.subtract(kernel(pivot), rows[:rank, pivot] @ rows[:rank], out=row)
        row /= math.sqrt(residual[pivot])
        pivots.append(pivot)
        residual -= row * row
    return rows[: len(pivots)], pivots


def kernel_features(
    column: FloatArray, kind: Kind = "continuous", shares: FloatArray | None = None
) -> FloatArray:
    """Kernel features of one variable, shape (n, r): RBF at the median bandwidth, or same category."""
    if kind == "nominal":
        return memberships(column).astype(np.float64)
    return rbf_features(column, median_bandwidth(column, shares))


def memberships(codes: FloatArray) -> BoolArray:
    """One indicator column for every category; their Gram matrix is 1 for two equal categories."""
    inside: BoolArray = codes[:, None] == np.unique(codes)
    return inside


# --- many rows -------------------------------------------------------------------------------------------

_ORDER_STATISTICS, _OUTERMOST = 4096, 512  # evenly spaced ones, and all of the outermost at each end
_FOR_BANDWIDTH = 2**16
_PIVOT_TOLERANCE = 1e-8


@dataclass(frozen=True)
class FeatureMap:
    """Leading principal components of the RBF kernel of one variable, as functions of its value.

    Attributes
    ----------
    variances : (r,) of the components, in decreasing order.
    """

    variances: FloatArray
    _bandwidth: float
    _pivots: FloatArray
    _components: FloatArray
    _means: FloatArray

    def __call__(self, x: FloatArray) -> FloatArray:
        """Components (r, n) of the values `x` (n,)."""
        kernel = np.exp(-0.5 * np.square(self._pivots[:, None] - _in_bandwidths(x, self._bandwidth)))
        components: FloatArray = self._components @ kernel - self._means[:, None]
        return components


@dataclass(frozen=True)
class IndicatorMap:
    """Centred indicators of categories, without those so rare that they cannot matter."""

    variances: FloatArray
    _categories: FloatArray
    _shares: FloatArray

    def __call__(self, codes: FloatArray) -> FloatArray:
        """One row for each category, (r, n)."""
        centred: FloatArray = (codes == self._categories[:, None]) - self._shares[:, None]
        return centred


def feature_map(
    column: FloatArray, kind: Kind, least_variance: float, shares: FloatArray | None = None
) -> FeatureMap | IndicatorMap:
    """The kernel features of one variable above some variance, as functions of its value."""
    shares = np.full(column.size, 1.0 / column.size) if shares is None else shares
    if kind == "nominal":
        categories, codes = np.unique(column, return_inverse=True)
        levels: FloatArray = np.bincount(codes.reshape(-1), shares).astype(np.float64)
        kept = _leading(levels * (1 - levels), least_variance)
        return IndicatorMap((levels * (1 - levels))[kept], categories[kept], levels[kept])
    order = np.argsort(column, kind="stable")
    ordered, cumulated = column[order], np.concatenate([[0.0], np.cumsum(shares[order])])
    some, parts = _masses(_evenly(column.size, _FOR_BANDWIDTH), cumulated)
    alike = ordered[some[0]] == ordered[some[-1]]
    bandwidth = median_bandwidth(column, shares) if alike else median_bandwidth(ordered[some], parts)
    kept, masses = _masses(_representatives(column.size), cumulated)
    grid = _in_bandwidths(ordered[kept], bandwidth)
    features, pivots = rbf_cholesky(grid[None], _PIVOT_TOLERANCE)
    means = masses @ features
    centred = features - means
    variances, directions = np.linalg.eigh(centred.T @ (masses[:, None] * centred))
    kept = _leading(variances, least_variance)
    # K(x, pivots) = features(x) @ features(pivots)', and the latter is triangular.
    components = solve_triangular(features[pivots], directions[:, kept], lower=True, trans="T")
    return FeatureMap(variances[kept], bandwidth, grid[pivots], components.T, means @ directions[:, kept])


def _leading(variances: FloatArray, least: float) -> npt.NDArray[np.intp]:
    """Positions of the variances above the least, in decreasing order; always including the largest."""
    falling = np.argsort(-variances, kind="stable")
    return falling[: max(1, int((variances > least).sum()))]


def _evenly(n_samples: int, wanted: int) -> npt.NDArray[np.intp]:
    """Positions of order statistics, each in the middle of an equal share of the sample; all if few."""
    if n_samples <= wanted:
        return np.arange(n_samples)
    return ((np.arange(wanted) + 0.5) * n_samples / wanted).astype(np.intp)


def _representatives(n_samples: int) -> npt.NDArray[np.intp]:
    """Positions of order statistics that represent all, with every one at the ends."""
    ends = np.arange(min(_OUTERMOST, n_samples))
    return np.unique(np.r_[ends, _evenly(n_samples, _ORDER_STATISTICS), n_samples - 1 - ends])


def _masses(kept: npt.NDArray[np.intp], cumulated: FloatArray) -> tuple[npt.NDArray[np.intp], FloatArray]:
    """The positions of order statistics and the share that each stands for, up to halfway to the next."""
    n_samples = len(cumulated) - 1
    edges = np.r_[0, (kept[1:] + kept[:-1] + 1) / 2, n_samples]
    return kept, np.diff(np.interp(edges, np.arange(n_samples + 1), cumulated))
