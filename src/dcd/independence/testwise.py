"""Testwise deletion: every answer rests on the rows that are complete in the variables that it is about."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from dcd.independence.base import Record, SearchTest
from dcd.table.checks import MIN_ROWS
from dcd.table.dataset import Dataset


class TestwiseTest(SearchTest):
    """Any test on a table with missing values; `bind` makes it of a table without any."""

    def __init__(self, dataset: Dataset, bind: Callable[[Dataset], SearchTest]) -> None:
        super().__init__(len(dataset.names))
        self._dataset, self._bind = dataset, bind
        self._known: dict[tuple[int, ...], tuple[float, Record]] = {}

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`; NaN where the rows that are complete in these variables cannot tell."""
        members = (min(x, y), max(x, y), *sorted(given))
        if members not in self._known:
            self._known[members] = self._tested(members)
        log_pvalue, record = self._known[members]
        self.record.add(record)
        return log_pvalue

    def _tested(self, members: tuple[int, ...]) -> tuple[float, Record]:
        part = self._dataset.complete_in(members)
        if len(part.values) < MIN_ROWS or (np.ptp(part.values[:, :2], axis=0) == 0).any():
            return float("nan"), Record()
        bound = self._bind(part)
        log_pvalue = bound.log_pvalue(0, 1, range(2, len(members)))
        return log_pvalue, _in_the_table(bound.record, members)


def _in_the_table(record: Record, members: Sequence[int]) -> Record:
    """A record of some columns under the positions that these have in the table."""
    whole = Record()
    for part, learned in record.balances.items():
        whole.note(tuple(members[v] for v in part), learned)
    for (x, y, given), interaction in record.interactions.items():
        pair, others = (members[x], members[y]), tuple(members[v] for v in given)
        whole.interactions[*pair, others] = replace(interaction, pair=pair, given=others)
    return whole
