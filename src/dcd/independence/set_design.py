r"""The columns used to adjust for a set S of variables: functions of each, and of all jointly.

With :math:`z` the normal score and :math:`u` the rank (between 0 and 1) of a measurement, the columns are

* for each measurement :math:`3 z` and :math:`\sqrt 2 \cos(\pi j u) / j^{3/2}`, j = 1, 2, ...: the
  eigenfunctions of a smoothing spline, from a line to a spike such as log|x|;
* for each variable with few values an indicator of each value but one;
* for two or more variables :math:`4 \varphi(S)` with :math:`\varphi(s) \cdot \varphi(t) \approx \exp(-|s -
  t|^2 / 2h^2)`, the joint kernel of all normal scores (Nyström's approximation). A variable with few
  values has its indicators as coordinates, so that rows with different values are further apart.

For ridge regression (`adjustment`), the scale of a column is the expected size of its effect.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.linalg.lapack import dtrtri

from dcd.features.kernels import pivoted_cholesky
from dcd.features.rank_scores import LINEAR, Scores, SmoothColumns, VariableScores, by_frequency
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import Part

Rows = npt.NDArray[np.intp]
# Scales and decay chosen at n = 200, 800 and 3000 over nulls with lines, kinks, waves and products.
_LINE, _JOINT, _DECAY = 3.0, 4.0, 1.5
_ROWS_OF_A_WAVE = 10  # and at most this many waves of all variables together:
_FEWEST_WAVES, _ROWS_PER_WAVE, _MOST_WAVES = 100, 30, 300
_FEWEST_OF_ONE = 5
_FEWEST_LANDMARKS, _ROWS_OF_A_LANDMARK, _MOST_LANDMARKS = 120, 15, 250
_MOST_LANDMARKS_SHARE = 0.5  # of the rows
_CANDIDATES = 500  # rows from which the landmarks are chosen
_TOLERANCE = 1e-4  # of the kernel; keeps the factor of the landmarks well conditioned in single precision


def design_for(scores: Scores, given: Sequence[int]) -> tuple[Part, int]:
    """The design (n, p) of a set: how to compute some rows of it, and p."""
    variables = [scores.variables[v] for v in given]
    n_waves = _n_waves(scores.n_samples, len(given))
    parts = [_columns_of_one(variable, n_waves) for variable in variables]
    if len(given) > 1:
        parts.append(_joint_columns(scores, variables))

    def make(rows: slice) -> FloatArray:
        if not parts:
            return np.empty((rows.stop - rows.start, 0), dtype=scores.dtype)
        # Column by column in memory: columns are computed, joined and later multiplied as a whole.
        return np.concatenate([part(rows).T for part, _ in parts]).T

    return make, sum(n_columns for _, n_columns in parts)


def _n_waves(n_samples: int, n_variables: int) -> int:
    """Cosines of each variable: one for every ten rows, within the limit for the whole set."""
    most = np.clip(n_samples / _ROWS_PER_WAVE, _FEWEST_WAVES, _MOST_WAVES) / max(n_variables, 1)
    return max(int(min(n_samples / _ROWS_OF_A_WAVE, most)), _FEWEST_OF_ONE)


def _columns_of_one(variable: VariableScores, n_waves: int) -> tuple[Part, int]:
    """Columns of one variable, and their number."""
    make = variable.make
    if not isinstance(make, SmoothColumns):
        return lambda rows: _LINE * variable.part(rows, variable.adjusters), len(variable.adjusters)
    scores, scale = make.scores, np.sqrt(2.0) / np.arange(1, n_waves + 1)[:, None] ** _DECAY

    def part(rows: slice) -> FloatArray:
        columns = np.empty((1 + n_waves, rows.stop - rows.start), dtype=scores.dtype)
        columns[0] = _LINE * variable.part(rows, (LINEAR,))[:, 0]
        np.multiply(_cosines(scores[rows, 1].astype(np.float64), n_waves), scale, out=columns[1:])
        return columns.T

    return part, 1 + n_waves


def _cosines(u: FloatArray, n_waves: int) -> FloatArray:
    """(n_waves, n) cos(pi j u) for j = 1, 2, ..., each from the two before it."""
    waves = np.empty((n_waves + 1, len(u)))
    waves[0] = 1.0
    np.cos(np.pi * u, out=waves[1])
    twice = 2.0 * waves[1]
    for j in range(2, n_waves + 1):
        np.multiply(twice, waves[j - 1], out=waves[j])
        waves[j] -= waves[j - 2]
    return waves[1:]


def _joint_columns(scores: Scores, variables: Sequence[VariableScores]) -> tuple[Part, int]:
    """Features (n, m) of the kernel of all variables of a set: Nyström's, from landmarks among the rows."""
    points_of, n_samples = SetPoints(variables, scores.dtype), scores.n_samples
    chosen = np.unique(np.linspace(0, n_samples - 1, min(_CANDIDATES, n_samples)).astype(np.intp))
    candidates = points_of.at(chosen).astype(np.float64)
    most = np.clip(n_samples / _ROWS_OF_A_LANDMARK, _FEWEST_LANDMARKS, _MOST_LANDMARKS)
    most = int(min(most, _MOST_LANDMARKS_SHARE * n_samples))
    lefts, rights = _factors_of_exponent(candidates)
    features, pivots = pivoted_cholesky(
        lambda pivot: _kernel(lefts @ rights[pivot]), np.empty((most, len(candidates))), _TOLERANCE, most
    )
    inverse = dtrtri(features[:, pivots].T, lower=1)[0]
    of_landmarks = rights[pivots].astype(scores.dtype)
    to_features = (_JOINT * inverse).astype(scores.dtype)

    def part(rows: slice) -> FloatArray:
        return (to_features @ _kernel(of_landmarks @ _factors_of_exponent(points_of.at(rows))[0].T)).T

    return part, len(pivots)


