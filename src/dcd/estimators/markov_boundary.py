"""`MarkovBoundary`: the variables that matter for one target, as a scikit-learn feature selector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, get_args

import numpy as np
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from dcd.estimators.base import TableEstimator, refuse_groups, table_options
from dcd.features.rank_scores import Scores, scores_of
from dcd.independence.adjustment import Adjustment
from dcd.independence.association import PartialAssociation
from dcd.independence.base import CITest, check_test
from dcd.independence.binding import bind_test
from dcd.independence.partial_pvalues import partial_correlation
from dcd.independence.weighted_correlation import weighted_association
from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, check_choice, check_contract
from dcd.runtime.threads import one_blas_thread
from dcd.search.base import BoundarySearch
from dcd.search.decoupled_boundaries import least_sample, tested_columns
from dcd.search.grow_shrink import GrowShrink
from dcd.table.checks import MIN_ROWS
from dcd.table.dataset import Dataset, TableSummary
from dcd.table.reading import read_table
from dcd.table.row_weights import repeated, take_rows
from dcd.weights.base import SampleWeights, Weighting, check_weighting, from_set, in_table
from dcd.weights.convex import ConvexWeights
from dcd.weights.hsic_descent import HSICDescent

Method = Literal["robust", "published"]


@dataclass(eq=False, repr=False)
class MarkovBoundary(SelectorMixin, TableEstimator):
    """The Markov boundary of one column of a table, as a scikit-learn feature selector.

    The boundary is the smallest set of variables that makes all others irrelevant for the target: in a causal
    graph its parents, its children, and its children's other parents.

    Parameters
    ----------
    target : str, int or None, default=None
        Column of the table whose boundary is sought, by name or position. With None the target is the `y`
        passed to `fit`, as for selectors in a scikit-learn pipeline.
    method : "robust" or "published", default="robust"
        "robust" grows and shrinks the boundary by conditional independence tests at level `alpha` / (d - 1).
        "published" decouples all other columns and takes those that still depend on the target, as the paper
        does.
    alpha : float, default=0.05
        Level of the test, as in the paper. With the published method, about this share of the irrelevant
        variables enters the boundary, if decoupling succeeds.
    test, search : strategies or None
        For the robust method: the conditional independence test, and the search for boundaries. By default
        `PartialAssociation()` and `GrowShrink()`.
    weights : ConvexWeights, HSICDescent, a strategy of your own, or None
        How `weights_` are learned. They decouple the boundary (robust) or all other columns (published, whose
        test uses them). By default `ConvexWeights()` for the robust method and `HSICDescent()` for the
        published one. With `HSICDescent(objective="from-set")` the published method tests each column under
        weights that make it independent of the others jointly, and `weights_` are those with the smallest
        effective sample size.
    kinds, missing, drop_degenerate : as for `DCD`
        How to read the table: columns of categories, missing values, degenerate columns. With the published
        method all other columns form one set, so "testwise" uses the complete rows.
    memory_limit : int, str or None, default=None
        Memory that the fit may use, as for `DCD`.
    n_jobs : int or None, default=None
        For the published method: threads for a table of more than 8,000 rows, -1 for all cores; with None, as
        many as the linear algebra library may use. The result does not depend on it.

    Attributes
    ----------
    boundary_ : list of str
        Names of the columns in the boundary.
    pvalues_, statistics_ : (d,) arrays
        p-value of every column and its correlation with the target; NaN for the target itself. With the
        robust method, p-value and partial correlation of normal scores given the other members of the
        boundary; with the published method, both under the weights.
    support_ : (d,) bool array
        Which columns are in the boundary.
    weights_ : (n,) array
        The decoupling weights, summing to n; 0 for rows with missing values.
    table_ : TableSummary
        How the table was read: kinds of its columns, rows used, columns left out.
    effective_sample_size_ : float
    decoupling_ : SampleWeights
        The weights with the dependence before and after, and why learning stopped.
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

    target: str | int | None = None
    _: KW_ONLY
    method: Method = "robust"
    test: CITest | None = None
    search: BoundarySearch | None = None
    weights: Weighting | None = None

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, counts: Any = None, groups: Any = None
    ) -> Self:
        """Find the boundary of the target among the columns of `X`.

        `y` is the target if the parameter `target` is None, and ignored otherwise. `sample_weight`, `counts`
        and `groups` are as for `RobustDCD.fit`; with counts, `weights_` belong to the repeated rows. The
        method "published" does not accept groups.
        """
        self._check_parameters()
        if self.method == "published":
            refuse_groups(groups, "Use method='robust', or keep one row of each group.")
        X, rows = repeated(X, counts, sample_weight, groups)
        y = y if rows is None or y is None else take_rows(y, rows)
        table, target = self._read(X, y, sample_weight, groups)
        columns = table.summary.columns
        self.statistics_ = np.full(len(columns), np.nan)
        self.pvalues_ = np.full(len(columns), np.nan)
        self.support_: BoolArray = np.zeros(len(columns), dtype=bool)
        find = self._fit_published if self.method == "published" else self._fit_robust
        self.decoupling_: SampleWeights = find(table, target)
        self._record_features(table)
        self.table_: TableSummary = table.summary
        self.boundary_ = [name for name, is_in in zip(columns, self.support_, strict=True) if is_in]
        self.weights_ = self.decoupling_.weights
        self.effective_sample_size_ = self.decoupling_.ess
        return self

    def _fit_published(self, table: Dataset, target: str) -> SampleWeights:
        """All other columns are decoupled; those that still depend on the target are in the boundary."""
        dataset = table.complete_in(range(len(table.names))).in_canonical_order()
        if len(dataset.values) < MIN_ROWS:
            raise InputError(
                "the table",
                f"has {len(dataset.values)} complete rows, fewer than {MIN_ROWS}",
                "Drop the columns with the most missing values, or use method='robust'.",
            )
        names = [name for name in dataset.names if name != target]
        others = dataset.select([dataset.names.index(name) for name in names])
        strategy, variables = self._strategies()[2], range(len(names))
        if (apart := from_set(strategy)) is not None:
            scores = scores_of(others)
            each = [apart.learn_apart(scores, v, variables) for v in variables]
            learned = least_sample(each)
        else:
            if isinstance(strategy, HSICDescent):  # needs no scores
                learned = strategy.learn(others, variables, n_jobs=self.n_jobs)
            else:
                learned = strategy.learn(scores_of(others), variables)
            each = [learned] * len(variables)
        wanted = tested_columns(dataset, dataset.names.index(target))
        for v, one in zip(variables, each, strict=True):
            with one_blas_thread():
                statistic, pvalue = weighted_association(
                    [tested_columns(others, v)], [wanted], one.weights, surveyed=dataset.surveyed
                )
            position = table.summary.columns.index(names[v])
            self.statistics_[position], self.pvalues_[position] = statistic[0, 0], pvalue[0, 0]
        self.support_ = self.pvalues_ < self.alpha
        return in_table(learned, others, sorted(names, key=table.summary.columns.index))

    def _fit_robust(self, table: Dataset, target: str) -> SampleWeights:
        """The boundary is found by conditional independence tests."""
        test, search, strategy = self._strategies()
        dataset = table.in_canonical_order()
        names = dataset.names
        own, level = names.index(target), self.alpha / (len(names) - 1)
        with one_blas_thread():
            scores = None if dataset.has_gaps else scores_of(dataset)
            bound = bind_test(test, dataset, level, scores)
            members = search.boundary(bound, own, len(names), level)
            for index in bound.outside(own, ()):
                others = [member for member in members if member != index]
                column = table.summary.columns.index(names[index])
                self.pvalues_[column] = np.exp(bound.log_pvalue(index, own, others))
                self.statistics_[column] = _strength(dataset, scores, index, own, others)
                self.support_[column] = index in members
            decoupled = dataset.complete_in(members)
            if len(decoupled.values) < MIN_ROWS:  # nothing to learn from; all rows count the same
                decoupled, members = dataset.complete_in([own]), []
            learned = strategy.learn(scores_of(decoupled), range(len(members)))
        return in_table(learned, decoupled, decoupled.names)

    def _check_parameters(self) -> None:
        check_choice("method", self.method, get_args(Method))
        for name, method in (("test", "robust"), ("search", "robust"), ("n_jobs", "published")):
            if self.method != method and getattr(self, name) is not None:
                raise InputError(
                    f"parameter '{name}'",
                    f"has no effect with method={self.method!r}",
                    f"Leave it out, or choose method={method!r}.",
                )
        super()._check_parameters()
        test, search, weights = self._strategies()
        check_test("test", test)
        check_contract("search", search, methods=("boundary",), example="dcd.GrowShrink()")
        check_weighting("weights", weights)

    def _strategies(self) -> tuple[CITest, BoundarySearch, Weighting]:
        default: Weighting = HSICDescent() if self.method == "published" else ConvexWeights()
        return (
            PartialAssociation() if self.test is None else self.test,
            GrowShrink() if self.search is None else self.search,
            default if self.weights is None else self.weights,
        )

    def _read(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> tuple[Dataset, str]:
        """The table, with `y` as its last column if that is the target, and the target's name."""
        options = table_options(self)
        if self.target is None and y is None:
            raise InputError(
                "parameter 'target'",
                "is None, which requires y to be passed, but the target y is None",
                "Name a column, as in MarkovBoundary(target='price'), or pass y to fit.",
            )
        y = y if self.target is None else None
        table = read_table(
            X, y, about=self.target, options=options, sample_weight=sample_weight, groups=groups
        )
        assert table.target is not None
        return table, table.target

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.target is None
        return tags

    def _get_support_mask(self) -> BoolArray:
        check_is_fitted(self)
        return self.support_


def _strength(dataset: Dataset, scores: Scores | None, x: int, y: int, given: Sequence[int]) -> float:
    """Partial correlation; without shared scores, from the rows that are complete in its variables."""
    if scores is not None:
        return partial_correlation(Adjustment(scores, given), x, y)
    complete = dataset.complete_in([x, y, *given])
    if len(complete.values) < MIN_ROWS:
        return float("nan")
    return partial_correlation(Adjustment(scores_of(complete), range(2, len(given) + 2)), 0, 1)
