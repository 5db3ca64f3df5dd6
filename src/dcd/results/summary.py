"""`summarise`: from a fitted model to a `Result`. It only reads attributes of the fitted model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from dcd.estimators.account import Account
from dcd.estimators.base import Discovery
from dcd.graph.adjacency import unshielded_colliders
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.probabilities import Probabilities, drawn_edges, pair_probabilities
from dcd.graph.stability import Stability
from dcd.results import model as parts
from dcd.results.cautions import cautions_of
from dcd.results.model import LARGEST, LISTED, Result
from dcd.results.questions import questions_of
from dcd.results.reproduction import reproduction_of
from dcd.results.sampled import packed
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError, check_flag, check_type
from dcd.search.base import TargetSearch
from dcd.table.dataset import TableSummary
from dcd.table.fingerprint import fingerprint

Searches = Mapping[str, TargetSearch]


def summarise(
    model: Any,
    table: Any = None,
    *,
    stability: Any = None,
    title: str | None = None,
    rows: bool = True,
    source: str | None = None,
) -> Result:
    """A record of a fitted model: the graph, the evidence for it, and how to reproduce it.

    Parameters
    ----------
    model : a fitted `DCD` or `RobustDCD`.
    table : optional; checked to be the table that the model was fitted on.
    stability : the result of `dcd.stability` for this model, to include how often each edge was found.
    title : a heading; by default made from the table.
    rows : keep up to 300 rows of the table, chosen by a fixed seed, for plots. False keeps none.
    source : the name of the file of the table, for the code that reproduces the fit.

    Examples
    --------
    >>> import dcd
    >>> model = dcd.RobustDCD().fit(dcd.datasets.load_sachs().frame)
    >>> result = dcd.summarise(model, title="Proteins")
    >>> result.edges[0].first, result.edges[0].type, result.edges[0].second
    ('Raf', '-', 'Mek')
    """
    _check_model(model)
    check_type("title", title, (str, type(None)), "Pass a heading.")
    check_type("source", source, (str, type(None)), "Pass the name of a file, such as 'table.csv'.")
    check_flag("rows", rows)
    check_type("stability", stability, (Stability, type(None)), "Pass dcd.stability(model, X).")
    if table is not None and fingerprint(table) != model.account_.fingerprint:
        raise InputError(
            "parameter 'table'",
            "is not the table that the model was fitted on (its fingerprint differs)",
            "Pass that table, or none.",
        )
    cpdag, diagnostics, account = model.cpdag_, model.diagnostics_, model.account_
    searches = {search.target: search for search in diagnostics.searches}
    data = _data(model.table_, account)
    resampling = _resampling(stability, cpdag)
    posterior = _posterior(model)
    edges = _edges(model, searches, resampling)
    boundaries = _boundaries(model.markov_boundaries_, searches, account)
    result = Result(
        title=title or f"A causal graph of {len(cpdag.names)} variables from {data.n_rows} rows",
        names=cpdag.names,
        level=float(diagnostics.level),
        data=data,
        edges=edges,
        posterior=posterior,
        colliders=_colliders(cpdag),
        boundaries=boundaries,
        separated=diagnostics.separated,
        conflicts=msgspec.convert(model.conflicts_, tuple[parts.ReportedConflict, ...], from_attributes=True),
        cautions=cautions_of(diagnostics, data, edges, boundaries, posterior, resampling, model.table_.notes),
        resampling=resampling,
        knowledge=() if model.knowledge is None else tuple(model.knowledge.statements()),
        sample=_sample(account, searches, cpdag) if rows else None,
        reproduction=reproduction_of(model, data, resampling, title=title, rows=rows, source=source),
    )
    return msgspec.structs.replace(result, questions=questions_of(result, model.table_.dates))


def _check_model(model: Any) -> None:
    if not isinstance(model, Discovery):
        raise InputError(
            "parameter 'model'",
            f"must be a DCD or RobustDCD, got {type(model).__name__}",
            "Pass the estimator.",
        )
    if not hasattr(model, "cpdag_"):
        raise InputError("parameter 'model'", "has not been fitted", "Call model.fit(table) first.")


# --- parts of the result ---------------------------------------------------------------------------------


def _data(table: TableSummary, account: Account) -> parts.Data:
    return parts.Data(
        n_rows=table.n_rows,
        n_rows_used=table.n_rows_used,
        columns=tuple(
            parts.Column(n, table.kinds[n], table.kind_reasons[n], table.n_missing[n], table.levels.get(n))
            for n in table.names
        ),
        dropped=dict(table.dropped),
        weighted=table.weighted,
        fingerprint=account.fingerprint,
        n_groups=table.n_groups,
    )


def _boundaries(
    roles: Mapping[str, Mapping[str, Role]], searches: Searches, account: Account
) -> tuple[parts.Boundary, ...]:
    return tuple(
        parts.Boundary(
            target,
            tuple(_member(target, name, role, searches, account) for name, role in members.items()),
            _view(searches[target], [name for name in roles if name in searches[target].decoupled]),
        )
        for target, members in roles.items()
    )


def _member(target: str, name: str, role: Role, searches: Searches, account: Account) -> parts.Member:
    """A member; if only the other end of its edge found it, with the p-value of that end."""
    known = {**searches[name].neighbours, **searches[target].pvalues, **searches[target].neighbours}
    pvalue = _told(known.get(name, known.get(target)))
    strength = account.strengths[target, name]
    before, after = (None if s is None else _rounded(s) for s in (strength.before, strength.after))
    return parts.Member(name, role, pvalue, strength.measure, before, after)


def _told(pvalue: float | None) -> float | None:
    """A p-value, or None if there was no test or too few rows for one."""
    return None if pvalue is None or np.isnan(pvalue) else float(pvalue)


def _view(search: TargetSearch, decoupled: list[str]) -> parts.View | None:
    sketch = search.weights
    if sketch is None:
        return None
    return parts.View(
        decoupled=tuple(decoupled),
        n_rows=sketch.n_rows,
        ess=_rounded(sketch.ess),
        status=sketch.status,
        dependence_before=_rounded(sketch.dependence_before),
        dependence=_rounded(sketch.dependence),
        bins=tuple(_rounded(limit) for limit in sketch.bins),
        counts=sketch.counts,
    )


def _colliders(cpdag: CPDAG) -> tuple[parts.Collider, ...]:
    """The unshielded colliders of the graph as drawn, in the order of their names."""
    colliders = []
    for x, z, y in unshielded_colliders(cpdag.drawn):
        first, second = sorted((cpdag.names[x], cpdag.names[y]))
        colliders.append(parts.Collider(first, cpdag.names[z], second))
    return tuple(sorted(colliders, key=lambda c: (c.middle, c.first, c.second)))


def _posterior(model: Any) -> parts.PosteriorSummary | None:
    if model.probabilities_ is None:
        return None
    frame, diagnostics = model.probabilities_, model.diagnostics_
    told = pair_probabilities(frame)
    apart = {frozenset(pair) for pair in diagnostics.separated}
    kept = [pair for pair in list(told)[::2] if told[pair].edge >= LISTED or frozenset(pair) in apart]
    names = model.cpdag_.names
    graphs = model.posterior_.graphs_of(names)
    return parts.PosteriorSummary(
        arrow_probability=float(model.arrow_probability),
        n_chains=int(diagnostics.n_chains),
        drift=_share(diagnostics.drift),
        subsampled=bool(diagnostics.subsampled),
        pairs=tuple(parts.ProbablePair(*pair, _shares(told[pair])) for pair in kept),
        graphs=None if graphs is None else parts.SampledGraphs(*packed(graphs, names)),
    )


def _shares(probabilities: Probabilities) -> Probabilities:
    return Probabilities(*(_share(share) for share in msgspec.structs.astuple(probabilities)))


def _share(number: float) -> float:
    """A share rounded to six decimals, and clipped to [0, 1] in case of rounding errors."""
    return round(min(max(float(number), 0.0), 1.0), 6)


def _edges(model: Any, searches: Searches, resampling: parts.Resampling | None) -> tuple[parts.Edge, ...]:
    pairs = () if resampling is None else resampling.pairs
    shares = {(pair.first, pair.second): pair.frequencies for pair in pairs}
    told = {} if model.probabilities_ is None else pair_probabilities(model.probabilities_)
    edges = []
    for kind, first, second, uncertain in drawn_edges(model.cpdag_):
        seen = (searches[first].neighbours.get(second), searches[second].neighbours.get(first))
        pvalue = _told(min((p for p in seen if p is not None), default=None))
        is_background = (first, second) in model.cpdag_.background
        probabilities = _shares(told[first, second]) if told else None
        frequencies = None if resampling is None else _frequencies(shares, first, second)
        is_arrow = kind == "->" or uncertain
        confirmed = model.posterior_.confirms(first, second) if is_arrow and model.posterior_ else None
        edges.append(
            parts.Edge(
                first, second, kind, uncertain, pvalue, is_background, probabilities, frequencies, confirmed
            )
        )
    return tuple(edges)


def _frequencies(
    shares: Mapping[tuple[str, str], parts.Frequencies], first: str, second: str
) -> parts.Frequencies:
    if (second, first) in shares:
        found = shares[second, first]
        return parts.Frequencies(found.backward, found.forward, found.undirected)
    return shares.get((first, second), parts.Frequencies(0.0, 0.0, 0.0))


def _resampling(stability: Any, cpdag: CPDAG) -> parts.Resampling | None:
    if stability is None:
        return None
    if set(stability.names) != set(cpdag.names):
        raise InputError(
            "parameter 'stability'", "has different variables from the model", "Pass dcd.stability(model, X)."
        )
    position = {name: index for index, name in enumerate(stability.names)}
    pairs = []
    for later, second in enumerate(cpdag.names):
        for first in cpdag.names[:later]:
            i, j = position[first], position[second]
            found = stability.directed[i, j], stability.directed[j, i], stability.undirected[i, j]
            shares = parts.Frequencies(*(round(float(share), 6) for share in found))
            if shares.edge > 0:
                pairs.append(parts.Pair(first, second, shares))
    return parts.Resampling(
        n_resamples=int(stability.n_resamples),
        n_failed=int(stability.n_failed),
        scheme=stability.scheme,
        fraction=None if stability.fraction is None else float(stability.fraction),
        seed=stability.seed,
        pairs=tuple(pairs),
    )


def _sample(account: Account, searches: Searches, cpdag: CPDAG) -> parts.Sample:
    sketches = {name: searches[name].weights for name in cpdag.names}
    return parts.Sample(
        rows=tuple(account.rows.tolist()),
        values={name: _all_rounded(account.values[name]) for name in cpdag.names},
        weights={name: _all_rounded(kept.shown) for name, kept in sketches.items() if kept is not None},
    )


def _all_rounded(numbers: FloatArray) -> tuple[float | None, ...]:
    """Numbers rounded to six digits; None for missing ones. Numbers too large to draw are clipped."""
    within = np.clip(numbers, -LARGEST, LARGEST)
    return tuple(None if np.isnan(number) else _rounded(number) for number in within)


def _rounded(number: float) -> float:
    """A number rounded to six significant digits."""
    return float(f"{number:.6g}")
