"""Whitening: columns with the same span, variance 1 and no correlation."""

from __future__ import annotations

import numpy as np

from dcd.runtime.array_types import FloatArray


def whiteners(covariances: FloatArray, smallest: float) -> tuple[FloatArray, FloatArray]:
    """For each covariance C (v, k, k) a matrix W with W C W' the identity on its range, and its rank.

    Directions with a variance of at most `smallest` (ties, or all explained by others) are mapped to zero.
    """
    variances, directions = np.linalg.eigh(covariances)
    alive = variances > smallest
    scale = np.where(alive, 1.0 / np.sqrt(np.where(alive, variances, 1.0)), 0.0)
    return scale[:, :, None] * directions.transpose(0, 2, 1), alive.sum(axis=1).astype(np.float64)
