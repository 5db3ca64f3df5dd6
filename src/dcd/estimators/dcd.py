"""`DCD`: the stages in order, from a table to its CPDAG."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator

from dcd.estimators.codecs import published_codecs
from dcd.estimators.description import describe, seed_for_checkpoint
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.drawing.cpdag_plot import Plotted
from dcd.graph.knowledge import Knowledge, bind_knowledge, check_knowledge
from dcd.runtime.array_types import FloatArray
from dcd.runtime.checkpoint import Checkpoint, Codec, Description
from dcd.runtime.errors import InputError, check_number, make_generator
from dcd.runtime.parallel import n_processes
from dcd.runtime.runs import Run
from dcd.search.algorithm1 import Subsets, check_subsets, construct, warn_of_cuts
from dcd.search.base import Conflict, Construction, Cut, TargetSearch
from dcd.search.decoupled_boundaries import (
    BoundaryIdentifier,
    DecoupledSet,
    record_features,
    table_options,
    weight_options,
)
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing, TableSummary
from dcd.table.reading import read_table
from dcd.weights.hsic_descent import HSICDescent


@dataclass(frozen=True)
class Diagnostics:
    """What happened on the way.

    Attributes
    ----------
    sets : every decoupled set, with its effective sample size, pairwise weighted HSIC before and after,
        steps and why learning stopped. The first d are the ones behind the Markov boundaries.
    searches : for each target its boundary as estimated, and what excluding subsets of it showed.
    """

    sets: tuple[DecoupledSet, ...]
    searches: tuple[TargetSearch, ...]

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The targets whose boundary was too large to search in full."""
        return tuple(search.cut for search in self.searches if search.cut is not None)

    @property
    def failed(self) -> tuple[str, ...]:
        """The variables whose boundary rests on weights that left more dependence than chance does.

        Edges of these may be what decoupling could not remove rather than causes.
        """
        return tuple(
            search.target
            for search, decoupled in zip(self.searches, self.sets, strict=False)
            if decoupled.dependence > 1
        )

    def to_frame(self) -> pd.DataFrame:
        """One row for each decoupled set; HSIC as its mean over the pairs of the set."""
        return pd.DataFrame(
            {
                "variables": decoupled.variables,
                "size": len(decoupled.variables),
                "ess": decoupled.ess,
                "dependence_before": decoupled.dependence_before,
                "dependence": decoupled.dependence,
                "hsic_before": _mean_of_pairs(decoupled.hsic_before),
                "hsic_after": _mean_of_pairs(decoupled.hsic_after),
                "steps": decoupled.n_steps,
                "status": decoupled.status,
            }
            for decoupled in self.sets
        )

    def __str__(self) -> str:
        frame = self.to_frame()
        n_targets = len(self.searches)
        return "\n".join(
            [
                f"{n_targets} sets behind the Markov boundaries: {_summary(frame[:n_targets])}",
                f"{len(frame) - n_targets} subsets of boundaries: {_summary(frame[n_targets:])}",
                *self._failure(),
                *(str(cut) for cut in self.cuts),
            ]
        )

    def _failure(self) -> list[str]:
        if not self.failed:
            return []
        return [
            f"Decoupling failed for {len(self.failed)} of {len(self.searches)} boundaries (it left more "
            f"dependence than chance leaves): edges there may be false. Try RobustDCD."
        ]


def _summary(frame: pd.DataFrame) -> str:
    if frame.empty:
        return "none"
    stopped = ", ".join(f"{count} {status}" for status, count in frame["status"].value_counts().items())
    left = frame["hsic_after"].sum() / max(frame["hsic_before"].sum(), np.finfo(float).tiny)
    return (
        f"{stopped}; effective sample size {frame['ess'].min():.0f} to {frame['ess'].max():.0f}; "
        f"{left:.0%} of the pairwise dependence left"
    )


def _mean_of_pairs(matrix: FloatArray) -> float:
    """Mean of the entries off the diagonal; 0 for one variable."""
    size = len(matrix)
    return float(matrix.sum() - np.trace(matrix)) / (size * (size - 1)) if size > 1 else 0.0


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


_NEXT = {"Markov boundaries": "subsets of boundaries"}


