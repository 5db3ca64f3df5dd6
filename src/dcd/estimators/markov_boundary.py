"""`MarkovBoundary`: the variables that matter for one target, as a scikit-learn feature selector."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from dcd.estimators.base import check_n_jobs, record_features, table_options, weight_options
from dcd.features.rank_scores import Scores, scores_of
from dcd.independence.adjustment import Adjustment
from dcd.independence.association import PartialAssociation, Test, WeightedAssociation
from dcd.independence.partial_pvalues import partial_correlation
from dcd.independence.testwise import bind
from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, check_number, check_strategy, make_generator
from dcd.runtime.threads import one_blas_thread
from dcd.search.base import BoundarySearch, check_search
from dcd.search.decoupled_boundaries import learn_and_test
from dcd.search.grow_shrink import GrowShrink
from dcd.table.checks import MIN_ROWS
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing, TableSummary
from dcd.table.reading import read_table
from dcd.weights.convex import Balance
from dcd.weights.hsic_descent import DecouplingResult, WeightOptions, threads_to_use


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
    test, search : strategies of `RobustDCD`, or None
        With one of them (`search=dcd.GrowShrink()`, say) the boundary is grown and shrunk as in `RobustDCD`,
        each test at `alpha` / (d - 1), and the parameters from `learning_rate` on are without effect. With
        None the boundary is that of the paper.
    kinds, missing, drop_degenerate : as of `DCD`
        How to read the table: columns of categories, missing values, degenerate columns. "testwise" is for
        `search` and `test`; without them all other columns are one set.
    memory_limit : int, str or None, default=None
        Memory that the fit may take, as of `DCD`.
    n_jobs : int or None, default=None
        Threads for a table of more than 8,000 rows, -1 for all cores; None takes as many as linear algebra
        may use. The result does not depend on it.
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
        p-value and weighted correlation with the target for every column; NaN at the target itself. With
        `search` or `test`, of the association given the other members of the boundary, and the correlation is
        the partial one of normal scores.
    support_ : (d,) bool array
        Which columns are in the boundary.
    weights_ : (n,) array
        The decoupling weights, summing to n; 0 for rows with missing values.
    table_ : TableSummary
        What was made of the table: kinds of its columns, rows used, columns left out.
    effective_sample_size_ : float
    decoupling_ : DecouplingResult or Balance
        The weights with their loss path, why learning stopped, and the pairwise HSIC of the other columns
        before and after. With `search` or `test`, the weights that decouple the boundary.
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
        test: Test | None = None,
        search: BoundarySearch | None = None,
        kinds: Mapping[str, Kind] | None = None,
        missing: Missing = "refuse",
        drop_degenerate: bool = False,
        memory_limit: int | str | None = None,
        n_jobs: int | None = None,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.target = target
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_steps = max_steps
        self.min_ess = min_ess
        self.tolerance = tolerance
        self.init_scale = init_scale
        self.test = test
        self.search = search
        self.kinds = kinds
        self.missing = missing
        self.drop_degenerate = drop_degenerate
        self.memory_limit = memory_limit
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the boundary of the target among the columns of `X`.

        `y` is the target if the parameter `target` is None, and ignored otherwise. `sample_weight` says what
        each row counts for.
        """
        rng = make_generator(self.random_state)
        check_number("alpha", self.alpha, above=0, below=1, suggestion=0.05)
        options = weight_options(self)
        check_n_jobs(self.n_jobs)
        self._strategies()
        given, target = self._read(X, y, sample_weight)
        columns = given.summary.columns
        self.statistics_ = np.full(len(columns), np.nan)
        self.pvalues_ = np.full(len(columns), np.nan)
        self.support_: BoolArray = np.zeros(len(columns), dtype=bool)
        if self.test is None and self.search is None:
            self._fit_published(given, target, options, rng)
        else:
            self._fit_robust(given, target)
        record_features(self, given)
        self.table_: TableSummary = given.summary
        self.boundary_ = [name for name, is_in in zip(columns, self.support_, strict=True) if is_in]
        self.weights_ = self.decoupling_.weights
        self.effective_sample_size_ = self.decoupling_.ess
        return self

    decoupling_: DecouplingResult | Balance

    def _fit_published(
        self, given: Dataset, target: str, options: WeightOptions, rng: np.random.Generator
    ) -> None:
        """All other columns decoupled, those that still depend on the target taken."""
        dataset = given.complete_in(range(len(given.names))).in_canonical_order()
        if len(dataset.values) < MIN_ROWS:
            raise InputError(
                "the table",
                f"has {len(dataset.values)} complete rows, fewer than {MIN_ROWS}",
                "Drop the columns with most missing values, or use search=dcd.GrowShrink().",
            )
        others = [index for index, name in enumerate(dataset.names) if name != target]
        learned, correlations, pvalues = learn_and_test(
            others,
            None,
            [dataset.names.index(target)],
            dataset,
            options,
            seed=int(rng.integers(2**63)),
            threads=threads_to_use(self.n_jobs),
        )
        place = [given.summary.columns.index(dataset.names[index]) for index in others]
        self.statistics_[place] = correlations[:, 0]
        self.pvalues_[place] = pvalues[:, 0]
        self.support_ = self.pvalues_ < self.alpha
        weights = dataset.in_all_rows(learned.weights)
        self.decoupling_ = replace(learned.reordered(np.argsort(place).tolist()), weights=weights)

    def _fit_robust(self, given: Dataset, target: str) -> None:
        """Grown and shrunk, by the strategies of `RobustDCD`."""
        test, search = self._strategies()
        dataset = given.in_canonical_order()
        names = dataset.names
        own, level = names.index(target), self.alpha / (len(names) - 1)
        with one_blas_thread():
            whole = None if dataset.has_gaps else scores_of(dataset)
            bound = bind(test, dataset, level, whole)
            members = search.boundary(bound, own, len(names), level)
            for index in (index for index in range(len(names)) if index != own):
                others = [member for member in members if member != index]
                place = given.summary.columns.index(names[index])
                self.pvalues_[place] = np.exp(bound.log_pvalue(index, own, others))
                self.statistics_[place] = _strength(dataset, whole, index, own, others)
                self.support_[place] = index in members
            decoupled = dataset.complete_in(members)
            if len(decoupled.values) < MIN_ROWS:  # nothing to learn from; all rows count the same
                decoupled, members = dataset.complete_in([own]), []
            learned = test.weights.learn(scores_of(decoupled), range(len(members)))
        self.decoupling_ = replace(learned, weights=decoupled.in_all_rows(learned.weights))

    def _strategies(self) -> tuple[Test, BoundarySearch]:
        test = PartialAssociation() if self.test is None else self.test
        search = GrowShrink() if self.search is None else self.search
        check_strategy("test", test, (PartialAssociation, WeightedAssociation))
        check_search(search)
        return test, search

    def _read(self, X: Any, y: Any, sample_weight: Any) -> tuple[Dataset, str]:
        """The table, with `y` as its last column if that is the target, and the target's name."""
        options = table_options(self)
        if self.target is not None:
            given = read_table(X, about=self.target, options=options, sample_weight=sample_weight)
            assert given.target is not None
            return given, given.target
        if y is None:
            raise InputError(
                "parameter 'target'",
                "is None, which requires y to be passed, but the target y is None",
                "Name a column, as in MarkovBoundary(target='price'), or pass y to fit.",
            )
        given = read_table(X, y, options=options, sample_weight=sample_weight)
        assert given.target is not None
        return given, given.target

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target is None
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_


def _strength(dataset: Dataset, whole: Scores | None, x: int, y: int, given: Sequence[int]) -> float:
    """Partial correlation, on the rows that are complete in its variables if `whole` is not known."""
    if whole is not None:
        return partial_correlation(Adjustment.to(whole, given), x, y)
    complete = dataset.complete_in([x, y, *given])
    if len(complete.values) < MIN_ROWS:
        return float("nan")
    return partial_correlation(Adjustment.to(scores_of(complete), range(2, len(given) + 2)), 0, 1)
