"""How strongly two columns are associated under weights, by a measure that fits their kinds."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from dcd.runtime.array_types import FloatArray

# The measure for two columns, by how many of them are nominal.
MEASURES = ("rank correlation", "correlation ratio", "Cramér's V")

_TINY = 1e-12  # ranks are much further apart; anything less is rounding error


def strength(x: FloatArray, y: FloatArray, weights: FloatArray, nominal: tuple[bool, bool]) -> float:
    """The measure for two columns without missing values; 0 if a column does not vary.

    Two columns of ordered values: the correlation of their ranks, from -1 to 1. One nominal column:
    the correlation ratio, the root of the share of the variance of ranks that is between the categories. Two
    nominal columns: Cramér's V.
    """
    shares = weights / weights.sum()
    if not any(nominal):
        value = _correlation(rankdata(x), rankdata(y), shares)
    elif all(nominal):
        value = _cramer(x, y, shares)
    else:
        groups, other = (x, y) if nominal[0] else (y, x)
        value = _correlation_ratio(groups, rankdata(other), shares)
    return float(np.clip(value, -1.0, 1.0))


def _correlation(x: FloatArray, y: FloatArray, shares: FloatArray) -> float:
    x, y = x - shares @ x, y - shares @ y
    spread = np.sqrt((shares @ x**2) * (shares @ y**2))
    return float(shares @ (x * y) / spread) if spread > _TINY else 0.0


def _correlation_ratio(groups: FloatArray, values: FloatArray, shares: FloatArray) -> float:
    members = _indicators(groups)
    centred = values - shares @ values
    total = shares @ centred**2
    sizes = shares @ members
    sums = (shares * centred) @ members
    between = np.square(sums[sizes > 0]) @ (1.0 / sizes[sizes > 0])
    return float(np.sqrt(between / total)) if total > _TINY else 0.0


def _cramer(x: FloatArray, y: FloatArray, shares: FloatArray) -> float:
    joint = _indicators(x).T @ (shares[:, None] * _indicators(y))
    joint = joint[joint.sum(axis=1) > 0][:, joint.sum(axis=0) > 0]
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    smaller = min(joint.shape) - 1
    return float(np.sqrt((np.square(joint - expected) / expected).sum() / smaller)) if smaller > 0 else 0.0


def _indicators(groups: FloatArray) -> FloatArray:
    return (groups[:, None] == np.unique(groups)).astype(np.float64)
