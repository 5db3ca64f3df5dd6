"""Structure left by adjustment: whether the residuals of nearby rows resemble each other.

The residual score of each row is compared with the mean over its nearest rows in the space of the set S. If
the residuals of x are partly a function of S, the two are correlated; if not, their correlation is 0 or,
because ridge regression has used all rows, slightly negative. If the residuals of x *and* of y contain such a
function of S, their association may be due to S. Rows of one group resemble each other anyway, so nearest
rows are taken from other groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import log_ndtr

from dcd.features.rank_scores import Scores
from dcd.independence.adjustment import Adjustment
from dcd.independence.residual_columns import ResidualColumns
from dcd.independence.set_design import Rows, SetPoints
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import MANY_ROWS, SAMPLE_ROWS, Part, group_sums

_NEAREST = 5
_MOST_OF_A_GROUP = 50  # rows of the same group that are skipped
_MARGIN = 10.0  # factor on the squared correlation that structure can explain
_JITTER, _SEED = 1e-6, 5  # far below the distances of different points


@dataclass(frozen=True)
class Structure:
    """The structure of a set that remains in the residuals of variables (v,).

    Attributes
    ----------
    log_pvalues : for the hypothesis that the residuals do not depend on the set.
    shares : share of their variance that is a function of the set.
    """

    log_pvalues: FloatArray
    shares: FloatArray

    def may_explain(self, log_pvalue: float, ess: float, level: float) -> bool:
        """Whether an association of two variables may be due to structure of the set in both residuals.

        Shares s and t can produce a correlation of at most sqrt(s t). Nearby rows are not at the same point,
        so the shares are underestimated; hence the margin.
        """
        squared_correlation = -2.0 * log_pvalue / ess
        bound = _MARGIN * float(np.prod(np.maximum(self.shares, 0.0)))
        return bool(self.log_pvalues.max() < np.log(level)) and squared_correlation <= bound


class Neighbours:
    """The nearest rows of each row in the space of a set that is adjusted for.

    Attributes
    ----------
    chosen, groups, shares : (n,) the rows that are used, by position, with their groups and their shares.
    nearest : (n, 5) by position among these.
    """

    def __init__(self, adjustment: Adjustment) -> None:
        self.adjustment, scores = adjustment, adjustment.scores
        self.chosen = np.arange(scores.n_samples)
        if scores.n_samples > MANY_ROWS:
            self.chosen = np.linspace(0, scores.n_samples - 1, SAMPLE_ROWS).astype(np.intp)
        self.groups = None if scores.groups is None else scores.groups[self.chosen]
        points = SetPoints([scores.variables[v] for v in adjustment.given], scores.dtype).at(self.chosen)
        self.nearest = _nearest(points, self.groups)
        self.shares = adjustment.probabilities[self.chosen] / adjustment.probabilities[self.chosen].sum()

    @cached_property
    def alike(self) -> FloatArray:
        """Similarity (c,) of a row and its nearest rows in each component of the set, summed over these."""
        adjustment, n_components = self.adjustment, len(self.adjustment.variances)
        every = _at(self.chosen, adjustment.scores, lambda rows: adjustment.components(rows, n_components))
        alike = np.zeros(n_components)
        blocks = adjustment.scores.memory.blocks(n_components, 4 * every.itemsize * len(every), n_components)
        for some in blocks:
            components = np.ascontiguousarray(every[:, some])
            near = components[self.nearest[:, 0]]
            for column in self.nearest.T[1:]:
                near += components[column]
            near *= components
            alike[some] = self.shares @ near
        return alike

    @cached_property
    def most_alike(self) -> float:
        """An upper bound on `alike`: products are at most half of the sum of both squares."""
        near = np.bincount(self.nearest.reshape(-1), np.repeat(self.shares, self.nearest.shape[1]))
        together = self.nearest.shape[1] * self.shares
        together[: len(near)] += near
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(0.5 * np.nan_to_num(together / self.adjustment.probabilities[self.chosen]).max())


def may_explain(columns: ResidualColumns, neighbours: Neighbours, log_pvalue: float, level: float) -> bool:
    """Whether structure of the set may explain the association of two variables.

    A bound comes first: the similarity of rows in all components takes longer than the rest.
    """
    ess = columns.adjustment.scores.ess
    bound = _structure(columns, neighbours, np.full(len(columns.adjustment.variances), neighbours.most_alike))
    return bound.may_explain(log_pvalue, ess, level) and structure(columns, neighbours).may_explain(
        log_pvalue, ess, level
    )


def structure(columns: ResidualColumns, neighbours: Neighbours) -> Structure:
    """The structure that adjustment for a set has left in the residuals of each variable."""
    return _structure(columns, neighbours, neighbours.alike)


def _structure(columns: ResidualColumns, neighbours: Neighbours, alike: FloatArray) -> Structure:
    """The structure in residuals, with the similarity of nearby rows in each component."""
    shares = neighbours.shares
    leads = _at(
        neighbours.chosen,
        columns.adjustment.scores,
        lambda rows: columns.part(rows)[:, columns.lead].transpose(2, 0, 1),
    )
    likeness = (leads * _weighted_mean(leads, neighbours.nearest, shares)).sum(axis=2)
    expected = _expected_likeness(columns, alike, neighbours.nearest.shape[1])
    squares = np.square(shares) @ np.square(likeness)
    if neighbours.groups is not None:
        squares = np.square(group_sums(shares[:, None] * likeness, neighbours.groups)).sum(axis=0)
    spread = np.sqrt(squares)
    z = (shares @ likeness - expected) / np.where(spread > 0, spread, np.inf)
    variance = shares @ np.square(leads).sum(axis=2)
    return Structure(log_ndtr(-z), (shares @ likeness - expected) / np.maximum(variance, 1e-300))


def _at(chosen: Rows, scores: Scores, make: Part) -> FloatArray:
    """Some rows of a matrix that is computed a block at a time; in a file if memory is limited."""
    whole, end = np.empty(0), 0
    for rows in scores.blocks:
        inside = chosen[(chosen >= rows.start) & (chosen < rows.stop)] - rows.start
        part = make(rows)[inside]
        if not end:
            whole = scores.memory.array((len(chosen), *part.shape[1:]))
        whole[end : end + len(part)] = part
        end += len(part)
    return whole


def _weighted_mean(leads: FloatArray, nearest: Rows, shares: FloatArray) -> FloatArray:
    """The mean (n, v, l) of the leads of the nearest rows, weighted by their shares."""
    weights = shares[nearest] + 1e-300
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("nk,nkvl->nvl", weights, leads[nearest])


def _expected_likeness(columns: ResidualColumns, alike: FloatArray, n_nearest: int) -> FloatArray:
    r"""The mean product (v,) of neighbouring residuals of noise, which is below 0.

    Adjusted twice, residuals of noise have the covariance :math:`\sigma^2 (1 - H)^4`. With f the shrinkage
    along each component of the set, and r the similarity of nearby rows in it, this gives
    :math:`-\sigma^2 \sum (1 - f^4) r / n`.
    """
    adjustment = columns.adjustment
    lost = 1.0 - np.square(adjustment.shrunk(columns.penalties))
    noise = 1.0 / np.maximum(1.0 - lost.sum(axis=1) / adjustment.ess, 0.1)
    expected: FloatArray = -noise * (lost @ alike) / (n_nearest * adjustment.ess)
    return expected


def _nearest(points: FloatArray, groups: Positions | None = None) -> Rows:
    """The nearest rows (n, 5) of each row, excluding itself and, if there are others, those of its group."""
    n_samples = len(points)
    passed = 0 if groups is None else min(int(np.bincount(groups).max()) - 1, _MOST_OF_A_GROUP)
    k = min(_NEAREST + passed, n_samples - 1)
    # If many rows are at the same point, each should have different nearest rows.
    points = points + _JITTER * np.random.default_rng(_SEED).standard_normal(points.shape)
    indices = cKDTree(points).query(points, k=k + 1)[1]
    # Among equal points the row itself may come last, or be missing.
    itself = indices == np.arange(n_samples)[:, None]
    itself[~itself.any(axis=1), -1] = True
    nearest = indices[~itself].reshape(n_samples, k)
    if groups is None:
        return nearest
    others_first = np.argsort(groups[nearest] == groups[:, None], axis=1, kind="stable")
    return np.take_along_axis(nearest, others_first, axis=1)[:, :_NEAREST]
