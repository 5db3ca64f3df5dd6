"""Missing values, each set of variables on its own complete rows: a test on a table with gaps."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

import numpy as np

from dcd.arrays import FloatArray
from dcd.association import BoundTest, Record, Test
from dcd.data import Dataset
from dcd.preflight import MIN_ROWS
from dcd.scores import Scores, scores_of


class GappyTest:
    """Any test as a `BoundTest` on a table with gaps; every answer rests on the rows it can."""

    def __init__(self, strategy: Test, dataset: Dataset, level: float) -> None:
        self.record = Record()
        self._strategy, self._dataset, self._level = strategy, dataset, level
        self._known: dict[tuple[int, ...], tuple[float, Record]] = {}

    def first_look(self, target: int, given: Collection[int]) -> FloatArray:
        """See `BoundTest`; rows differ between candidates, so each is tested by itself."""
        n_variables = len(self._dataset.names)
        log_pvalues = np.zeros(n_variables)
        for variable in (v for v in range(n_variables) if v != target and v not in given):
            log_pvalues[variable] = self.log_pvalue(variable, target, given)
        return np.nan_to_num(log_pvalues, nan=0.0)

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
        bound = self._strategy.bind(scores_of(part), self._level)
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


def bind(strategy: Test, dataset: Dataset, level: float, scores: Scores | None = None) -> BoundTest:
    """A test bound to a table, with gaps or without; `scores` are those of the table, if they are there."""
    if dataset.has_gaps:
        return GappyTest(strategy, dataset, level)
    return strategy.bind(scores_of(dataset) if scores is None else scores, level)
