"""Common parts of estimators: their parameters and, for estimators of graphs, `fit` and diagnostics."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dcd.estimators.account import Account, keep_account, with_shown_rows
from dcd.estimators.checkpoints import describe, seed_for_checkpoint
from dcd.estimators.effect_answers import Effect, Over
from dcd.estimators.effect_cautions import cautions_of_dependence
from dcd.estimators.effect_estimates import Method
from dcd.estimators.effects import EffectOptions, FittedGraphs, effect_of_fit
from dcd.estimators.fitted_graph import FittedGraph
from dcd.graph.adjustment_sets import Rule
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.drawing.cpdag_plot import plot_cpdag
from dcd.graph.drawing.svg import notebook_html
from dcd.graph.knowledge import Knowledge, bind_knowledge, check_knowledge
from dcd.graph.stability import Stability
from dcd.runtime.checkpoint import Checkpoint, Codec, Description
from dcd.runtime.errors import InputError, check_flag, check_number, make_generator
from dcd.runtime.memory import Memory
from dcd.runtime.parallel import n_processes
from dcd.runtime.runs import Run
from dcd.search.base import Conflict, Construction, Cut, Posterior, TargetSearch
from dcd.search.conflicts import is_with_knowledge
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing, TableOptions, TableSummary
from dcd.table.fingerprint import fingerprint
from dcd.table.reading import read_table
from dcd.table.row_weights import repeated
from dcd.weights.base import SampleWeights

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True, kw_only=True)
class Diagnostics(ABC):
    """What happened during a fit, for any estimator.

    Attributes
    ----------
    searches : for each target its boundary, its neighbours with their p-values, and the weights behind them.
    level : level of every single test.
    sets : every decoupled set: its `variables`, and how well they were decoupled.
    separated : pairs that the best graph joined but a test did not confirm; `RobustDCD` only.
    """

    searches: tuple[TargetSearch, ...]
    level: float
    sets: tuple[SampleWeights, ...] = field(repr=False)
    separated: tuple[tuple[str, str], ...] = ()

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The targets whose boundary was too large to search in full."""
        return tuple(search.cut for search in self.searches if search.cut is not None)

    @property
    def failed(self) -> tuple[str, ...]:
        """The variables whose boundary may be wrong because decoupling failed."""
        return ()

    def to_frame(self) -> pd.DataFrame:
        """One row for each decoupled set."""
        columns = ("variables", "size", "ess", "dependence_before", "dependence", "status")
        of_set = attrgetter("variables", "ess", "dependence_before", "dependence", "status")
        rows = [(variables, len(variables), *rest) for variables, *rest in map(of_set, self.sets)]
        return pd.DataFrame(rows, columns=columns)

    @abstractmethod
    def __str__(self) -> str:
        """A short summary."""

    def _repr_html_(self) -> str:
        return notebook_html("How the fit went", lines=str(self).splitlines())


def statuses(frame: pd.DataFrame) -> str:
    """How often learning stopped for each reason, in words: "3 max_steps, 1 ess_floor"."""
    return ", ".join(f"{count} {status}" for status, count in Counter(frame["status"]).most_common())


