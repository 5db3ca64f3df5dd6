"""A test on many rows: what a sample of them rejects clearly is not tested on all of them.

Most questions of a search are about strong associations, and some ten thousand rows answer them. An
association is taken as there if its p-value on a fixed sample of rows is below a thousandth of the level;
under independence that happens once in a thousand of the cases that the level allows for anyway. All other
questions are put to all rows. So the time for a search grows with the number of rows times the number of
associations that are *not* obvious. Which rows are in the sample depends on how many there are, not on what
they hold; in another order of the rows other ones are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace

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
        self._ratio = whole.n_samples / sample.n_samples

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
        self._take_over(self._sample.record)
        return log_pvalue

    def _on_all_rows(self) -> SearchTest:
        self._whole.record = self.record
        return self._whole

    def _take_over(self, record: Record) -> None:
        """Add what was decoupled on the sample, with the sizes that it would have on all rows."""
        for members, learned in record.balances.items():
            self.record.note(members, replace(learned, ess=learned.ess * self._ratio))
        for key, interaction in record.interactions.items():
            self.record.interactions[key] = replace(interaction, ess=interaction.ess * self._ratio)
