"""Gram matrices of random subsamples of the rows, at the cost of at most one more pass over them.

Rows are divided into groups at random. The sums of each group are computed once, and a subsample consists of
some groups, whose sums are added up. Ranks, columns and products are those of the whole table, and so is the
number of samples that a subsample counts for: it shows how moments vary between samples, not the effect of
having fewer. Rows that belong together (`Dataset.groups`) stay together. Where few of many samples count, the
groups are those of a random sample of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dcd.features.family_gram import Categories, FamilyGram
from dcd.features.gram_columns import GapColumns, TableColumns, products_in
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.parallel import n_processes
from dcd.runtime.rows import SAMPLE_ROWS
from dcd.runtime.threads import one_blas_thread

N_GROUPS = 20
# Groups in a subsample. With half the rows and the likelihood of all, many edges above 50 % were false.
N_CHOSEN = 14
_MOST_BYTES = 2**29  # for the sums of all groups
# If the likelihood counts fewer samples than there are rows: rows for each of them, and in all at least. With
# 400,000 rows instead of 100,000, probabilities differed by 0.002 on average, and by 0.13 at most.
_ROWS_A_SAMPLE, _FEWEST_ROWS = 20, 100_000


class Subsamples:
    """Random subsamples of a table: the sums and counts of each group, without the rows.

    Parameters
    ----------
    columns, categories : of the table.
    rng : decides which rows are in which group.
    n_counted : the number of samples that the likelihood counts; by default all.
    n_jobs : the number of threads, as in `RobustDCD`.
    """

    def __init__(
        self,
        columns: TableColumns | GapColumns,
        categories: Categories | None,
        rng: np.random.Generator,
        n_counted: float = np.inf,
        n_jobs: int | None = None,
    ) -> None:
        groups = row_parts(columns, rng)
        if n_counted < columns.n_samples and categories is None and columns.groups is None:
            most_rows = max(_FEWEST_ROWS, int(_ROWS_A_SAMPLE * n_counted))
            groups = [rows[: most_rows // N_GROUPS] for rows in groups]
        self._gram, self._n_groups = columns.gram, len(groups)
        self._sums = _sums_of_groups(columns, groups, n_jobs)
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


def _sums_of_groups(
    columns: TableColumns | GapColumns, groups: Sequence[Positions], n_jobs: int | None
) -> FloatArray:
    """(c, c, groups), in a file if memory is limited."""
    sums: FloatArray = columns.memory.array((columns.width, columns.width, len(groups)))
    most = columns.blocks[0].stop

    def add_up(group: int) -> None:
        rows = groups[group]
        if len(columns.probabilities) > SAMPLE_ROWS:
            rows = np.sort(rows)  # large tables may be in files
        sums[..., group] = 0.0
        for start in range(0, len(rows), most):
            sums[..., group] += products_in(rows[start : start + most], columns)

    with one_blas_thread(), ThreadPoolExecutor(max_workers=n_processes(n_jobs)) as pool:
        list(pool.map(add_up, range(len(groups))))
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
