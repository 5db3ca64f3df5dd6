r"""Straight tables: where lines between normal scores are all there is, one correlation matrix says it all.

Is a table straight? Every variable t is regressed on the lines of the variables S that it depends on. If all
is jointly Gaussian up to the scale of each variable, what is left of t is independent of every other
variable. So functions of the ranks of what is left (`rank_scores`: the line and the bulk, whose tails are
light) are correlated with those of every u; the squared correlations, that of the two lines left out, sum up
to chi-square / n with eight degrees of freedom. The smallest of the d (d - 1) p-values, times their number,
decides.

A variable of a regression is worth its price if leaving it out raises :math:`n \log \mathrm{RSS}` by more
than a test of one degree of freedom at the given level asks for. One false edge closes a cycle, which forces
a collider on it and turns many edges; so with many variables the level is such that a table of independent
variables has one false edge on average, and no more.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt
from scipy.special import chdtri

from dcd.features.rank_scores import (
    BULK_CUBE,
    BULK_SQUARE,
    LINEAR,
    N_TESTED,
    Scores,
    SmoothColumns,
    normal_scores,
)
from dcd.features.whitening import whiteners
from dcd.independence.null_distribution import gamma_log_sf
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import MANY_ROWS

FEWEST_ROWS = 400  # with 200, curves beside much noise go unseen in a third of tables of 25 variables
CURVED = 1e-3  # p-value, of the whole table, below which it is not straight
_BULK = (LINEAR, BULK_SQUARE, BULK_CUBE)
_RIDGE = 1e-10  # far below 1 / n, for n log RSS is what counts
_SMALLEST = 1e-6  # share of a variance that counts as none


@dataclass(frozen=True)
class Lines:
    """Regressions between the normal scores of a table.

    Attributes
    ----------
    correlations : (d, d) of normal scores.
    n_samples : rows of the table.
    level : of the test that a variable of a regression has to pass.
    """

    correlations: FloatArray = field(repr=False)
    n_samples: int
    level: float

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return len(self.correlations)

    @cached_property
    def price(self) -> float:
        """What a variable of a regression has to be worth, in units of chi-square."""
        return float(chdtri(1.0, self.level))

    def selected(
        self, target: int, allowed: Collection[int], required: Collection[int] = ()
    ) -> tuple[list[int], float]:
        """Variables that are each worth their price to a target, and the share of its variance they leave.

        The one that explains most comes in, those that are no longer worth it go, as long as there are any.
        Each step lowers the sum of n log RSS and prices, so that it ends. Those `required` stay.
        """
        members = sorted(required)
        pool = np.array(sorted({*allowed, *required}), dtype=np.intp)
        left = self.variance_left(target, members)
        while 3 * len(members) < self.n_samples and len(members) < len(pool):
            gains = self._gains(target, members, pool)
            best = int(np.argmax(gains))
            without, left = left, max(left - float(gains[best]), _SMALLEST)
            if self._worth(without, left) <= self.price:
                return sorted(members), without
            members.append(int(pool[best]))
            left = self._shrink(target, members, left, len(required))
        return sorted(members), left

    def variance_left(self, target: int, members: Sequence[int]) -> float:
        """Share of the variance of a target that a regression leaves."""
        if not members:
            return 1.0
        cross = self.correlations[members, target]
        return max(1.0 - float(cross @ self._solved(members, cross)), _SMALLEST)

    def coefficients(self, target: int, members: Sequence[int]) -> FloatArray:
        """Of the regression of a target on members."""
        return self._solved(members, self.correlations[members, target])

    def log_pvalue(self, x: int, target: int, others: Sequence[int]) -> float:
        """Log p-value of x in the regression of a target on it and others."""
        worth = self._worth(
            self.variance_left(target, others), self.variance_left(target, sorted([x, *others]))
        )
        return float(gamma_log_sf(np.array([max(worth, 0.0) / 2]), np.array([0.5]))[0])

    def _solved(self, members: Sequence[int], right: FloatArray) -> FloatArray:
        own = self.correlations[np.ix_(members, members)] + _RIDGE * np.eye(len(members))
        return np.asarray(np.linalg.solve(own, right), dtype=np.float64)

    def _gains(self, target: int, members: Sequence[int], pool: npt.NDArray[np.intp]) -> FloatArray:
        """Share of the target's variance that each variable of a pool adds to what members explain."""
        cross = self.correlations[target, pool]
        own = np.ones(len(pool))
        if members:
            between = self.correlations[list(members)][:, pool]
            solved = self._solved(members, between)
            cross = cross - solved.T @ self.correlations[list(members), target]
            own = own - np.einsum("mp,mp->p", between, solved)
        gains: FloatArray = np.where(own > _SMALLEST, np.square(cross) / np.maximum(own, _SMALLEST), 0.0)
        gains[np.isin(pool, members)] = 0.0
        return gains

    def _shrink(self, target: int, members: list[int], left: float, n_required: int) -> float:
        """Drop the weakest member while it is not worth its price; the first ones are required."""
        while len(members) > n_required:
            inverse = self._solved(members, np.eye(len(members)))
            losses = np.square(inverse @ self.correlations[members, target]) / np.diag(inverse)
            losses[:n_required] = np.inf
            weakest = int(np.argmin(losses))
            if self._worth(left + losses[weakest], left) >= self.price:
                break
            left += float(losses[weakest])
            members.pop(weakest)
        return left

    def _worth(self, without: float, left: float) -> float:
        return self.n_samples * float(np.log(without / left))


