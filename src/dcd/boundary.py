"""The Markov boundary of a target within any set of variables (Theorem 1).

Decouple the variables other than the target; what still depends on the target under the weights is its
boundary. The weights never look at the target, so they are learned once for each set and tell about every
target at the same time.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from dcd.arrays import BoolArray, FloatArray
from dcd.data import Dataset, read_table
from dcd.decoupling import DecouplingResult, Status, WeightOptions, learn_weights, one_blas_thread
from dcd.dependence import correlation_pvalues, weighted_correlation
from dcd.kernels import kernel_features
from dcd.validation import InputError, check_number, make_generator


@dataclass(frozen=True)
class DecoupledSet:
    """One decoupled set of m variables, and what each of them shows of all d variables.

    Attributes
    ----------
    variables : the m decoupled variables.
    ess : effective sample size under the weights.
    status, n_steps : why learning stopped, and after how many steps.
    hsic_before, hsic_after : (m, m) pairwise weighted HSIC under equal and under the learned weights.
    correlations, pvalues : (m, d) weighted correlation with every variable as target, and its p-value.
    """

    variables: tuple[str, ...]
    ess: float
    status: Status
    n_steps: int
    hsic_before: FloatArray = field(repr=False)
    hsic_after: FloatArray = field(repr=False)
    correlations: FloatArray = field(repr=False)
    pvalues: FloatArray = field(repr=False)


class BoundaryIdentifier:
    """`identifier(target, others) -> set` from data, each set of variables decoupled once.

    Sets are decoupled when first asked for; `prepare` does many at once, in parallel.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        alpha: float,
        options: WeightOptions,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        rng = make_generator(random_state)
        self._seed = int(rng.integers(2**63))
        self._dataset, self._alpha, self._options = dataset, alpha, options
        self._position = {name: index for index, name in enumerate(dataset.names)}
        with one_blas_thread():
            self._features = [kernel_features(column) for column in dataset.values.T]
        self._decoupled: dict[tuple[int, ...], DecoupledSet] = {}

    @property
    def decoupled_sets(self) -> tuple[DecoupledSet, ...]:
        """All sets decoupled so far, in the order in which they were asked for."""
        return tuple(self._decoupled.values())

    def __call__(self, target: str, others: Collection[str]) -> set[str]:
        """The boundary of `target` within `others`."""
        if not others:
            return set()
        members, decoupled = self._lookup(others)
        rejected = decoupled.pvalues[:, self._position[target]] < self._alpha
        return {self._dataset.names[member] for member, is_in in zip(members, rejected, strict=True) if is_in}

    def pvalue(self, target: str, member: str, others: Collection[str]) -> float:
        """p-value of `member` against `target` with all of `others` decoupled."""
        members, decoupled = self._lookup(others)
        return float(decoupled.pvalues[members.index(self._position[member]), self._position[target]])

    def prepare(
        self, sets: Iterable[Collection[str]], *, n_jobs: int | None = None, progress: str | None = None
    ) -> None:
        """Decouple several sets, those not done yet, over `n_jobs` processes; `progress` labels a bar."""
        wanted = dict.fromkeys(self._members(names) for names in sets if names)
        pending = [members for members in wanted if members not in self._decoupled]
        if not pending:
            return
        results = Parallel(n_jobs=n_jobs, return_as="generator")(
            delayed(decouple_set)(
                members,
                [self._features[index] for index in members],
                self._dataset,
                self._options,
                self._seed,
            )
            for members in pending
        )
        for members, result in zip(pending, watched(results, progress, total=len(pending)), strict=True):
            self._decoupled[members] = result

    def _members(self, names: Collection[str]) -> tuple[int, ...]:
        return tuple(sorted(self._position[name] for name in names))

    def _lookup(self, others: Collection[str]) -> tuple[tuple[int, ...], DecoupledSet]:
        members = self._members(others)
        if members not in self._decoupled:
            self.prepare([others])
        return members, self._decoupled[members]


def decouple_set(
    members: Sequence[int],
    features: Sequence[FloatArray],
    dataset: Dataset,
    options: WeightOptions,
    seed: int,
) -> DecoupledSet:
    """Learn weights for one set and test every variable against its members; `features` are theirs alone."""
    targets = range(len(dataset.names))
    learned, correlations, pvalues = _learn_and_test(members, features, targets, dataset, options, seed)
    return DecoupledSet(
        variables=tuple(dataset.names[member] for member in members),
        ess=learned.ess,
        status=learned.status,
        n_steps=learned.n_steps,
        hsic_before=learned.hsic_before,
        hsic_after=learned.hsic_after,
        correlations=correlations,
        pvalues=pvalues,
    )


def _learn_and_test(
    members: Sequence[int],
    features: Sequence[FloatArray],
    targets: Sequence[int],
    dataset: Dataset,
    options: WeightOptions,
    seed: int,
) -> tuple[DecouplingResult, FloatArray, FloatArray]:
    """Weights of one set, and its correlations with the targets and their p-values.

    A random start depends on the seed and the set only, not on what was decoupled before.
    """
    with one_blas_thread():
        learned = learn_weights(features, options, np.random.default_rng([seed, *members]))
        values = dataset.values
        correlations = weighted_correlation(values[:, members], values[:, targets], learned.weights)
    return learned, correlations, correlation_pvalues(correlations, learned.ess)


def watched(items: Iterable[Any], label: str | None, total: int | None = None) -> Iterable[Any]:
    """Items with a progress bar, if it has a label and somebody watches."""
    someone_watches = sys.stderr.isatty() or "ipykernel" in sys.modules
    bar: Iterable[Any] = tqdm(items, total=total, desc=label, disable=label is None or not someone_watches)
    return bar


