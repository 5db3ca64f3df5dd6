"""The Gram matrix of a table with missing values: every entry from the rows that have both variables."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dcd.features.rank_scores import owners, scores_of
from dcd.runtime.array_types import FloatArray
from dcd.table.dataset import Dataset


class PairwiseGram:
    """See `Grams`; of a table with missing values, each mean over the samples that have the pair.

    A Gram matrix of such means need not be one of any sample, so its negative eigenvalues are set to zero.
    The effective sample size is the mean of that of all pairs of variables.
    """

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        n_variables = len(dataset.names)
        together, squares = np.zeros((2, n_variables, n_variables))
        for rows in self._blocks():
            present = np.isfinite(dataset.values[rows])
            shares = dataset.probabilities[rows, None] * present
            together += present.T @ shares
            squares += present.T @ np.square(shares)
        self._together = np.maximum(together, 1e-12)
        self.ess = float(np.mean(np.square(together) / np.maximum(squares, 1e-300)))

    def gram(self, smooth: Sequence[int]) -> tuple[FloatArray, list[list[int]]]:
        """Mean products of the columns that stand for the variables, and which rows are whose."""
        dataset = self._dataset
        columns = [self._columns(v, smooth) for v in range(len(dataset.names))]
        own = owners([(v, range(block.shape[1])) for v, block in enumerate(columns)])
        gram = np.zeros((own[-1][-1] + 1,) * 2)
        for rows in self._blocks():
            part = np.hstack([block[rows] for block in columns])
            gram += part.T @ (dataset.probabilities[rows, None].astype(part.dtype) * part)
        counts = list(map(len, own))
        gram /= np.repeat(np.repeat(self._together, counts, axis=0), counts, axis=1)
        values, vectors = np.linalg.eigh(gram)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T, own

    def _columns(self, v: int, smooth: Sequence[int]) -> FloatArray:
        """Columns (n, c) of one variable, 0 where it is missing."""
        scores = scores_of(self._dataset.complete_in([v]))
        chosen = scores.variables[0].standing_for(smooth)
        present = self._dataset.present_in([v])
        columns = self._dataset.memory.array((len(present), len(chosen)), scores.dtype)
        columns[:] = 0.0
        positions = np.flatnonzero(present)
        for rows in scores.blocks:
            columns[positions[rows]] = scores.variables[0].part(rows, chosen)
        return columns

    def _blocks(self) -> Sequence[slice]:
        return self._dataset.memory.blocks(len(self._dataset.values), 8 * 5 * len(self._dataset.names))
