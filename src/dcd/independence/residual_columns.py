r"""The adjusted columns of some variables that are tested against each other.

Each variable has two orthonormal systems with the same first columns:

* *of residuals*: the normal score of the residuals of the variable given the set (`LEAD`), then Legendre
  polynomials of the ranks of these residuals;
* *of values*: the lead, then Legendre polynomials of the ranks of the variable itself.

All are adjusted for the set. A bend of y = x^2 is one function of the values of x, where the same in terms of
residuals of x varies with the set; a spread that depends on x, or what is left of a sum of causes, is told by
residuals. A variable of few values has no ranks of residuals worth the name: its lead is a column of its order
(ordinal) or all of its indicators (nominal), and both systems are its adjusted indicators.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from dcd.features.rank_scores import BULK_SQUARE, LINEAR, N_TESTED
from dcd.independence.adjustment import SMALLEST_VARIANCE, Adjustment, residual_scores
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import Part

_CURVES = tuple(range(BULK_SQUARE, N_TESTED))  # Legendre polynomials of degree 2 to 6


class ResidualColumns:
    """Orthonormal columns (n, v, k) of v variables.

    Attributes
    ----------
    variables : by position in the table.
    lead, curves : which of the k columns are the lead, and which the rest of the system of residuals.
    own_curves : which are the rest of the system of values.
    alive : (v, k) whether a variable has a column; the others are 0.
    penalties : (v,) of the lead of each variable, by position.
    """

    def __init__(self, adjustment: Adjustment, variables: Sequence[int]) -> None:
        self.adjustment, self.variables = adjustment, list(variables)
        leads, curves, own = self._makers()
        widths = [max((n for _, n in group), default=0) for group in (leads, curves, own)]
        self._groups = (leads, curves, own)
        self._starts = np.cumsum([0, *widths])
        self.lead, self.curves, self.own_curves = (
            slice(start, start + width) for start, width in zip(self._starts, widths, strict=False)
        )
        self.width = sum(widths)
        self._fit = adjustment.fit(self._raw, len(self.variables) * self.width)
        self.penalties: Positions = self._fit.penalties.reshape(-1, self.width)[:, 0]
        scores = adjustment.scores
        self._adjusted = scores.matrix(self._adjust, len(self.variables) * self.width)
        self._maps, self.alive = self._orthonormal()

    def _makers(self) -> tuple[list[tuple[Part, int]], ...]:
        """For each variable, how its lead, its curves and those of its values are made, and their numbers."""
        scores = self.adjustment.scores
        smooth = [v for v in self.variables if scores.variables[v].codes is None]
        residuals = {}
        if self.adjustment.n_columns and smooth:
            residuals = dict(zip(smooth, residual_scores(self.adjustment, smooth), strict=True))
        leads: list[tuple[Part, int]] = []
        curves: list[tuple[Part, int]] = []
        own: list[tuple[Part, int]] = []
        for v in self.variables:
            variable = scores.variables[v]
            if v in residuals:
                make = residuals[v]
                leads.append((lambda rows, make=make: make(rows, 1), 1))
                curves.append((lambda rows, make=make: make(rows, N_TESTED)[:, list(_CURVES)], len(_CURVES)))
                own.append((partial(variable.part, columns=_CURVES), len(_CURVES)))
                continue
            columns = (LINEAR, *_CURVES) if v in smooth else variable.adjusters
            n_lead = len(columns) if variable.kind == "nominal" else 1
            leads.append((partial(variable.part, columns=columns[:n_lead]), n_lead))
            rest = (partial(variable.part, columns=columns[n_lead:]), len(columns) - n_lead)
            curves.append(rest)
            own.append(rest)
        return leads, curves, own

    def _raw(self, rows: slice) -> FloatArray:
        """Some rows before adjustment, (b, v k)."""
        shape = (rows.stop - rows.start, len(self.variables), self.width)
        raw = np.zeros(shape, dtype=self.adjustment.scores.dtype)
        for start, group in zip(self._starts, self._groups, strict=False):
            for index, (make, n_columns) in enumerate(group):
                if n_columns:
                    raw[:, index, start : start + n_columns] = make(rows)
        return raw.reshape(len(raw), -1)

    def _adjust(self, rows: slice) -> FloatArray:
        return self.adjustment.residuals(self._fit, rows, self._raw(rows))

    def _orthonormal(self) -> tuple[FloatArray, FloatArray]:
        """Maps (v, k, k) of adjusted columns to orthonormal ones, and which of these there are."""
        covariances = np.zeros((len(self.variables), self.width, self.width))
        for rows, shares in self.adjustment.scores.weighted(self.adjustment.probabilities):
            part = self._adjusted.part(rows).reshape(-1, len(self.variables), self.width).transpose(1, 2, 0)
            covariances += part @ (part * shares[:, 0]).swapaxes(1, 2)
        maps, alive = np.zeros_like(covariances), np.zeros(covariances.shape[:2])
        lead = list(range(self.width))[self.lead]
        for rest in (self.curves, self.own_curves):
            columns = lead + list(range(self.width))[rest]
            inside = np.ix_(range(len(self.variables)), columns, columns)
            maps[inside], alive[:, columns] = gram_schmidt(covariances[inside])
        # Of a variable that the set determines, curves would be errors of rounding and of the penalty.
        testable = alive[:, self.lead].any(axis=1)
        return maps * testable[:, None, None], alive * testable[:, None]

    def part(self, rows: slice) -> FloatArray:
        """Some rows, (b, v, k)."""
        part = self._adjusted.part(rows).reshape(-1, len(self.variables), self.width)
        mapped = part.transpose(1, 0, 2) @ self._maps.swapaxes(1, 2).astype(part.dtype)
        return mapped.transpose(1, 0, 2)


def gram_schmidt(covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Maps (v, k, k), lower triangular, of columns with given covariances to orthonormal ones.

    A column without variance beyond those before it is mapped to 0; the second result (v, k) tells which are
    not.
    """
    n_columns = covariances.shape[1]
    maps = np.zeros_like(covariances)
    alive = np.zeros(covariances.shape[:2])
    for column in range(n_columns):
        new = np.zeros(covariances.shape[:2])
        new[:, column] = 1.0
        for _ in range(2):  # twice is enough
            new -= np.einsum("vi,vij->vj", np.einsum("vij,vjk,vk->vi", maps, covariances, new), maps)
        variance = np.einsum("vi,vij,vj->v", new, covariances, new)
        alive[:, column] = variance > SMALLEST_VARIANCE
        scale = np.sqrt(np.where(alive[:, column] > 0, variance, np.inf))
        maps[:, column] = new / scale[:, None]
    return maps, alive
