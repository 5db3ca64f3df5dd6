r"""One variable to low-rank features of its RBF kernel.

The kernel of a variable is :math:`K_{kl} = \exp(-(x_k - x_l)^2 / 2\sigma^2)` with :math:`\sigma` the
median of :math:`|x_k - x_l|` over the pairs :math:`k < l` (Section 3.3). In one dimension its eigenvalues
fall off so fast that some 20 columns hold it to 1e-10 at any sample size (more for heavy tails: 40 for
Student's t with 2 degrees of freedom, 90 for a strongly skewed lognormal):
:math:`K \approx \Phi \Phi^\top` with :math:`\Phi` of shape (n, r), by pivoted Cholesky.

The kernel of a nominal variable is 1 for two samples of the same category and 0 otherwise.
"""

from __future__ import annotations

import numpy as np

from dcd.arrays import FloatArray
from dcd.columns import Kind


def median_bandwidth(x: FloatArray) -> float:
    """Median distance between two samples, exact in O(n log n) time and O(n) memory.

    Heavily tied data (a zero-inflated count, say) can have a median of zero, which is no bandwidth; the
    median over the pairs that differ is used then.
    """
    ordered = np.sort(x)
    n_pairs = x.size * (x.size - 1) // 2
    n_tied = _pairs_within(ordered, 0.0)
    skipped = n_tied if 2 * n_tied >= n_pairs else 0
    lower_rank = skipped + (n_pairs - skipped - 1) // 2
    upper_rank = skipped + (n_pairs - skipped) // 2
    return 0.5 * (_kth_distance(ordered, lower_rank) + _kth_distance(ordered, upper_rank))


def _pairs_within(ordered: FloatArray, distance: float) -> int:
    """Number of pairs at most `distance` apart."""
    n = ordered.size
    return int(np.searchsorted(ordered, ordered + distance, side="right").sum()) - n * (n + 1) // 2


def _kth_distance(ordered: FloatArray, rank: int) -> float:
    """The distance of the given rank (from 0) among all pairs, by bisection on the count of closer pairs."""
    low, high = 0.0, float(ordered[-1] - ordered[0])
    while high - low > 1e-12 * high and low < (middle := 0.5 * (low + high)) < high:
        if _pairs_within(ordered, middle) > rank:
            high = middle
        else:
            low = middle
    return high


def rbf_kernel(x: FloatArray, bandwidth: float) -> FloatArray:
    """The full (n, n) kernel matrix."""
    scaled = x / bandwidth
    return np.exp(-0.5 * np.square(scaled[:, None] - scaled[None, :]))


def rbf_features(
    x: FloatArray, bandwidth: float, tolerance: float = 1e-10, max_rank: int | None = None
) -> FloatArray:
    """Features of shape (n, r) whose Gram matrix is the RBF kernel, to `tolerance` in every entry.

    Pivoted Cholesky: the next column is the kernel column of the sample that is explained worst so far.
    The residual is positive semi-definite, so its largest diagonal entry bounds every entry.

    Parameters
    ----------
    x : one variable (n,) or several (n, k), whose squared distances add up.
    max_rank : stop there, with a residual above the tolerance; n by default, which never stops early.
    """
    points = x.reshape(x.shape[0], -1)
    with np.errstate(over="ignore"):
        scaled = np.clip(points / bandwidth, -1e100, 1e100).T  # farther apart than any kernel reaches
    residual = np.ones(len(points))
    rows = np.empty((32, len(points)))
    rank = 0
    while rank < (len(points) if max_rank is None else max_rank):
        pivot = int(residual.argmax())
        if residual[pivot] <= tolerance:
            break
        if rank == len(rows):
            rows = np.concatenate([rows, np.empty_like(rows)])
        column = np.exp(-0.5 * np.square(scaled - scaled[:, pivot, None]).sum(axis=0))
        column -= rows[:rank, pivot] @ rows[:rank]
        column /= np.sqrt(residual[pivot])
        rows[rank] = column
        rank += 1
        residual -= np.square(column)
    return np.ascontiguousarray(rows[:rank].T)


def kernel_features(column: FloatArray, kind: Kind = "continuous") -> FloatArray:
    """Kernel features of one variable, shape (n, r): RBF at the median bandwidth, or same category or not."""
    if kind == "nominal":
        return indicators(column)
    return rbf_features(column, median_bandwidth(column))


def indicators(codes: FloatArray) -> FloatArray:
    """One column for every category, 1 where a sample is in it; their Gram matrix is 1 for two alike."""
    return (codes[:, None] == np.unique(codes)).astype(np.float64)
