"""The right form of a test for a table: testwise deletion, a sample of many rows first, or plain."""

from __future__ import annotations

from functools import partial

from dcd.features.rank_scores import Scores, scores_of
from dcd.independence.base import CITest, SearchTest, bound_to
from dcd.independence.sample_first import SampleFirstTest, row_sample
from dcd.independence.testwise import TestwiseTest
from dcd.runtime.rows import MANY_ROWS
from dcd.table.dataset import Dataset


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
