r"""Adjusting for a set of variables: ridge regression on its columns, each response with its own penalty.

With D (n, p) the centred design of the set (`set_design`), :math:`D^\top \mathrm{diag}(p) D = V \Lambda
V^\top` its covariance under the probabilities of the samples, and :math:`c = V^\top D^\top
\mathrm{diag}(p)\, r`, the regression of a response r has the coefficients :math:`V (\Lambda + \lambda)^{-1}
c` and :math:`\sum_i \Lambda_i / (\Lambda_i + \lambda)` parameters. Generalised cross-validation chooses
:math:`\lambda` for each response on a grid, and the next smaller one is used: for a test, an effect of S
that remains in both residuals is worse than a few more parameters.

One decomposition serves all responses. Sums are computed by blocks of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.special import ndtri

from dcd.features.rank_scores import LINEAR, Scores, SmoothColumns, normal_scores
from dcd.independence.set_design import Rows, design_for, order_by_nearness
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import Part, effective_sample_size

SMALLEST_VARIANCE = 1e-6  # of a residual score that can still be tested
PENALTIES = 10.0 ** np.arange(-6.0, 0.6, 0.5)
MOST_PARAMETERS = 0.4  # of the effective sample size
_FEWEST_DEGREES = 5
_NOTHING = 1e-10  # of the largest variance: below it, a direction is not part of the design
_FINEST = 2.0**-17  # step of the grid on which many residuals are ranked


@dataclass(frozen=True)
class Fit:
    """A regression of q responses: their means, coefficients (p, q) and penalties."""

    mean: FloatArray
    coefficients: FloatArray
    penalties: Positions


class Adjustment:
    """Regression on a design under probabilities of the samples, by default those of the scores."""

    def __init__(self, scores: Scores, given: Sequence[int], probabilities: FloatArray | None = None) -> None:
        self.scores = scores
        self.probabilities = scores.probabilities if probabilities is None else probabilities
        self.ess = effective_sample_size(self.probabilities) / scores.design_effect
        self.given = tuple(given)
        self.design = scores.matrix(*design_for(scores, given))
        self._mean, self.variances, self._directions = self._decomposed()

    @property
    def n_columns(self) -> int:
        """Number of columns of the design, p."""
        return self.design.n_columns

    def _decomposed(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Means of the columns, and the eigenvalues (decreasing) and eigenvectors of their covariance.

        In double precision: with sums in single precision, columns that depend on each other would have
        eigenvalues further below zero than the smallest penalty can compensate.
        """
        gram, mean = np.zeros((self.n_columns, self.n_columns)), np.zeros(self.n_columns)
        for rows in self.scores.blocks:
            part = self.design.part(rows).astype(np.float64, copy=False)
            scaled = np.sqrt(self.probabilities[rows, None]) * part
            gram += scaled.T @ scaled  # NumPy computes half of the product of a matrix with itself
            mean += self.probabilities[rows] @ part
        variances, directions = np.linalg.eigh(gram - np.outer(mean, mean))
        variances, directions = variances[::-1], directions[:, ::-1]
        alive = variances > _NOTHING * max(variances[0] if len(variances) else 0.0, _NOTHING)
        return mean, variances[alive], directions[:, alive]

    @cached_property
    def next_row(self) -> Rows:
        """For each row (n,) another one that is close in the space of the set: a permutation."""
        order = order_by_nearness(self.scores, self.given)
        following = np.empty_like(order)
        following[order] = np.roll(order, -1)
        return following

    @cached_property
    def parameters(self) -> FloatArray:
        """Effective number of parameters under each penalty."""
        shares: FloatArray = self.variances / (self.variances + PENALTIES[:, None])
        return shares.sum(axis=1)

    @property
    def can_test(self) -> bool:
        """Whether the effective sample size is large enough for a test."""
        return bool(self.ess - self.parameters[-1] - 1.0 >= _FEWEST_DEGREES)

    def fit(self, responses: Part, n_responses: int) -> Fit:
        """The regression of responses (n, q)."""
        mean, squares = np.zeros((2, n_responses))
        cross = np.zeros((self.n_columns, n_responses))
        for rows, shares in self.scores.weighted(self.probabilities):
            part = responses(rows)
            weighted = shares * part
            mean += weighted.sum(axis=0, dtype=np.float64)
            squares += np.einsum("bq,bq->q", weighted, part, dtype=np.float64)
            if self.n_columns:
                cross += self.design.part(rows).T @ weighted
        along = self._directions.T @ (cross - np.outer(self._mean, mean))
        chosen = self._chosen(np.square(along), squares - np.square(mean))
        damped = along / (self.variances[:, None] + PENALTIES[chosen])
        return Fit(mean, self._directions @ damped, chosen)

    @cached_property
    def _explained(self) -> FloatArray:
        """The variance that regression explains under each penalty, per squared c along each direction."""
        inverse = 1.0 / (self.variances + PENALTIES[:, None])
        explained: FloatArray = inverse * (2.0 - inverse * self.variances)
        return explained

    def _chosen(self, squares: FloatArray, total: FloatArray) -> Positions:
        """The penalty of each response, by position, from the squares of c (p, q) and the variances (q,)."""
        left = np.maximum(total - self._explained @ squares, 0.0)
        share = self.parameters / self.ess
        affordable = share <= MOST_PARAMETERS
        affordable[-1] = True
        score = left / np.square(np.maximum(1.0 - share, 1e-3))[:, None]
        score[~affordable] = np.inf
        chosen: Positions = np.maximum(score.argmin(axis=0) - 1, int(affordable.argmax()))
        return chosen

    def residuals(self, fit: Fit, rows: slice, responses: FloatArray) -> FloatArray:
        """Some rows of the residuals of the responses."""
        part = responses - fit.mean.astype(responses.dtype)
        if self.n_columns:
            part -= (fit.coefficients.astype(part.dtype).T @ self.design.part(rows).T).T
            part += (self._mean @ fit.coefficients).astype(part.dtype)
        return part

    def components(self, rows: slice, n_components: int) -> FloatArray:
        """Some rows of the leading principal components of the set, of variance 1."""
        scaled = self._directions[:, :n_components] / np.sqrt(self.variances[:n_components])
        part = self.design.part(rows)
        return (scaled.astype(part.dtype).T @ part.T).T - (self._mean @ scaled).astype(part.dtype)

    def inflation(self, first: Positions, second: Positions) -> FloatArray:
        r"""The factor by which the variance of a sum of products of residuals exceeds its naive estimate.

        With :math:`M = (1 - H)^2` the matrix that turns noise into residuals on each side, the variance is
        :math:`\mathrm{tr}(M_x M_y)`, and its estimate :math:`\mathrm{tr}(M_x) \mathrm{tr}(M_y) / n`.

        Parameters
        ----------
        first, second : the penalties of the two sides, by position, of the same shape.
        """
        lost = [1.0 - self.shrunk(penalties) for penalties in (first, second)]
        both = 1.0 - (1.0 - lost[0]) * (1.0 - lost[1])
        room = [np.maximum(self.ess - part.sum(axis=-1), 0.1 * self.ess) for part in (*lost, both)]
        return self.ess * room[2] / (room[0] * room[1])

    def shrunk(self, penalties: Positions) -> FloatArray:
        """The eigenvalues of M along the directions of the design."""
        penalty = PENALTIES[penalties][..., None]
        shrunk: FloatArray = np.square(penalty / (self.variances + penalty))
        return shrunk


