r"""Linear regressions of normal scores, and a test of whether all relations of a table are linear.

The test: every variable t is regressed on the normal scores of the variables that it depends on. If all
variables are jointly Gaussian up to monotone transformations, the residuals of t are independent of every
other variable u. So the rank scores of the residuals (the linear one and the light-tailed ones, see
`rank_scores`) are correlated with those of u; the squared correlations, without that of the two linear
scores, sum to chi-square / n with eight degrees of freedom. The smallest of the d (d - 1) p-values,
Bonferroni corrected, decides.

A regressor is selected if leaving it out raises :math:`n \log \mathrm{RSS}` by more than its price, the
critical value of chi-square with one degree of freedom. One false edge can close a cycle, force a collider
and reverse many edges; so with many variables the level allows one false edge on average in a table of
independent variables.
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
    Scores,
    SmoothColumns,
    normal_scores,
)
from dcd.features.whitening import whiteners
from dcd.independence.null_distribution import gamma_log_sf
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import MANY_ROWS
from dcd.search.selection import grow_shrink

FEWEST_ROWS = 400  # with 200, noisy nonlinear relations are missed in a third of tables of 25 variables
CURVED = 1e-3  # p-value of the whole table below which not all relations are linear
_BULK = (LINEAR, BULK_SQUARE, BULK_CUBE)
_RIDGE = 1e-10  # far below 1 / n, because n log RSS matters
_SMALLEST = 1e-6  # share of a variance that counts as zero


@dataclass(frozen=True)
class LinearRegressions:
    """Regressions between the normal scores of a table.

    Attributes
    ----------
    correlations : (d, d) of normal scores.
    n_samples : rows of the table.
    level : of the test that a regressor has to pass.
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
        """The critical value that a regressor has to exceed (chi-square)."""
        return float(chdtri(1.0, self.level))

    def select(
        self, target: int, allowed: Collection[int], required: Collection[int] = ()
    ) -> tuple[list[int], float]:
        """Regressors of a target that are worth their price, and its residual variance (a share).

        Grow-shrink; each step lowers the sum of n log RSS and prices. The `required` ones stay.
        """
        pool = np.array(sorted({*allowed, *required}), dtype=np.intp)
        variances = {frozenset(required): self.residual_variance(target, sorted(required))}

        def strongest(members: Sequence[int], refused: Collection[int]) -> int | None:
            gains = self._gains(target, members, pool)
            gains[np.isin(pool, [*members, *refused])] = 0.0
            best = int(np.argmax(gains))
            without = variances[frozenset(members)]
            remaining = max(without - float(gains[best]), _SMALLEST)
            if self._worth(without, remaining) <= self.price:
                return None
            variances[frozenset([*members, int(pool[best])])] = remaining
            return int(pool[best])

        def weakest(members: Sequence[int]) -> int | None:
            inverse = self._solve(members, np.eye(len(members)))
            losses = np.square(inverse @ self.correlations[members, target]) / np.diag(inverse)
            losses[: len(required)] = np.inf
            index = int(np.argmin(losses))
            remaining = variances[frozenset(members)]
            if self._worth(remaining + losses[index], remaining) >= self.price:
                return None
            variances[frozenset(members) - {members[index]}] = remaining + float(losses[index])
            return members[index]

        selected = grow_shrink(required, strongest, weakest, min(self.n_samples / 3, len(pool)))
        return selected, variances[frozenset(selected)]

    def residual_variance(self, target: int, members: Sequence[int]) -> float:
        """Share of the variance of a target not explained by a regression on members."""
        if not members:
            return 1.0
        cross = self.correlations[members, target]
        return max(1.0 - float(cross @ self._solve(members, cross)), _SMALLEST)

    def coefficients(self, target: int, members: Sequence[int]) -> FloatArray:
        """Of the regression of a target on members."""
        return self._solve(members, self.correlations[members, target])

    def log_pvalue(self, x: int, target: int, others: Sequence[int]) -> float:
        """Log p-value of x in the regression of a target on it and others."""
        worth = self._worth(
            self.residual_variance(target, others), self.residual_variance(target, sorted([x, *others]))
        )
        return float(gamma_log_sf(np.array([max(worth, 0.0) / 2]), np.array([0.5]))[0])

    def _solve(self, members: Sequence[int], right: FloatArray) -> FloatArray:
        gram = self.correlations[np.ix_(members, members)] + _RIDGE * np.eye(len(members))
        return np.asarray(np.linalg.solve(gram, right), dtype=np.float64)

    def _gains(self, target: int, members: Sequence[int], pool: npt.NDArray[np.intp]) -> FloatArray:
        """Share of the target's variance that each variable of a pool explains beyond the members."""
        cross = self.correlations[target, pool]
        residual = np.ones(len(pool))
        if members:
            between = self.correlations[list(members)][:, pool]
            solved = self._solve(members, between)
            cross = cross - solved.T @ self.correlations[list(members), target]
            residual = residual - np.einsum("mp,mp->p", between, solved)
        gains = np.square(cross) / np.maximum(residual, _SMALLEST)
        return np.asarray(np.where(residual > _SMALLEST, gains, 0.0))

    def _worth(self, without: float, remaining: float) -> float:
        return self.n_samples * float(np.log(without / remaining))


