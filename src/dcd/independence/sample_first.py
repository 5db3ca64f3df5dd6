"""A test on many rows, in two stages: what a sample of the rows rejects clearly is not tested on all of them.

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
from dcd.independence.association import Record, Test
from dcd.runtime.array_types import FloatArray
from dcd.table.dataset import Dataset

_ROWS, _SEED = 20_000, 20_000
_CLEARLY = 1e-3  # of the level


def sampled(dataset: Dataset) -> Dataset:
    """Some of the rows, the same for the same number of rows."""
    chosen = np.random.default_rng(_SEED).choice(len(dataset.values), _ROWS, replace=False)
    kept = np.zeros(len(dataset.values), dtype=bool)
    kept[chosen] = True
    return dataset.take(kept)


class StagedTest:
    """Any test as a `BoundTest`, on a sample of the rows first."""

    def __init__(self, strategy: Test, whole: Scores, sample: Scores, level: float) -> None:
        self._log_level = float(np.log(level * _CLEARLY))
        self._sample = strategy.bind(sample, level * _CLEARLY)
        self._whole = strategy.bind(whole, level)
        self._ratio = whole.n_samples / sample.n_samples

    @property
    def record(self) -> Record:
        """See `BoundTest`."""
        return self._whole.record

    @record.setter
    def record(self, record: Record) -> None:
        self._whole.record = record

    def looks(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `BoundTest`; at what is clear on the sample, then at all variables on all rows."""
        for look in self._sample.looks(target, given):
            yield np.where(look < self._log_level, look, 0.0)
        yield from self._whole.looks(target, given)

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`; an upper bound where the sample is enough."""
        self._sample.record = Record()
        found = self._sample.log_pvalue(x, y, given)
        if found >= self._log_level:
            return self._whole.log_pvalue(x, y, given)
        self._keep(self._sample.record)
        return found

    def _keep(self, record: Record) -> None:
        """Take over what was decoupled on the sample, with sizes as they would be on all rows."""
        for members, summary in record.balances.items():
            self.record.note(members, replace(summary, ess=summary.ess * self._ratio))
        for key, found in record.interactions.items():
            self.record.interactions[key] = replace(found, ess=found.ess * self._ratio)
