"""`bootstrap`: the same method on many resamples of a table, in parallel, able to go on after a crash."""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from sklearn.base import clone

from dcd.arrays import FloatArray
from dcd.boundary import table_options
from dcd.checkpoint import Checkpoint
from dcd.columns import to_array
from dcd.discovery import Discovery, check_n_jobs
from dcd.engine import Shared, run
from dcd.reading import read_columns
from dcd.stability import SCHEMES, Scheme, Stability
from dcd.validation import InputError, check_choice, check_number, make_generator

# Set for each refit, so that what the model has for them decides nothing.
_OURS = ("n_jobs", "progress", "random_state")


class FailedResamplesWarning(UserWarning):
    """The method could not be applied to some of the resamples."""


def bootstrap(
    model: Discovery,
    X: Any,
    *,
    n_resamples: int = 100,
    scheme: Scheme = "subsample",
    fraction: float = 0.5,
    sample_weight: Any = None,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int | np.random.Generator | None = 0,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Stability:
    """How often each edge is found when the rows are drawn again.

    Parameters
    ----------
    model : DCD or RobustDCD
        The method with its parameters, fitted or not; it is cloned, and not changed.
    X : table, as for `fit`.
    n_resamples : int, default=100
        Resample number i depends on `random_state` and i alone: 100 of them begin with the same 50.
    scheme : "subsample" or "bootstrap", default="subsample"
        Rows drawn without replacement, a share `fraction` of them, or as many as there are with
        replacement. A bootstrap sample repeats rows, which tests take for evidence: among independent
        variables it finds several times as many edges as the level allows.
    fraction : float, default=0.5
        Share of the rows in a subsample; without effect on "bootstrap".
    sample_weight : (n,) array or None
        Weights of the rows for `fit`; each resample takes those of its rows.
    n_jobs : int or None, default=None
        Processes to use, -1 for all cores. The result does not depend on it.
    progress : bool, default=True
        Show a progress bar when run in a terminal.
    random_state : int, Generator or None, default=0
        Seed of the resamples, and by them of the fits.
    checkpoint : path or None
        File that keeps every finished resample. The same call with the same file goes on where the last one
        stopped, be it by a crash, Ctrl-C or a smaller `n_resamples`, and gives the same result as a run
        without a break. A file of other data or parameters is refused.

    Returns
    -------
    Stability

    Warns
    -----
    FailedResamplesWarning
        if the method refused some of the resamples, in which a column can be constant or a copy of another.
        They are counted in `Stability.failures` and left out of the frequencies.

    Examples
    --------
    >>> import dcd
    >>> frame = dcd.datasets.load_sachs().frame[["Raf", "Mek", "Jnk"]]
    >>> stability = dcd.bootstrap(dcd.RobustDCD(), frame, n_resamples=10)
    >>> stability.frequencies("Raf", "Mek")
    {'->': 0.0, '<-': 0.0, '-': 1.0, 'none': 0.0}
    """
    _check_parameters(model, n_resamples, scheme, fraction, n_jobs)
    entropy = _entropy(random_state, checkpoint)
    table = read_columns(X, options=table_options(model), sample_weight=sample_weight).summary
    weights = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    draws = _Draws(table.n_rows, scheme, fraction, entropy)
    described = {} if checkpoint is None else _description(model, X, weights, draws)
    kept = None if checkpoint is None else Checkpoint(checkpoint, described, partial(_is_result, table.names))
    results = {} if kept is None else {i: r for i, r in kept.done.items() if i < n_resamples}

    pending = [index for index in range(n_resamples) if index not in results]
    # A column has the kind that it has in the table, also where a resample has few of its values.
    kinds = {**(model.kinds or {}), **table.kinds}
    template = clone(model).set_params(n_jobs=1, progress=False, kinds=kinds)
    shared = Shared(_Resampled(template, X, weights, table.names, draws))
    label = "resamples" if progress else None
    refits = run(_refit, pending, shared=shared, n_jobs=n_jobs, label=label)
    for index, result in zip(pending, refits, strict=True):
        results[index] = result
        if kept is not None:
            kept.add(index, result)
    return _summed_up(table.names, [results[index] for index in sorted(results)], draws)


# --- the resamples ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Draws:
    """Rows and seed of each resample, by its index."""

    n_rows: int
    scheme: Scheme
    fraction: float
    entropy: int

    def __call__(self, index: int) -> tuple[Any, int]:
        rng = np.random.default_rng(np.random.SeedSequence(self.entropy, spawn_key=(index,)))
        if self.scheme == "bootstrap":
            rows = rng.integers(self.n_rows, size=self.n_rows)
        else:
            rows = rng.permutation(self.n_rows)[: max(1, round(self.fraction * self.n_rows))]
        return np.sort(rows), int(rng.integers(2**31))


@dataclass(frozen=True)
class _Resampled:
    """What every refit needs: the method, the table with its weights, and the draws."""

    model: Discovery
    table: Any
    weights: FloatArray | None
    names: tuple[str, ...]
    draws: _Draws


def _refit(given: _Resampled, index: int) -> dict[str, Any]:
    """The edges found in one resample, or why there are none."""
    rows, seed = given.draws(index)
    model = clone(given.model).set_params(random_state=seed)
    weights = None if given.weights is None else given.weights[rows]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what there is to warn of, a fit to the table itself tells
            graph = model.fit(_rows_of(given.table, rows), sample_weight=weights).cpdag_
    except Exception as error:  # one odd resample must not cost the others; the reason is reported
        return {
            "failure": str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        }
    absent = [name for name in given.names if name not in graph.names]
    if absent:  # it cannot tell of all pairs, so it is no vote against the edges of that column
        return {"failure": f"column {absent[0]!r}: {model.table_.dropped[absent[0]]}"}
    return {
        "directed": [list(edge) for edge in graph.directed_edges],
        "undirected": [list(edge) for edge in graph.undirected_edges],
    }


def _is_result(names: tuple[str, ...], kept: Mapping[str, Any]) -> bool:
    """Whether `_refit` can have returned this: a reason, or edges between the variables, one for a pair."""
    if "failure" in kept:
        return isinstance(kept["failure"], str)
    edges = [kept.get("directed"), kept.get("undirected")]
    if not all(isinstance(found, list) for found in edges):
        return False
    pairs = [edge for found in edges for edge in found or ()]
    known = set(names)
    if not all(
        isinstance(pair, list)
        and len(pair) == 2
        and all(isinstance(end, str) and end in known for end in pair)
        for pair in pairs
    ):
        return False
    joined = {frozenset(pair) for pair in pairs}
    return len(joined) == len(pairs) and all(len(pair) == 2 for pair in joined)


def _rows_of(X: Any, rows: Any) -> Any:
    if isinstance(X, pd.DataFrame):
        return X.iloc[rows]
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    return frame[rows].to_native() if isinstance(frame, nw.DataFrame) else to_array(X, "the table")[rows]


def _summed_up(names: tuple[str, ...], results: list[dict[str, Any]], draws: _Draws) -> Stability:
    failures: dict[str, int] = {}
    for result in results:
        if "failure" in result:
            failures[result["failure"]] = failures.get(result["failure"], 0) + 1
    found = [result for result in results if "failure" not in result]
    if not found:
        most = max(failures, key=lambda reason: failures[reason])
        raise InputError(
            "the resamples",
            f"all {len(results)} failed, {failures[most]} of them with: {most}",
            "Fit the model to the table itself, or to larger subsamples.",
        )
    position = {name: index for index, name in enumerate(names)}
    counts = {kind: np.zeros((len(names), len(names))) for kind in ("directed", "undirected")}
    for result in found:
        for kind, count in counts.items():
            for a, b in result[kind]:
                count[position[a], position[b]] += 1
    undirected = counts["undirected"] + counts["undirected"].T
    stability = Stability(
        names=names,
        directed=counts["directed"] / len(found),
        undirected=undirected / len(found),
        n_resamples=len(found),
        scheme=draws.scheme,
        fraction=draws.fraction if draws.scheme == "subsample" else None,
        failures=failures,
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
        found = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InputError(
            "parameter 'model'", f"must be an estimator of graphs, got {found}", "Try dcd.RobustDCD()."
        )
    model._check_parameters()
    check_number("n_resamples", n_resamples, at_least=1, whole=True, suggestion=100)
    check_choice("scheme", scheme, SCHEMES)
    check_number("fraction", fraction, above=0, below=1, suggestion=0.5)
    check_n_jobs(n_jobs)


def _entropy(random_state: int | np.random.Generator | None, checkpoint: object) -> int:
    """The number that decides all draws."""
    rng = make_generator(random_state)
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if checkpoint is not None:
        raise InputError(
            "parameter 'random_state'",
            "must be a whole number with a checkpoint, which could not be gone on with otherwise",
            "Try random_state=0.",
        )
    return int(rng.integers(2**63))


def _description(model: Discovery, X: Any, weights: FloatArray | None, draws: _Draws) -> Mapping[str, Any]:
    """What the results depend on, as JSON values."""
    from dcd import __version__

    parameters = {k: repr(v) for k, v in model.get_params(deep=False).items() if k not in _OURS}
    data = _digest_of_table(X)
    return {
        "version": __version__,
        "rows": draws.n_rows,
        "data": data,
        "sample_weight": None if weights is None else _digest([weights.tobytes()]),
        "model": type(model).__name__,
        **{f"model parameter '{name}'": value for name, value in parameters.items()},
        "scheme": draws.scheme,
        "fraction": draws.fraction if draws.scheme == "subsample" else None,
        "random_state": draws.entropy,
    }


def _digest_of_table(X: Any) -> str:
    """A fingerprint of names and values, the same whatever library holds the table."""
    if isinstance(X, pd.DataFrame):
        X = X.set_axis([str(name) for name in X.columns], axis="columns")
    frame = nw.from_native(X, eager_only=True, pass_through=True)
    if not isinstance(frame, nw.DataFrame):
        return _digest([np.ascontiguousarray(to_array(X, "the table")).tobytes()])
    parts = []
    for name in frame.columns:
        column = frame[name]
        parts.append(name.encode())
        parts.append(
            column.cast(nw.Float64).to_numpy().tobytes()
            if column.dtype.is_numeric() and not column.is_null().any()
            else repr(column.to_list()).encode()
        )
    return _digest(parts)


def _digest(parts: list[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()[:16]
