"""Are two variables associated given others? The robust test: adjust, and decouple where needed.

**Adjust.** The association that is left once both variables are adjusted for the set (`partial_pvalues`),
with all of the sample.

**Decouple where needed.** Adjusting by sums of functions of single variables does not remove interactions:
with C -> A, C -> B by a curve and T = A + B + A·B, what is left of C and of T shares products of A and B. If
x and y both depend on products of variables in S beyond such sums, an association has to survive under
weights that decouple S (`dcd.weights.convex`), where products of different variables carry nothing, with the
products adjusted for as well. Where it need not, all of the sample is used.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np

from dcd.features.rank_scores import Scores
from dcd.independence.adjustment import Adjustment, Residuals, design_for
from dcd.independence.binned_adjustment import ENOUGH_ROWS
from dcd.independence.interactions import Products, interaction_design, interaction_log_pvalues
from dcd.independence.partial_pvalues import degrees_of_freedom, log_pvalues
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_choice, check_number, check_strategy
from dcd.weights.convex import Balance, BalanceSummary, ConvexWeights
from dcd.weights.sketch import sketch_weights

DECOUPLE = ("where-needed", "always", "never")
_AT_ONCE = 16  # variables of a look
_KEPT_BYTES = 2**26  # of weights; a set that comes back after many others has its weights learned again


@dataclass(frozen=True)
class Interaction:
    """An association that was tested again under decoupling weights.

    Attributes
    ----------
    pair, given : the variables, by position.
    log_pvalue_adjusted, log_pvalue_decoupled : log p-value under equal weights and under the weights.
    ess, dependence : of the weights, see `dcd.weights.convex.Balance`.
    """

    pair: tuple[int, int]
    given: tuple[int, ...]
    log_pvalue_adjusted: float
    log_pvalue_decoupled: float
    ess: float
    dependence: float


@dataclass
class Record:
    """What a test was asked under weights since the record was begun, be the answer new or kept.

    Attributes
    ----------
    balances : the sets that were decoupled. Where missing values decouple one set on several parts of the
        rows, the part with the smallest effective sample size.
    interactions : the associations that were tested again under weights.
    """

    balances: dict[tuple[int, ...], BalanceSummary] = field(default_factory=dict)
    interactions: dict[tuple[int, int, tuple[int, ...]], Interaction] = field(default_factory=dict)

    def add(self, other: Record) -> None:
        """Take over another record; the order in which records are added makes no difference."""
        for members, summary in other.balances.items():
            self.note(members, summary)
        self.interactions |= other.interactions

    def note(self, members: tuple[int, ...], summary: BalanceSummary) -> None:
        """Keep how far a set was decoupled."""
        self.balances[members] = min(summary, self.balances.get(members, summary))

    def without_sketches(self) -> Record:
        """The same record in less memory."""
        balances = {members: replace(summary, sketch=None) for members, summary in self.balances.items()}
        return Record(balances, self.interactions)


class _Weights:
    """The weights of sets on one table, of which those asked for last are kept, and summaries of all."""

    def __init__(self, options: ConvexWeights, scores: Scores) -> None:
        self.summaries: dict[tuple[int, ...], BalanceSummary] = {}
        self._options, self._scores = options, scores
        self._most = max(1, _KEPT_BYTES // (8 * scores.n_samples))
        self._kept: OrderedDict[tuple[int, ...], Balance] = OrderedDict()

    def __call__(self, members: tuple[int, ...]) -> Balance:
        # Other threads may ask at the same time, so nothing is looked up twice.
        found = self._kept.pop(members, None) or self._options.learn(self._scores, members)
        self._kept[members] = found
        if members not in self.summaries:
            sketch = sketch_weights(found, self._scores.shown)
            self.summaries[members] = replace(found.summary, sketch=sketch)
        if len(self._kept) > self._most:
            self._kept.popitem(last=False)
        return found


class BoundTest(Protocol):
    """A test on one table: is x independent of y given a set? Variables are positions."""

    record: Record

    def looks(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """Log p-values of every variable against the target that the full test can only raise.

        The last look is at all variables; those before it are cheaper, and 0 for those they say nothing of.
        """
        ...

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """Log p-value of independence; NaN where missing values leave too little to tell."""
        ...


class Test(Protocol):
    """A test as a strategy: parameters, to be bound to a table; `weights` is how far it decouples."""

    @property
    def weights(self) -> ConvexWeights:
        """How far to decouple."""
        ...

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        ...

    def bind(self, scores: Scores, level: float) -> BoundTest:
        """The test on one table; what is above `level` at first sight need not be looked at again."""
        ...


@dataclass(frozen=True)
class PartialAssociation:
    """The robust test, as a strategy.

    Attributes
    ----------
    weights : how far to decouple.
    decouple : "where-needed" tests an association again under weights where both sides interact on the set;
        "always" does so for every set of two and more; "never" adjusts only.
    interaction_level : level of the test for interactions.
    """

    weights: ConvexWeights = field(default_factory=ConvexWeights)
    decouple: Literal["where-needed", "always", "never"] = "where-needed"
    interaction_level: float = 0.05

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_strategy("weights", self.weights, (ConvexWeights,))
        check_choice("decouple", self.decouple, DECOUPLE)
        check_number("interaction_level", self.interaction_level, above=0, below=1, suggestion=0.05)

    def bind(self, scores: Scores, level: float) -> BoundAssociation:
        """The test on one table; what is above `level` without weights is not tested again with them."""
        return BoundAssociation(self, scores, level)


class BoundAssociation:
    """`PartialAssociation` on one table; results are kept.

    Each is a function of what is asked alone, not of what was asked before, to the last digit.
    """

    def __init__(self, strategy: PartialAssociation, scores: Scores, level: float) -> None:
        self.record = Record()
        self.strategy, self.scores, self._log_level = strategy, scores, float(np.log(level))
        self._looks: dict[tuple[int, tuple[int, ...]], FloatArray] = {}
        self._pairs: dict[tuple[int, int, tuple[int, ...]], _Answer] = {}
        self._weights = _Weights(strategy.weights, scores)
        self._latest: tuple[tuple[int, ...], Adjustment] | None = None

    def looks(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `BoundTest`; one, under equal weights, at all variables at once."""
        key = (target, tuple(sorted(given)))
        if key not in self._looks:
            self._looks[key] = self._look(*key)
        yield self._looks[key]

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        key = (min(x, y), max(x, y), tuple(sorted(given)))
        if key not in self._pairs:
            self._pairs[key] = self._answer(*key)
        found = self._pairs[key]
        if found.interaction is not None and found.balance is not None:
            self.record.interactions[key] = found.interaction
            self.record.note(key[2], found.balance)
        return found.log_pvalue

    def _look(self, target: int, given: tuple[int, ...]) -> FloatArray:
        found = np.zeros(self.scores.n_variables)
        outside = [v for v in range(self.scores.n_variables) if v != target and v not in given]
        adjustment = self._adjustment(given)
        degrees = degrees_of_freedom(adjustment)
        if degrees is None:
            return found
        # What a look holds for each variable grows with the rows, so that it is at a few where rows are many.
        at_once = len(outside) if self.scores.n_samples < ENOUGH_ROWS else _AT_ONCE
        for start in range(0, len(outside), max(at_once, 1)):
            some = outside[start : start + at_once]
            found[some] = log_pvalues(Residuals(adjustment, [target], some), degrees)[0]
        return found

    def _answer(self, x: int, y: int, given: tuple[int, ...]) -> _Answer:
        """The association under equal weights, and if need be under weights that decouple the set."""
        adjustment = self._adjustment(given)
        degrees = degrees_of_freedom(adjustment)
        if degrees is None:
            return _Answer(0.0)
        residuals = Residuals(adjustment, [x], [y])
        adjusted = float(log_pvalues(residuals, degrees)[0, 0])
        if adjusted >= self._log_level or len(given) < 2 or self.strategy.decouple == "never":
            return _Answer(adjusted)
        products = Products(self.scores, given)
        if self.strategy.decouple == "where-needed":
            both = interaction_log_pvalues(residuals, products)
            if both.max() >= np.log(self.strategy.interaction_level):
                return _Answer(adjusted)
        weighed = self._weights(given)
        design = interaction_design(adjustment, products)
        weighted = Adjustment(self.scores, design, _probabilities(weighed), given=given)
        found = weighted_log_pvalue(weighted, x, y)
        decoupled = adjusted if found is None else found
        interaction = Interaction((x, y), given, adjusted, decoupled, weighed.ess, weighed.dependence)
        return _Answer(max(adjusted, decoupled), interaction, self._weights.summaries[given])

    def _adjustment(self, given: tuple[int, ...]) -> Adjustment:
        """Of one set; that of the last one asked for is kept, for questions come set by set."""
        if self._latest is None or self._latest[0] != given:
            self._latest = None  # what it holds can be large
            self._latest = (given, Adjustment.to(self.scores, given))
        return self._latest[1]

    def __getstate__(self) -> dict[str, Any]:
        """Without the latest adjustment, which another process makes for itself."""
        return {**self.__dict__, "_latest": None}


