"""Checks of a saved result that the types of `model` cannot express: the version, and consistency.

`model` imports this module, so results have no type here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any

import msgspec

from dcd.graph.knowledge import Knowledge
from dcd.results import sampled
from dcd.runtime.errors import InputError

Problem = tuple[str, str]
_DEEPEST = 40  # levels of nesting, so that recursion through a document ends
_ROUNDING = 1e-5  # of a sum of four numbers with six digits each
_REMEDY = "Save the result again, with Result.save."


def check_version(document: Any, version: int, source: str) -> None:
    """Raise `InputError` unless a document claims to be a result of this version."""
    if not isinstance(document, Mapping) or "schema" not in document:
        raise InputError(source, "is not a saved result (it has no 'schema')", _REMEDY)
    claimed = document["schema"]
    if claimed != version or isinstance(claimed, bool):
        raise InputError(
            source,
            f"has schema version {claimed!r}, but this release of dcd reads {version}",
            "Read it with the release that wrote it, or save the result again.",
        )


def check_json(document: Any, source: str) -> None:
    """Raise `InputError` for anything that JSON cannot represent, and for deep nesting."""
    layer: list[tuple[str, Any]] = [("", document)]
    for _ in range(_DEEPEST):
        inner: list[tuple[str, Any]] = []
        for place, value in layer:
            if isinstance(value, dict) and all(isinstance(key, str) for key in value):
                inner += [(f"{place}.{key[:60]}", item) for key, item in value.items()]
            elif isinstance(value, list):
                inner += [(f"{place}[{index}]", item) for index, item in enumerate(value)]
            elif not _is_plain(value):
                problem = f"{place[1:]} has {_shown(value)}, which JSON cannot hold"
                raise InputError(source, problem, _REMEDY)
        layer = inner
    if layer:
        raise InputError(source, f"{layer[0][0][1:60]} is nested more than {_DEEPEST} deep", _REMEDY)


def _is_plain(value: Any) -> bool:
    if isinstance(value, int):
        return abs(value) < 10**300  # far beyond any seed, and still within the range of a float
    return value is None or isinstance(value, str) or (isinstance(value, float) and math.isfinite(value))


def refusal(error: msgspec.ValidationError, document: Any, source: str) -> InputError:
    """The error of msgspec in our form: the place, what is allowed, what arrived."""
    problem, _, place = str(error).partition(" - at ")
    place = place.strip("`").removeprefix("$")
    value: Any = document
    for name, index in re.findall(r"\.(\w+)|\[(\d+)\]", place if "..." not in place else ""):
        value = value[name] if name else value[int(index)]
    arrived = "" if value is document or ", got" in problem else f", got {_shown(value)}"
    where = f"{place.removeprefix('.')}: " if place else ""
    return InputError(source, f"{where}{problem[0].lower()}{problem[1:]}{arrived}", _REMEDY)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested very deep"
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- how the parts fit together --------------------------------------------------------------------------


def check_fit(result: Any, source: str) -> None:
    """Raise `InputError` if parts of a result, each valid by itself, are inconsistent."""
    for place, problem in _misfits(result):
        raise InputError(source, f"{place} {problem}", _REMEDY)


def _misfits(result: Any) -> Iterator[Problem]:
    names = list(result.names)
    if len(set(names)) != len(names):
        yield "names", "has a name twice"
    for place, name in _mentions(result):
        if name not in names:
            yield place, f"names {_shown(name)}, which is not a variable of the graph"
    if [column.name for column in result.data.columns] != names:
        yield "data.columns", "are not the variables of the graph, in order"
    if [boundary.target for boundary in result.boundaries] != names:
        yield "boundaries", "are not those of the variables of the graph, in order"
    yield from _edge_misfits(result.edges)
    yield from _posterior_misfits(result)
    yield from _knowledge_misfits(result)
    for index, boundary in enumerate(result.boundaries):
        view = boundary.view
        if view is not None and len(view.bins) != len(view.counts) + 1:
            yield f"boundaries[{index}].view.bins", "must be one more than counts"
        if view is not None and any(high <= low for low, high in pairwise(view.bins)):
            yield f"boundaries[{index}].view.bins", "must increase"
    if result.sample is not None:
        yield from _sample_misfits(result.sample, result.data, set(names))


def _mentions(result: Any) -> Iterator[Problem]:
    """Every place that names a variable, with the name."""
    views, resampling = [boundary.view for boundary in result.boundaries], result.resampling
    posterior = result.posterior
    places: dict[str, list[Any]] = {
        "edges[{}].first": [[edge.first] for edge in result.edges],
        "edges[{}].second": [[edge.second] for edge in result.edges],
        "colliders[{}]": [(c.first, c.middle, c.second) for c in result.colliders],
        "boundaries[{}].members": [[member.name for member in b.members] for b in result.boundaries],
        "boundaries[{}].view.decoupled": [view.decoupled if view else () for view in views],
        "conflicts[{}].variables": [conflict.variables for conflict in result.conflicts],
        "separated[{}]": list(result.separated),
        "cautions[{}].variables": [caution.variables for caution in result.cautions],
        "questions[{}].variables": [question.variables for question in result.questions],
        "questions[{}].answers": [
            [name for answer in question.answers for name in answer.names] for question in result.questions
        ],
        "posterior.pairs[{}]": [(p.first, p.second) for p in (posterior.pairs if posterior else ())],
        "posterior.graphs.arrows[{}]": list(
            posterior.graphs.arrows if posterior and posterior.graphs else ()
        ),
        "resampling.pairs[{}]": [(p.first, p.second) for p in (resampling.pairs if resampling else ())],
    }
    for place, groups in places.items():
        for index, names in enumerate(groups):
            yield from ((place.format(index), name) for name in names)


def _edge_misfits(edges: Any) -> Iterator[Problem]:
    seen: set[frozenset[str]] = set()
    for index, edge in enumerate(edges):
        pair = frozenset((edge.first, edge.second))
        if len(pair) == 1:
            yield f"edges[{index}]", "joins a variable to itself"
        if edge.uncertain and (edge.type == "->" or edge.probabilities is None):
            yield f"edges[{index}].uncertain", "is true for a drawn arrow, or without probabilities"
        if pair in seen:
            yield f"edges[{index}]", "occurs twice"
        seen.add(pair)


def _posterior_misfits(result: Any) -> Iterator[Problem]:
    """Probabilities that do not sum to 1, exist without a posterior, or contradict each other."""
    pairs = result.posterior.pairs if result.posterior is not None else ()
    told: dict[tuple[str, str], Any] = {}
    for index, pair in enumerate(pairs):
        place = f"posterior.pairs[{index}]"
        if pair.first == pair.second or (pair.first, pair.second) in told:
            yield place, "pairs a variable with itself, or occurs twice"
        told[pair.first, pair.second] = pair.probabilities
        told[pair.second, pair.first] = pair.probabilities.reversed()
        yield from _sum_misfits(f"{place}.probabilities", pair.probabilities)
    for index, edge in enumerate(result.edges):
        place, own = f"edges[{index}].probabilities", edge.probabilities
        if (own is None) != (result.posterior is None):
            yield place, "must be present if and only if there is a posterior"
        if own is not None:
            yield from _sum_misfits(place, own)
            if told.get((edge.first, edge.second), own) != own:
                yield place, "differ from those in posterior.pairs"
    if result.posterior is not None and result.posterior.graphs is not None:
        yield from sampled.misfits(result.posterior.graphs, result.names)


def _knowledge_misfits(result: Any) -> Iterator[Problem]:
    """Knowledge among the parameters that cannot be read, or is not about these variables."""
    try:
        knowledge = knowledge_of(result.reproduction.parameters)
        if knowledge is not None:
            knowledge.bind(result.names, result.data.dropped)
    except InputError as error:
        yield "reproduction.parameters.knowledge", f"is not knowledge about these variables ({error})"


def knowledge_of(parameters: Mapping[str, Any]) -> Knowledge | None:
    """The knowledge that is among the parameters of a fit."""
    stated = parameters.get("knowledge")
    if stated is None:
        return None
    if not isinstance(stated, Mapping):
        return Knowledge.from_dict(stated)  # which refuses it
    return Knowledge.from_dict({key: value for key, value in stated.items() if key != "class"})


def _sum_misfits(place: str, probabilities: Any) -> Iterator[Problem]:
    total = probabilities.forward + probabilities.backward + probabilities.undirected + probabilities.absent
    if abs(total - 1.0) > _ROUNDING:
        yield place, f"must sum to 1, got {total:.6g}"


def _sample_misfits(sample: Any, data: Any, known: set[str]) -> Iterator[Problem]:
    if any(row >= data.n_rows for row in sample.rows):
        yield "sample.rows", "has a position beyond the rows of the table"
    for part, columns in (("values", sample.values), ("weights", sample.weights)):
        for name, numbers in columns.items():
            if name not in known:
                yield f"sample.{part}", f"names {_shown(name)}, which is not a variable of the graph"
            if len(numbers) != len(sample.rows):
                problem = f"must have {len(sample.rows)} numbers, got {len(numbers)}"
                yield f"sample.{part}.{name[:60]}", problem
    if set(sample.values) != known:
        yield "sample.values", "must have every variable of the graph"
    for column in data.columns:
        codes = sample.values.get(column.name, ())
        allowed = {None, *range(len(column.levels or ()))}
        if column.levels is not None and not allowed.issuperset(codes):
            yield f"sample.values.{column.name[:60]}", "has a code that is not a position in its levels"
