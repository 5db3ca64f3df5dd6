"""`stability`: refit a method to many resamples of a table, in parallel, resumable after a crash."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Generator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, TypedDict

import msgspec
import numpy as np
from sklearn.base import clone

from dcd.estimators.base import Discovery, check_n_jobs, table_options
from dcd.estimators.checkpoints import describe, seed_for_checkpoint
from dcd.graph.stability import SCHEMES, Scheme, Stability
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.checkpoint import Checkpoint, Codec, Description, Key
from dcd.runtime.errors import (
    FailedResamplesWarning,
    InputError,
    check_choice,
    check_flag,
    check_number,
    make_generator,
)
from dcd.runtime.memory import Memory
from dcd.runtime.parallel import Shared, as_done, n_processes
from dcd.runtime.runs import Run
from dcd.table.dataset import Dataset
from dcd.table.reading import read_columns
from dcd.table.row_groups import groups_of_rows, row_groups
from dcd.table.row_weights import repeated, take_rows
from dcd.table.sources import readable_again

# Set for each refit, so the model's own values have no effect.
_OURS = ("n_jobs", "progress", "random_state", "memory_limit")


def stability(
    model: Discovery,
    X: Any,
    *,
    n_resamples: int = 100,
    scheme: Scheme = "subsample",
    fraction: float = 0.5,
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int | np.random.Generator | None = 0,
    checkpoint: str | os.PathLike[str] | None = None,
    max_time: float | None = None,
) -> Stability:
    """How often each edge is found when the method is refitted to random subsamples of the rows.

    Parameters
    ----------
    model : DCD or RobustDCD
        The method with its parameters, fitted or not; it is cloned, not changed. `RobustDCD` runs at most 8
        chains on each resample: there are many resamples, and only the graph of each counts.
    X : table, as for `fit`.
    n_resamples : int, default=100
        Resample i depends only on `random_state` and i, so the first 50 of 100 are those of a run of 50.
    scheme : "subsample" or "bootstrap", default="subsample"
        Draw the share `fraction` of the rows without replacement, or n of n rows with replacement. A
        bootstrap sample repeats rows, which tests count as new evidence: between independent variables it
        finds several times as many edges as the level allows.
    fraction : float, default=0.5
        Share of the rows in a subsample; not used by "bootstrap".
    sample_weight : (n,) array or None
        Weights of the rows for `fit`; each resample takes those of its rows.
    counts : (n,) array or None
        How many identical observations each row stands for; resamples are drawn from the repeated rows.
    groups : (n,) array or None
        Group of each row, as for `fit`. Whole groups are resampled, with all their rows; a group that a
        bootstrap draws twice counts as two.
    n_jobs : int or None, default=None
        Processes to use, -1 for all cores. The result does not depend on it.
    progress : bool, default=True
        Show a progress bar in a terminal or notebook.
    random_state : int, Generator or None, default=0
        Seed of the resamples and of their fits.
    checkpoint : path or None
        File that stores every finished resample. The same call with the same file continues where the last
        one stopped (a crash, Ctrl-C, a smaller `n_resamples`) and returns the result of an uninterrupted run.
        A file from other data or parameters is rejected. It can be the file of `fit`.
    max_time : float or None
        Time limit in seconds, as for `fit`.

    Returns
    -------
    Stability

    Warns
    -----
    FailedResamplesWarning
        if the method could not be fitted to some resamples, because a column was constant or a copy of
        another. They are counted in `Stability.failures` and left out of the frequencies.

    Examples
    --------
    >>> import dcd
    >>> frame = dcd.datasets.load_sachs().frame[["Raf", "Mek", "Jnk"]]
    >>> stability = dcd.stability(dcd.RobustDCD(), frame, n_resamples=10)
    >>> stability.frequencies("Raf", "Mek")
    {'->': 0.0, '<-': 0.0, '-': 1.0, 'none': 0.0}
    """
    _check_parameters(model, n_resamples, scheme, fraction, n_jobs)
    check_flag("progress", progress)
    if max_time is not None:
        check_number("max_time", max_time, above=0, suggestion=3600)
    rng = make_generator(random_state)
    seed = seed_for_checkpoint(random_state, checkpoint)
    entropy = int(rng.integers(2**63)) if seed is None else seed  # the seed of all draws
    run = Run(progress=progress, max_time=max_time, at_once=n_processes(n_jobs))
    model._check_groups(groups)
    X, _ = repeated(readable_again(X), counts, sample_weight, groups)
    dataset = read_columns(X, options=table_options(model), sample_weight=sample_weight, groups=groups)
    table = dataset.summary
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    draws = _Draws(table.n_rows, scheme, fraction, entropy, groups_of_rows(row_groups(groups, table.n_rows)))
    # A column keeps the kind that it has in the table, even if a resample has few of its values.
    kinds = {**(model.kinds or {}), **table.kinds}
    template = _with_share_of_memory(model, n_processes(n_jobs), draws)
    template = clone(template._for_resamples()).set_params(n_jobs=1, progress=False, kinds=kinds)
    shared = Shared(_Resampled(template, X, weights, table.names, draws))

    def compute(pending: list[int]) -> Generator[tuple[int, _Refit]]:
        return as_done(_refit, pending, shared=shared, n_jobs=n_jobs)

    opened = nullcontext() if checkpoint is None else _opened(checkpoint, model, dataset, draws)
    with opened as run.checkpoint:
        results = run.gather("resamples", range(n_resamples), compute, label="resamples")
    return _summarised(table.names, results, draws)


def check_memory(model: Discovery, n_rows: int, n_jobs: int | None) -> None:
    """Raise `InputError` if the model's memory limit is too small to process subsamples in parallel.

    To be called before a fit that can take hours.
    """
    check_n_jobs(n_jobs)
    _with_share_of_memory(model, n_processes(n_jobs), _Draws(n_rows, "subsample", 0.5, 0))


# --- the resamples ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Draws:
    """Rows and seed of each resample, by its index."""

    n_rows: int
    scheme: Scheme
    fraction: float
    entropy: int
    groups: Positions | None = None

    @property
    def n_drawn(self) -> int:
        """Rows of a resample."""
        return self.n_rows if self.scheme == "bootstrap" else max(1, round(self.fraction * self.n_rows))

    def __call__(self, index: int) -> tuple[Positions, Positions | None, int]:
        """The rows of a resample, their groups, and the seed of the refit."""
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        n_units = self.n_rows if self.groups is None else int(self.groups.max()) + 1
        if self.scheme == "bootstrap":
            units = rng.integers(n_units, size=n_units)
        else:
            units = rng.permutation(n_units)[: max(1, round(self.fraction * n_units))]
        units.sort()
        rows, groups = (units, None) if self.groups is None else _rows_of(units, self.groups)
        return rows, groups, int(rng.integers(2**31))


def _rows_of(drawn: Positions, groups: Positions) -> tuple[Positions, Positions]:
    """All rows of the groups drawn, and for each row the number of its draw."""
    by_group = np.argsort(groups, kind="stable")
    sizes = np.bincount(groups)
    starts = np.cumsum(sizes) - sizes
    rows = np.concatenate([by_group[starts[one] : starts[one] + sizes[one]] for one in drawn])
    return rows, np.repeat(np.arange(len(drawn)), sizes[drawn])


@dataclass(frozen=True)
class _Resampled:
    """The input of every refit: the method, the table with its weights, and the draws."""

    model: Discovery
    table: Any
    weights: FloatArray | None
    names: tuple[str, ...]
    draws: _Draws


class _Refit(TypedDict, total=False):
    """The edges found in one resample, or why there are none."""

    directed: list[tuple[str, str]]
    undirected: list[tuple[str, str]]
    failure: str


def _refit(task: _Resampled, index: int) -> _Refit:
    rows, groups, seed = task.draws(index)
    model = clone(task.model).set_params(random_state=seed)
    weights = None if task.weights is None else task.weights[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a fit to the table itself gives the same warnings
            table = take_rows(task.table, rows)
            together = {} if groups is None else {"groups": groups}  # a user's estimator may not accept them
            graph = model.fit(table, sample_weight=weights, **together).cpdag_
    except Exception as error:  # one failed resample must not lose the others; the reason is reported
        reason = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        return {"failure": reason}
    absent = [name for name in task.names if name not in graph.names]
    if absent:  # a resample without a column says nothing about its pairs, so it does not count
        return {"failure": f"column {absent[0]!r}: {model.table_.dropped[absent[0]]}"}
    return {"directed": list(graph.directed_edges), "undirected": list(graph.undirected_edges)}


def _with_share_of_memory(model: Discovery, n_processes: int, draws: _Draws) -> Discovery:
    """The model with its share of the memory limit, for refits in parallel."""
    if model.memory_limit is None:
        return model
    memory = Memory.of(model.memory_limit)
    memory.check(draws.n_drawn, n_processes)
    fresh: Discovery = clone(model).set_params(memory_limit=memory.shared_by(n_processes).limit)
    return fresh


def _summarised(names: tuple[str, ...], results: list[_Refit], draws: _Draws) -> Stability:
    failures = Counter(result["failure"] for result in results if "failure" in result)
    graphs = [result for result in results if "failure" not in result]
    if not graphs:
        most, _ = failures.most_common(1)[0]
        raise InputError(
            "the resamples",
            f"all {len(results)} failed, {failures[most]} of them with: {most}",
            "Fit the model to the table itself, or to larger subsamples.",
        )
    directed, undirected = (np.zeros((len(names), len(names))) for _ in range(2))
    for result in graphs:
        for count, edges in ((directed, result["directed"]), (undirected, result["undirected"])):
            for a, b in edges:
                count[names.index(a), names.index(b)] += 1
    stability = Stability(
        names=names,
        directed=directed / len(graphs),
        undirected=(undirected + undirected.T) / len(graphs),
        n_resamples=len(graphs),
        scheme=draws.scheme,
        fraction=draws.fraction if draws.scheme == "subsample" else None,
        failures=dict(failures),
        seed=draws.entropy,
    )
    if failures:
        warnings.warn(stability.failure_sentence(), FailedResamplesWarning, stacklevel=3)
    return stability


# --- checks and the description of a run -----------------------------------------------------------------


def _check_parameters(
    model: object, n_resamples: object, scheme: object, fraction: object, n_jobs: object
) -> None:
    if not isinstance(model, Discovery):
        kind = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InputError(
            "parameter 'model'", f"must be an estimator of graphs, got {kind}", "Try dcd.RobustDCD()."
        )
    model._check_parameters()
    check_number("n_resamples", n_resamples, at_least=1, at_most=100_000, whole=True, suggestion=100)
    check_choice("scheme", scheme, SCHEMES)
    check_number("fraction", fraction, above=0, below=1, suggestion=0.5)
    check_n_jobs(n_jobs)


def _opened(path: str | os.PathLike[str], model: Discovery, dataset: Dataset, draws: _Draws) -> Checkpoint:
    own = {
        "scheme": draws.scheme,
        "fraction": draws.fraction if draws.scheme == "subsample" else None,
        "random_state": draws.entropy,
    }
    shared = describe(model, dataset, without=_OURS)
    known = set(dataset.names)

    def read(key: Key, kept: Any) -> Any:  # noqa: ARG001
        msgspec.convert(kept, _Refit)
        if "failure" in kept:
            return kept
        pairs = [frozenset(pair) for pair in kept["directed"] + kept["undirected"]]
        if len(set(pairs)) < len(pairs) or not all(len(pair) == 2 and pair <= known for pair in pairs):
            raise ValueError("edges of other variables, or two of one pair")
        return kept

    codec = Codec(write=lambda result: result, read=read)
    return Checkpoint(path, Description("resamples", shared, own), {"resamples": codec})
