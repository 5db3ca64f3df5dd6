"""Are two variables associated given others? The robust test: adjust, and decouple where needed.

**Adjust.** Test the association of the residuals of both variables given the set (`partial_pvalues`), on the
whole sample.

**Decouple where needed.** No regression can fit every function of a set: the residuals of two effects of
sign(A·B) both retain part of it. If adjustment has left structure in the residuals of x and of y
(`neighbours`), enough to explain their association, the association must survive under weights that make x
independent of S (`dcd.weights`), with S adjusted for as well. Otherwise, and if S is large, the whole sample
is used.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np

from dcd.features.rank_scores import Scores
from dcd.independence.adjustment import Adjustment
from dcd.independence.base import Interaction, Record, SearchTest
from dcd.independence.neighbours import Neighbours, may_explain
from dcd.independence.partial_pvalues import log_pvalues
from dcd.independence.residual_columns import ResidualColumns
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_choice, check_number
from dcd.runtime.rows import MANY_ROWS
from dcd.weights.base import SampleWeights, Weighting, check_weighting, from_set
from dcd.weights.convex import ConvexWeights
from dcd.weights.hsic_descent import HSICDescent

Decouple = Literal["where-needed", "always", "never"]
_AT_ONCE = 16  # variables that are tested together if there are many rows
# Rows that are decoupled: 2,500 take 1 s, 5,000 take 2 to 4 s and 20,000 take 16 s; the effective sample size
# is about a quarter of them.
_DECOUPLED_ROWS = 2_500
# Large sets are only adjusted for. With x and y = sign(A·B) + noise at n = 800, decoupling lowers the false
# rejections of adjustment from 1 to .23 in a set of 3, .55 in one of 5 and .77 in one of 8.
_LARGE_SET = 8
_NOTHING = Record()  # of a test without weights; never changed
_KEPT_BYTES = 2**26  # of cached weights, and of adjustments; the least recently used are dropped
_BYTES_OF_A_ROW = 2_000  # of an adjustment: about 220 columns


class _Weights:
    """The most recently used weights of sets on one table, and summaries of all."""

    def __init__(self, strategy: Weighting, scores: Scores) -> None:
        self.accounts: dict[tuple[int, ...], SampleWeights] = {}
        self._strategy, self._scores = strategy, scores
        self._most = max(1, _KEPT_BYTES // (8 * scores.n_samples))
        self._kept: OrderedDict[tuple[int, ...], SampleWeights] = OrderedDict()

    def __call__(self, members: tuple[int, ...]) -> SampleWeights:
        """Weights that decouple a set or, with a `from_set` strategy, its first member from the others."""
        # Other threads may call this at the same time, so nothing is looked up twice.
        learned = self._kept.pop(members, None) or self._learn(members)
        self._kept[members] = learned
        if members not in self.accounts:
            sketch = learned.sketched(self._scores.shown)
            self.accounts[members] = replace(learned.account, sketch=sketch)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return learned

    def _learn(self, members: tuple[int, ...]) -> SampleWeights:
        apart = from_set(self._strategy)
        if apart is not None:
            return apart.learn_apart(self._scores, members[0], members[1:])
        return self._strategy.learn(self._scores, members)


def _apart() -> HSICDescent:
    return HSICDescent(objective="from-set", max_rows=_DECOUPLED_ROWS)


@dataclass(frozen=True)
class PartialAssociation:
    """The robust conditional independence test: adjust for the set, and decouple where needed.

    Attributes
    ----------
    weights : how to decouple. `HSICDescent(objective="from-set")` makes one of the two variables independent
        of the set jointly; other strategies make the members of the set independent of each other.
    decouple : "where-needed" tests an association again under weights if both residuals retain structure and
        the set has fewer than eight variables; "always" does so for every association that adjustment leaves
        significant; "never" only adjusts.
    interaction_level : level of the test for structure left by adjustment.
    """

    weights: Weighting = field(default_factory=_apart)
    decouple: Decouple = "where-needed"
    interaction_level: float = 0.05

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_weighting("weights", self.weights)
        check_choice("decouple", self.decouple, get_args(Decouple))
        check_number("interaction_level", self.interaction_level, above=0, below=1, suggestion=0.05)

    def bind(self, scores: Scores, level: float) -> BoundAssociation:
        """The test on one table; p-values above `level` without weights are not recomputed with weights."""
        return BoundAssociation(self, scores, level)


@dataclass(frozen=True)
class _Set:
    """Results that all tests given one set share."""

    adjustment: Adjustment

    @cached_property
    def neighbours(self) -> Neighbours:
        return Neighbours(self.adjustment)


class BoundAssociation(SearchTest):
    """`PartialAssociation` on one table; results are cached.

    Each result depends only on its own arguments, not on earlier calls, to the last digit.
    """

    def __init__(self, strategy: PartialAssociation, scores: Scores, level: float) -> None:
        super().__init__(scores.n_variables)
        self.strategy, self.scores, self._log_level = strategy, scores, float(np.log(level))
        self._screened: dict[tuple[int, tuple[int, ...]], FloatArray] = {}
        self._pairs: dict[tuple[int, int, tuple[int, ...]], tuple[float, Record]] = {}
        self._first: dict[tuple[int, int, tuple[int, ...]], tuple[float, bool]] = {}
        self._weights = _Weights(strategy.weights, scores)
        self._sets: OrderedDict[tuple[int, ...], _Set] = OrderedDict()
        unlimited = scores.memory.limit is None
        self._most_sets = max(1, _KEPT_BYTES // (_BYTES_OF_A_ROW * scores.n_samples)) if unlimited else 1

    def screen(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `SearchTest`; one round, under equal weights, of all variables at once."""
        key = (target, tuple(sorted(given)))
        if key not in self._screened:
            self._screened[key] = self._adjusted(*key)
        yield self._screened[key]

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        key = (min(x, y), max(x, y), tuple(sorted(given)))
        if key not in self._pairs:
            self._pairs[key] = self._answer(*key)
        log_pvalue, record = self._pairs[key]
        self.record.add(record)
        return log_pvalue

    def first_log_pvalue(self, x: int, y: int, given: Collection[int]) -> tuple[float, bool]:
        """See `SearchTest`; the association under equal weights, final unless it has to be decoupled."""
        key = (min(x, y), max(x, y), tuple(sorted(given)))
        if key not in self._first:
            self._first[key] = self._without_weights(*key)
        return self._first[key]

    def _adjusted(self, target: int, given: tuple[int, ...]) -> FloatArray:
        """Log p-values (d,) of all variables against the target without weights."""
        result, outside = np.zeros(self.n_variables), self.outside(target, given)
        adjustment = self._set(given).adjustment
        # Memory grows with rows times variables, so with many rows a few variables are tested at a time.
        few = self.scores.n_samples < MANY_ROWS and self.scores.groups is None
        at_once = max(len(outside), 1) if few else _AT_ONCE
        for start in range(0, len(outside), at_once):
            some = outside[start : start + at_once]
            columns = ResidualColumns(adjustment, [target, *some])
            result[some] = log_pvalues(columns, 0, range(1, len(some) + 1))
        return result

    def _members(self, x: int, given: tuple[int, ...]) -> tuple[int, ...]:
        """The variables to decouple: x from the set if the strategy can do that, otherwise the set."""
        return (x, *given) if from_set(self.strategy.weights) else given

    def _without_weights(self, x: int, y: int, given: tuple[int, ...]) -> tuple[float, bool]:
        conditions = self._set(given)
        columns = ResidualColumns(conditions.adjustment, [x, y])
        adjusted = float(log_pvalues(columns, 0, [1])[0])
        decouple = self.strategy.decouple
        never = len(self._members(x, given)) < 2 or decouple == "never"
        if adjusted >= self._log_level or never:
            return adjusted, True
        if decouple == "always":
            return adjusted, False
        if len(given) >= _LARGE_SET:
            return adjusted, True
        level = self.strategy.interaction_level
        return adjusted, not may_explain(columns, conditions.neighbours, adjusted, level)

    def _answer(self, x: int, y: int, given: tuple[int, ...]) -> tuple[float, Record]:
        """The association under equal weights and, if needed, under weights that decouple the set."""
        adjusted, final = self.first_log_pvalue(x, y, given)
        if final:
            return adjusted, _NOTHING
        members = self._members(x, given)
        learned = self._weights(members)
        weighted = Adjustment(self.scores, given, learned.probabilities)
        decoupled = weighted_log_pvalue(weighted, x, y)
        interaction = Interaction((x, y), given, adjusted, decoupled, learned.ess, learned.dependence)
        record = Record({members: self._weights.accounts[members]}, {(x, y, given): interaction})
        return max(adjusted, decoupled), record

    def _set(self, given: tuple[int, ...]) -> _Set:
        """The shared results of tests given one set; the most recently used are kept, because sets recur."""
        # Other threads may call this at the same time, so nothing is looked up twice.
        known = self._sets.pop(given, None)
        if known is None:
            n_excess = max(len(self._sets) + 1 - self._most_sets, 0)
            for oldest in list(self._sets)[:n_excess]:  # before the next one: they can be large
                self._sets.pop(oldest, None)
            known = _Set(Adjustment(self.scores, given))
        self._sets[given] = known
        return known

    def __getstate__(self) -> dict[str, Any]:
        """The state without adjustments, which another process recomputes."""
        return {**self.__dict__, "_sets": OrderedDict()}


