"""Rows of a table: numbers of rows at which methods change, effective sample size, matrices in blocks."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.errors import InputError
from dcd.runtime.memory import Memory

# Up to DENSE_ROWS an (n, n) kernel matrix is held in memory: 0.5 GB at 8,000.
DENSE_ROWS = 8_000
# Tests use samples of these sizes; an unclear result on one is tested on the next, and finally on all rows.
TEST_ROWS = (1_000, 5_000, 20_000)
SAMPLE_ROWS = TEST_ROWS[-1]
# The number of rows on which edges found by the score are confirmed: a million would detect every misfit of
# the adjustment, at a hundred times the cost.
JUDGE_ROWS = 5_000
# Beyond MANY_ROWS: single precision (1e-7, against 1 / sqrt(n) = 0.005), and blocks of rows.
MANY_ROWS = 40_000

Part = Callable[[slice], FloatArray]  # some rows of a matrix
_KEPT_BYTES = 2**29


def effective_sample_size(weights: FloatArray) -> float:
    """Kish's effective sample size, (sum w)² / sum w²."""
    if not isinstance(weights, np.ndarray) or weights.dtype.kind not in "fiu":
        problem = f"must be an array of numbers, got {type(weights).__name__}"
        raise InputError("parameter 'weights'", problem, "Pass np.asarray(weights, dtype=float).")
    return float(weights.sum() ** 2 / np.square(weights).sum())


def group_sums(columns: FloatArray, groups: Positions, n_groups: int | None = None) -> FloatArray:
    """Sums (g, k) of columns (n, k) over the rows of each group; `n_groups` if some may have no rows."""
    n_groups = int(groups.max()) + 1 if n_groups is None else n_groups
    sums = [np.bincount(groups, weights=column, minlength=n_groups) for column in columns.T]
    return np.column_stack(sums) if sums else np.empty((n_groups, 0))


def remaining_share(probabilities: FloatArray, shares: FloatArray) -> float:
    r"""Kish's effective sample size relative to its initial value, :math:`1 / \sum_k p_k^2 / q_k`.

    With equal shares q it is ESS / n. It is the same whether a row counts twice or occurs twice.
    """
    return float(1.0 / (np.square(probabilities) / shares).sum())


class BlockMatrix:
    """A matrix (n, p) given by a function that computes some of its rows.

    Blocks are kept rather than recomputed if all of them together are small.
    """

    def __init__(self, make: Part, n_columns: int, size: int, memory: Memory) -> None:
        self.n_columns = n_columns
        self._make = make
        self._keep = size <= _KEPT_BYTES and memory.fits(2 * size)
        self._kept: dict[tuple[int, int], FloatArray] = {}

    def part(self, rows: slice) -> FloatArray:
        """Some rows."""
        key = (rows.start, rows.stop)
        if key in self._kept:
            return self._kept[key]
        part = self._make(rows)
        if self._keep:
            self._kept[key] = part
        return part