class MarkovBoundary(SelectorMixin, BaseEstimator):
    """The Markov boundary of one column of a table, as a scikit-learn feature selector.

    The boundary is the smallest set of variables that makes all others irrelevant for the target: in a causal
    graph its parents, its children, and its children's other parents.

    Parameters
    ----------
    target : str, int or None, default=None
        Column of the table whose boundary is sought, by name or position. None takes `y` of `fit` as the
        target, as selectors in a scikit-learn pipeline do.
    alpha : float, default=0.05
        Level of the test, as in the paper. Of the variables that have nothing to do with the target, about
        this share is taken into the boundary, if decoupling succeeds.
    learning_rate : float, default=0.05
        Step size of Adam on the logarithms of the weights.
    max_steps : int, default=300
        Most steps of Adam. Few sets need more than a hundred.
    min_ess : float, default=0.2
        Learning stops before the effective sample size falls below this share of the rows. Lower removes
        more dependence but leaves less to test with.
    tolerance : float, default=0.002
        Learning has converged when ten steps together lower the loss by less than this share of its first
        value; 0 never stops for it. What is left then is mostly the noise of the sample, and chasing it
        costs effective sample size.
    init_scale : float, default=0.0
        Standard deviation of a random start of the log weights. 0 starts at equal weights and makes the
        result free of randomness; a small positive value shows how little the start matters.
    random_state : int, Generator or None, default=None
        Seed of the random start; without effect while `init_scale` is 0.

    Attributes
    ----------
    boundary_ : list of str
        Names of the columns in the boundary.
    pvalues_, statistics_ : (d,) arrays
        p-value and weighted correlation with the target for every column; NaN at the target itself.
    support_ : (d,) bool array
        Which columns are in the boundary.
    weights_ : (n,) array
        The decoupling weights, summing to n.
    effective_sample_size_ : float
    decoupling_ : DecouplingResult
        The weights with their loss path, why learning stopped, and the pairwise HSIC of the other columns
        before and after.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import dcd
    >>> frame = dcd.datasets.load_sachs().frame
    >>> dcd.MarkovBoundary(target="Raf").fit(frame).boundary_
    ['Mek']
    >>> dcd.MarkovBoundary().fit(frame.drop(columns="Raf"), frame["Raf"]).boundary_
    ['Mek']
    """

    def __init__(
        self,
        target: str | int | None = None,
        *,
        alpha: float = 0.05,
        learning_rate: float = WeightOptions.learning_rate,
        max_steps: int = WeightOptions.max_steps,
        min_ess: float = WeightOptions.min_ess,
        tolerance: float = WeightOptions.tolerance,
        init_scale: float = WeightOptions.init_scale,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.target = target
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_steps = max_steps
        self.min_ess = min_ess
        self.tolerance = tolerance
        self.init_scale = init_scale
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the boundary of the target among the columns of `X`.

        `y` is the target if the parameter `target` is None, and ignored otherwise.
        """
        rng = make_generator(self.random_state)
        check_number("alpha", self.alpha, above=0, below=1, suggestion=0.05)
        options = weight_options(self)
        given, target = self._read(X, y)
        dataset = given.in_canonical_order()
        others = [index for index, name in enumerate(dataset.names) if name != target]
        with one_blas_thread():
            features = [kernel_features(dataset.values[:, index]) for index in others]
        learned, correlations, pvalues = _learn_and_test(
            others, features, [dataset.names.index(target)], dataset, options, int(rng.integers(2**63))
        )

        columns = given if self.target is not None else given.without_last()
        record_features(self, columns)
        place = [given.names.index(dataset.names[index]) for index in others]
        self.statistics_ = np.full(len(columns.names), np.nan)
        self.statistics_[place] = correlations[:, 0]
        self.pvalues_ = np.full(len(columns.names), np.nan)
        self.pvalues_[place] = pvalues[:, 0]
        self.support_: BoolArray = self.pvalues_ < self.alpha
        self.boundary_ = [name for name, is_in in zip(columns.names, self.support_, strict=True) if is_in]
        self.decoupling_ = learned.reordered(np.argsort(place).tolist())
        self.weights_ = learned.weights
        self.effective_sample_size_ = learned.ess
        return self

    def _read(self, X: Any, y: Any) -> tuple[Dataset, str]:
        """The table, with `y` as its last column if that is the target, and the target's name."""
        if self.target is not None:
            given = read_table(X)
            return given, given.names[given.position(self.target)]
        if y is None:
            raise InputError(
                "parameter 'target'",
                "is None, which requires y to be passed, but the target y is None",
                "Name a column, as in MarkovBoundary(target='price'), or pass y to fit.",
            )
        given = read_table(X, y)
        return given, given.names[-1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target is None
        return tags

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_


def record_features(estimator: Any, dataset: Dataset) -> None:
    """Set scikit-learn's `n_features_in_` and, if the table had names, `feature_names_in_`."""
    estimator.n_features_in_ = len(dataset.names)
    if dataset.named:
        estimator.feature_names_in_ = np.array(dataset.names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # of an earlier fit


def weight_options(estimator: Any) -> WeightOptions:
    """The weight-learning parameters of an estimator, checked."""
    options = WeightOptions(
        learning_rate=estimator.learning_rate,
        max_steps=estimator.max_steps,
        min_ess=estimator.min_ess,
        tolerance=estimator.tolerance,
        init_scale=estimator.init_scale,
    )
    options.check()
    return options
