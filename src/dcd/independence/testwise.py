"""Missing values, each set of variables on its own complete rows: a test on a table with gaps."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from dcd.features.rank_scores import MANY_ROWS, Scores, owners, scores_of
from dcd.independence.association import BoundTest, Record, Test
from dcd.independence.sample_first import StagedTest, sampled
from dcd.runtime.array_types import FloatArray
from dcd.table.checks import MIN_ROWS
from dcd.table.dataset import Dataset


class GappyTest:
    """Any test as a `BoundTest` on a table with gaps; every answer rests on the rows it can."""

    def __init__(self, strategy: Test, dataset: Dataset, level: float, *, sample_first: bool = True) -> None:
        self.record = Record()
        self._strategy, self._dataset, self._level = strategy, dataset, level
        self._sample_first = sample_first
        self._known: dict[tuple[int, ...], tuple[float, Record]] = {}

    def looks(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `BoundTest`; rows differ between candidates, so each is tested by itself."""
        n_variables = len(self._dataset.names)
        log_pvalues = np.zeros(n_variables)
        for variable in (v for v in range(n_variables) if v != target and v not in given):
            log_pvalues[variable] = self.log_pvalue(variable, target, given)
        yield np.nan_to_num(log_pvalues, nan=0.0)

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`; NaN where the rows that are complete in these variables cannot tell."""
        members = (min(x, y), max(x, y), *sorted(given))
        if members not in self._known:
            self._known[members] = self._tested(members)
        found, record = self._known[members]
        self.record.add(record)
        return found

    def _tested(self, members: tuple[int, ...]) -> tuple[float, Record]:
        part = self._dataset.complete_in(members)
        if len(part.values) < MIN_ROWS or (np.ptp(part.values[:, :2], axis=0) == 0).any():
            return float("nan"), Record()
        bound = bind(self._strategy, part, self._level, sample_first=self._sample_first)
        found = bound.log_pvalue(0, 1, range(2, len(members)))
        return found, _in_the_table(bound.record, members)


def _in_the_table(record: Record, members: Sequence[int]) -> Record:
    """What was done under weights, under the positions that the variables have in the table."""
    whole = Record()
    for part, summary in record.balances.items():
        whole.note(tuple(members[v] for v in part), summary)
    for (x, y, given), found in record.interactions.items():
        pair, others = (members[x], members[y]), tuple(members[v] for v in given)
        whole.interactions[*pair, others] = replace(found, pair=pair, given=others)
    return whole


class GappyScores:
    """Scores of a table with missing values: each mean is over the samples that have what it needs.

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
        places = owners([(v, range(found.shape[1])) for v, found in enumerate(columns)])
        gram = np.zeros((places[-1][-1] + 1,) * 2)
        for rows in self._blocks():
            part = np.hstack([found[rows] for found in columns])
            gram += part.T @ (dataset.probabilities[rows, None].astype(part.dtype) * part)
        counts = [len(own) for own in places]
        gram /= np.repeat(np.repeat(self._together, counts, axis=0), counts, axis=1)
        values, vectors = np.linalg.eigh(gram)
        return (vectors * np.maximum(values, 0.0)) @ vectors.T, places

    def _columns(self, v: int, smooth: Sequence[int]) -> FloatArray:
        """Columns (n, c) of one variable, 0 where it is missing."""
        scores = scores_of(self._dataset.complete_in([v]))
        chosen = scores.variables[0].standing_for(smooth)
        present = self._dataset.present_in([v])
        columns = self._dataset.memory.array((len(present), len(chosen)), scores.dtype)
        columns[:] = 0.0
        places = np.flatnonzero(present)
        for rows in scores.blocks:
            columns[places[rows]] = scores.variables[0].part(rows, chosen)
        return columns

    def _blocks(self) -> Sequence[slice]:
        return self._dataset.memory.blocks(len(self._dataset.values), 8 * 5 * len(self._dataset.names))


def bind(
    strategy: Test,
    dataset: Dataset,
    level: float,
    scores: Scores | None = None,
    *,
    sample_first: bool = True,
) -> BoundTest:
    """A test bound to a table, with gaps or without.

    `scores` are those of the table, if they are there. With `sample_first` what a part of many rows rejects
    clearly is not tested on all of them.
    """
    if dataset.has_gaps:
        return GappyTest(strategy, dataset, level, sample_first=sample_first)
    scores = scores_of(dataset) if scores is None else scores
    if not sample_first or len(dataset.values) <= MANY_ROWS:
        return strategy.bind(scores, level)
    return StagedTest(strategy, scores, scores_of(sampled(dataset)), level)
