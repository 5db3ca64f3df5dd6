r"""Adjusting for a set of variables: regression on their scores, and the scores of the residuals.

Measurements are adjusted for by smooth functions of each, about the square root of n in all; variables of few
values by every combination of their values, as long as the sample affords it.

The design of one set, if it is small, and two numbers a row for each tested variable are all that is held of
all rows; the rest are sums over blocks of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from dcd.features.rank_scores import (
    LINEAR,
    N_TESTED,
    CodeColumns,
    Codes,
    Scores,
    SmoothColumns,
    VariableScores,
    normal_scores,
    standardised_columns,
)
from dcd.independence.binned_adjustment import BinnedAdjustment
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import BlockMatrix, Part

RIDGE = 1e-7  # on scores of variance 1; keeps collinear adjusters from blowing up
SMALLEST_VARIANCE = 1e-6  # of a residual score that still can be tested
MOST_ADJUSTERS = 1 / 3  # of the sample
_FEWEST_ADJUSTERS = 5  # of a variable
_FEWEST_IN_A_CELL = 10  # samples, on average, to adjust for every combination of values
_MOST_CELLS = 1000
_FINEST = 2.0**-17  # step of the grid on which many residuals are ranked
_CHUNK = 8  # variables of which products are taken together


def design_for(scores: Scores, given: Sequence[int]) -> BlockMatrix:
    """The design (n, p) of a set: as many of its scores as the sample affords."""
    cells = _cells(scores, given)
    single = [v for v in given if cells is None or scores.variables[v].codes is None]
    columns = _adjusters(scores, single)
    n_single = sum(len(chosen) for _, chosen in columns)
    if cells is None:
        return scores.matrix(lambda rows: scores.part(rows, columns), n_single)
    together = range(len(cells.mean))
    return scores.matrix(
        lambda rows: np.hstack([scores.part(rows, columns), cells.part(rows, together)]),
        n_single + len(together),
    )


def _cells(scores: Scores, given: Sequence[int]) -> VariableScores | None:
    """Columns that distinguish every combination of the variables of few values in a set.

    With them the adjustment is exact where a sum over single variables would not be. None if there are fewer
    than two such variables, or more combinations than the sample affords.
    """
    codes = [code for code in (scores.variables[v].codes for v in given) if code is not None]
    if len(codes) < 2:
        return None
    cells: Codes = np.zeros(scores.n_samples, dtype=np.intp)
    for code in codes:  # renumbered each time, so that the numbers of combinations stay small
        cells = np.unique(cells * (code.max() + 1) + code, return_inverse=True)[1].reshape(-1)
    n_cells = int(cells.max()) + 1
    if n_cells > min(scores.n_samples / _FEWEST_IN_A_CELL, _MOST_CELLS):
        return None
    shown = np.delete(np.arange(n_cells), int(np.bincount(cells).argmax()))
    make = CodeColumns(cells, shown, None, scores.dtype)
    return standardised_columns(make, len(shown), "nominal", cells, scores.probabilities, scores.blocks)


def _adjusters(scores: Scores, variables: Sequence[int]) -> list[tuple[int, Sequence[int]]]:
    """The columns of some variables to adjust for.

    About the square root of n in all, shared by the variables, but at least five of each while that is less
    than a third of the sample: one variable that nearly determines another (low noise) needs many, and
    many variables cannot have as many each.
    """
    if not variables:
        return []
    share = max(np.sqrt(scores.n_samples) / len(variables), _FEWEST_ADJUSTERS)
    affordable = max(1, int(min(share, MOST_ADJUSTERS * scores.n_samples / len(variables))))
    chosen: list[tuple[int, Sequence[int]]] = []
    for v in variables:
        most = affordable if scores.variables[v].codes is None else None
        chosen.append((v, scores.variables[v].adjusters[:most]))
    return chosen


class Adjustment:
    """Regression on a design under probabilities of the samples, those of the scores or other ones.

    Coefficients come from sums over all rows. If rows are many, the residuals are adjusted once more, by
    means in bins of the variables of the set `given`.
    """

    @classmethod
    def to(cls, scores: Scores, given: Sequence[int]) -> Adjustment:
        """For a set, by all of its scores that the sample affords."""
        return cls(scores, design_for(scores, given), given=given)

    def __init__(
        self,
        scores: Scores,
        design: BlockMatrix,
        probabilities: FloatArray | None = None,
        *,
        given: Sequence[int] = (),
    ) -> None:
        self.scores = scores
        self.probabilities = scores.probabilities if probabilities is None else probabilities
        # Under the probabilities of the scores the means of the columns are 0 already.
        self.design = design if probabilities is None else self._centred(design)
        self.bins = BinnedAdjustment(scores, given, self.probabilities)

    def _centred(self, design: BlockMatrix) -> BlockMatrix:
        mean = np.zeros(design.n_columns)
        for rows, shares in self.scores.weighted(self.probabilities):
            mean += (shares[:, 0] @ design.part(rows)).astype(np.float64)
        mean = mean.astype(self.scores.dtype)
        return self.scores.matrix(lambda rows: design.part(rows) - mean, design.n_columns)

    @property
    def n_columns(self) -> int:
        """Number of adjusters, p."""
        return self.design.n_columns

    @property
    def n_parameters(self) -> int:
        """Number of coefficients and means for each column that is adjusted."""
        return self.n_columns + self.bins.n_parameters

    @cached_property
    def gram(self) -> FloatArray:
        """(p, p) covariance of the adjusters.

        In double precision: with sums in single precision, columns that depend on each other have eigenvalues
        further below zero than the ridge makes up for.
        """
        gram = np.zeros((self.n_columns, self.n_columns))
        for rows in self.scores.blocks:
            part = self.design.part(rows).astype(np.float64, copy=False)
            gram += part.T @ (self.probabilities[rows, None] * part)
        return gram

    @cached_property
    def _factor(self) -> Any:
        return cho_factor(self.gram + RIDGE * np.eye(self.n_columns), check_finite=False)

    def solve(self, cross: FloatArray) -> FloatArray:
        """Coefficients, from covariances of adjusters and responses."""
        if not self.n_columns:
            return cross
        coefficients: FloatArray = cho_solve(self._factor, cross, check_finite=False)
        return coefficients

    def coefficients(self, responses: Part, n_responses: int) -> FloatArray:
        """(p, q) of the regression of responses (n, q) of mean 0."""
        cross = np.zeros((self.n_columns, n_responses))
        if self.n_columns:
            for rows, shares in self.scores.weighted(self.probabilities):
                cross += self.design.part(rows).T @ (shares * responses(rows))
        return self.solve(cross)

    def residual_scores(self, variables: Sequence[int]) -> list[SmoothColumns]:
        """Functions of the ranks of the residuals of normal scores, for some measurements.

        Scores of residuals rather than residuals of scores: the square of a sum of two causes contains their
        product, the square of its residuals does not.
        """
        scores = self.scores
        normal = [(v, (LINEAR,)) for v in variables]
        coefficients = self.coefficients(lambda rows: scores.part(rows, normal), len(variables))
        residuals = scores.memory.array((scores.n_samples, len(variables)), scores.dtype)
        for rows in scores.blocks:
            part = scores.part(rows, normal)
            residuals[rows] = part - self.design.part(rows) @ coefficients.astype(part.dtype)
        # One array for all, because a limit on memory may send it to a file.
        store = scores.memory.array((scores.n_samples, 2 * len(variables)), scores.dtype)
        for index, column in enumerate(residuals.T):
            self.bins.subtract_from(column)
            store[:, 2 * index : 2 * index + 2] = _residual_scores(column)
        return [SmoothColumns(store[:, start : start + 2]) for start in range(0, store.shape[1], 2)]


def _residual_scores(residuals: FloatArray) -> FloatArray:
    """The scores z and u (n, 2) of residuals; rounded, because ties of categories must stay ties."""
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


class Residuals:
    """Scores (n, v k) of the residuals of some variables, adjusted once more, and their covariances.

    The residuals of a variable of few values have hardly any ranks, so its columns are adjusted as they are.
    A variable that the set determines has no scores. All variables have as many columns as the one with
    most; where there are fewer, the rest are 0.

    Attributes
    ----------
    variables : all that are tested.
    left, right : positions, among the variables, of those that are tested against each other.
    width : number of columns of a variable, k.
    own : (v, k, k) covariance of the scores of each variable.
    across : (l, r, k, k) covariances of those on the left with those on the right.
    coefficients : (p, v k) of the second adjustment.
    """

    def __init__(self, adjustment: Adjustment, left: Sequence[int], right: Sequence[int]) -> None:
        self.adjustment = adjustment
        self.variables = sorted({*left, *right})
        self.left = [self.variables.index(v) for v in left]
        self.right = [self.variables.index(v) for v in right]
        self._makers = self._prepared()
        self.width = max([N_TESTED, *(n for _, n in self._makers)])
        self._means_in_bins: FloatArray | None = None
        self._adjust()

    def _prepared(self) -> list[tuple[Part, int]]:
        """For each variable, how its columns are made before they are adjusted, and their number."""
        scores = self.adjustment.scores
        smooth = [v for v in self.variables if scores.variables[v].codes is None]
        residuals: dict[int, SmoothColumns] = {}
        if self.adjustment.n_columns and smooth:
            residuals = dict(zip(smooth, self.adjustment.residual_scores(smooth), strict=True))
        makers: list[tuple[Part, int]] = []
        for v in self.variables:
            if v in residuals:
                makers.append((partial(residuals[v], n_columns=N_TESTED), N_TESTED))
            else:
                chosen = range(N_TESTED) if v in smooth else scores.variables[v].adjusters
                makers.append((partial(scores.variables[v].part, columns=chosen), len(chosen)))
        return makers

    def _raw(self, rows: slice) -> FloatArray:
        """Some rows before the second adjustment, (b, v k)."""
        shape = (len(self.variables) * self.width, rows.stop - rows.start)
        raw = np.zeros(shape, dtype=self.adjustment.scores.dtype).T
        for index, (make, n_columns) in enumerate(self._makers):
            start = index * self.width
            raw[:, start : start + n_columns] = make(rows)
        return raw

    def _adjust(self) -> None:
        adjustment, n_columns = self.adjustment, len(self.variables) * self.width
        in_bins = adjustment.bins.n_parameters > 0
        mean, covariances = np.zeros(n_columns), _Covariances(self)
        cross = np.zeros((adjustment.n_columns, n_columns))
        for rows, shares in adjustment.scores.weighted(adjustment.probabilities):
            raw = self._raw(rows)
            weighted = shares * raw
            mean += weighted.sum(axis=0, dtype=np.float64)
            if not in_bins:
                covariances.add(raw, weighted)
            if adjustment.n_columns:
                cross += adjustment.design.part(rows).T @ weighted
        self.mean, self.coefficients = mean, adjustment.solve(cross)
        if in_bins:
            self._adjust_in_bins(covariances)
        else:
            covariances.subtract(mean, self._explained(cross))
        self.own, self.across = covariances.own, covariances.by_pair()

    def _adjust_in_bins(self, covariances: _Covariances) -> None:
        """Subtract the means in bins as well, and sum up the covariances of the result."""
        adjustment, bins = self.adjustment, self.adjustment.bins
        sums = np.zeros(bins.shape(len(self.mean)))
        for rows, shares in adjustment.scores.weighted(adjustment.probabilities):
            bins.add_sums(rows, shares * self.part(rows), sums)
        self._means_in_bins = bins.means(sums).astype(adjustment.scores.dtype)
        for rows, shares in adjustment.scores.weighted(adjustment.probabilities):
            part = self.part(rows)
            covariances.add(part, shares * part)

    def _explained(self, cross: FloatArray) -> Callable[[Sequence[int], Sequence[int]], FloatArray]:
        """By how much adjusting changes the covariances of some columns with others."""
        coefficients = self.coefficients
        fitted = self.adjustment.gram @ coefficients if self.adjustment.n_columns else coefficients

        def change(left: Sequence[int], right: Sequence[int]) -> FloatArray:
            left, right = list(left), list(right)
            explained: FloatArray = cross[:, left].T @ coefficients[:, right]
            return explained + coefficients[:, left].T @ (cross[:, right] - fitted[:, right])

        return change

    def part(self, rows: slice) -> FloatArray:
        """Some rows of the scores, (b, v k)."""
        raw = self._raw(rows)
        raw -= self.mean.astype(raw.dtype)
        if self.adjustment.n_columns:
            raw -= self.adjustment.design.part(rows) @ self.coefficients.astype(raw.dtype)
        if self._means_in_bins is not None:
            raw -= self.adjustment.bins.at(rows, self._means_in_bins)
        return raw


class _Covariances:
    """Covariances within each variable, and of those on the left with all, summed up block by block."""

    def __init__(self, residuals: Residuals) -> None:
        self._residuals = residuals
        n_variables, width = len(residuals.variables), residuals.width
        self._ahead = self._columns(residuals.left)
        self.own = np.zeros((n_variables, width, width))
        self.across = np.zeros((len(self._ahead), n_variables * width))

    def add(self, part: FloatArray, weighted: FloatArray) -> None:
        """Take in some rows (b, v k), as they are and times their shares."""
        width = self._residuals.width
        for start, stop in variable_chunks(len(self.own)):
            chunk = slice(start * width, stop * width)
            self.own[start:stop] += diagonal_blocks(part[:, chunk].T @ weighted[:, chunk], width)
        self.across += part[:, self._ahead].T @ weighted

    def subtract(
        self, mean: FloatArray, explained: Callable[[Sequence[int], Sequence[int]], FloatArray]
    ) -> None:
        """From mean products to covariances of the residuals."""
        for index in range(len(self.own)):
            columns = self._columns([index])
            self.own[index] -= np.outer(mean[columns], mean[columns]) + explained(columns, columns)
        self.across -= np.outer(mean[self._ahead], mean) + explained(self._ahead, range(len(mean)))

    def by_pair(self) -> FloatArray:
        """(l, r, k, k) of each variable on the left with each on the right."""
        residuals, width = self._residuals, self._residuals.width
        blocks = self.across.reshape(len(residuals.left), width, len(self.own), width)
        return blocks[:, :, residuals.right].transpose(0, 2, 1, 3)

    def _columns(self, indices: Sequence[int]) -> list[int]:
        width = self._residuals.width
        return [index * width + column for index in indices for column in range(width)]


def variable_chunks(n_variables: int) -> list[tuple[int, int]]:
    """Variables in groups for which one product of matrices is quicker than one for each."""
    return [(start, min(start + _CHUNK, n_variables)) for start in range(0, n_variables, _CHUNK)]


def diagonal_blocks(matrix: FloatArray, width: int) -> FloatArray:
    """The blocks (c, k, k) on the diagonal of a matrix (c k, c k)."""
    n_blocks = len(matrix) // width
    blocks = matrix.reshape(n_blocks, width, n_blocks, width)
    index = np.arange(n_blocks)
    return blocks[index, :, index]