def weighted_log_pvalue(adjustment: Adjustment, x: int, y: int) -> float:
    """Log p-value of x and y, adjusted under weights."""
    return float(log_pvalues(ResidualColumns(adjustment, [x, y]), 0, [1])[0])


@dataclass(frozen=True)
class WeightedAssociation:
    """Conditional independence test by decoupling weights alone, without adjustment, as published.

    To test x against y given a set, x and the set are decoupled from each other.
    """

    weights: Weighting = field(default_factory=ConvexWeights)

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_weighting("weights", self.weights)

    def bind(self, scores: Scores, level: float) -> BoundWeightedAssociation:  # noqa: ARG002
        """The test on one table."""
        return BoundWeightedAssociation(self, scores)


class BoundWeightedAssociation(SearchTest):
    """`WeightedAssociation` on one table."""

    def __init__(self, strategy: WeightedAssociation, scores: Scores) -> None:
        super().__init__(scores.n_variables)
        self.strategy, self.scores = strategy, scores
        self._weights = _Weights(strategy.weights, scores)

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        members = (x, *sorted(given)) if from_set(self.strategy.weights) else tuple(sorted({*given, x}))
        learned = self._weights(members)
        self.record.note(members, self._weights.accounts[members])
        unadjusted = Adjustment(self.scores, (), learned.probabilities)
        return weighted_log_pvalue(unadjusted, x, y)