class DCD(Discovery):
    """Decoupled causal discovery: from a table of measurements to the causal graph behind it.

    For every variable, weights are learned that make all others independent of each other; what still
    depends on the variable is its Markov boundary. The graph is built from boundaries alone (Algorithm 1).

    The answer is a CPDAG. An arrow means that every causal graph that fits the data has it, an undirected
    edge that its direction cannot be told from such data. It rests on there being no hidden common causes,
    no feedback, and enough noise in every variable.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of the test, as in the paper. With many variables a smaller one avoids chance edges.
    learning_rate : float, default=0.05
        Step size of Adam on the logarithms of the weights.
    max_steps : int, default=300
        Most steps of Adam for one set. Few sets need more than a hundred.
    min_ess : float, default=0.2
        Learning stops before the effective sample size falls below this share of the rows.
    tolerance : float, default=0.002
        Learning has converged when ten steps together lower the loss by less than this share of its first
        value; 0 never stops for it.
    init_scale : float, default=0.0
        Standard deviation of a random start of the log weights. 0 starts at equal weights and makes the
        result free of randomness.
    max_subsets : int or None, default=256
        Bound on the search within one boundary of m variables, which has 2^m - 2 subsets to exclude. Sizes
        are searched in increasing order as long as all subsets of a size fit (size 1 in any case), so
        boundaries of up to 8 variables are searched in full, larger ones by smaller exclusions (recorded in
        `diagnostics_.cuts`, with a warning). None never cuts.
    subsets : "all" or "pruned", default="all"
        Exclude all subsets of every boundary, as published, or only those that tell something new if all
        boundaries are perfect. With perfect boundaries the answer is the same; with estimated ones it can
        differ.
    knowledge : Knowledge or None, default=None
        Arrows that must be or may not be, tiers, roots and leaves. They go before what the data tell; where
        the two differ, that is in `conflicts_`. The answer then has every arrow that follows from both.
    kinds : dict or None, default=None
        "continuous", "ordinal" or "nominal" for columns where the rule errs: text, categories and truth
        values are nominal, ordered categories and whole numbers with at most ten different values ordinal,
        other numbers continuous.
    missing : "refuse", "complete-rows" or "testwise", default="refuse"
        What to do about missing values: refuse the table, use its complete rows, or let each test use the
        rows that are complete in its variables (testwise deletion).
    drop_degenerate : bool, default=False
        Leave out columns that are constant or copies of others, instead of refusing them.
    n_jobs : int or None, default=None
        Processes to use, -1 for all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory that the fit may take: bytes, or text such as "4GiB" or "500MB"; None is without limit. Tables
        that do not fit go to scratch files in the system's temporary folder (which TMPDIR sets), and work is
        done in smaller blocks. The graph does not depend on it; a limit so small that blocks shrink can
        change the last digits of p-values.
    progress : bool, default=True
        Show a progress bar when run in a terminal.
    random_state : int, Generator or None, default=None
        Seed of the random start; without effect while `init_scale` is 0.

    Attributes
    ----------
    cpdag_ : CPDAG
    adjacency_matrix_ : DataFrame
        `[i, j] = 1, [j, i] = 0` for `i -> j`; both 1 for `i - j`.
    markov_boundaries_ : dict
        `{target: {member: role}}` with role "parent", "child", "neighbour" (direction unknown) or "spouse"
        in the finished graph. Members are the estimated boundary and whoever has an edge to the target; the
        boundary as estimated is in `diagnostics_.searches`.
    conflicts_ : tuple of Conflict
        What the data contradicted, and what was done about it.
    diagnostics_ : Diagnostics
        How each set was decoupled, what each search showed, and which were cut short.
    table_ : TableSummary
        What was made of the table: kinds of its columns, rows used, columns left out.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import dcd
    >>> model = dcd.DCD().fit(dcd.datasets.load_sachs().frame)
    >>> model.cpdag_
    CPDAG(11 variables, 2 directed, 6 undirected edges)
    """

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        learning_rate: float = HSICDescent.learning_rate,
        max_steps: int = HSICDescent.max_steps,
        min_ess: float = HSICDescent.min_ess,
        tolerance: float = HSICDescent.tolerance,
        init_scale: float = HSICDescent.init_scale,
        max_subsets: int | None = 256,
        subsets: Subsets = "all",
        knowledge: Knowledge | None = None,
        kinds: Mapping[str, Kind] | None = None,
        missing: Missing = "refuse",
        drop_degenerate: bool = False,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        progress: bool = True,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.alpha = alpha
        self.learning_rate = learning_rate
        self.max_steps = max_steps
        self.min_ess = min_ess
        self.tolerance = tolerance
        self.init_scale = init_scale
        self.max_subsets = max_subsets
        self.subsets = subsets
        self.knowledge = knowledge
        self.kinds = kinds
        self.missing = missing
        self.drop_degenerate = drop_degenerate
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.progress = progress
        self.random_state = random_state

    def _codecs(self, names: Sequence[str]) -> dict[str, Codec]:
        return published_codecs(names)

    def _is_random(self) -> bool:
        return self.init_scale != 0

    def _discover(
        self, dataset: Dataset, rng: np.random.Generator, run: Run
    ) -> tuple[Construction, Diagnostics]:
        identifier = BoundaryIdentifier(
            dataset,
            alpha=self.alpha,
            options=weight_options(self),
            random_state=rng,
            n_jobs=self.n_jobs,
            run=run,
        )

        def prepare(sets: Sequence[Collection[str]], label: str) -> None:
            identifier.prepare(sets, n_jobs=self.n_jobs, label=label, then=_NEXT.get(label))

        construction = construct(
            dataset.names,
            identifier,
            identifier.pvalue,
            self.max_subsets,
            self.knowledge,
            subsets=self.subsets,
            prepare=prepare,
        )
        warn_of_cuts(construction.cuts, stacklevel=4)
        return construction, Diagnostics(identifier.decoupled_sets, construction.searches)

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, above=0, below=1, suggestion=0.05)
        weight_options(self)
        check_subsets(self.subsets, self.max_subsets)
        check_n_jobs(self.n_jobs)