@dataclass(frozen=True)
class _Answer:
    log_pvalue: float
    interaction: Interaction | None = None
    balance: BalanceSummary | None = None


def weighted_log_pvalue(adjustment: Adjustment, x: int, y: int) -> float | None:
    """Log p-value of x and y, adjusted under weights; None if these leave too little to test with."""
    degrees = degrees_of_freedom(adjustment)
    return None if degrees is None else float(log_pvalues(Residuals(adjustment, [x], [y]), degrees)[0, 0])


def _probabilities(weighed: Balance) -> FloatArray:
    probabilities: FloatArray = weighed.weights / weighed.weights.sum()
    return probabilities


@dataclass(frozen=True)
class WeightedAssociation:
    """Weights without adjustment, as a strategy: independence rests on decoupling alone, as published.

    To test x against y given a set, x and the set are decoupled from each other.
    """

    weights: ConvexWeights = field(default_factory=ConvexWeights)

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_strategy("weights", self.weights, (ConvexWeights,))

    def bind(self, scores: Scores, level: float) -> BoundWeightedAssociation:  # noqa: ARG002
        """The test on one table."""
        return BoundWeightedAssociation(self, scores)


class BoundWeightedAssociation:
    """`WeightedAssociation` on one table."""

    def __init__(self, strategy: WeightedAssociation, scores: Scores) -> None:
        self.record = Record()
        self.strategy, self.scores = strategy, scores
        self._weights = _Weights(strategy.weights, scores)

    def looks(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """See `BoundTest`; nothing is known before the weights are."""
        outside = [v for v in range(self.scores.n_variables) if v != target and v not in given]
        log_pvalues = np.zeros(self.scores.n_variables)
        log_pvalues[outside] = [self.log_pvalue(v, target, given) for v in outside]
        yield log_pvalues

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        members = tuple(sorted({*given, x}))
        weighed = self._weights(members)
        self.record.note(members, self._weights.summaries[members])
        nothing = design_for(self.scores, ())
        return weighted_log_pvalue(Adjustment(self.scores, nothing, _probabilities(weighed)), x, y) or 0.0
