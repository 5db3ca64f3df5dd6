"""Correlations between columns, summed over blocks of rows.

Columns are centred and scaled to at most 1, so that correlations are accurate to about 1e-14: a copy with a
relative error of 1e-6 (a correlation of 1 - 5e-13) is recognised.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.memory import Memory

_DOUBT = 1e-6  # relative cancellation above which a correlation is recomputed


def correlations(
    columns: Sequence[FloatArray], memory: Memory, rows: BoolArray | None = None
) -> FloatArray | None:
    """(d, d) correlations of complete columns, over all or some rows; None if a column is constant."""
    shift, scale = _shift_and_scale(columns, rows)
    if not (scale > 0).all():
        return None
    products = np.zeros((len(columns), len(columns)))
    for block in memory.blocks(len(columns[0]), 16 * len(columns)):
        part = _scaled(columns, block, shift, scale)
        part = part if rows is None else part[rows[block]]
        products += part.T @ part
    length = np.sqrt(np.diag(products))
    return products / np.outer(length, length)


def correlations_with_gaps(columns: Sequence[FloatArray], memory: Memory, fewest: int) -> FloatArray:
    """(d, d) correlations over the rows complete in both; 0 if these are fewer than `fewest`.

    The sums are centred at the means of whole columns. If the means over the rows of a pair are far from
    them, or the correlation is near 1, the pair is recomputed separately.
    """
    shift, scale = _shift_and_scale(columns, None)
    scale = np.where(scale > 0, scale, 1.0)
    n_columns = len(columns)
    both, sums, squares, products = (np.zeros((n_columns, n_columns)) for _ in range(4))
    for block in memory.blocks(len(columns[0]), 32 * n_columns):
        part = _scaled(columns, block, shift, scale)
        present = (~np.isnan(part)).astype(np.float64)
        part = np.nan_to_num(part, nan=0.0)
        both += present.T @ present
        sums += part.T @ present
        squares += np.square(part).T @ present
        products += part.T @ part
    counts = np.maximum(both, 1.0)
    spread = squares - np.square(sums) / counts
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = (products - sums * sums.T / counts) / np.sqrt(spread * spread.T)
    doubtful = (spread <= _DOUBT * squares) | (np.abs(correlation) > 1 - _DOUBT) | ~np.isfinite(correlation)
    for i, j in np.argwhere(np.triu((doubtful | doubtful.T) & (both >= fewest), k=1)):
        correlation[i, j] = correlation[j, i] = _correlation_of_two(columns[i], columns[j])
    np.fill_diagonal(correlation, 1.0)
    return np.where((both >= fewest) & np.isfinite(correlation), correlation, 0.0)


def _shift_and_scale(columns: Sequence[FloatArray], rows: BoolArray | None) -> tuple[FloatArray, FloatArray]:
    """Mean and largest deviation of each column, ignoring NaN; 0 for constant columns."""
    shift, scale = np.zeros(len(columns)), np.zeros(len(columns))
    for index, column in enumerate(columns):
        values = column if rows is None else column[rows]
        present = ~np.isnan(values)
        values = values if present.all() else values[present]
        if len(values) and np.ptp(values) > 0:
            shift[index] = values.mean()
            scale[index] = max(values.max() - shift[index], shift[index] - values.min())
    return shift, scale


def _scaled(columns: Sequence[FloatArray], block: slice, shift: FloatArray, scale: FloatArray) -> FloatArray:
    return np.column_stack([(c[block] - s) / w for c, s, w in zip(columns, shift, scale, strict=True)])


def _correlation_of_two(first: FloatArray, second: FloatArray) -> float:
    """The correlation over the rows that have both; NaN if one of them is constant there."""
    present = ~(np.isnan(first) | np.isnan(second))
    matrix = correlations([first[present], second[present]], Memory())
    return float("nan") if matrix is None else float(matrix[0, 1])
