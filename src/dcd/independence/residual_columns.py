r"""The adjusted columns of some variables that are tested against each other.

Each variable has two systems of columns of variance 1, which share their first columns:

* *of residuals*: the normal score of the residuals of the variable given the set (the *lead*), then Legendre
  polynomials of the ranks of these residuals;
* *of values*: the lead, then Legendre polynomials of the ranks of the variable itself.

All are adjusted for the set. A curve such as y = x^2 is one function of the values of x, but in terms of the
residuals of x it varies with the set; residuals in turn show a spread that depends on x, or the remainder of
a sum of causes. A variable with few values has no meaningful ranks of residuals: its lead is a column of its
order (ordinal) or all of its indicators (nominal), and both systems are its adjusted indicators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from dcd.features.rank_scores import BULK_SQUARE, LINEAR, N_TESTED, SQUARE, SmoothColumns, VariableScores
from dcd.features.whitening import whiteners
from dcd.independence.adjustment import SMALLEST_VARIANCE, Adjustment, Fit, residual_scores
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import Part

_CURVES = tuple(range(BULK_SQUARE, N_TESTED))  # Legendre polynomials of degree 2 to 6
# Some rows of the columns of one variable side by side, and how many are leads, curves, tails, own curves.
Maker = tuple[Part, tuple[int, int, int, int]]


class ResidualColumns:
    """Columns (v, k, n) of v variables, with variance 1 or, if a variable has no such column, 0.

    Attributes
    ----------
    variables : by position in the table.
    lead, curves : which of the k columns are the lead, and which the rest of the system of residuals.
    tail : which is z² - 1 of the residuals.
    own_curves : which are the rest of the system of values.
    varies : (v, k) which columns a variable has.
    penalties : (v,) of the lead of each variable, by position.
    """

    def __init__(self, adjustment: Adjustment, variables: Sequence[int]) -> None:
        self.adjustment, self.variables = adjustment, list(variables)
        makers = self._makers()
        widths = [max(of_kind) for of_kind in zip(*(n_columns for _, n_columns in makers), strict=True)]
        starts = np.cumsum([0, *widths])
        self.lead, self.curves, self.tail, self.own_curves = (
            slice(start, start + width) for start, width in zip(starts, widths, strict=False)
        )
        self.width = sum(widths)
        n_columns, scores = len(self.variables) * self.width, adjustment.scores
        # Bound methods would keep this object and its adjustment alive until the next garbage collection.
        raw = scores.matrix(partial(_raw, makers, starts, scores.dtype), n_columns).part
        fit = adjustment.fit(raw, n_columns)
        self.penalties: Positions = fit.penalties.reshape(-1, self.width)[:, 0]
        self._adjusted = scores.matrix(partial(_adjusted, adjustment, fit, raw), n_columns)
        self._scale = self._scales()
        self.varies = (self._scale > 0).reshape(-1, self.width)
        self._maps = self._whiteners([n_columns[0] for _, n_columns in makers])

    def _makers(self) -> list[Maker]:
        """How to compute the columns of each variable."""
        scores = self.adjustment.scores
        smooth = [v for v in self.variables if scores.variables[v].codes is None]
        residuals = {}
        if self.adjustment.n_columns and smooth:
            residuals = dict(zip(smooth, residual_scores(self.adjustment, smooth), strict=True))
        return [_maker(scores.variables[v], residuals.get(v)) for v in self.variables]

    def _scales(self) -> FloatArray:
        """(v k,) the scale that makes the variance of each column 1; 0 for those that the set determines."""
        squares = np.zeros(len(self.variables) * self.width)
        for rows, shares in self.adjustment.scores.weighted(self.adjustment.probabilities):
            part = self._adjusted.part(rows)
            squares += np.einsum("bq,bq->q", shares * part, part, dtype=np.float64)
        varies = (squares > SMALLEST_VARIANCE).reshape(-1, self.width)
        # Without a lead, curves would be artefacts of rounding and of the penalty.
        varies &= varies[:, self.lead].any(axis=1, keepdims=True)
        return varies.reshape(-1) / np.sqrt(np.maximum(squares, SMALLEST_VARIANCE))

    def _whiteners(self, n_leads: Sequence[int]) -> dict[int, FloatArray]:
        """For each variable with several leads, by position, the map (k, k) that makes them orthonormal.

        The statistic of two nominal variables is then Pearson's chi-square, whichever category has no column.
        """
        several = [index for index, n in enumerate(n_leads) if n > 1]
        if not several:
            return {}
        width = self.lead.stop - self.lead.start
        covariances = np.zeros((len(several), width, width))
        for rows, shares in self.adjustment.scores.weighted(self.adjustment.probabilities):
            leads = self._scaled(rows)[several, self.lead]
            covariances += leads @ (leads * shares[:, 0]).swapaxes(1, 2)
        maps = np.zeros((len(self.variables), width, width), dtype=self.adjustment.scores.dtype)
        for index, covariance in zip(several, covariances, strict=True):
            n = n_leads[index]
            whitener, ranks = whiteners(covariance[None, :n, :n], SMALLEST_VARIANCE)
            # In the order of decreasing variance, so that directions that the set determines come last.
            maps[index, :n, :n] = whitener[0, ::-1]
            self.varies[index, self.lead] = np.arange(width) < ranks[0]
        return {index: maps[index] for index in several}

    def _scaled(self, rows: slice) -> FloatArray:
        part = self._adjusted.part(rows).T * self._scale.astype(self.adjustment.scores.dtype)[:, None]
        return part.reshape(len(self.variables), self.width, -1)

    def part(self, rows: slice) -> FloatArray:
        """Some rows, (v, k, b)."""
        part = self._scaled(rows)
        for index, whitener in self._maps.items():
            part[index, self.lead] = whitener @ part[index, self.lead]
        return part


def _raw(makers: Sequence[Maker], starts: Positions, dtype: np.dtype[Any], rows: slice) -> FloatArray:
    """Some rows (b, v k) before adjustment, of v variables with k columns each."""
    raw: FloatArray = np.zeros((len(makers), starts[-1], rows.stop - rows.start), dtype=dtype)
    for of_variable, (make, widths) in zip(raw, makers, strict=True):
        made, end = make(rows), 0
        for start, width in zip(starts, widths, strict=False):
            of_variable[start : start + width] = made[:, end : end + width].T
            end += width
    return raw.reshape(-1, raw.shape[-1]).T


def _adjusted(adjustment: Adjustment, fit: Fit, raw: Part, rows: slice) -> FloatArray:
    return adjustment.residuals(fit, rows, raw(rows))


def _maker(variable: VariableScores, residuals: SmoothColumns | None) -> Maker:
    """How to compute lead, curves, tail and the curves of values, with or without residuals."""
    if residuals is not None:
        return partial(_of_residuals, variable, residuals), (1, len(_CURVES), 1, len(_CURVES))
    smooth = variable.codes is None
    columns = (LINEAR, *_CURVES) if smooth else variable.adjusters
    n_lead = len(columns) if variable.kind == "nominal" else 1
    tail, rest = (SQUARE,) if smooth else (), columns[n_lead:]
    widths = (n_lead, len(rest), len(tail), len(rest))
    return partial(variable.part, columns=(*columns, *tail, *rest)), widths


def _of_residuals(variable: VariableScores, residuals: SmoothColumns, rows: slice) -> FloatArray:
    of_residuals = residuals(rows, N_TESTED)[:, [LINEAR, *_CURVES, SQUARE]]
    return np.hstack([of_residuals, variable.part(rows, _CURVES)])