def residual_scores(adjustment: Adjustment, variables: Sequence[int]) -> list[SmoothColumns]:
    """Functions of the ranks of the residuals of normal scores, for continuous variables.

    Scores of residuals rather than residuals of scores: the square of a sum of two causes contains their
    product, the square of its residuals does not.
    """
    scores = adjustment.scores
    normal = [(v, (LINEAR,)) for v in variables]
    fit = adjustment.fit(lambda rows: scores.part(rows, normal), len(variables))
    residuals = scores.memory.array((scores.n_samples, len(variables)), scores.dtype)
    for rows in scores.blocks:
        residuals[rows] = adjustment.residuals(fit, rows, scores.part(rows, normal))
    # One array for all, because a memory limit may move it to a file.
    store = scores.memory.array((scores.n_samples, 2 * len(variables)), scores.dtype)
    for index, column in enumerate(residuals.T):
        store[:, 2 * index : 2 * index + 2] = _scores_of_residuals(column)
    return [SmoothColumns(store[:, start : start + 2]) for start in range(0, store.shape[1], 2)]


def _scores_of_residuals(residuals: FloatArray) -> FloatArray:
    """The scores z and u (n, 2) of residuals, rounded so that ties of categories stay ties."""
    if np.square(residuals).mean(dtype=np.float64) <= SMALLEST_VARIANCE:
        return np.tile(np.array([0.0, 0.5], dtype=residuals.dtype), (len(residuals), 1))
    if residuals.dtype == np.float64:
        return normal_scores(np.round(residuals, 9))
    scores = np.empty((len(residuals), 2), dtype=residuals.dtype, order="F")
    scores[:, 1] = u = _grid_ranks(residuals)
    scores[:, 0] = ndtri(u)
    return scores


def _grid_ranks(values: FloatArray) -> FloatArray:
    """(rank - 1/2) / n of values on a fine grid, by counting: in time proportional to n."""
    low, high = float(values.min()), float(values.max())
    step = max(_FINEST, (high - low) / (2 * len(values)))
    cells = ((values - values.dtype.type(low)) * values.dtype.type(1.0 / step)).astype(np.int32)
    counts = np.bincount(cells)
    middle: FloatArray = (np.cumsum(counts) - 0.5 * counts) / len(values)
    return middle[cells]
