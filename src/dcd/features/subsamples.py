"""Gram matrices of random parts of the rows, for the price of one pass over them.

Rows are dealt into groups at random; the sums of each group are made once, and a part is a few groups, whose
sums are added up. Ranks, columns and products are those of the whole table, and so is the number of samples
that a part counts for: it shows how moments vary from sample to sample, not what fewer samples would tell.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dcd.features.family_gram import Categories, FamilyGram
from dcd.features.gram_columns import GapColumns, TableColumns
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import SAMPLE_ROWS
from dcd.runtime.threads import one_blas_thread

N_GROUPS = 20
# Groups in a part. Parts of half the rows miss weak edges; those of nine tenths are too similar.
N_CHOSEN = 14
_MOST_BYTES = 2**29  # of the sums of all groups


class Subsamples:
    """Random parts of the rows of a table.

    Parameters
    ----------
    columns, categories : of the table.
    rng : decides which rows are in which group.
    """

    def __init__(
        self,
        columns: TableColumns | GapColumns,
        categories: Categories | None,
        rng: np.random.Generator,
    ) -> None:
        n_rows = len(columns.probabilities)
        self._columns, self._categories = columns, categories
        self._rows = slice(0, n_rows, -(-n_rows // SAMPLE_ROWS))
        # The order of the rows must not matter, so they are dealt in that of their values.
        order = np.lexsort(np.asarray(columns.values[self._rows]).T)
        self._groups = np.array_split(order[rng.permutation(len(order))], N_GROUPS)
        with one_blas_thread():
            self._sums = self._sums_of_groups()

    @staticmethod
    def fits(columns: TableColumns | GapColumns) -> bool:
        """Whether the sums of all groups are small enough to keep."""
        return 8 * N_GROUPS * columns.width**2 <= _MOST_BYTES

    def draw(self, rng: np.random.Generator) -> tuple[FamilyGram, Categories | None]:
        """The Gram matrix and the counts of a random part."""
        chosen = rng.choice(N_GROUPS, size=N_CHOSEN, replace=False)
        gram = self._columns.gram(self._sums[np.sort(chosen)].sum(axis=0))
        return gram, self._counts(np.concatenate([self._groups[group] for group in chosen]))

    def _sums_of_groups(self) -> FloatArray:
        whole = self._columns.rows(self._rows)
        whole *= np.sqrt(self._columns.probabilities[self._rows, None]).astype(whole.dtype)
        return np.stack([whole[rows].T @ whole[rows] for rows in self._groups]).astype(np.float64)

    def _counts(self, rows: Positions) -> Categories | None:
        if self._categories is None:
            return None
        positions = np.arange(self._rows.stop)[self._rows][rows]
        counts = np.bincount(
            self._categories.combination[positions],
            weights=self._columns.probabilities[positions],
            minlength=len(self._categories.weights),
        )
        return replace(self._categories, weights=counts * (self._categories.weights.sum() / counts.sum()))
