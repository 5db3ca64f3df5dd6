"""What every estimator of a graph has in common: reading the table, running the search, keeping the answer."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from dcd.estimators.description import describe, seed_for_checkpoint
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.display import Plotted
from dcd.graph.knowledge import Knowledge, bind_knowledge, check_knowledge
from dcd.runtime.checkpoint import Checkpoint, Codec, Description
from dcd.runtime.errors import InputError, check_number, make_generator
from dcd.runtime.memory import Memory
from dcd.runtime.parallel import n_processes
from dcd.runtime.runs import Run
from dcd.search.algorithm1 import Construction
from dcd.search.conflicts import Conflict
from dcd.table.dataset import Dataset, Missing, TableOptions, TableSummary
from dcd.table.reading import read_table
from dcd.weights.hsic_descent import WeightOptions


class Discovery(Plotted, BaseEstimator):
    """What discovering a graph has in common, whatever the strategies: `fit`, and what it leaves behind."""

    def fit(
        self,
        X: Any,
        y: object = None,  # noqa: ARG002
        sample_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        max_time: float | None = None,
    ) -> Self:
        """Discover the graph behind the columns of `X`; `y` is ignored.

        Parameters
        ----------
        X : table.
        y : ignored.
        sample_weight : (n,) array or None
            What each row counts for, such as the weights of a survey.
        checkpoint : path or None
            File that keeps every finished piece of the work. After a crash, Ctrl-C or `kill -9`, the same
            call goes on where the last one stopped, and ends with the same result. A file of other data,
            other parameters or another version is refused with what differs; `n_jobs`, `progress`,
            `memory_limit` and the order of the columns may differ.
        max_time : float or None
            Seconds that the fit may take. With a checkpoint it stops when they are over, and the same call
            goes on. Without one it stops early if by the first pieces it would take much longer. Looked at
            whenever a piece is done, so that it ends a little late.

        Raises
        ------
        TimeLimitError
            when the time is over or would not do.
        """
        if max_time is not None:
            check_number("max_time", max_time, above=0, suggestion=3600)
        rng = make_generator(self.random_state)
        check_knowledge(self.knowledge)
        self._check_parameters()
        run = Run(progress=self.progress, max_time=max_time, at_once=n_processes(self.n_jobs))
        seed = seed_for_checkpoint(self.random_state, checkpoint) if self._is_random() else None
        given = read_table(X, options=table_options(self), sample_weight=sample_weight)
        bind_knowledge(self.knowledge, given.names, given.summary.dropped)  # told before any work
        dataset = given.in_canonical_order()
        with (
            nullcontext() if checkpoint is None else self._opened(checkpoint, dataset, seed) as run.checkpoint
        ):
            construction, diagnostics = self._discover(dataset, rng, run)
        record_features(self, given)
        self.table_: TableSummary = given.summary
        self.cpdag_: CPDAG = construction.cpdag.reorder(given.names)
        self.adjacency_matrix_: pd.DataFrame = self.cpdag_.to_frame()
        boundaries = construction.markov_boundaries
        self.markov_boundaries_: dict[str, dict[str, Role]] = {
            target: {name: boundaries[target][name] for name in given.names if name in boundaries[target]}
            for target in given.names
        }
        self.conflicts_: tuple[Conflict, ...] = construction.conflicts
        self.diagnostics_ = diagnostics
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self.missing != "refuse"
        return tags

    missing: Missing
    memory_limit: int | str | None = None
    knowledge: Knowledge | None
    n_jobs: int | None
    progress: bool
    random_state: int | np.random.Generator | None

    def _opened(self, path: str | os.PathLike[str], dataset: Dataset, seed: int | None) -> Checkpoint:
        """The checkpoint of a fit, if it is one of this data and these parameters."""
        shared = describe(self, dataset, without=["random_state"])
        return Checkpoint(
            path, Description("fit", shared, {"random_state": seed}), self._codecs(dataset.names)
        )

    def _codecs(self, names: Sequence[str]) -> dict[str, Codec]:  # noqa: ARG002
        """How the pieces of each stage are kept."""
        return {}

    def _is_random(self) -> bool:
        """Whether the result depends on `random_state`."""
        return True

    @abstractmethod
    def _check_parameters(self) -> None:
        """Raise `InputError` for a parameter out of range."""

    @abstractmethod
    def _discover(self, dataset: Dataset, rng: np.random.Generator, run: Run) -> tuple[Construction, Any]:
        """The graph with its account, and the diagnostics; what takes time is in pieces of the `run`."""


def check_n_jobs(n_jobs: object) -> None:
    """Raise `InputError` unless `n_jobs` is None or a whole number other than 0."""
    if n_jobs is not None:
        check_number("n_jobs", n_jobs, whole=True, suggestion=-1)
        if n_jobs == 0:
            raise InputError("parameter 'n_jobs'", "must not be 0", "Use 1, or -1 for all cores.")


def record_features(estimator: Any, dataset: Dataset) -> None:
    """Set scikit-learn's `n_features_in_` and, if the table had names, `feature_names_in_`."""
    columns = dataset.summary.columns
    estimator.n_features_in_ = len(columns)
    if dataset.named:
        estimator.feature_names_in_ = np.array(columns, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # of an earlier fit


def table_options(estimator: Any) -> TableOptions:
    """How an estimator reads tables, checked."""
    memory = Memory.of(estimator.memory_limit)
    options = TableOptions(estimator.kinds, estimator.missing, estimator.drop_useless, memory)
    options.check()
    return options


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