@dataclass(kw_only=True, eq=False, repr=False)
class TableEstimator(BaseEstimator):
    """The parameters that all estimators share: the level of tests, how to read a table, and resources."""

    alpha: float = 0.05
    kinds: Mapping[str, Kind] | None = None
    missing: Missing = "refuse"
    drop_degenerate: bool = False
    n_jobs: int | None = None
    memory_limit: int | str | None = None

    def _check_parameters(self) -> None:
        """Raise `InputError` for a parameter out of range."""
        check_number("alpha", self.alpha, above=0, below=1, suggestion=0.05)
        check_n_jobs(self.n_jobs)
        check_flag("progress", getattr(self, "progress", True))

    def _record_features(self, dataset: Dataset) -> None:
        """Set scikit-learn's `n_features_in_` and, if the table had names, `feature_names_in_`."""
        columns = dataset.summary.columns
        self.n_features_in_ = len(columns)
        if dataset.named:
            self.feature_names_in_ = np.array(columns, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags


@dataclass(kw_only=True, eq=False, repr=False)
class Discovery(FittedGraph, TableEstimator):
    """An estimator of a graph: `fit`, and the methods of a fitted model."""

    knowledge: Knowledge | None = None
    progress: bool = True
    random_state: int | np.random.Generator | None = None

    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        counts: Any = None,
        groups: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        max_time: float | None = None,
    ) -> Self:
        """Discover the graph behind the columns of `X`; `y` is ignored.

        Parameters
        ----------
        X : table.
        y : ignored.
        sample_weight : (n,) array or None
            Weights of the rows, such as those of a survey. Only their ratios matter: estimates are those of
            a table with rows repeated in proportion, and tests use the effective sample size. Equal weights
            have no effect.
        counts : (n,) array or None
            How many identical observations each row stands for (integers). The fit is the same as with the
            rows repeated.
        groups : (n,) array or None
            Name or number of the group of each row. Rows of a group belong together, such as those of one
            person. Tests allow for any dependence within a group, random subsets of the rows consist of whole
            groups, and scores count fewer samples the more the rows of a group resemble each other. Groups of
            one row each have no effect. `DCD` does not accept groups.
        checkpoint : path or None
            File that stores every finished task. After a crash, Ctrl-C or `kill -9`, the same call resumes
            where the last one stopped, with the same result. A file from other data, parameters or versions
            is rejected; `n_jobs`, `progress`, `memory_limit` and the order of the columns may differ.
        max_time : float or None
            Time limit in seconds, checked after each task. With a checkpoint the fit stops at the limit, and
            the same call resumes it. Without one it stops early if the estimated time far exceeds the limit.

        Raises
        ------
        TimeLimitError
            at the limit, or if the estimated time far exceeds it.
        """
        if max_time is not None:
            check_number("max_time", max_time, above=0, suggestion=3600)
        rng = make_generator(self.random_state)
        check_knowledge(self.knowledge)
        self._check_parameters()
        run = Run(progress=self.progress, max_time=max_time, at_once=n_processes(self.n_jobs))
        seed = seed_for_checkpoint(self.random_state, checkpoint) if self._is_random() else None
        self._check_groups(groups)
        X, _ = repeated(X, counts, sample_weight, groups)
        table = read_table(X, options=table_options(self), sample_weight=sample_weight, groups=groups)
        bind_knowledge(self.knowledge, table.names, table.summary.dropped)  # raises before any work is done
        dataset = with_shown_rows(table.in_canonical_order())
        opened = nullcontext() if checkpoint is None else self._opened(checkpoint, dataset, seed)
        with run, opened as run.checkpoint:
            construction, self.diagnostics_ = self._discover(dataset, rng, run)
        self._record_features(table)
        self.table_: TableSummary = table.summary
        self.cpdag_: CPDAG = construction.cpdag.reorder(table.names)
        self.adjacency_matrix_: pd.DataFrame = self.cpdag_.to_frame()
        boundaries = construction.markov_boundaries
        self.markov_boundaries_: dict[str, dict[str, Role]] = {
            target: {name: boundaries[target][name] for name in table.names if name in boundaries[target]}
            for target in table.names
        }
        self.conflicts_: tuple[Conflict, ...] = construction.conflicts
        self.posterior_: Posterior | None = construction.posterior
        self.probabilities_: pd.DataFrame | None = (
            None if self.posterior_ is None else self.posterior_.to_frame(table.names)
        )
        self.account_: Account = keep_account(X, dataset, construction.searches, self.markov_boundaries_)
        self._fitted_to = (X, sample_weight, groups)  # for `effect`; it is not pickled
        return self

    def effect(
        self,
        treatment: str,
        outcome: str,
        X: Any = None,
        *,
        over: Over | None = None,
        levels: tuple[Any, Any] | None = None,
        adjustment: Rule = "optimal",
        estimator: Method = "flexible",
        confidence: float = 0.95,
        sample_weight: Any = None,
        groups: Any = None,
        random_state: int | np.random.Generator | None = 0,
    ) -> Effect:
        """The average effect of a treatment on an outcome, over all possible graphs.

        Parameters
        ----------
        treatment, outcome : str
            Two variables of the graph.
        X, sample_weight, groups : table, and the weights and groups of its rows
            By default those of the fit. For a valid interval use other rows: fit the graph on one half of the
            rows and estimate on the other.
        over : "posterior", "class" or None
            The graphs sampled by the fit, weighted by how often each was sampled, or all graphs of `cpdag_`,
            with uncertain arrows in either direction. None means the posterior if there is one.
        levels, adjustment, estimator, confidence, random_state : as for `dcd.effect`.

        Examples
        --------
        >>> import dcd
        >>> frame = dcd.datasets.load_sachs().frame[["PKC", "P38", "Jnk"]]
        >>> model = dcd.RobustDCD().fit(frame)
        >>> effect = model.effect("PKC", "P38", estimator="linear")
        >>> effect.low <= effect.high
        True
        """
        check_is_fitted(self)
        options = EffectOptions(levels, adjustment, estimator, confidence, random_state)
        options.check()
        notes = [(one.columns, one.text) for one in self.table_.notes if one.kind == "dependent-rows"]
        fitted = FittedGraphs(
            self.cpdag_,
            None if self.posterior_ is None else self.posterior_.graphs_of(self.cpdag_.names),
            self.knowledge,
            self.table_.kinds,
            cautions_of_dependence(notes, in_groups=self.table_.n_groups is not None),
            None if self.posterior_ is None else self.posterior_.n_chains,
            self.table_.n_rows_used if self.table_.missing == "complete-rows" else None,
            sum(map(is_with_knowledge, self.conflicts_)),
            None if self.posterior_ is None else self.posterior_.drift,
        )
        for name, value in {"sample_weight": sample_weight, "groups": groups}.items():
            if X is None and value is not None:
                remedy = f"Pass both: model.effect(treatment, outcome, table, {name}=...)."
                raise InputError(f"parameter '{name}'", "was given without the table of its rows", remedy)
        given = None if X is None else (X, sample_weight, groups)
        return effect_of_fit(
            fitted, (treatment, outcome), over, options, lambda: given or self._table_of_fit()
        )

    def _table_of_fit(self) -> tuple[Any, Any, Any]:
        """The table, weights and groups of the fit; raises `InputError` if they are gone or have changed."""
        remedy = "Pass it: model.effect(treatment, outcome, table)."
        if not hasattr(self, "_fitted_to"):
            raise InputError("the table of the fit", "is not part of a saved or copied model", remedy)
        X, sample_weight, groups = self._fitted_to
        if fingerprint(X) != self.account_.fingerprint:
            raise InputError("the table of the fit", "has changed since the fit", remedy)
        return X, sample_weight, groups

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_fitted_to"}

    def plot(
        self,
        ax: Axes | None = None,
        *,
        truth: CPDAG | None = None,
        stability: Stability | None = None,
        target: str | None = None,
    ) -> Axes:
        """Draw the discovered graph; see `dcd.plot.plot_cpdag` for the parameters.

        An edge is wider if it is more probable or, with `stability`, if more resamples contain it.
        """
        check_is_fitted(self)
        shares = {"probabilities": self.probabilities_} if stability is None else {"stability": stability}
        return plot_cpdag(self.cpdag_, truth=truth, target=target, ax=ax, **shares)

    def __str__(self) -> str:
        """The parameters and, once fitted, the edges with their probabilities."""
        if not hasattr(self, "cpdag_"):
            return repr(self)
        edges = [f"{edge}  ({words})" if words else edge for edge, words in self._edge_lines()]
        return "\n".join([repr(self), *(edges or ["(no edges)"])])

    def _opened(self, path: str | os.PathLike[str], dataset: Dataset, seed: int | None) -> Checkpoint:
        """The checkpoint of a fit, which must match these data and parameters."""
        shared = describe(self, dataset, without=["random_state"])
        return Checkpoint(path, Description("fit", shared, {"random_state": seed}), self._codecs(dataset))

    @abstractmethod
    def _codecs(self, dataset: Dataset) -> dict[str, Codec]:
        """How a checkpoint stores the results of each stage."""

    def _for_resamples(self) -> Self:
        """The estimator that `stability` fits to each of many resamples."""
        return self

    def _check_groups(self, groups: Any) -> None:
        """Raise `InputError` if there are groups of rows and the method cannot take them into account."""

    def _is_random(self) -> bool:
        """Whether the result depends on `random_state`."""
        return True

    @abstractmethod
    def _discover(
        self, dataset: Dataset, rng: np.random.Generator, run: Run
    ) -> tuple[Construction, Diagnostics]:
        """The graph and the diagnostics; long computations are tasks of the `run`."""


def check_n_jobs(n_jobs: object) -> None:
    """Raise `InputError` unless `n_jobs` is None or a whole number other than 0."""
    if n_jobs is not None:
        check_number("n_jobs", n_jobs, at_least=-10_000, at_most=10_000, whole=True, suggestion=-1)
        if n_jobs == 0:
            raise InputError("parameter 'n_jobs'", "must not be 0", "Use 1, or -1 for all cores.")


def refuse_groups(groups: object, remedy: str) -> None:
    """Raise `InputError` if there are groups of rows, which the published method cannot take into account."""
    if groups is not None:
        problem = "is not supported: the test of the published method treats every row as independent"
        raise InputError("parameter 'groups'", problem, remedy)


def table_options(estimator: Any) -> TableOptions:
    """The options with which an estimator reads tables, checked."""
    memory = Memory.of(estimator.memory_limit)
    options = TableOptions(estimator.kinds, estimator.missing, estimator.drop_degenerate, memory)
    options.check()
    return options
