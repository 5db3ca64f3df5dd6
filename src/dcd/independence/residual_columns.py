r"""The adjusted columns of some variables that are tested against each other.

Each variable has two systems of columns of variance 1, with the same first ones:

* *of residuals*: the normal score of the residuals of the variable given the set (`LEAD`), then Legendre
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
Maker = tuple[Part, int]  # some rows of columns, and their number


class ResidualColumns:
    """Columns (n, v, k) of v variables, with variance 1 or, if a variable has no such column, 0.

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
        self._groups = self._makers()
        widths = [max((n for _, n in group), default=0) for group in self._groups]
        self._starts = np.cumsum([0, *widths])
        self.lead, self.curves, self.tail, self.own_curves = (
            slice(start, start + width) for start, width in zip(self._starts, widths, strict=False)
        )
        self.width = sum(widths)
        n_columns, scores = len(self.variables) * self.width, adjustment.scores
        raw = partial(_raw, self._groups, self._starts, (len(self.variables), self.width), scores.dtype)
        fit = adjustment.fit(raw, n_columns)
        self.penalties: Positions = fit.penalties.reshape(-1, self.width)[:, 0]
        # A method of this object would keep it, with its adjustment, until garbage is collected.
        adjusted = partial(_adjusted, adjustment, fit, raw)
        self._adjusted = scores.matrix(adjusted, n_columns)
        self._scale = self._scales()
        self.varies = (self._scale > 0).reshape(-1, self.width)
        self._maps = self._whiteners()

    def _makers(self) -> list[tuple[Maker, ...]]:
        """How to compute the leads of all variables, then their curves, tails, and curves of their values."""
        scores = self.adjustment.scores
        smooth = [v for v in self.variables if scores.variables[v].codes is None]
        residuals = {}
        if self.adjustment.n_columns and smooth:
            residuals = dict(zip(smooth, residual_scores(self.adjustment, smooth), strict=True))
        made = [_makers_of(scores.variables[v], residuals.get(v)) for v in self.variables]
        return list(zip(*made, strict=True))

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

    def _whiteners(self) -> dict[int, FloatArray]:
        """For each variable with several leads, by position, the map (k, k) that makes them orthonormal.

        The statistic of two nominal variables is then Pearson's chi-square, whichever category has no column.
        """
        several = {index: n_leads for index, (_, n_leads) in enumerate(self._groups[0]) if n_leads > 1}
        width = self.lead.stop - self.lead.start
        covariances = np.zeros((len(several), width, width))
        for rows, shares in self.adjustment.scores.weighted(self.adjustment.probabilities):
            leads = self._scaled(rows)[:, list(several), self.lead].transpose(1, 2, 0)
            covariances += leads @ (leads * shares[:, 0]).swapaxes(1, 2)
        maps = np.zeros((len(self.variables), width, width), dtype=self.adjustment.scores.dtype)
        for (index, n), covariance in zip(several.items(), covariances, strict=True):
            whitener, ranks = whiteners(covariance[None, :n, :n], SMALLEST_VARIANCE)
            # In the order of decreasing variance, so that directions that the set determines come last.
            maps[index, :n, :n] = whitener[0, ::-1]
            self.varies[index, self.lead] = np.arange(width) < ranks[0]
        return {index: maps[index] for index in several}

    def _scaled(self, rows: slice) -> FloatArray:
        part = self._adjusted.part(rows) * self._scale.astype(self.adjustment.scores.dtype)
        return part.reshape(-1, len(self.variables), self.width)

    def part(self, rows: slice) -> FloatArray:
        """Some rows, (b, v, k)."""
        part = self._scaled(rows)
        for index, whitener in self._maps.items():
            part[:, index, self.lead] = part[:, index, self.lead] @ whitener.T
        return part


def _raw(
    groups: Sequence[Sequence[Maker]],
    starts: Positions,
    shape: tuple[int, int],
    dtype: np.dtype[Any],
    rows: slice,
) -> FloatArray:
    """Some rows (b, v k) before adjustment, of v variables with k columns each."""
    raw: FloatArray = np.zeros((rows.stop - rows.start, *shape), dtype=dtype)
    for start, group in zip(starts, groups, strict=False):
        for index, (make, n_columns) in enumerate(group):
            if n_columns:
                raw[:, index, start : start + n_columns] = make(rows)
    return raw.reshape(len(raw), -1)


def _adjusted(adjustment: Adjustment, fit: Fit, raw: Part, rows: slice) -> FloatArray:
    return adjustment.residuals(fit, rows, raw(rows))


def _makers_of(variable: VariableScores, residuals: SmoothColumns | None) -> tuple[Maker, ...]:
    """How to compute lead, curves, tail and the curves of values, with or without residuals."""

    def of_values(columns: Sequence[int]) -> Maker:
        return partial(variable.part, columns=columns), len(columns)

    def of_residuals(make: SmoothColumns, columns: Sequence[int]) -> Maker:
        return lambda rows: make(rows, max(columns) + 1)[:, list(columns)], len(columns)

    if residuals is not None:
        lead, curves, tail = (of_residuals(residuals, chosen) for chosen in ((LINEAR,), _CURVES, (SQUARE,)))
        return lead, curves, tail, of_values(_CURVES)
    smooth = variable.codes is None
    columns = (LINEAR, *_CURVES) if smooth else variable.adjusters
    n_lead = len(columns) if variable.kind == "nominal" else 1
    rest = of_values(columns[n_lead:])
    return of_values(columns[:n_lead]), rest, of_values((SQUARE,) if smooth else ()), rest
