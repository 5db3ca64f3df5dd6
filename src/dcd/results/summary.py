"""`summarise`: from a fitted model and its table to a `Result`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from dcd.estimators.base import Discovery
from dcd.graph.adjacency import unshielded_colliders
from dcd.graph.cpdag import CPDAG
from dcd.results.cautions import cautions_of
from dcd.results.model import (
    Boundary,
    Collider,
    Column,
    Conflict,
    Data,
    Edge,
    Frequencies,
    Pair,
    Resampling,
    Result,
    Sample,
)
from dcd.results.reproduction import reproduction_of
from dcd.results.views import Table, boundary_pvalues, look_at, members_of
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError
from dcd.runtime.memory import Memory
from dcd.table.columns import Column as TableColumn
from dcd.table.columns import recoded
from dcd.table.fingerprint import fingerprint
from dcd.table.sources import columns_of

SAMPLE_ROWS = 300
_SEED = 853
_LARGEST = 1e300


def summarise(
    model: Any,
    X: Any,
    *,
    stability: Any = None,
    title: str | None = None,
    rows: bool = True,
    sample_weight: Any = None,
) -> Result:
    """The account of a fitted model: what was found, how sure it is, and how to get it again.

    Parameters
    ----------
    model : a fitted `DCD` or `RobustDCD`.
    X : the table that it was fitted on.
    stability : what `dcd.bootstrap` returned for this model, for how often each edge was found.
    title : a line for people; made from the table without it.
    rows : keep up to 300 rows of the table, chosen by a fixed seed, for pictures. False keeps no row at all.
    sample_weight : the weights that the model was fitted with.

    Examples
    --------
    >>> import dcd
    >>> frame = dcd.datasets.load_sachs().frame
    >>> result = dcd.summarise(dcd.RobustDCD().fit(frame), frame, title="Proteins")
    >>> result.edges[0].first, result.edges[0].type, result.edges[0].second
    ('Raf', '-', 'Mek')
    """
    _check_model(model)
    if title is not None and not isinstance(title, str):
        raise InputError("parameter 'title'", f"must be text, got {title!r}", "Pass a string.")
    cpdag: CPDAG = model.cpdag_
    columns = _columns_of_graph(X, model)
    data = _data(model, columns, fingerprint(X), sample_weight is not None)
    table = Table(model, columns, model.table_.kinds, _base_weights(sample_weight, data.n_rows))
    table = replace(table, pvalues=boundary_pvalues(table))
    looks = {target: look_at(table, target) for target in cpdag.names}
    boundaries = tuple(
        Boundary(target, members_of(table, target, weights), view)
        for target, (view, weights) in looks.items()
    )
    colliders = _colliders(model, cpdag)
    resampling = _resampling(stability, cpdag)
    edges = _edges(cpdag, table.pvalues, colliders, resampling)
    conflicts = tuple(
        Conflict(found.kind, tuple(found.variables), found.problem, found.action)
        for found in model.conflicts_
    )
    level = float(getattr(model.diagnostics_, "level", model.alpha))
    return Result(
        title=title or f"What {data.n_rows} rows tell of {len(cpdag.names)} variables",
        names=cpdag.names,
        level=level,
        data=data,
        edges=edges,
        colliders=colliders,
        boundaries=boundaries,
        conflicts=conflicts,
        cautions=cautions_of(model, data, edges, colliders, boundaries, conflicts, resampling, level),
        resampling=resampling,
        knowledge=_statements(model),
        sample=_sample(columns, {name: weights for name, (_, weights) in looks.items()}) if rows else None,
        reproduction=reproduction_of(model, data, resampling, title=title, rows=rows),
    )


# --- checks ----------------------------------------------------------------------------------------------


def _check_model(model: Any) -> None:
    if not isinstance(model, Discovery):
        raise InputError(
            "parameter 'model'",
            f"must be a DCD or RobustDCD, got {type(model).__name__}",
            "Pass the estimator.",
        )
    if not hasattr(model, "cpdag_"):
        raise InputError("parameter 'model'", "has not been fitted", "Call model.fit(table) first.")


def _columns_of_graph(X: Any, model: Any) -> dict[str, TableColumn]:
    """The columns as the fit has read them, in the order of the graph."""
    names = model.cpdag_.names
    memory = Memory.of(model.memory_limit)
    columns = {column.name: column for column in columns_of(X, memory)[0]}
    lacking = [name for name in names if name not in columns]
    if lacking:
        raise InputError(
            "parameter 'X'",
            f"lacks {len(lacking)} variables of the graph: {', '.join(map(repr, lacking[:5]))}",
            "Pass the table that the model was fitted on.",
        )
    n_rows = len(columns[names[0]].values)
    if n_rows != model.table_.n_rows:
        raise InputError(
            "parameter 'X'",
            f"has {n_rows} rows, and the model was fitted on {model.table_.n_rows}",
            "Pass the table that the model was fitted on.",
        )
    return {name: recoded(columns[name], model.table_.kinds[name]) for name in names}


def _base_weights(sample_weight: Any, n_rows: int) -> FloatArray:
    if sample_weight is None:
        return np.ones(n_rows)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != (n_rows,) or not (
        np.isfinite(weights).all() and (weights >= 0).all() and weights.any()
    ):
        raise InputError(
            "parameter 'sample_weight'",
            f"must be {n_rows} numbers, none below 0 and not all 0",
            "Pass the weights that the model was fitted with.",
        )
    return weights


# --- parts of the result ---------------------------------------------------------------------------------


def _data(model: Any, columns: Mapping[str, TableColumn], fingerprint: str, weighted: bool) -> Data:
    summary = model.table_
    return Data(
        n_rows=summary.n_rows,
        n_rows_used=summary.n_rows_used,
        columns=tuple(
            Column(
                name=name,
                kind=summary.kinds[name],
                why=summary.kind_reasons[name],
                n_missing=column.n_missing,
                levels=column.levels or None,
            )
            for name, column in columns.items()
        ),
        dropped=dict(summary.dropped),
        weighted=weighted,
        fingerprint=fingerprint,
    )


def _colliders(model: Any, cpdag: CPDAG) -> tuple[Collider, ...]:
    """The unshielded colliders of the graph, those with the most evidence first."""
    evidence = {
        (found.middle, frozenset((found.first, found.second))): float(found.evidence)
        for found in getattr(model, "colliders_", ())
    }
    found = []
    for x, z, y in unshielded_colliders(cpdag.adjacency):
        first, second = sorted((cpdag.names[x], cpdag.names[y]))
        middle = cpdag.names[z]
        found.append(Collider(first, middle, second, evidence.get((middle, frozenset((first, second))))))
    return tuple(sorted(found, key=lambda c: (-(c.evidence or 0.0), c.middle, c.first, c.second)))


def _edges(
    cpdag: CPDAG,
    pvalues: Mapping[tuple[str, str], float],
    colliders: tuple[Collider, ...],
    resampling: Resampling | None,
) -> tuple[Edge, ...]:
    background = set(cpdag.background)
    evidence: dict[tuple[str, str], float] = {}
    for collider in reversed(colliders):  # the most evidence last, so that it stays
        if collider.evidence is not None:
            evidence[collider.first, collider.middle] = collider.evidence
            evidence[collider.second, collider.middle] = collider.evidence
    typed: list[tuple[Any, tuple[str, str]]] = [("->", edge) for edge in cpdag.directed_edges]
    typed += [("-", edge) for edge in cpdag.undirected_edges]
    return tuple(
        Edge(
            first=first,
            second=second,
            type=kind,
            pvalue=min(
                (pvalues[pair] for pair in ((first, second), (second, first)) if pair in pvalues),
                default=None,
            ),
            evidence=evidence.get((first, second)),
            background=(first, second) in background,
            frequencies=_frequencies(resampling, first, second),
        )
        for kind, (first, second) in typed
    )


def _frequencies(resampling: Resampling | None, first: str, second: str) -> Frequencies | None:
    if resampling is None:
        return None
    for pair in resampling.pairs:
        found = pair.frequencies
        if (pair.first, pair.second) == (first, second):
            return found
        if (pair.first, pair.second) == (second, first):
            return Frequencies(found.backward, found.forward, found.undirected)
    return Frequencies(0.0, 0.0, 0.0)


def _resampling(stability: Any, cpdag: CPDAG) -> Resampling | None:
    if stability is None:
        return None
    if set(stability.names) != set(cpdag.names):
        raise InputError(
            "parameter 'stability'", "is of other variables than the model", "Pass dcd.bootstrap(model, X)."
        )
    place = {name: index for index, name in enumerate(stability.names)}
    pairs = []
    for later, second in enumerate(cpdag.names):
        for first in cpdag.names[:later]:
            i, j = place[first], place[second]
            forward, backward, line = (
                stability.directed[i, j],
                stability.directed[j, i],
                stability.undirected[i, j],
            )
            found = Frequencies(*(round(float(share), 6) for share in (forward, backward, line)))
            if found.edge > 0:
                pairs.append(Pair(first, second, found))
    return Resampling(
        n_resamples=int(stability.n_resamples),
        n_failed=int(stability.n_failed),
        scheme=str(stability.scheme),
        fraction=None if stability.fraction is None else float(stability.fraction),
        seed=stability.seed,
        pairs=tuple(pairs),
    )


def _statements(model: Any) -> tuple[str, ...]:
    return () if model.knowledge is None else tuple(model.knowledge.statements())


def _sample(columns: Mapping[str, TableColumn], weights: Mapping[str, FloatArray]) -> Sample:
    n_rows = len(next(iter(columns.values())).values)
    chosen = np.random.default_rng(_SEED).permutation(n_rows)[:SAMPLE_ROWS]
    chosen.sort()
    return Sample(
        rows=tuple(int(row) for row in chosen),
        values={name: _rounded(column.values[chosen]) for name, column in columns.items()},
        weights={
            name: _rounded(numbers[chosen])
            for name, numbers in weights.items()
            if not np.isnan(numbers).all()
        },
    )


def _rounded(numbers: FloatArray) -> tuple[float | None, ...]:
    """Six significant digits; None for missing. What is too large to be drawn is brought within bounds."""
    drawn = np.clip(numbers, -_LARGEST, _LARGEST)
    return tuple(None if np.isnan(number) else float(f"{number:.6g}") for number in drawn)
