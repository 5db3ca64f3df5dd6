"""Are two variables associated given others? The robust test: adjust, and decouple where needed.

**Adjust.** The association that is left once both variables are adjusted for the set (`dcd.partial`), with
all of the sample.

**Decouple where needed.** Adjusting by sums of functions of single variables does not remove interactions:
with C -> A, C -> B by a curve and T = A + B + A·B, what is left of C and of T shares products of A and B. If
x and y both depend on products of variables in S beyond such sums, an association has to survive under
weights that decouple S (`dcd.balancing`), where products of different variables carry nothing, with the
products adjusted for as well. Where it need not, all of the sample is used.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal, Protocol

import numpy as np

from dcd.arrays import BoolArray, FloatArray
from dcd.balancing import Balance, ConvexWeights
from dcd.interactions import interaction_adjusters, interaction_log_pvalues
from dcd.partial import adjusted_log_pvalues, weighted_log_pvalue
from dcd.scores import Scores
from dcd.validation import check_choice, check_number, check_strategy

DECOUPLE = ("where-needed", "always", "never")


@dataclass(frozen=True)
class Interaction:
    """An association that was tested again under decoupling weights.

    Attributes
    ----------
    pair, given : the variables, by position.
    log_pvalue_adjusted, log_pvalue_decoupled : log p-value under equal weights and under the weights.
    ess, dependence : of the weights, see `dcd.balancing.Balance`.
    """

    pair: tuple[int, int]
    given: tuple[int, ...]
    log_pvalue_adjusted: float
    log_pvalue_decoupled: float
    ess: float
    dependence: float


@dataclass
class Record:
    """What a test has done under weights.

    Attributes
    ----------
    balances : the sets that were decoupled.
    interactions : the associations that were tested again under weights.
    """

    balances: dict[tuple[int, ...], Balance] = field(default_factory=dict)
    interactions: dict[tuple[int, int, tuple[int, ...]], Interaction] = field(default_factory=dict)

    def mark(self) -> tuple[int, int]:
        """How much there is so far, for `since`."""
        return len(self.balances), len(self.interactions)

    def since(self, mark: tuple[int, int]) -> Record:
        """What came after a mark."""
        # Copies, for another thread may go on with the same test.
        balances, interactions = self.balances.copy(), self.interactions.copy()
        return Record(
            dict(islice(balances.items(), mark[0], None)), dict(islice(interactions.items(), mark[1], None))
        )

    def add(self, other: Record) -> None:
        """Take over what a copy of the test in another process has done."""
        self.balances |= other.balances
        self.interactions |= other.interactions


class BoundTest(Protocol):
    """A test on one table: is x independent of y given a set? Variables are positions."""

    record: Record

    def first_look(self, target: int, given: Collection[int]) -> FloatArray:
        """A log p-value of every variable against the target that the full test can only raise."""
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
    """`PartialAssociation` on one table; results are kept by set."""

    def __init__(self, strategy: PartialAssociation, scores: Scores, level: float) -> None:
        self.record = Record()
        self.strategy, self.scores, self._log_level = strategy, scores, float(np.log(level))
        self._adjusted: dict[tuple[int, ...], FloatArray] = {}
        self._interacts: dict[tuple[int, ...], BoolArray] = {}

    def first_look(self, target: int, given: Collection[int]) -> FloatArray:
        """See `BoundTest`; under equal weights, for all variables at once."""
        return self._adjusted_log_pvalues(tuple(sorted(given)))[target]

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        x, y, members = min(x, y), max(x, y), tuple(sorted(given))
        adjusted = float(self._adjusted_log_pvalues(members)[x, y])
        if adjusted >= self._log_level or not self._must_decouple(x, y, members):
            return adjusted
        key = (x, y, members)
        if key not in self.record.interactions:
            weighed = self._balance(members)
            adjusters = interaction_adjusters(self.scores, members)
            decoupled = weighted_log_pvalue(self.scores, x, y, adjusters, weighed.weights)
            decoupled = adjusted if decoupled is None else decoupled
            self.record.interactions[key] = Interaction(
                key[:2], members, adjusted, decoupled, weighed.ess, weighed.dependence
            )
        return max(adjusted, self.record.interactions[key].log_pvalue_decoupled)

    def _adjusted_log_pvalues(self, given: tuple[int, ...]) -> FloatArray:
        if given not in self._adjusted:
            self._adjusted[given] = adjusted_log_pvalues(self.scores, given)
        return self._adjusted[given]

    def _balance(self, given: tuple[int, ...]) -> Balance:
        if given not in self.record.balances:
            self.record.balances[given] = self.strategy.weights.learn(self.scores, given)
        return self.record.balances[given]

    def _must_decouple(self, x: int, y: int, given: tuple[int, ...]) -> bool:
        if len(given) < 2 or self.strategy.decouple == "never":
            return False
        if self.strategy.decouple == "always":
            return True
        if given not in self._interacts:
            log_level = np.log(self.strategy.interaction_level)
            self._interacts[given] = interaction_log_pvalues(self.scores, given) < log_level
        return bool(self._interacts[given][x] and self._interacts[given][y])


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

    def first_look(self, target: int, given: Collection[int]) -> FloatArray:
        """See `BoundTest`; nothing is known before the weights are."""
        outside = [v for v in range(self.scores.n_variables) if v != target and v not in given]
        log_pvalues = np.zeros(self.scores.n_variables)
        log_pvalues[outside] = [self.log_pvalue(v, target, given) for v in outside]
        return log_pvalues

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        members = tuple(sorted({*given, x}))
        if members not in self.record.balances:
            self.record.balances[members] = self.strategy.weights.learn(self.scores, members)
        nothing = np.empty((self.scores.n_samples, 0))
        return weighted_log_pvalue(self.scores, x, y, nothing, self.record.balances[members].weights) or 0.0