def lines_of(scores: Scores, level: float) -> Lines | None:
    """The lines of a table if it is straight, None if they are not all there is.

    `level` is that of a regression's variables, unless the d (d - 1) / 2 pairs would have more than one false
    edge at it. A table with categories, with weights of rows, with too few rows to see curves, or with so
    many that nothing is short of them is not asked.
    """
    few_values = any(variable.codes is not None for variable in scores.variables)
    if few_values or scores.surveyed or not FEWEST_ROWS <= scores.n_samples <= MANY_ROWS:
        return None
    correlations, _ = scores.gram((LINEAR,))
    n_pairs = len(correlations) * (len(correlations) - 1) / 2
    lines = Lines(correlations, scores.n_samples, min(level, 1.0 / n_pairs))
    return lines if curvature_log_pvalue(scores, lines) > np.log(CURVED) else None


def curvature_log_pvalue(scores: Scores, lines: Lines) -> float:
    """Log p-value that nothing but lines is between any two variables, corrected for their number."""
    n_samples, n_variables = scores.n_samples, scores.n_variables
    everything = slice(0, n_samples)
    columns = scores.part(everything, [(v, _BULK) for v in range(n_variables)])
    normal = columns[:, :: len(_BULK)]
    white = _whitened(columns.reshape(n_samples, n_variables, -1)).reshape(n_samples, -1)
    smallest = 0.0
    for target in range(n_variables):
        others = [v for v in range(n_variables) if v != target]
        members, _ = lines.selected(target, others)
        left = normal[:, target] - normal[:, members] @ lines.coefficients(target, members)
        left_columns = SmoothColumns(normal_scores(np.round(left, 9)))(everything, N_TESTED)[:, list(_BULK)]
        left_white = _whitened((left_columns - left_columns.mean(axis=0))[:, None])[:, 0]
        squares = np.square(left_white.T @ white / n_samples).reshape(len(_BULK), n_variables, -1)
        statistic = n_samples * (squares.sum(axis=(0, 2)) - squares[0, :, 0])[others]
        smallest = min(smallest, float(gamma_log_sf(statistic / 2, np.full(len(others), 4.0)).min()))
    return min(smallest + float(np.log(n_variables * (n_variables - 1))), 0.0)


def _whitened(columns: FloatArray) -> FloatArray:
    """Columns (n, v, k) of each variable made uncorrelated, of variance 1, the line first and as it was."""
    covariances = np.einsum("nvk,nvl->vkl", columns, columns) / len(columns)
    line = columns[:, :, :1] / np.sqrt(np.maximum(covariances[None, :, :1, 0], _SMALLEST))
    slopes = np.einsum("nvk,nvl->vkl", line, columns[:, :, 1:]) / len(columns)
    rest = columns[:, :, 1:] - line * slopes.transpose(1, 0, 2)
    inner = np.einsum("nvk,nvl->vkl", rest, rest) / len(columns)
    whitener, _ = whiteners(inner, _SMALLEST)
    return np.concatenate([line, np.einsum("nvk,vlk->nvl", rest, whitener)], axis=2)
