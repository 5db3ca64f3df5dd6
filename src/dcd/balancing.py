r"""Convex weights: the least distortion of the sample that makes a set of variables independent.

Let :math:`B` hold, for a set of variables with standardised features :math:`\varphi`, one column for every
product :math:`\varphi_a(x_i)\,\varphi_b(x_j)` of two variables and one for every feature. If the weighted
mean :math:`B^\top p` is zero, no two of the variables are correlated in any of their features and the
marginals are as they were. The probabilities of the samples solve

.. math:: \min_p\ |B^\top p|^2 + \lambda |p|^2 \quad\text{over}\quad p \ge 0,\ \mathbf 1^\top p = 1 .

(If samples have shares :math:`b` of their own, :math:`|p|^2` becomes :math:`\sum_k p_k^2 / n b_k`.) It is
convex and has one solution. :math:`|p|^2` is one over the effective sample size, so :math:`\lambda`
trades what is left of the dependence against the sample. The rule for it: no further than chance. Of k
columns, k / n is what :math:`|B^\top p|^2` would be in a sample of independent variables; :math:`\lambda`
falls until that is reached, or until the effective sample size would fall below a floor.

The solution has the form :math:`p = (\nu - B\theta)_+ / \lambda` with :math:`\theta = B^\top p`, so that each
step of the active-set method is a solve of the size of B's columns, not of the sample.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dcd.arrays import BoolArray, FloatArray
from dcd.columns import Kind
from dcd.data import TableOptions
from dcd.reading import read_table
from dcd.scores import BULK_CUBE, BULK_SQUARE, LINEAR, Scores, scores_of
from dcd.threads import one_blas_thread
from dcd.validation import check_number

_STEP = 2.5  # each lambda is that much smaller than the one before
_MAX_LAMBDAS, _MAX_PIVOTS = 16, 40
_BISECTIONS = 3
_MANY_VARIABLES = 4  # beyond, two features a variable instead of three: the products grow with the square

BalanceStatus = Literal["balanced", "ess_floor", "path_end", "nothing_to_decouple"]


@dataclass(frozen=True, order=True)
class BalanceSummary:
    """How far weights decouple a set, without the weights.

    Attributes
    ----------
    ess : Kish's effective sample size.
    dependence_before, dependence : what is left of the dependence, |B'p|², in units of what chance alone
        leaves in a sample of independent variables: about 1 is as good as independent.
    gap : how far the weights can be from the optimum, as a share of the objective (a proven bound).
    status : "balanced" (dependence is down to the level of chance), "ess_floor" (more would have cost too
        much of the sample), "path_end" (the smallest lambda was reached first), or "nothing_to_decouple"
        (fewer than two variables).
    """

    ess: float
    dependence_before: float
    dependence: float
    gap: float
    status: BalanceStatus


@dataclass(frozen=True)
class Balance:
    """Weights that decouple a set, and how far they got.

    Attributes
    ----------
    weights : (n,) array, non-negative, summing to n.
    ess, dependence_before, dependence, gap, status : see `BalanceSummary`.
    """

    weights: FloatArray = field(repr=False)
    ess: float
    dependence_before: float
    dependence: float
    gap: float
    status: BalanceStatus

    @property
    def summary(self) -> BalanceSummary:
        """The same without the weights, which take as much memory as a column of the table."""
        return BalanceSummary(self.ess, self.dependence_before, self.dependence, self.gap, self.status)


@dataclass(frozen=True)
class ConvexWeights:
    """How far to decouple.

    Attributes
    ----------
    min_ess : floor under the effective sample size, as a share of what it is before.
    dependence : stop when the dependence is down to this many times what chance leaves.
    """

    min_ess: float = 0.4
    dependence: float = 1.0

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("min_ess", self.min_ess, at_least=0, below=1, suggestion=0.4)
        check_number("dependence", self.dependence, at_least=0, suggestion=1.0)

    def learn(self, scores: Scores, variables: Sequence[int]) -> Balance:
        """Weights for a set of variables."""
        if len(variables) < 2:
            weights = scores.n_samples * scores.probabilities
            return Balance(weights, scores.ess, 0.0, 0.0, 0.0, "nothing_to_decouple")
        return balance(balance_columns(scores, variables), self, scores.probabilities)


def convex_weights(
    X: Any,
    *,
    min_ess: float = ConvexWeights.min_ess,
    dependence: float = ConvexWeights.dependence,
    kinds: Mapping[str, Kind] | None = None,
    sample_weight: Any = None,
) -> Balance:
    """Weights under which the columns of a table are independent, at the least cost in sample size.

    Parameters are those of `ConvexWeights`; `X` is any table that the estimators take, `kinds` the kinds of
    its columns where the rule errs, and `sample_weight` what each row counts for to begin with.

    Examples
    --------
    >>> import dcd
    >>> result = dcd.convex_weights(dcd.datasets.load_sachs().frame[["Raf", "Mek"]])
    >>> round(float(result.weights.sum())), result.dependence < result.dependence_before
    (853, True)
    """
    options = ConvexWeights(min_ess, dependence)
    options.check()
    reading = TableOptions(kinds=kinds)
    reading.check()
    given = read_table(X, options=reading, sample_weight=sample_weight)
    with one_blas_thread():
        learned = options.learn(scores_of(given.in_canonical_order()), range(len(given.names)))
    return replace(learned, weights=given.in_all_rows(learned.weights))


def balance_columns(scores: Scores, variables: Sequence[int]) -> FloatArray:
    """The matrix B, shape (n, k): products of features of two variables, then the features."""
    smooth = (LINEAR, BULK_SQUARE, BULK_CUBE)[: 2 if len(variables) > _MANY_VARIABLES else 3]
    features = [scores.columns[:, v][:, scores.block(v, smooth)[: 2 * len(smooth)]] for v in variables]
    products = [
        (left[:, :, None] * right[:, None, :]).reshape(len(left), -1)
        for left, right in combinations(features, 2)
    ]
    columns = np.hstack([*products, *features])
    scale = np.sqrt(scores.probabilities @ np.square(columns))
    return columns[:, scale > 1e-8] / scale[scale > 1e-8]


def balance(columns: FloatArray, options: ConvexWeights, shares: FloatArray | None = None) -> Balance:
    """Follow lambda down until the dependence is that of chance, or the sample would shrink too far.

    `shares` are what the samples count for to begin with; all the same without them.
    """
    n_samples, n_columns = columns.shape
    start = np.full(n_samples, 1.0 / n_samples) if shares is None else shares
    chance = n_columns * float(start @ start)
    before = _dependence(columns, start)
    best, best_lambda, status = start, float("inf"), "balanced"
    if before > options.dependence * chance:
        best, best_lambda, status = _follow(columns, options, chance, start)
    gap = optimality_gap(columns, best, best_lambda, start) if np.isfinite(best_lambda) else 0.0
    return Balance(
        weights=n_samples * best,
        ess=float(1.0 / (best @ best)),
        dependence_before=before / chance,
        dependence=_dependence(columns, best) / chance,
        gap=gap,
        status=status,  # type: ignore[arg-type]
    )


def _follow(
    columns: FloatArray, options: ConvexWeights, chance: float, start: FloatArray
) -> tuple[FloatArray, float, str]:
    """Probabilities, lambda and status at the end of the path."""
    n_samples = len(columns)
    free = np.ones(n_samples, dtype=bool)
    floor = options.min_ess / float(start @ start)
    best, best_lambda = start, float("inf")
    ridge = float(n_samples)
    too_small = None
    for _ in range(_MAX_LAMBDAS):
        probabilities, free = solve(columns, ridge, free, start)
        if 1.0 / (probabilities @ probabilities) < floor:
            too_small = ridge
            break
        best, best_lambda = probabilities, ridge
        if _dependence(columns, best) <= options.dependence * chance:
            return best, best_lambda, "balanced"
        ridge /= _STEP
    if too_small is None:
        return best, best_lambda, "path_end"
    if not np.isfinite(best_lambda):
        return best, best_lambda, "ess_floor"
    # The floor lies between the last two: halve the interval a few times, to use what the floor allows.
    low, high = too_small, best_lambda
    for _ in range(_BISECTIONS):
        middle = float(np.sqrt(low * high))
        probabilities, free = solve(columns, middle, free, start)
        if 1.0 / (probabilities @ probabilities) < floor:
            low = middle
        else:
            best, best_lambda, high = probabilities, middle, middle
    reached = _dependence(columns, best) <= options.dependence * chance
    return best, best_lambda, "balanced" if reached else "ess_floor"


def solve(
    columns: FloatArray, ridge: float, free: BoolArray, shares: FloatArray
) -> tuple[FloatArray, BoolArray]:
    """The minimum of |B'p|² + ridge Σ p²/(n b) over the simplex, and which samples have weight.

    Active-set steps: solve for the samples that are free, fix those that came out negative at zero, free
    those of the fixed that would lower the objective. `free` is where to start. With q = p / s and
    s = sqrt(n b), the penalty is |q|²: the problem without shares, its rows scaled by s.
    """
    n_samples, n_columns = columns.shape
    scale = np.sqrt(n_samples * shares)
    scaled = scale[:, None] * columns
    probabilities = shares
    for _ in range(_MAX_PIVOTS):
        inside = scaled[free]
        factor = cho_factor(inside.T @ inside + ridge * np.eye(n_columns), check_finite=False)
        unscaled = scale[free] - inside @ cho_solve(factor, inside.T @ scale[free], check_finite=False)
        unscaled *= scale[free]
        probabilities = np.zeros(n_samples)
        probabilities[free] = unscaled / unscaled.sum()
        gradient = _gradient(columns, probabilities, ridge, shares)
        level = gradient[free].mean()  # the same for all free samples
        wanted = np.where(free, probabilities > 0, gradient < level - 1e-12)
        if (wanted == free).all():
            break
        free = wanted
    probabilities = np.maximum(probabilities, 0.0)
    return probabilities / probabilities.sum(), free


def optimality_gap(columns: FloatArray, probabilities: FloatArray, ridge: float, shares: FloatArray) -> float:
    """A bound on how far the objective is above its minimum, as a share of it (Frank and Wolfe's gap)."""
    gradient = _gradient(columns, probabilities, ridge, shares)
    penalty = np.square(probabilities) @ (1.0 / (len(columns) * shares))
    value = _dependence(columns, probabilities) + ridge * float(penalty)
    return float(2.0 * (gradient @ probabilities - gradient.min()) / value)


def _gradient(columns: FloatArray, probabilities: FloatArray, ridge: float, shares: FloatArray) -> FloatArray:
    """Half the gradient of the objective."""
    return columns @ (columns.T @ probabilities) + ridge * probabilities / (len(columns) * shares)


def _dependence(columns: FloatArray, probabilities: FloatArray) -> float:
    return float(np.square(columns.T @ probabilities).sum())
