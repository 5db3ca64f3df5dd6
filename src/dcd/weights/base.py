"""The contract of this folder: a weighting strategy, the weights it learns, and a sketch of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, cast

import numpy as np

from dcd.features.rank_scores import Scores
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.errors import check_contract
from dcd.runtime.rows import effective_sample_size
from dcd.runtime.threads import one_blas_thread
from dcd.table.dataset import Dataset

_N_BINS = 24
_SHORTEST_AXIS = 2.0  # so that equal weights, all 1, are in the middle


@dataclass(frozen=True, eq=False)
class WeightSketch:
    """A summary of the weights of one set, of bounded size for any number of rows.

    Attributes
    ----------
    n_rows : rows that have weights.
    ess, status, dependence_before, dependence : see `SampleWeights`.
    bins, counts : histogram of the weights; `bins` are the limits, one more than counts.
    shown : weights of the shown rows (`Dataset.shown`), NaN for a row without one.
    """

    n_rows: int
    ess: float
    status: str
    dependence_before: float
    dependence: float
    bins: FloatArray = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    shown: FloatArray = field(repr=False)


def _none() -> FloatArray:
    return np.empty(0)


@dataclass(frozen=True, order=True)
class SampleWeights:
    """Weights that decouple a set of variables, and the remaining dependence.

    Attributes
    ----------
    weights : (n,) array, non-negative, summing to n. Empty in the records of a fit, which keep only the rest.
    ess : Kish's effective sample size, (sum w)² / sum w².
    dependence_before, dependence : the dependence between the variables before and under the weights,
        relative to the chance level, its mean in a sample of independent variables: about 1 is as good as
        independence.
    gap : convex weights only: a proven bound on the distance from the optimum, as a share of the objective.
    status : why learning stopped: "balanced" (the dependence is down to the chance level), "converged" (the
        loss no longer decreases), "ess_floor" (more would have cost too much of the sample), "max_steps" (all
        steps were taken), "path_end" (the smallest lambda was reached first), "nothing_to_decouple" (fewer
        than two variables), or the status of a strategy of your own.
    loss_path : HSIC descent only: the loss before each step and, last, that of the returned weights; for a
        joint objective relative to chance.
    hsic_before, hsic_after : HSIC descent only: (m, m) pairwise weighted HSIC before and under the weights.
    sketch : the summary of the weights in the result of a fit.
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

    @classmethod
    def of(
        cls, probabilities: FloatArray, dependence_before: float, dependence: float, **more: Any
    ) -> SampleWeights:
        """From weights that sum to 1; `more` are the other attributes."""
        weights = len(probabilities) * probabilities
        return cls(weights, effective_sample_size(probabilities), dependence_before, dependence, **more)

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
        """The same without the arrays, which take as much memory as columns of the table."""
        return replace(self, weights=_none(), loss_path=_none(), hsic_before=_none(), hsic_after=_none())

    def sketched(self, shown: Positions) -> WeightSketch:
        """The sketch; `shown` are positions among the rows, -1 for rows that have no weight."""
        longest = max(float(self.weights.max()), _SHORTEST_AXIS)
        counts, bins = np.histogram(self.weights, bins=_N_BINS, range=(0.0, longest))
        return WeightSketch(
            n_rows=len(self.weights),
            ess=self.ess,
            status=self.status,
            dependence_before=self.dependence_before,
            dependence=self.dependence,
            bins=bins,
            counts=tuple(counts.tolist()),
            shown=np.where(shown >= 0, self.weights[shown], np.nan),
        )


class Weighting(Protocol):
    """A weighting strategy: an object that holds its parameters and learns weights for any set of variables.

    A method `check()` that raises `InputError` for a parameter out of range is called if there is one.
    """

    def learn(self, scores: Scores, variables: Sequence[int]) -> SampleWeights:
        """Weights that decouple some variables of a table, by position.

        `scores.values` are the values (n, d) of all variables, `scores.probabilities` (n,) the initial shares
        of the rows. `dcd.weights.measured` turns an array of weights into the result.
        """
        ...


class FromSetWeighting(Weighting, Protocol):
    """A weighting that can make one variable independent of a set jointly, without decoupling the set.

    That is enough to test this variable against any other given the set, and costs less of the sample than
    decoupling the set. It is optional: if it is missing, or `from_set` is false, `learn` decouples a whole
    set and serves all tests of its variables.
    """

    @property
    def from_set(self) -> bool:
        """Whether tests of one variable given a set should call `learn_apart`."""
        ...

    def learn_apart(self, scores: Scores, variable: int, others: Sequence[int]) -> SampleWeights:
        """Weights under which `variable` is independent of `others` jointly."""
        ...


def from_set(strategy: Weighting) -> FromSetWeighting | None:
    """The strategy, if it makes one variable independent of a set rather than decoupling the set."""
    return cast(FromSetWeighting, strategy) if getattr(strategy, "from_set", False) else None


def check_weighting(name: str, value: object) -> None:
    """Raise `InputError` unless a parameter is a weighting strategy with parameters in range."""
    check_contract(name, value, methods=("learn",), example="dcd.ConvexWeights()")


def weights_of_table(table: Dataset, learn: Callable[[Dataset], SampleWeights]) -> SampleWeights:
    """The weights that `learn` returns for the columns of a table, in canonical order."""
    dataset = table.in_canonical_order()
    with one_blas_thread():
        return in_table(learn(dataset), dataset, table.names)


def in_table(learned: SampleWeights, dataset: Dataset, names: Sequence[str]) -> SampleWeights:
    """Weights of the rows and columns of `dataset`, as weights of all rows and in the order of `names`."""
    learned = replace(learned, weights=dataset.in_all_rows(learned.weights))
    if not learned.hsic_before.size:
        return learned
    order = [dataset.names.index(name) for name in names]
    index = np.ix_(order, order)
    return replace(learned, hsic_before=learned.hsic_before[index], hsic_after=learned.hsic_after[index])
