"""Gram matrices of random subsamples of the rows, at the cost of one more pass over them.

Rows are divided into groups at random. The sums of each group are computed once, and a subsample consists of
some groups, whose sums are added up. Ranks, columns and products are those of the whole table, and so is the
number of samples that a subsample counts for: it shows how moments vary between samples, not the effect of
having fewer. Rows that belong together (`Dataset.groups`) stay together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.features.family_gram import Categories, FamilyGram
from dcd.features.gram_columns import GapColumns, TableColumns
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import SAMPLE_ROWS
from dcd.runtime.threads import one_blas_thread

N_GROUPS = 20
# Groups in a subsample. With half the rows and the likelihood of all, many edges above 50 % were false.
N_CHOSEN = 14
_MOST_BYTES = 2**29  # for the sums of all groups


class Subsamples:
    """Random subsamples of a table: the sums and counts of each group, without the rows.

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
        groups = row_parts(columns, rng)
        self._gram, self._n_groups = columns.gram, len(groups)
        with one_blas_thread():
            self._sums = _sums_of_groups(columns, groups)
        self._counts: list[tuple[Positions, FloatArray]] = []
        self._n_combinations = 0
        if categories is not None:
            of_row, shares = categories.combination, columns.probabilities
            self._counts = [_counted(of_row[rows], shares[rows]) for rows in groups]
            self._n_combinations = len(categories.weights)

    @staticmethod
    def fits(columns: TableColumns | GapColumns) -> bool:
        """Whether the sums of all groups are small enough to keep."""
        return 8 * N_GROUPS * columns.width**2 <= _MOST_BYTES

    def draw(self, rng: np.random.Generator) -> tuple[FamilyGram, FloatArray | None]:
        """The Gram matrix of a random subsample, and the share of each combination of categories, if any."""
        size = max(N_CHOSEN * self._n_groups // N_GROUPS, 1)
        chosen = np.sort(rng.choice(self._n_groups, size=size, replace=False))
        gram = self._gram(np.asarray(sum(self._sums[..., group] for group in chosen)))
        if not self._counts:
            return gram, None
        at, shares = map(np.concatenate, zip(*(self._counts[group] for group in chosen), strict=True))
        counts = np.bincount(at, weights=shares, minlength=self._n_combinations)
        return gram, counts.astype(np.float64)


def row_parts(columns: TableColumns | GapColumns, rng: np.random.Generator) -> list[Positions]:
    """The rows of each group."""
    order = np.arange(len(columns.probabilities))
    if len(order) <= SAMPLE_ROWS:
        # Few rows are assigned in the order of their values, so that their own order does not matter.
        order = np.lexsort(_keys(columns))
    return _dealt(order, columns.groups, rng)


def _keys(columns: TableColumns | GapColumns) -> list[FloatArray]:
    """Keys to sort rows by, the last first: categories by how many rows have them, then their codes.

    The names of categories, and with them the codes, matter only if categories are equally frequent.
    """
    values = list(np.array(columns.values, dtype=np.float64).T)
    codes = [values[v] for v in columns.nominal]
    for v in columns.nominal:
        _, level, counts = np.unique(values[v], return_inverse=True, return_counts=True)
        values[v] = counts[level.reshape(-1)].astype(np.float64)
    return [*codes, columns.probabilities, *values]


def _sums_of_groups(columns: TableColumns | GapColumns, groups: Sequence[Positions]) -> FloatArray:
    """(c, c, groups), in a file if memory is limited."""
    sums: FloatArray = columns.memory.array((columns.width, columns.width, len(groups)))
    sums[:] = 0.0
    for block in columns.blocks:
        whole = columns.rows(block)
        whole *= np.sqrt(columns.probabilities[block, None]).astype(whole.dtype)
        for group, rows in enumerate(groups):
            inside = whole[rows[(rows >= block.start) & (rows < block.stop)] - block.start]
            sums[..., group] += inside.T @ inside
    return sums


def _counted(combinations: Positions, shares: FloatArray) -> tuple[Positions, FloatArray]:
    """The combinations of some rows, and the share of each."""
    present, row = np.unique(combinations, return_inverse=True)
    return present, np.bincount(row, weights=shares).astype(np.float64)


def _dealt(order: Positions, together: Positions | None, rng: np.random.Generator) -> list[Positions]:
    """The rows, in an order, dealt into groups at random; those that belong `together` are in one group."""
    if together is None:
        return np.array_split(order[rng.permutation(len(order))], N_GROUPS)
    in_order = together[order]
    names = in_order[np.sort(np.unique(in_order, return_index=True)[1])]
    dealt = np.array_split(names[rng.permutation(len(names))], min(N_GROUPS, len(names)))
    return [np.flatnonzero(np.isin(together, some)) for some in dealt]
