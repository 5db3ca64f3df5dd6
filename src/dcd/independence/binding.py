"""The form of a test that suits a table: plain, on a sample of the rows first, or with testwise deletion.

**Samples first.** Most tests in a search are of strong associations, which a few thousand rows can decide.
Two variables are taken as dependent if the p-value on a fixed sample of rows is below a thousandth of the
level; under independence this adds a thousandth to the errors that the level allows. Unclear cases are tested
on a larger sample, then on all rows, so the time of a search grows with the number of rows times the number
of associations that are *not* obvious. A sample depends on the number and order of the rows, not on values.

**Testwise deletion.** Every test uses the rows that are complete in its variables.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from dcd.features.rank_scores import Scores, scores_of
from dcd.independence.base import CITest, Record, SearchTest, bound_to
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import TEST_ROWS
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

    `scores` are those of the table, if known. With `sample_first`, if there are many rows, associations
    that are clear on a sample of them are not tested on all.
    """
    if dataset.has_gaps:
        return TestwiseTest(dataset, partial(bind_test, strategy, level=level, sample_first=sample_first))
    test = bound_to(strategy, scores_of(dataset) if scores is None else scores, level)
    for n_rows in reversed(TEST_ROWS):
        if sample_first and len(dataset.values) > 2 * n_rows:
            sample = scores_of(row_sample(dataset, n_rows))
            test = SampleFirstTest(bound_to(strategy, sample, level * _CLEARLY), test, level * _CLEARLY)
    return test


def row_sample(dataset: Dataset, n_rows: int) -> Dataset:
    """A fixed random sample of the rows, which depends only on their number."""
    chosen = np.random.default_rng(_SEED).choice(len(dataset.values), n_rows, replace=False)
    kept = np.zeros(len(dataset.values), dtype=bool)
    kept[chosen] = True
    return dataset.take(kept)


class SampleFirstTest(SearchTest):
    """A test on a sample of the rows and, if its p-value is not below `clear`, on more of them."""

    def __init__(self, sample: SearchTest, more: SearchTest, clear: float) -> None:
        super().__init__(sample.n_variables)
        self._sample, self._more, self._log_clear = sample, more, float(np.log(clear))

    def screen(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `SearchTest`; clear cases on the sample, then all variables on more rows."""
        for log_pvalues in self._sample.screen(target, given):
            yield np.where(log_pvalues < self._log_clear, log_pvalues, 0.0)
        yield from self._on_more_rows().screen(target, given)

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`; that of the sample if it is clear there."""
        self._sample.record = Record()
        log_pvalue = self._sample.log_pvalue(x, y, given)
        if log_pvalue >= self._log_clear:
            return self._on_more_rows().log_pvalue(x, y, given)
        self.record.add(self._sample.record)
        return log_pvalue

    def _on_more_rows(self) -> SearchTest:
        self._more.record = self.record
        return self._more


class TestwiseTest(SearchTest):
    """Any test on a table with missing values; `bind` binds it to a table without any."""

    def __init__(self, dataset: Dataset, bind: Callable[[Dataset], SearchTest]) -> None:
        super().__init__(len(dataset.names))
        self._dataset, self._bind = dataset, bind
        self._known: dict[tuple[int, ...], tuple[float, Record]] = {}

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`; NaN if the rows that are complete in these variables cannot decide."""
        members = (min(x, y), max(x, y), *sorted(given))
        if members not in self._known:
            self._known[members] = self._tested(members)
        log_pvalue, record = self._known[members]
        self.record.add(record)
        return log_pvalue

    def _tested(self, members: tuple[int, ...]) -> tuple[float, Record]:
        part = self._dataset.complete_in(members)
        one_group = part.groups is not None and part.groups.max() == 0
        if len(part.values) < MIN_ROWS or one_group or (np.ptp(part.values[:, :2], axis=0) == 0).any():
            return float("nan"), Record()
        bound = self._bind(part)
        log_pvalue = bound.log_pvalue(0, 1, range(2, len(members)))
        return log_pvalue, _in_the_table(bound.record, members)


def _in_the_table(record: Record, members: Sequence[int]) -> Record:
    """A record of some columns, with their positions in the table."""
    whole = Record()
    for part, learned in record.balances.items():
        whole.note(tuple(members[v] for v in part), learned)
    for (x, y, given), interaction in record.interactions.items():
        pair, others = (members[x], members[y]), tuple(members[v] for v in given)
        whole.interactions[*pair, others] = replace(interaction, pair=pair, given=others)
    return whole
