"""Gram matrices of random parts of the rows, at the cost of one more pass over them.

Rows are divided into groups at random. The sums of each group are computed once, and a part is a few groups,
whose sums are added up. Ranks, columns and products are those of the whole table, and so is the number of
samples that a part counts for: it shows how moments vary between samples, not what fewer samples would show.
Rows that belong together (`Dataset.groups`) stay together.
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
# Groups in a part. With half of the rows and the likelihood of all, many edges above 50 % were false.
N_CHOSEN = 14
_MOST_BYTES = 2**29  # for the sums of all groups


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
        order = np.arange(n_rows)
        if n_rows <= SAMPLE_ROWS:
            # Few rows are assigned in the order of their values, so that their own order does not matter.
            order = np.lexsort([columns.probabilities, *np.asarray(columns.values).T])
        self._groups = _dealt(order, columns.groups, rng)
        with one_blas_thread():
            self._sums = self._sums_of_groups()

    @staticmethod
    def fits(columns: TableColumns | GapColumns) -> bool:
        """Whether the sums of all groups are small enough to keep."""
        return 8 * N_GROUPS * columns.width**2 <= _MOST_BYTES

    def draw(self, rng: np.random.Generator) -> tuple[FamilyGram, Categories | None]:
        """The Gram matrix and the counts of a random part."""
        n_groups = len(self._groups)
        chosen = rng.choice(n_groups, size=max(N_CHOSEN * n_groups // N_GROUPS, 1), replace=False)
        gram = self._columns.gram(np.asarray(sum(self._sums[..., group] for group in np.sort(chosen))))
        return gram, self._counts(np.concatenate([self._groups[group] for group in chosen]))

    def _sums_of_groups(self) -> FloatArray:
        """(c, c, groups), in a file if memory is limited."""
        width = self._columns.width
        sums: FloatArray = self._columns.memory.array((width, width, len(self._groups)))
        sums[:] = 0.0
        for block in self._columns.blocks:
            whole = self._columns.rows(block)
            whole *= np.sqrt(self._columns.probabilities[block, None]).astype(whole.dtype)
            for group, rows in enumerate(self._groups):
                inside = whole[rows[(rows >= block.start) & (rows < block.stop)] - block.start]
                sums[..., group] += inside.T @ inside
        return sums

    def _counts(self, rows: Positions) -> Categories | None:
        if self._categories is None:
            return None
        counts = np.bincount(
            self._categories.combination[rows],
            weights=self._columns.probabilities[rows],
            minlength=len(self._categories.weights),
        )
        return replace(self._categories, weights=counts * (self._categories.weights.sum() / counts.sum()))


def _dealt(order: Positions, together: Positions | None, rng: np.random.Generator) -> list[Positions]:
    """The rows, in an order, dealt into groups at random, with those that belong `together` in one."""
    if together is None:
        return np.array_split(order[rng.permutation(len(order))], N_GROUPS)
    in_order = together[order]
    names = in_order[np.sort(np.unique(in_order, return_index=True)[1])]
    dealt = np.array_split(names[rng.permutation(len(names))], min(N_GROUPS, len(names)))
    return [np.flatnonzero(np.isin(together, some)) for some in dealt]
