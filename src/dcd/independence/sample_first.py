"""A test on many rows: what a sample of them rejects clearly is not tested on all of them.

Most tests of a search are of strong associations, which some ten thousand rows decide. Two variables are
taken as dependent if the p-value on a fixed sample of rows is below a thousandth of the level; under
independence that happens once in a thousand of the cases that the level allows for anyway. All other tests
use all rows, so that the time for a search grows with the number of rows times the number of associations
that are *not* obvious. The sample depends on the number and the order of the rows, not on their values.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

import numpy as np

from dcd.features.rank_scores import Scores
from dcd.independence.base import CITest, Record, SearchTest, bound_to
from dcd.runtime.array_types import FloatArray
from dcd.runtime.rows import SAMPLE_ROWS
from dcd.table.dataset import Dataset

_SEED = 20_000
_CLEARLY = 1e-3  # of the level


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
