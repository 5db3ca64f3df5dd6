"""The right form of a test for a table: plain, on a sample of many rows first, or with testwise deletion.

**A sample first.** Most tests of a search are of strong associations, which some ten thousand rows decide.
Two variables are taken as dependent if the p-value on a fixed sample of rows is below a thousandth of the
level; under independence that happens once in a thousand of the cases that the level allows for anyway. All
other tests use all rows, so that the time for a search grows with the number of rows times the number of
associations that are *not* obvious. The sample depends on the number and the order of the rows, not on their
values.

**Testwise deletion.** Every answer rests on the rows that are complete in the variables that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dcd.features.rank_scores import Scores, scores_of
from dcd.independence.base import CITest, Record, SearchTest, bound_to
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import MANY_ROWS, SAMPLE_ROWS
from dcd.table.checks import MIN_ROWS
from dcd.table.dataset import Dataset

_SEED = 20_000
_CLEARLY = 1e-3  # of the level


def bind_test(
    strategy: CITest,
    dataset: Dataset,
    level: float,
    scores: Scores | None = None,
    *,
    sample_first: bool = True,
) -> SearchTest:
    """A test bound to a table, with missing values or without.

    `scores` are those of the table, if they are known. With `sample_first`, what a part of many rows rejects
    clearly is not tested on all of them.
    """
    if dataset.has_gaps:
        return TestwiseTest(dataset, partial(bind_test, strategy, level=level, sample_first=sample_first))
    scores = scores_of(dataset) if scores is None else scores
    if not sample_first or len(dataset.values) <= MANY_ROWS:
        return bound_to(strategy, scores, level)
    return SampleFirstTest(strategy, scores, scores_of(row_sample(dataset)), level)


def row_sample(dataset: Dataset) -> Dataset:
    """Some of the rows, the same for the same number of rows."""
    chosen = np.random.default_rng(_SEED).choice(len(dataset.values), SAMPLE_ROWS, replace=False)
    kept = np.zeros(len(dataset.values), dtype=bool)
    kept[chosen] = True
    return dataset.take(kept)


class SampleFirstTest(SearchTest):
    """Any test, on a sample of the rows first."""

    def __init__(self, strategy: CITest, whole: Scores, sample: Scores, level: float) -> None:
        super().__init__(whole.n_variables)
        self._log_level = float(np.log(level * _CLEARLY))
        self._sample = bound_to(strategy, sample, level * _CLEARLY)
        self._whole = bound_to(strategy, whole, level)

    def screen(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `SearchTest`; what is clear on the sample, then all variables on all rows."""
        for log_pvalues in self._sample.screen(target, given):
            yield np.where(log_pvalues < self._log_level, log_pvalues, 0.0)
        yield from self._on_all_rows().screen(target, given)

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`; an upper bound where the sample is enough."""
        self._sample.record = Record()
        log_pvalue = self._sample.log_pvalue(x, y, given)
        if log_pvalue >= self._log_level:
            return self._on_all_rows().log_pvalue(x, y, given)
        self.record.add(self._sample.record)
        return log_pvalue

    def _on_all_rows(self) -> SearchTest:
        self._whole.record = self.record
        return self._whole


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
