r"""Convex weights: the least distortion of the sample that makes a set of variables independent.

Let :math:`B` have, for a set of variables with standardised features :math:`\varphi`, one column for every
product :math:`\varphi_a(x_i)\,\varphi_b(x_j)` of two variables and one for every feature. If the weighted
mean :math:`B^\top p` is zero, no two of the variables are correlated in any of their features and the
marginals are unchanged. The probabilities of the samples solve

.. math:: \min_p\ |B^\top p|^2 + \lambda |p|^2 \quad\text{over}\quad p \ge 0,\ \mathbf 1^\top p = 1 .

(If samples have initial shares :math:`b`, :math:`|p|^2` becomes :math:`\sum_k p_k^2 / n b_k`.) The problem is
convex and has a unique solution. :math:`|p|^2` is one over the effective sample size, so :math:`\lambda`
trades the remaining dependence against the sample size. With k columns, :math:`|B^\top p|^2` would be k / n
in a sample of independent variables; :math:`\lambda` is lowered until this chance level is reached, or until
the effective sample size would fall below a floor.

The solution has the form :math:`p \propto (1 - B g)_+`, so it is determined by as many numbers as B has
columns: each step of the active-set method is one sum over the rows, a block at a time, and a solve of that
size. With many rows, a sample of them gives starting values for :math:`\lambda` and :math:`g`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dcd.features.rank_scores import BULK_CUBE, BULK_SQUARE, LINEAR, Scores, owners, scores_of
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_number
from dcd.runtime.rows import MANY_ROWS, SAMPLE_ROWS, Part, remaining_share
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, TableOptions
from dcd.table.reading import read_table
from dcd.table.row_weights import repeated
from dcd.weights.base import SampleWeights, weights_of_table

_STEP = 2.5  # ratio of successive values of lambda
_MAX_LAMBDAS, _MAX_PIVOTS = 16, 40
_BISECTIONS = 3
_MANY_VARIABLES = 4  # beyond it, two features per variable instead of three: products grow with the square


@dataclass(frozen=True)
class ConvexWeights:
    """Weights with the least distortion of the sample that decouple a set down to the level of chance.

    Attributes
    ----------
    keep : share of the effective sample size that is always kept, whatever dependence remains.
    dependence : stop when the dependence is down to this multiple of the chance level.
    """

    keep: float = 0.4
    dependence: float = 1.0

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("keep", self.keep, at_least=0, below=1, suggestion=0.4)
        check_number("dependence", self.dependence, at_least=0, suggestion=1.0)

    def learn(self, scores: Scores, variables: Sequence[int]) -> SampleWeights:
        """See `Weighting`."""
        if len(variables) < 2:
            return measured(scores.n_samples * scores.probabilities, scores, variables)
        return balance(BalanceColumns.of(scores, variables), self, scores.probabilities)


def convex_weights(
    X: Any,
    *,
    keep: float = ConvexWeights.keep,
    dependence: float = ConvexWeights.dependence,
    kinds: Mapping[str, Kind] | None = None,
    sample_weight: Any = None,
    counts: Any = None,
) -> SampleWeights:
    """Weights under which the columns of a table are independent, at the least cost in sample size.

    Parameters are those of `ConvexWeights`; `X` is any table that the estimators accept, and `kinds` gives
    the kinds of columns for which the default is wrong. `sample_weight` has the initial weight of each row,
    `counts` the number of identical observations that it stands for.

    Examples
    --------
    >>> import dcd
    >>> result = dcd.weights.convex_weights(dcd.datasets.load_sachs().frame[["Raf", "Mek"]])
    >>> round(float(result.weights.sum())), result.dependence < result.dependence_before
    (853, True)
    """
    strategy = ConvexWeights(keep, dependence)
    strategy.check()
    options = TableOptions(kinds=kinds)
    options.check()

    def learn(dataset: Dataset) -> SampleWeights:
        return strategy.learn(scores_of(dataset), range(len(dataset.names)))

    X, _ = repeated(X, counts, sample_weight)
    return weights_of_table(read_table(X, options=options, sample_weight=sample_weight), learn)


def measured(
    weights: FloatArray, scores: Scores, variables: Sequence[int], status: str = "learned"
) -> SampleWeights:
    """Weights of the rows as `SampleWeights`, with the dependence of the variables under them."""
    probabilities = weights / weights.sum()
    if len(variables) < 2:
        return SampleWeights.of(probabilities, 0.0, 0.0, status="nothing_to_decouple")
    columns, shares = BalanceColumns.of(scores, variables), scores.probabilities
    chance = columns.n_columns * float(shares @ shares)
    before, after = (dependence(columns, p) / chance for p in (shares, probabilities))
    return SampleWeights.of(probabilities, before, after, status=status)


@dataclass(frozen=True)
class BalanceColumns:
    """The matrix B, (n, k): products of features of two variables, then the features, of mean square 1."""

    part: Part
    n_columns: int
    blocks: tuple[slice, ...]

    @classmethod
    def of(cls, scores: Scores, variables: Sequence[int]) -> BalanceColumns:
        """The matrix of a set of variables."""
        smooth = (LINEAR, BULK_SQUARE, BULK_CUBE)[: 2 if len(variables) > _MANY_VARIABLES else 3]
        few = {v: scores.variables[v].adjusters[: 2 * len(smooth)] for v in variables}
        columns = [(v, smooth if scores.variables[v].codes is None else few[v]) for v in variables]
        own = owners(columns)
        pairs = [(i, j) for left, right in combinations(own, 2) for i in left for j in right]
        first, second = [i for i, _ in pairs], [j for _, j in pairs]

        def products(rows: slice) -> FloatArray:
            features = scores.part(rows, columns)
            return np.hstack([features[:, first] * features[:, second], features])

        square = np.zeros(len(pairs) + sum(map(len, own)))
        for rows, shares in scores.weighted(scores.probabilities):
            square += np.einsum("b,bk->k", shares[:, 0], np.square(products(rows)), dtype=np.float64)
        alive = np.flatnonzero(square > 1e-16)
        scale = np.sqrt(square[alive]).astype(scores.dtype)
        matrix = scores.matrix(lambda rows: products(rows)[:, alive] / scale, len(alive))
        return cls(matrix.part, len(alive), scores.blocks)

    def sample(self, n_rows: int) -> BalanceColumns:
        """The same columns for about `n_rows` rows, some of each block, in one block."""
        part = np.vstack([self.part(rows)[:: self.step(n_rows)] for rows in self.blocks])
        return BalanceColumns(part.__getitem__, self.n_columns, (slice(0, len(part)),))

    def step(self, n_rows: int) -> int:
        """The step between the rows of a block that are in a sample of `n_rows`."""
        return max(1, self.blocks[-1].stop // n_rows)


def balance(columns: BalanceColumns, strategy: ConvexWeights, shares: FloatArray) -> SampleWeights:
    """Lower lambda until the dependence reaches the chance level, or the sample would shrink too far.

    `shares` are the initial shares of the samples.
    """
    chance = columns.n_columns * float(shares @ shares)
    before = dependence(columns, shares)
    best, best_lambda, status = shares, float("inf"), "balanced"
    if before > strategy.dependence * chance:
        path = _Path(columns, strategy, shares)
        if len(shares) > MANY_ROWS:
            path.start_as(_Path.on_sample(columns, strategy, shares))
        best, best_lambda, status = path.follow()
    gap = optimality_gap(columns, best, best_lambda, shares) if np.isfinite(best_lambda) else 0.0
    return SampleWeights.of(best, before / chance, dependence(columns, best) / chance, gap=gap, status=status)


class _Path:
    """The solutions for decreasing lambda, each started from the previous one."""

    def __init__(self, columns: BalanceColumns, strategy: ConvexWeights, shares: FloatArray) -> None:
        self._columns, self._shares = columns, shares
        self._floor = strategy.keep
        self._target = strategy.dependence * columns.n_columns * float(shares @ shares)
        self._first, self._last = 0, 0
        self._direction = np.zeros(columns.n_columns)

    @classmethod
    def on_sample(cls, columns: BalanceColumns, strategy: ConvexWeights, shares: FloatArray) -> _Path:
        """The path on a sample of the rows, followed to its end."""
        step = columns.step(SAMPLE_ROWS)
        part = np.concatenate([shares[rows][::step] for rows in columns.blocks])
        path = cls(columns.sample(SAMPLE_ROWS), strategy, part / part.sum())
        path.follow()
        return path

    def start_as(self, other: _Path) -> None:
        """Start shortly before the end of another path."""
        self._first, self._direction = max(other._last - 1, 0), other._direction

    def follow(self) -> tuple[FloatArray, float, str]:
        """Probabilities, lambda and status at the end of the path."""
        best, best_lambda = self._shares, float("inf")
        too_small = None
        for step in range(self._first, _MAX_LAMBDAS):
            self._last = step
            ridge = len(self._shares) / _STEP**step
            probabilities = self._solved(ridge)
            if remaining_share(probabilities, self._shares) < self._floor:
                too_small = ridge
                break
            best, best_lambda = probabilities, ridge
            if dependence(self._columns, best) <= self._target:
                return best, best_lambda, "balanced"
        if too_small is None:
            return best, best_lambda, "path_end"
        if np.isfinite(best_lambda):
            return self._between(too_small, best, best_lambda)
        if not self._first:
            return best, best_lambda, "ess_floor"
        self._first = 0  # the starting lambda was too small
        return self.follow()

    def _between(self, low: float, best: FloatArray, high: float) -> tuple[FloatArray, float, str]:
        """The floor lies between two values of lambda: bisect a few times to get close to it."""
        for _ in range(_BISECTIONS):
            middle = float(np.sqrt(low * high))
            probabilities = self._solved(middle)
            if remaining_share(probabilities, self._shares) < self._floor:
                low = middle
            else:
                best, high = probabilities, middle
        reached = dependence(self._columns, best) <= self._target
        return best, high, "balanced" if reached else "ess_floor"

    def _solved(self, ridge: float) -> FloatArray:
        probabilities, self._direction = solve(self._columns, ridge, self._direction, self._shares)
        return probabilities


def solve(
    columns: BalanceColumns, ridge: float, direction: FloatArray, shares: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The minimum of |B'p|² + ridge Σ p²/(n b) over the simplex, and its g.

    p is proportional to b (1 - B g)₊. Active-set steps: the samples with 1 - B g above zero have weight; with
    these alone g solves a linear system; this repeats until they no longer change. `direction` is the initial
    g.
    """
    n_samples = len(shares)
    weight = n_samples * shares
    has_weight = np.ones(n_samples, dtype=bool)
    for count in range(_MAX_PIVOTS):
        gram, sums = np.zeros((columns.n_columns, columns.n_columns)), np.zeros(columns.n_columns)
        changed = count == 0
        for rows in columns.blocks:
            part = columns.part(rows)
            wanted = part @ direction.astype(part.dtype) < 1.0
            changed = changed or bool((wanted != has_weight[rows]).any())
            has_weight[rows] = wanted
            inside = part if wanted.all() else part[wanted]
            weighted = weight[rows][wanted][:, None].astype(part.dtype) * inside
            gram += inside.T @ weighted
            sums += weighted.sum(axis=0, dtype=np.float64)
        if not changed:
            break
        factor = cho_factor(gram + ridge * np.eye(columns.n_columns), check_finite=False)
        direction = cho_solve(factor, sums, check_finite=False)
    probabilities = np.empty(n_samples)
    for rows in columns.blocks:
        part = columns.part(rows)
        probabilities[rows] = np.maximum(1.0 - part @ direction.astype(part.dtype), 0.0)
    probabilities *= shares
    return probabilities / probabilities.sum(), direction


def optimality_gap(
    columns: BalanceColumns, probabilities: FloatArray, ridge: float, shares: FloatArray
) -> float:
    """A bound on how far the objective is above its minimum, as a share of it (the Frank–Wolfe gap)."""
    means = _means(columns, probabilities)
    penalty = ridge * probabilities / (len(shares) * shares)
    smallest, slope = np.inf, 0.0
    for rows in columns.blocks:
        part = columns.part(rows)
        gradient = part @ means.astype(part.dtype) + penalty[rows]
        smallest = min(smallest, float(gradient.min()))
        slope += float(gradient @ probabilities[rows])
    value = float(means @ means + penalty @ probabilities)
    return float(2.0 * (slope - smallest) / value)


def dependence(columns: BalanceColumns, probabilities: FloatArray) -> float:
    """|B'p|²."""
    means = _means(columns, probabilities)
    return float(means @ means)


def _means(columns: BalanceColumns, probabilities: FloatArray) -> FloatArray:
    means = np.zeros(columns.n_columns)
    for rows in columns.blocks:
        part = columns.part(rows)
        means += probabilities[rows].astype(part.dtype) @ part
    return means
