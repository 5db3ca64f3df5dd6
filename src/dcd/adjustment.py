r"""Adjusting for a set of variables: regression on their scores, and the scores of what is left.

Measurements are adjusted for by smooth functions of each, about the square root of n in all; variables of few
values by every combination of their values, as long as the sample affords it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from dcd.arrays import FloatArray
from dcd.scores import LINEAR, N_TESTED, Scores, score_columns, standardised

RIDGE = 1e-7  # on scores of variance 1; keeps collinear adjusters from blowing up
SMALLEST_VARIANCE = 1e-6  # of a residual score that still can be tested
MOST_ADJUSTERS = 1 / 3  # of the sample
_FEWEST_ADJUSTERS = 5  # of a variable
_FEWEST_IN_A_CELL = 10  # samples, on average, to adjust for every combination of values


def adjustment_for(scores: Scores, given: Sequence[int]) -> Adjustment:
    """The regression on all scores of a set, under the shares of the samples."""
    cells = _cell_columns(scores, given)
    if cells is None:
        rows = _adjuster_rows(scores, given)
        gram = scores.gram[np.ix_(rows, rows)]
        return Adjustment(scores.flat[:, rows], scores.probabilities, gram, surveyed=scores.surveyed)
    smooth = [variable for variable in given if scores.codes[variable] is None]
    design = np.hstack([scores.flat[:, _adjuster_rows(scores, smooth)], cells])
    gram = design.T @ (scores.probabilities[:, None] * design)
    return Adjustment(design, scores.probabilities, gram, surveyed=scores.surveyed)


def _cell_columns(scores: Scores, given: Sequence[int]) -> FloatArray | None:
    """Columns (n, c) that tell every combination of the variables of few values in a set apart.

    With them the adjustment is exact where a sum over single variables would not be. None if there are fewer
    than two such variables, or more combinations than the sample affords.
    """
    codes = [code for code in (scores.codes[variable] for variable in given) if code is not None]
    if len(codes) < 2:
        return None
    cells = np.zeros(scores.n_samples, dtype=np.intp)
    for code in codes:  # renumbered each time, so that the numbers of combinations stay small
        cells = np.unique(cells * (code.max() + 1) + code, return_inverse=True)[1].reshape(-1)
    n_cells = int(cells.max()) + 1
    if n_cells * _FEWEST_IN_A_CELL > scores.n_samples:
        return None
    largest = int(np.bincount(cells).argmax())
    indicators = cells[:, None] == np.delete(np.arange(n_cells), largest)
    return standardised(indicators.astype(np.float64), scores.probabilities)


def _adjuster_rows(scores: Scores, given: Sequence[int]) -> list[int]:
    """Rows of the Gram matrix to adjust for.

    About the square root of n in all, shared by the variables, but at least five of each while that is less
    than a third of the sample: one variable that decides another almost alone (low noise) needs many, and
    many variables cannot have as many each.
    """
    if not given:
        return []
    share = max(np.sqrt(scores.n_samples) / len(given), _FEWEST_ADJUSTERS)
    affordable = max(1, int(min(share, MOST_ADJUSTERS * scores.n_samples / len(given))))
    rows = []
    for variable in given:
        most = affordable if scores.codes[variable] is None else None
        rows += scores.positions([variable], scores.adjusters[variable][:most])
    return rows


class Adjustment:
    """Regression on adjusters (n, p) under probabilities of the samples; `gram` are their mean products.

    `surveyed` tells that samples have weights of their own, which may go along with anything.
    """

    def __init__(
        self, design: FloatArray, probabilities: FloatArray, gram: FloatArray, *, surveyed: bool = False
    ) -> None:
        self.design, self.probabilities, self.surveyed = design, probabilities, surveyed
        self._factor = _factor(gram) if len(gram) else None

    @property
    def n_columns(self) -> int:
        """Number of adjusters, p."""
        return self.design.shape[1]

    def solve(self, cross: FloatArray) -> FloatArray:
        """Coefficients, from mean products of adjusters and responses."""
        if self._factor is None:
            return cross
        coefficients: FloatArray = cho_solve(self._factor, cross, check_finite=False)
        return coefficients

    def fitted(self, responses: FloatArray) -> FloatArray:
        """Fitted values of responses (n, q)."""
        return self.design @ self.solve(self.design.T @ (self.probabilities[:, None] * responses))


def _factor(gram: FloatArray) -> Any:
    return cho_factor(gram + RIDGE * np.eye(len(gram)), check_finite=False)


def tested_scores(scores: Scores, variables: Sequence[int], adjustment: Adjustment) -> FloatArray:
    """Scores (n, v, k) of what is left of variables once adjusted for a set, adjusted once more.

    Of measurements, scores of residuals rather than residuals of scores: the square of a sum of two causes
    contains their product, the square of what is left does not. What is left of a variable of few values
    has no ranks to speak of, so its columns are adjusted as they are. A variable that the set decides has no
    scores.
    """
    few = [place for place, variable in enumerate(variables) if scores.codes[variable] is not None]
    width = max([N_TESTED, *(len(scores.adjusters[variables[place]]) for place in few)])
    tested = np.zeros((scores.n_samples, len(variables), width))
    smooth = [place for place in range(len(variables)) if place not in few]
    if smooth:
        chosen = [variables[place] for place in smooth]
        left = residual_scores(scores, adjustment, chosen) if adjustment.n_columns else None
        tested[:, smooth, :N_TESTED] = scores.columns[:, chosen, :N_TESTED] if left is None else left
    for place in few:
        own = scores.adjusters[variables[place]]
        tested[:, place, : len(own)] = scores.columns[:, variables[place]][:, own]
    columns = tested.reshape(scores.n_samples, -1)
    columns = columns - adjustment.probabilities @ columns
    return (columns - adjustment.fitted(columns)).reshape(tested.shape)


def residual_scores(scores: Scores, adjustment: Adjustment, variables: Sequence[int]) -> FloatArray:
    """Scores (n, v, 5) of what is left of measurements once their normal scores are adjusted for a set."""
    normal = scores.columns[:, variables, LINEAR]
    left = normal - adjustment.fitted(normal)
    # Ties of categories must stay ties, so what differs by rounding alone is made equal.
    left = np.where(np.square(left).mean(axis=0) > SMALLEST_VARIANCE, np.round(left, 9), 0.0)
    return score_columns(left)
