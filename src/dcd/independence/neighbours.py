"""Structure that adjustment has left: do the residuals of near rows resemble each other?

For each row the mean residual score of its nearest rows in the space of the set S is compared with its own. If
the residuals of x are a function of S, in part, these are correlated; if not, their correlation is 0 or, as ridge
regression has used all rows, slightly less. Where such a function of S is in the residuals of x *and* of y, their
association may be due to S.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import log_ndtr

from dcd.independence.residual_columns import ResidualColumns
from dcd.independence.set_design import SetPoints
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import MANY_ROWS, SAMPLE_ROWS

_NEAREST = 5


def structure_log_pvalues(columns: ResidualColumns, given: Sequence[int]) -> FloatArray:
    """For each variable (v,), the log p-value that its residuals given a set are no function of the set."""
    scores = columns.adjustment.scores
    n_samples = scores.n_samples
    chosen = np.arange(n_samples)
    if n_samples > MANY_ROWS:
        chosen = np.linspace(0, n_samples - 1, SAMPLE_ROWS).astype(np.intp)
    points = SetPoints([scores.variables[v] for v in given], scores.dtype).at(chosen)
    nearest = _nearest(points)
    leads = np.concatenate([columns.part(rows)[:, :, columns.lead] for rows in scores.blocks])[chosen]
    products = (leads * leads[nearest].mean(axis=1)).sum(axis=2)
    shares = scores.probabilities[chosen, None]
    spread = np.sqrt(np.square(shares * products).sum(axis=0))
    z = (shares * products).sum(axis=0) / np.where(spread > 0, spread, np.inf)
    log_pvalues: FloatArray = log_ndtr(-z)
    return log_pvalues


def _nearest(points: FloatArray) -> np.ndarray:
    """The nearest rows (n, 5) of each row, itself excepted."""
    n_samples = len(points)
    k = min(_NEAREST, n_samples - 1)
    indices = cKDTree(points).query(points, k=k + 1)[1]
    # Among equal points the row itself may come last, or not at all.
    itself = indices == np.arange(n_samples)[:, None]
    itself[~itself.any(axis=1), -1] = True
    return indices[~itself].reshape(n_samples, k)
