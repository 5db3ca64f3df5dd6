r"""Adjusting for a set of variables: regression on their scores, and the scores of what is left.

Measurements are adjusted for by smooth functions of each, about the square root of n in all; variables of few
values by every combination of their values, as long as the sample affords it.

Nothing here holds a matrix of all rows but the design of one set, if that is small, and two numbers a row
for each variable that is tested: the rest are sums over blocks of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.special import ndtri

from dcd.arrays import FloatArray
from dcd.blocks import BlockMatrix, Part
from dcd.scores import (
    LINEAR,
    MANY_ROWS,
    N_TESTED,
    CodeColumns,
    Codes,
    Scores,
    SmoothColumns,
    VariableScores,
    normal_scores,
    standardised_columns,
)

RIDGE = 1e-7  # on scores of variance 1; keeps collinear adjusters from blowing up
SMALLEST_VARIANCE = 1e-6  # of a residual score that still can be tested
MOST_ADJUSTERS = 1 / 3  # of the sample
_FEWEST_ADJUSTERS = 5  # of a variable
_FEWEST_IN_A_CELL = 10  # samples, on average, to adjust for every combination of values
_MOST_CELLS = 1000
_FINEST, _MOST_STEPS = 2.0**-17, 2**21  # of the grid on which many residuals are ranked


def design_for(scores: Scores, given: Sequence[int]) -> BlockMatrix:
    """All scores of a set that the sample affords."""
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
    """Columns that tell every combination of the variables of few values in a set apart.

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
    """Columns to adjust for, of each of some variables.

    About the square root of n in all, shared by the variables, but at least five of each while that is less
    than a third of the sample: one variable that decides another almost alone (low noise) needs many, and
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
    """Regression on a design under probabilities of the samples, equal to those of the scores or other ones.

    Coefficients come from sums over all rows.
    """

    def __init__(self, scores: Scores, design: BlockMatrix, probabilities: FloatArray | None = None) -> None:
        self.scores, self.design = scores, design
        self.probabilities = scores.probabilities if probabilities is None else probabilities

    @property
    def n_columns(self) -> int:
        """Number of adjusters, p."""
        return self.design.n_columns

    @cached_property
    def mean(self) -> FloatArray:
        """(p,) of the adjusters."""
        return self._moments[0]

    @cached_property
    def gram(self) -> FloatArray:
        """(p, p) covariance of the adjusters."""
        return self._moments[1]

    @cached_property
    def _moments(self) -> tuple[FloatArray, FloatArray]:
        mean, gram = np.zeros(self.n_columns), np.zeros((self.n_columns, self.n_columns))
        for rows, shares in self.scores.weighted(self.probabilities):
            part = self.design.part(rows)
            weighted = shares * part
            mean += weighted.sum(axis=0, dtype=np.float64)
            gram += part.T @ weighted
        return mean, gram - np.outer(mean, mean)

    def centred(self, rows: slice) -> FloatArray:
        """Some rows of the adjusters, without their means."""
        part = self.design.part(rows)
        return part - self.mean.astype(part.dtype)

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
        """Of the regression of responses (n, q) of mean 0."""
        cross = np.zeros((self.n_columns, n_responses))
        if self.n_columns:
            for rows, shares in self.scores.weighted(self.probabilities):
                cross += self.centred(rows).T @ (shares * responses(rows))
        return self.solve(cross)

    def left_of(self, variables: Sequence[int]) -> list[SmoothColumns]:
        """Of measurements: functions of the ranks of their normal scores, once these are adjusted.

        Scores of residuals rather than residuals of scores: the square of a sum of two causes contains their
        product, the square of what is left does not.
        """
        scores = self.scores
        normal = [(v, (LINEAR,)) for v in variables]
        coefficients = self.coefficients(lambda rows: scores.part(rows, normal), len(variables))
        left = scores.memory.array((scores.n_samples, len(variables)), scores.dtype)
        for rows in scores.blocks:
            part = scores.part(rows, normal)
            left[rows] = part - self.centred(rows) @ coefficients.astype(part.dtype)
        return [SmoothColumns(_residual_scores(column)) for column in left.T]


def _residual_scores(left: FloatArray) -> FloatArray:
    """z and u (n, 2) of residuals; ties of categories must stay ties, so rounding is rounded away."""
    if np.square(left).mean(dtype=np.float64) <= SMALLEST_VARIANCE:
        return np.tile(np.array([0.0, 0.5], dtype=left.dtype), (len(left), 1))
    if len(left) <= MANY_ROWS:
        return normal_scores(np.round(left, 9))
    u = _grid_ranks(left)
    return np.column_stack([ndtri(u), u]).astype(left.dtype)


def _grid_ranks(values: FloatArray) -> FloatArray:
    """(rank - 1/2) / n of values on a fine grid, by counting: in time proportional to n."""
    low, high = float(values.min()), float(values.max())
    step = max(_FINEST, (high - low) / _MOST_STEPS)
    places = ((values - values.dtype.type(low)) * values.dtype.type(1.0 / step)).astype(np.int32)
    counts = np.bincount(places)
    middle = np.cumsum(counts) - 0.5 * counts
    found: FloatArray = (middle / len(values))[places]
    return found


class Tested:
    """Scores of what is left of some variables, (n, v, k), adjusted once more, and their covariances.

    What is left of a variable of few values has no ranks to speak of, so its columns are adjusted as they
    are. A variable that the set decides has no scores.

    Attributes
    ----------
    left, right : places, among the variables, of those that are tested against each other.
    own : (v, k, k) covariance of the scores of each variable.
    across : (l, r, k, k) covariances of those on the left with those on the right.
    """

    def __init__(self, adjustment: Adjustment, left: Sequence[int], right: Sequence[int]) -> None:
        self.adjustment = adjustment
        self.variables = sorted({*left, *right})
        self.left = [self.variables.index(v) for v in left]
        self.right = [self.variables.index(v) for v in right]
        self._makers = self._prepared()
        self.width = max([N_TESTED, *(n for _, n in self._makers)])
        self._sum_up()

    def _prepared(self) -> list[tuple[Part, int]]:
        """For each variable, how its columns are made before they are adjusted, and their number."""
        scores = self.adjustment.scores
        smooth = [v for v in self.variables if scores.variables[v].codes is None]
        left: dict[int, SmoothColumns] = {}
        if self.adjustment.n_columns and smooth:
            left = dict(zip(smooth, self.adjustment.left_of(smooth), strict=True))
        makers: list[tuple[Part, int]] = []
        for v in self.variables:
            if v in left:
                makers.append((_first(left[v]), N_TESTED))
            else:
                chosen = range(N_TESTED) if v in smooth else scores.variables[v].adjusters
                makers.append((_chosen(scores.variables[v], chosen), len(chosen)))
        return makers

    def _raw(self, rows: slice) -> FloatArray:
        """Some rows before the second adjustment, (v, b, k)."""
        n_rows = rows.stop - rows.start
        raw = np.zeros((len(self.variables), n_rows, self.width), dtype=self.adjustment.scores.dtype)
        for place, (make, n_columns) in enumerate(self._makers):
            raw[place, :, :n_columns] = make(rows)
        return raw

    def _sum_up(self) -> None:
        adjustment, n_variables = self.adjustment, len(self.variables)
        mean = np.zeros((n_variables, self.width))
        own = np.zeros((n_variables, self.width, self.width))
        across = np.zeros((len(self.left), len(self.right), self.width, self.width))
        cross = np.zeros((n_variables, adjustment.n_columns, self.width))
        for rows, shares in adjustment.scores.weighted(adjustment.probabilities):
            raw = self._raw(rows)
            weighted = shares * raw
            mean += weighted.sum(axis=1, dtype=np.float64)
            own += raw.transpose(0, 2, 1) @ weighted
            across += raw[self.left].transpose(0, 2, 1)[:, None] @ weighted[self.right][None]
            if adjustment.n_columns:
                cross += adjustment.centred(rows).T @ weighted
        own -= mean[:, :, None] * mean[:, None, :]
        across -= mean[self.left][:, None, :, None] * mean[self.right][None, :, None, :]
        self.mean, self.cross, self.raw_own = mean, cross, own
        self.coefficients = np.stack([adjustment.solve(part) for part in cross])
        self.own = own - self._explained(range(n_variables), range(n_variables), paired=True)
        self.across = across - self._explained(self.left, self.right, paired=False)

    def _explained(self, left: Sequence[int], right: Sequence[int], *, paired: bool) -> FloatArray:
        """By how much adjusting changes covariances: of each left with its right one, or with all of them."""
        first, second = self.coefficients[list(left)], self.coefficients[list(right)]
        ahead, behind = self.cross[list(left)], self.cross[list(right)]
        left_ones, right_ones = (first, ahead), (second, behind)
        if not paired:
            left_ones = (first[:, None], ahead[:, None])
            right_ones = (second[None], behind[None])
        turned = tuple(part.swapaxes(-1, -2) for part in left_ones)
        change: FloatArray = (
            turned[0] @ right_ones[1]
            + turned[1] @ right_ones[0]
            - turned[0]
            @ (self.adjustment.gram @ right_ones[0] if self.adjustment.n_columns else right_ones[0])
        )
        return change

    def part(self, rows: slice) -> FloatArray:
        """Some rows of the scores, (v, b, k)."""
        raw = self._raw(rows)
        raw -= self.mean[:, None, :].astype(raw.dtype)
        if self.adjustment.n_columns:
            raw -= self.adjustment.centred(rows) @ self.coefficients.astype(raw.dtype)
        return raw


def _first(columns: SmoothColumns) -> Part:
    return lambda rows: columns(rows, N_TESTED)


def _chosen(variable: VariableScores, columns: Sequence[int]) -> Part:
    return lambda rows: variable.part(rows, columns)
