"""The rows behind a violated statement: two variables as measured, and adjusted for the set."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.estimators.account import SHOWN_ROWS
from dcd.evaluation.falsification.account import Shown
from dcd.features.rank_scores import LINEAR, scores_of
from dcd.independence.adjustment import Adjustment
from dcd.independence.partial_pvalues import partial_correlation
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.threads import one_blas_thread
from dcd.table.dataset import Dataset

_SEED = 853
Pair = tuple[Shown, Shown]


def adjust_for(dataset: Dataset, columns: Sequence[int]) -> Adjustment:
    """The regression on all columns but the first two, which are its variables 0 and 1."""
    with one_blas_thread():
        return Adjustment(scores_of(dataset.complete_in(columns)), range(2, len(columns)))


def strength(adjustment: Adjustment) -> float:
    """Partial rank correlation of the two variables; unsigned if one has three or more categories."""
    with one_blas_thread():
        return float(f"{partial_correlation(adjustment, 0, 1):.6g}")


def rows_behind(dataset: Dataset, columns: Sequence[int], adjustment: Adjustment) -> tuple[Pair, Pair]:
    """Some rows of the two variables as measured, and of their residuals."""
    n_rows = adjustment.scores.n_samples
    chosen = np.sort(np.random.default_rng(_SEED).permutation(n_rows)[:SHOWN_ROWS])
    measured = [
        Shown(
            _rounded(adjustment.scores.values[chosen, position]),
            dataset.summary.levels.get(dataset.names[column]),
        )
        for position, column in enumerate(columns[:2])
    ]
    with one_blas_thread():
        adjusted = [_residuals(adjustment, position, chosen, measured[position]) for position in (0, 1)]
    return (measured[0], measured[1]), (adjusted[0], adjusted[1])


def _residuals(adjustment: Adjustment, position: int, chosen: Positions, measured: Shown) -> Shown:
    """Residuals of the normal score, or of the second of two categories; more categories have none."""
    scores = adjustment.scores
    if not adjustment.given or (scores.kinds[position] == "nominal" and len(measured.levels or ()) > 2):
        return measured
    columns = [(position, (LINEAR,))]
    fit = adjustment.fit(lambda rows: scores.part(rows, columns), 1)
    parts = [adjustment.residuals(fit, rows, scores.part(rows, columns)) for rows in scores.blocks]
    return Shown(_rounded(np.concatenate(parts)[chosen, 0]))


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(f"{value:.6g}") for value in values)
