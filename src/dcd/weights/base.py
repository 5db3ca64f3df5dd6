"""The contract of this folder: a weighting strategy, and the sample weights that it learns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, cast

import numpy as np

from dcd.features.rank_scores import Scores, scores_of
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_contract
from dcd.runtime.threads import one_blas_thread
from dcd.table.dataset import Dataset
from dcd.weights.sketch import WeightSketch


def _none() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, order=True)
class SampleWeights:
    """Weights under which a set of variables is as independent as they get, and how far that is.

    Attributes
    ----------
    weights : (n,) array, non-negative, summing to n. Empty in the records of a fit, which keep the rest only.
    ess : Kish's effective sample size, (sum w)² / sum w².
    dependence_before, dependence : the dependence between the variables before and under the weights, in
        units of what chance alone leaves in a sample of independent variables: about 1 is as good as
        independent.
    gap : convex weights only: how far they can be from the optimum, as a share of the objective (a proven
        bound).
    status : why learning stopped: "balanced" (the dependence is down to the level of chance), "converged"
        (the loss no longer falls), "ess_floor" (more would have cost too much of the sample), "max_steps"
        (all steps were taken), "path_end" (the smallest lambda was reached first), "nothing_to_decouple"
        (fewer than two variables), or the word of a strategy of your own.
    loss_path : HSIC descent only: the loss before each step, and the loss of the returned weights last; of a
        joint objective in units of chance.
    hsic_before, hsic_after : HSIC descent only: (m, m) pairwise weighted HSIC before and under the weights.
    sketch : what the account of a fit shows of the weights.
    """

    weights: FloatArray = field(repr=False, compare=False)
    ess: float
    dependence_before: float
    dependence: float
    gap: float = 0.0
    status: str = "learned"
    loss_path: FloatArray = field(default_factory=_none, repr=False, compare=False)
    hsic_before: FloatArray = field(default_factory=_none, repr=False, compare=False)
    hsic_after: FloatArray = field(default_factory=_none, repr=False, compare=False)
    sketch: WeightSketch | None = field(default=None, repr=False, compare=False)

    @property
    def n_steps(self) -> int:
        """Number of descent steps behind the weights."""
        return max(len(self.loss_path) - 1, 0)

    @property
    def probabilities(self) -> FloatArray:
        """(n,) the weights, summing to 1."""
        probabilities: FloatArray = self.weights / self.weights.sum()
        return probabilities

    @property
    def account(self) -> SampleWeights:
        """The same without its arrays, which take as much memory as columns of the table."""
        return replace(self, weights=_none(), loss_path=_none(), hsic_before=_none(), hsic_after=_none())

    def reordered(self, order: Sequence[int]) -> SampleWeights:
        """The same with the variables of the HSIC matrices, if there are any, in another order."""
        if not self.hsic_before.size:
            return self
        index = np.ix_(order, order)
        return replace(self, hsic_before=self.hsic_before[index], hsic_after=self.hsic_after[index])


class Weighting(Protocol):
    """A weighting strategy: an object with its parameters, that learns weights for any set of variables.

    A method `check()` that raises `InputError` for a parameter out of range is called if there is one.
    """

    def learn(self, scores: Scores, variables: Sequence[int]) -> SampleWeights:
        """Weights that decouple some variables of a table, by position.

        `scores.values` are the values (n, d) of all variables, `scores.probabilities` (n,) the shares of the
        rows to begin with. `dcd.weights.measured` turns an array of weights into the result.
        """
        ...


class FromSetWeighting(Weighting, Protocol):
    """A weighting that can make one variable independent of a set jointly, the set itself left as it is.

    That is enough to test this variable against any other given the set, and costs less of the sample than
    decoupling the set. A strategy need not have it: where it is missing, or `from_set` is false, `learn`
    decouples a whole set and serves all tests of its variables.
    """

    @property
    def from_set(self) -> bool:
        """Whether tests of one variable given a set should ask for `learn_apart`."""
        ...

    def learn_apart(self, scores: Scores, variable: int, others: Sequence[int]) -> SampleWeights:
        """Weights under which `variable` is independent of `others` jointly."""
        ...


def from_set(strategy: Weighting) -> FromSetWeighting | None:
    """The strategy, if it makes one variable independent of a set rather than all of a set."""
    return cast(FromSetWeighting, strategy) if getattr(strategy, "from_set", False) else None


def check_weighting(name: str, value: object) -> None:
    """Raise `InputError` unless a parameter is a weighting strategy with parameters in range."""
    check_contract(name, value, methods=("learn",), example="dcd.ConvexWeights()")


def weights_of_table(strategy: Weighting, table: Dataset) -> SampleWeights:
    """Weights that decouple all columns of a table as it was read."""
    dataset = table.in_canonical_order()
    with one_blas_thread():
        learned = strategy.learn(scores_of(dataset), range(len(dataset.names)))
    return in_table(learned, dataset, table.names)


def in_table(learned: SampleWeights, dataset: Dataset, names: Sequence[str]) -> SampleWeights:
    """Weights of the rows and columns of `dataset`, as weights of all rows and in the order of `names`."""
    learned = replace(learned, weights=dataset.in_all_rows(learned.weights))
    return learned.reordered([dataset.names.index(name) for name in names])