def regressions_if_linear(scores: Scores, level: float) -> LinearRegressions | None:
    """The regressions of a table if all its relations are linear, None if they are not.

    `level` is that of a regressor, lowered if the d (d - 1) / 2 pairs would have more than one false edge.
    Tables with categories or row weights, with too few rows to detect nonlinearity, or with so many that
    tests have enough power, count as not linear.
    """
    few_values = any(variable.codes is not None for variable in scores.variables)
    if few_values or scores.surveyed or not FEWEST_ROWS <= scores.n_samples <= MANY_ROWS:
        return None
    correlations, _ = scores.gram((LINEAR,))
    n_pairs = len(correlations) * (len(correlations) - 1) / 2
    regressions = LinearRegressions(correlations, scores.n_samples, min(level, 1.0 / n_pairs))
    return regressions if curvature_log_pvalue(scores, regressions) > np.log(CURVED) else None


def curvature_log_pvalue(scores: Scores, regressions: LinearRegressions) -> float:
    """Log p-value of all relations being linear, corrected for the number of pairs."""
    n_samples, n_variables = scores.n_samples, scores.n_variables
    all_rows = slice(0, n_samples)
    columns = scores.part(all_rows, [(v, _BULK) for v in range(n_variables)])
    normal = columns[:, :: len(_BULK)]
    white = _whitened(columns.reshape(n_samples, n_variables, -1)).reshape(n_samples, -1)
    smallest = 0.0
    for target in range(n_variables):
        others = [v for v in range(n_variables) if v != target]
        members, _ = regressions.select(target, others)
        residuals = normal[:, target] - normal[:, members] @ regressions.coefficients(target, members)
        curves = SmoothColumns(normal_scores(np.round(residuals, 9)))(all_rows, BULK_CUBE + 1)[:, list(_BULK)]
        white_curves = _whitened((curves - curves.mean(axis=0))[:, None])[:, 0]
        squares = np.square(white_curves.T @ white / n_samples).reshape(len(_BULK), n_variables, -1)
        statistic = n_samples * (squares.sum(axis=(0, 2)) - squares[0, :, 0])[others]
        smallest = min(smallest, float(gamma_log_sf(statistic / 2, np.full(len(others), 4.0)).min()))
    return min(smallest + float(np.log(n_variables * (n_variables - 1))), 0.0)


def _whitened(columns: FloatArray) -> FloatArray:
    """Whiten the columns (n, v, k) of each variable, keeping the direction of the linear one."""
    covariances = np.einsum("nvk,nvl->vkl", columns, columns) / len(columns)
    line = columns[:, :, :1] / np.sqrt(np.maximum(covariances[None, :, :1, 0], _SMALLEST))
    slopes = np.einsum("nvk,nvl->vkl", line, columns[:, :, 1:]) / len(columns)
    rest = columns[:, :, 1:] - line * slopes.transpose(1, 0, 2)
    inner = np.einsum("nvk,nvl->vkl", rest, rest) / len(columns)
    whitener, _ = whiteners(inner, _SMALLEST)
    return np.concatenate([line, np.einsum("nvk,vlk->nvl", rest, whitener)], axis=2)
