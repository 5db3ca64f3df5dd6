"""Adjusting by steps along the ranks of a variable: what smooth functions leave of kinks and spikes.

Twenty polynomials follow any smooth curve, but log|x| has a spike and |x| a kink, of which they leave some.
With many rows that is seen: of two effects of one cause, without steps, the association given the cause
had p below 1e-6 at 22,000 rows. So what the regression leaves is averaged over small ranges of the ranks of
each variable of the set, and the averages are taken off.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dcd.features.rank_scores import Scores, SmoothColumns
from dcd.runtime.array_types import FloatArray

ENOUGH_ROWS = 20_000  # fewer hardly see what smooth functions leave
_ROWS_OF_A_STEP, _MOST_STEPS = 100, 4096
_SWEEPS = 2  # variables of a set go along with each other


class Steps:
    """Ranges of ranks, the same number of rows in each, of the measurements among some variables.

    Attributes
    ----------
    n_parameters : number of averages that are taken off each column.
    """

    def __init__(self, scores: Scores, given: Sequence[int], probabilities: FloatArray) -> None:
        n_samples = scores.n_samples
        self._n_steps = min(n_samples // _ROWS_OF_A_STEP, _MOST_STEPS)
        self._probabilities = probabilities
        makers = [scores.variables[v].make for v in given] if n_samples >= ENOUGH_ROWS else []
        self._places: list[npt.NDArray[np.intp]] = [
            np.minimum(make.scores[:, 1] * self._n_steps, self._n_steps - 1).astype(np.intp)
            for make in makers
            if isinstance(make, SmoothColumns)
        ]
        self._mass = [
            np.maximum(np.bincount(places, probabilities, self._n_steps), 1e-300) for places in self._places
        ]

    @property
    def n_parameters(self) -> int:
        """Number of averages, of all variables together."""
        return len(self._places) * self._n_steps

    def take_off(self, column: FloatArray) -> None:
        """Averages taken off one column (n,), in place."""
        for _ in range(_SWEEPS):
            for places, mass in zip(self._places, self._mass, strict=True):
                averages = np.bincount(places, self._probabilities * column, self._n_steps) / mass
                column -= averages.astype(column.dtype)[places]

    def shape(self, n_columns: int) -> tuple[int, int, int]:
        """Of the sums of some columns: variables, steps, columns."""
        return len(self._places), self._n_steps, n_columns

    def add_sums(self, rows: slice, weighted: FloatArray, sums: FloatArray) -> None:
        """Add the sums of some rows of weighted columns (b, q) in every step, in place."""
        for place, places in enumerate(self._places):
            for column, values in enumerate(weighted.T):
                sums[place, :, column] += np.bincount(places[rows], values, self._n_steps)

    def averages(self, sums: FloatArray) -> FloatArray:
        """From sums over all rows to averages."""
        return sums / np.stack(self._mass)[:, :, None]

    def at(self, rows: slice, averages: FloatArray) -> FloatArray:
        """The averages that belong to some rows, of all variables together, (b, q)."""
        found = averages[0][self._places[0][rows]]
        for places, own in zip(self._places[1:], averages[1:], strict=True):
            found += own[places[rows]]
        return found