def _factors_of_exponent(points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Two matrices (b, c + 2) whose products are minus half the squared distances of points (b, c)."""
    half, one = 0.5 * np.square(points).sum(axis=1)[:, None], np.ones_like(points[:, :1])
    return np.hstack([points, half, one]), np.hstack([points, -one, -half])


def _kernel(exponent: FloatArray) -> FloatArray:
    """The kernel in place of its exponent, which only rounding makes positive."""
    np.minimum(exponent, 0.0, out=exponent)
    return np.exp(exponent, out=exponent)


class SetPoints:
    """The rows as points in the space of a set, in units of the bandwidth of its kernel."""

    def __init__(self, variables: Sequence[VariableScores], dtype: np.dtype[np.float64]) -> None:
        self._variables, self._dtype = variables, dtype
        # The distance of two rows grows with the number of variables.
        self._bandwidth = np.sqrt(max(len(variables), 2) / 2.0)

    def at(self, rows: slice | np.ndarray) -> FloatArray:
        """Some rows, (b, c)."""
        return np.hstack([self._coordinates(variable, rows) for variable in self._variables])

    def _coordinates(self, variable: VariableScores, rows: slice | np.ndarray) -> FloatArray:
        if isinstance(variable.make, SmoothColumns):
            return variable.make.scores[rows, :1] / self._dtype.type(self._bandwidth)
        assert variable.codes is not None
        return (variable.codes[rows, None] == np.arange(variable.codes.max() + 1)).astype(self._dtype)


def order_by_nearness(scores: Scores, given: Sequence[int]) -> Rows:
    """The rows (n,) in an order in which neighbours are close in the space of a set.

    Rows are split at the median of each variable in turn, as in a k-d tree; this takes O(n log² n) time.
    """
    n_samples = scores.n_samples
    orders = [_order(scores.variables[v]) for v in given]
    group = np.zeros(n_samples, dtype=np.intp)
    if not orders:
        return np.arange(n_samples)
    n_levels = max(int(np.log2(n_samples)), 1)
    for level in range(n_levels):
        order = _in_groups(orders[level % len(orders)], group)
        own, sizes = group[order], np.bincount(group, minlength=2**level)
        middles = np.cumsum(sizes) - sizes // 2
        group[order] = 2 * own + (np.arange(n_samples) >= middles[own])
    return _in_groups(orders[0], group)


def _in_groups(order: Rows, group: Rows) -> Rows:
    """The rows by group and, within each, in a given order; numbers of 16 bits are sorted in O(n) time."""
    own = group[order]
    grouped: Rows = order[np.argsort(own.astype(np.uint16) if len(own) < 2**16 else own, kind="stable")]
    return grouped


def _order(variable: VariableScores) -> Rows:
    """The rows (n,) in the order of a variable."""
    make, codes = variable.make, variable.codes
    values: FloatArray = make.scores[:, 0] if isinstance(make, SmoothColumns) else np.asarray(codes)
    if codes is not None and variable.kind == "nominal":  # the names of categories must not matter
        values = np.argsort(by_frequency(codes))[codes].astype(np.float64)
    return np.argsort(values, kind="stable")
