"""Adjusting by means in bins of the ranks of a variable, for kinks and spikes that smooth functions miss.

Twenty polynomials follow any smooth curve, but log|x| has a spike and |x| a kink, which they follow only
roughly. With many rows the rest is seen: of two effects of one cause, without bins, the association given the
cause had p below 1e-6 at 22,000 rows. So the means of the residuals of the regression in small bins of the
ranks of each variable of the set are subtracted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from dcd.features.rank_scores import Scores, SmoothColumns
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import BINNED_ROWS

_ROWS_OF_A_BIN, _MOST_BINS = 100, 4096
_SWEEPS = 2  # the variables of a set depend on each other


class BinnedAdjustment:
    """Bins of ranks, with the same number of rows in each, of the measurements among some variables."""

    def __init__(self, scores: Scores, given: Sequence[int], probabilities: FloatArray) -> None:
        n_samples = scores.n_samples
        self._n_bins = min(n_samples // _ROWS_OF_A_BIN, _MOST_BINS)
        self._probabilities = probabilities
        makers = [scores.variables[v].make for v in given] if n_samples >= BINNED_ROWS else []
        self._bins: list[npt.NDArray[np.intp]] = [
            np.minimum(make.scores[:, 1] * self._n_bins, self._n_bins - 1).astype(np.intp)
            for make in makers
            if isinstance(make, SmoothColumns)
        ]
        self._mass = [
            np.maximum(np.bincount(bins, probabilities, self._n_bins), 1e-300) for bins in self._bins
        ]

    @property
    def n_parameters(self) -> int:
        """Number of means that are subtracted from each column, of all variables together."""
        return len(self._bins) * self._n_bins

    def subtract_from(self, column: FloatArray) -> None:
        """Subtract the means of one column (n,), in place."""
        for _ in range(_SWEEPS):
            for bins, mass in zip(self._bins, self._mass, strict=True):
                means = np.bincount(bins, self._probabilities * column, self._n_bins) / mass
                column -= means.astype(column.dtype)[bins]

    def shape(self, n_columns: int) -> tuple[int, int, int]:
        """The shape of the sums of some columns: variables, bins, columns."""
        return len(self._bins), self._n_bins, n_columns

    def add_sums(self, rows: slice, weighted: FloatArray, sums: FloatArray) -> None:
        """Add the sums in every bin of some rows of weighted columns (b, q), in place."""
        for own, bins in zip(sums, self._bins, strict=True):
            for column, values in enumerate(weighted.T):
                own[:, column] += np.bincount(bins[rows], values, self._n_bins)

    def means(self, sums: FloatArray) -> FloatArray:
        """From sums over all rows to means."""
        return sums / np.stack(self._mass)[:, :, None]

    def at(self, rows: slice, means: FloatArray) -> FloatArray:
        """The means that belong to some rows, of all variables together, (b, q)."""
        total = means[0][self._bins[0][rows]]
        for bins, own in zip(self._bins[1:], means[1:], strict=True):
            total += own[bins[rows]]
        return total
