r"""How well the families of a graph predict rows that they were not fitted to.

With many rows, a family score compares graphs by how well their families compensate for the misfit of its
curves (`score_model`). Here each variable is regressed on its parents by a ridge regression on random Fourier
features (Rahimi and Recht 2007) of their normal scores, which can approximate any smooth function. Each
half of a sample is predicted from the other. The gain of a family is the log density of the
child given its parents, relative to no parents, summed over these rows:

.. math:: m \, (h(y) - h(y - \hat f(\text{parents}))) ,

with the entropies h estimated by spacings, so that the noise need not be normal. It is the larger of two: for
the child as measured and for its normal score. With ties, densities are those of a normal distribution.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from dcd.features.family_gram import Categories
from dcd.features.gram_columns import GapColumns, TableColumns, negentropy
from dcd.features.rank_scores import normal_scores
from dcd.features.subsamples import row_parts
from dcd.runtime.array_types import FloatArray, IntArray, Positions
from dcd.search.best_graph import MANY_VARIABLES

_MOST_ROWS = 4_000  # of each half
_N_FEATURES = 150
_WIDTHS, _RIDGES = (0.8, 2.0), (1.0, 10.0, 100.0)  # of the kernel, in standard deviations; the best is used
_NEGLIGIBLE = 1e-9  # variance, where that of a column is 1
# With a smaller share of distinct values, normal densities are used: where any regression separates equal
# values, spacings would take that for information.
_FEW_TIES = 0.9
_PARENT_PRICE = 8.0  # of 2 to 50 nats all chose nearly the same graphs


def can_hold_out(
    columns: TableColumns | GapColumns | None, categories: Categories | None
) -> TypeGuard[TableColumns]:
    """Whether graphs over a table can be compared: numbers alone, in complete, independent, equal rows.

    With many variables the regressions would take most of the time of a fit.
    """
    if not isinstance(columns, TableColumns) or categories is not None or columns.groups is not None:
        return False
    shares = columns.probabilities
    return columns.values.shape[1] <= MANY_VARIABLES and bool(np.ptp(shares) <= 1e-12 * shares.max())


class HeldOutRows:
    """Two halves of a sample of the rows; families are fitted on each and evaluated on the other."""

    def __init__(self, columns: TableColumns) -> None:
        parts = row_parts(columns, np.random.default_rng(0))
        middle = len(parts) // 2
        halves = [np.concatenate(some)[:_MOST_ROWS] for some in (parts[:middle], parts[middle:])]
        values = np.asarray(columns.values[np.concatenate(halves)], dtype=np.float64)
        self._halves = slice(0, len(halves[0])), slice(len(halves[0]), len(values))
        scale = values.std(axis=0)
        self._values = (values - values.mean(axis=0)) / np.where(scale > 0, scale, 1.0)
        self._scores = np.column_stack([normal_scores(column)[:, 0] for column in values.T])
        self._tied = [len(np.unique(column)) < _FEW_TIES * len(column) for column in values.T]
        self._gains: dict[tuple[int, ...], float] = {}

    def best_of(self, dags: Sequence[IntArray]) -> int:
        """Which of some graphs over all variables predicts best; the first of those that are equal."""
        differ = np.flatnonzero(np.any(np.array(dags) != dags[0], axis=(0, 1))).tolist()
        gains = [[self._gain(child, np.flatnonzero(dag[:, child])) for child in differ] for dag in dags]
        return int(np.argmax(np.sum(gains, axis=1)))

    def _gain(self, child: int, parents: Positions) -> float:
        """The gain of a family in log density, less the price of its parents."""
        if not len(parents):
            return 0.0
        key = (child, *parents.tolist())
        if key not in self._gains:
            responses = np.column_stack([self._values[:, child], self._scores[:, child]])
            # The spacings of normal scores are not those of a sample, but their distribution is known.
            from_normal = (np.inf, np.inf) if self._tied[child] else (negentropy(responses[:, 0]), 0.0)
            gains = map(_entropy_lost, responses.T, self._errors(parents, responses).T, from_normal)
            self._gains[key] = len(responses) * max(gains) - _PARENT_PRICE * len(parents)
        return self._gains[key]

    def _errors(self, parents: Positions, responses: FloatArray) -> FloatArray:
        """The errors (m, 2) of the best regression of each response, on rows it was not fitted to."""
        causes, scores = self._values[:, parents], self._scores[:, parents]
        rng = np.random.default_rng(len(parents))
        directions = rng.standard_normal((len(parents), _N_FEATURES))
        shifts = rng.uniform(0.0, 2.0 * np.pi, _N_FEATURES)
        before = [np.ones((len(causes), 1)), causes, scores]
        features = np.hstack([*before, np.empty((len(causes), _N_FEATURES))])
        waves = features[:, -_N_FEATURES:]
        errors = []
        for width in _WIDTHS:
            np.matmul(scores, directions / width, out=waves)
            np.cos(np.add(waves, shifts, out=waves), out=waves)
            waves *= np.sqrt(2.0)
            errors += self._ridge_errors(features, responses)
        best = np.argmin(np.var(errors, axis=1), axis=0)
        return np.column_stack([errors[which][:, at] for at, which in enumerate(best)])

    def _ridge_errors(self, features: FloatArray, responses: FloatArray) -> list[FloatArray]:
        """The errors for each ridge."""
        errors = [np.empty_like(responses) for _ in _RIDGES]
        for fitted, other in (self._halves, self._halves[::-1]):
            gram, moments = features[fitted].T @ features[fitted], features[fitted].T @ responses[fitted]
            for of_ridge, ridge in zip(errors, _RIDGES, strict=True):
                penalty = np.full(len(gram), ridge)
                penalty[0] = 0.0  # the intercept
                coefficients = np.linalg.solve(gram + np.diag(penalty), moments)
                of_ridge[other] = responses[other] - features[other] @ coefficients
        return errors


def _entropy_lost(response: FloatArray, errors: FloatArray, from_normal: float) -> float:
    """How much lower the entropy of the errors is than that of the response, in nats per row.

    `from_normal` is the negentropy of the response; if infinite, normal densities are used.
    """
    # A rare value may not occur in the sample at all, and a sum of other columns leaves no errors.
    by_variance = 0.5 * float(np.log(max(response.var(), _NEGLIGIBLE) / max(errors.var(), _NEGLIGIBLE)))
    gained = negentropy(errors) - from_normal
    return by_variance + gained if np.isfinite(gained) else by_variance
