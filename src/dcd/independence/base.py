"""The contract of this folder: a conditional independence test, and the form in which searches use it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dcd.features.rank_scores import Scores
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_contract
from dcd.weights.base import SampleWeights


class BoundTest(Protocol):
    """A test on one table. Variables are given by column position."""

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """Log p-value for the independence of x and y given a set; NaN if the data cannot decide."""
        ...


class CITest(Protocol):
    """A conditional independence test: an object that holds its parameters and can be bound to a table.

    A method `check()` that raises `InputError` for a parameter out of range is called if there is one.
    """

    def bind(self, scores: Scores, level: float) -> BoundTest:
        """The test on one table without missing values.

        `scores.values` are the values (n, d), `scores.kinds` the kinds of the variables and
        `scores.probabilities` (n,) the shares of the rows; `scores.groups` (n,) is the group of each row, or
        None. p-values will be compared with `level`, so a test may save work on those above it.
        """
        ...


def check_test(name: str, value: object) -> None:
    """Raise `InputError` unless a parameter is a conditional independence test with parameters in range."""
    check_contract(name, value, methods=("bind",), example="dcd.PartialAssociation()")


# --- the record ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Interaction:
    """An association that was tested again under decoupling weights.

    Attributes
    ----------
    pair, given : the variables, by position.
    log_pvalue_adjusted, log_pvalue_decoupled : log p-value under equal weights and under the weights.
    ess, dependence : of the weights, see `SampleWeights`.
    """

    pair: tuple[int, int]
    given: tuple[int, ...]
    log_pvalue_adjusted: float
    log_pvalue_decoupled: float
    ess: float
    dependence: float


@dataclass
class Record:
    """The outcomes of tests under weights since the record was begun, whether new or cached.

    Attributes
    ----------
    balances : a summary of the weights of each decoupled set. If missing values make a test decouple one
        set on several subsets of the rows, that of the subset with the smallest effective sample size.
    interactions : the associations that were tested again under weights.
    """

    balances: dict[tuple[int, ...], SampleWeights] = field(default_factory=dict)
    interactions: dict[tuple[int, int, tuple[int, ...]], Interaction] = field(default_factory=dict)

    def add(self, other: Record) -> None:
        """Add another record; the order of additions makes no difference."""
        for members, learned in other.balances.items():
            self.note(members, learned)
        self.interactions |= other.interactions

    def note(self, members: tuple[int, ...], learned: SampleWeights) -> None:
        """Record how well a set was decoupled."""
        account = learned.account
        self.balances[members] = min(account, self.balances.get(members, account))


# --- the form for searches -------------------------------------------------------------------------------


class SearchTest(ABC):
    """A `BoundTest` with a screening of candidates and a record of the decoupled sets.

    Attributes
    ----------
    n_variables : number of columns of the table.
    record : the outcomes of tests under weights; a search may start a new record at any time.
    """

    def __init__(self, n_variables: int) -> None:
        self.n_variables, self.record = n_variables, Record()

    @abstractmethod
    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""

    def first_log_pvalue(self, x: int, y: int, given: Collection[int]) -> tuple[float, bool]:
        """A log p-value that the full test can only raise, and whether it is final already.

        By default the full test. Override this if a part of the test takes far less time.
        """
        return self.log_pvalue(x, y, given), True

    def screen(self, target: int, given: Collection[int]) -> Iterator[FloatArray]:
        """Rounds of log p-values (d,) of all variables against the target; the full test can only raise them.

        The last round has all variables; earlier ones are cheaper and have 0 for variables that they leave
        undecided. By default there is one round, of the full test. Override this if many variables are
        cheaper together.
        """
        log_pvalues = np.zeros(self.n_variables)
        for variable in self.outside(target, given):
            log_pvalues[variable] = self.log_pvalue(variable, target, given)
        yield np.nan_to_num(log_pvalues, nan=0.0)

    def outside(self, target: int, given: Collection[int]) -> list[int]:
        """The variables other than the target and those in the set."""
        return [v for v in range(self.n_variables) if v != target and v not in given]


class PlainTest(SearchTest):
    """Adapts any `BoundTest` to the form for searches; results are cached."""

    def __init__(self, test: BoundTest, n_variables: int) -> None:
        super().__init__(n_variables)
        self._test = test
        self._known: dict[tuple[int, int, tuple[int, ...]], float] = {}

    def log_pvalue(self, x: int, y: int, given: Collection[int]) -> float:
        """See `BoundTest`."""
        key = (min(x, y), max(x, y), tuple(sorted(given)))
        if key not in self._known:
            self._known[key] = float(self._test.log_pvalue(*key))
        return self._known[key]


def bound_to(strategy: CITest, scores: Scores, level: float) -> SearchTest:
    """A test on one table without missing values, in the form for searches."""
    test = strategy.bind(scores, level)
    return test if isinstance(test, SearchTest) else PlainTest(test, scores.n_variables)
