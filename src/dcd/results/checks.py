"""Is a document a saved result? Types by the JSON Schema beside this file, then how its parts fit together.

The few words of JSON Schema that our schema uses are interpreted here, so that reading a result needs no
other library and a complaint names the place: "graph.edges[3].type".
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from functools import cache
from importlib import resources
from itertools import chain, pairwise
from typing import Any

from dcd.runtime.errors import InputError

Problem = tuple[str, str]
_DEEPEST = 40
_REMEDY = "Save the result again, with Result.save."


@cache
def schema(version: int) -> dict[str, Any]:
    """The JSON Schema of a version."""
    text = resources.files(__package__).joinpath(f"schema-{version}.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def check_document(document: Any, version: int, source: str) -> None:
    """Raise `InputError` with the first thing that is wrong."""
    if not isinstance(document, dict) or "schema" not in document:
        raise InputError(source, "is not a saved result (it has no 'schema')", _REMEDY)
    found = document["schema"]
    if found != version or isinstance(found, bool):
        raise InputError(
            source,
            f"has schema version {found!r}, and this release of dcd reads {version}",
            "Read it with the release that wrote it, or save the result again.",
        )
    problems = problems_of(document, schema(version))
    for place, problem in chain(problems, _misfits(document)):
        raise InputError(source, f"{place or 'it'} {problem}", _REMEDY)


# --- the schema ------------------------------------------------------------------------------------------


def problems_of(value: Any, rules: dict[str, Any], place: str = "", root: Any = None) -> Iterator[Problem]:
    """`(place, problem)` for everything in a value that the schema does not allow."""
    root = rules if root is None else root
    if "$ref" in rules:
        yield from problems_of(value, root["$defs"][rules["$ref"].removeprefix("#/$defs/")], place, root)
        return
    if "type" in rules and not _has_type(value, rules["type"]):
        yield place, f"must be {_words(rules['type'])}, got {_shown(value)}"
        return
    if "anyOf" in rules:
        attempts = [list(problems_of(value, option, place, root)) for option in rules["anyOf"]]
        if all(attempts):
            yield max(attempts, key=lambda found: max(len(place) for place, _ in found))[0]
        return
    if "enum" in rules and value not in rules["enum"]:
        yield place, f"must be one of {', '.join(map(repr, rules['enum']))}, got {_shown(value)}"
    yield from _range_problems(value, rules, place)
    if isinstance(value, dict):
        yield from _object_problems(value, rules, place, root)
    elif isinstance(value, list):
        yield from _list_problems(value, rules, place, root)


def _range_problems(value: Any, rules: dict[str, Any], place: str) -> Iterator[Problem]:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if value < rules.get("minimum", -math.inf):
            yield place, f"must be at least {rules['minimum']}, got {_shown(value)}"
        if value > rules.get("maximum", math.inf):
            yield place, f"must be at most {rules['maximum']}, got {_shown(value)}"


def _object_problems(
    value: dict[str, Any], rules: dict[str, Any], place: str, root: Any
) -> Iterator[Problem]:
    known = rules.get("properties", {})
    for name in rules.get("required", ()):
        if name not in value:
            yield place, f"lacks {name!r}"
    for name, item in value.items():
        allowed = known.get(name, rules.get("additionalProperties", True))
        if allowed is False:
            yield place, f"has {_shown(name)}, which is not part of it"
        elif isinstance(allowed, dict):
            yield from problems_of(item, allowed, f"{place}.{name[:60]}" if place else name[:60], root)


def _list_problems(value: list[Any], rules: dict[str, Any], place: str, root: Any) -> Iterator[Problem]:
    if len(value) < rules.get("minItems", 0):
        yield place, f"must have at least {rules['minItems']} items, got {len(value)}"
    for index, item in enumerate(value):
        yield from problems_of(item, rules.get("items", {}), f"{place}[{index}]", root)


_TYPES: dict[str, Callable[[Any], bool]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "integer": lambda value: isinstance(value, int) and _is_number(value),
    "number": lambda value: isinstance(value, (int, float)) and _is_number(value),
}


def _is_number(value: float) -> bool:
    """Finite and not beyond what a float holds; a boolean is no number."""
    return not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _has_type(value: Any, allowed: str | list[str]) -> bool:
    return any(_TYPES[kind](value) for kind in ([allowed] if isinstance(allowed, str) else allowed))


def _words(allowed: str | list[str]) -> str:
    return allowed if isinstance(allowed, str) else " or ".join(allowed)


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except RecursionError:
        return f"a {type(value).__name__} that is nested very deep"
    return text if len(text) <= 60 else f"{text[:57]}..."


# --- how the parts fit together --------------------------------------------------------------------------


def _misfits(document: dict[str, Any]) -> Iterator[Problem]:
    names = document["names"]
    if len(set(names)) != len(names):
        yield "names", "has a name twice"
    known = set(names)
    yield from _unknown_names(document, known)
    described = [column["name"] for column in document["data"]["columns"]]
    if described != names:
        yield "data.columns", "are not the variables of the graph, in their order"
    if [boundary["target"] for boundary in document["boundaries"]] != names:
        yield "boundaries", "are not those of the variables of the graph, in their order"
    yield from _edge_misfits(document["edges"])
    for index, boundary in enumerate(document["boundaries"]):
        view = boundary["view"]
        if view is not None and len(view["bins"]) != len(view["counts"]) + 1:
            yield f"boundaries[{index}].view.bins", "must be one more than counts"
        if view is not None and any(high <= low for low, high in pairwise(view["bins"])):
            yield f"boundaries[{index}].view.bins", "must go up"
    yield from _parameter_misfits(document["reproduction"]["parameters"])
    if document["sample"] is not None:
        yield from _sample_misfits(document["sample"], document["data"], known)


def _unknown_names(document: dict[str, Any], known: set[str]) -> Iterator[Problem]:
    for place, name in _mentions(document):
        if name not in known:
            yield place, f"names {_shown(name)}, which is no variable of the graph"


def _mentions(document: dict[str, Any]) -> Iterator[Problem]:
    """Every place that names a variable, with the name."""
    for index, edge in enumerate(document["edges"]):
        yield from ((f"edges[{index}].{end}", edge[end]) for end in ("first", "second"))
    for index, collider in enumerate(document["colliders"]):
        yield from ((f"colliders[{index}].{end}", collider[end]) for end in ("first", "middle", "second"))
    for index, boundary in enumerate(document["boundaries"]):
        place = f"boundaries[{index}]"
        yield from ((f"{place}.members", member["name"]) for member in boundary["members"])
        yield from (
            (f"{place}.view.decoupled", name) for name in (boundary["view"] or {}).get("decoupled", ())
        )
    for kind in ("conflicts", "cautions"):
        for index, item in enumerate(document[kind]):
            yield from ((f"{kind}[{index}].variables", name) for name in item["variables"])
    for index, pair in enumerate((document["resampling"] or {}).get("pairs", ())):
        yield from ((f"resampling.pairs[{index}].{end}", pair[end]) for end in ("first", "second"))


def _edge_misfits(edges: list[dict[str, Any]]) -> Iterator[Problem]:
    seen: set[frozenset[str]] = set()
    for index, edge in enumerate(edges):
        pair = frozenset((edge["first"], edge["second"]))
        if len(pair) == 1:
            yield f"edges[{index}]", "joins a variable to itself"
        if pair in seen:
            yield f"edges[{index}]", "is there twice"
        seen.add(pair)


def _parameter_misfits(parameters: dict[str, Any]) -> Iterator[Problem]:
    """What the schema leaves open, and JSON could not be written of or nothing could walk through."""
    place = "reproduction.parameters"
    layer: list[Any] = [parameters]
    for _ in range(_DEEPEST):
        within: list[Any] = []
        for value in layer:
            if isinstance(value, (dict, list)):
                within += value.values() if isinstance(value, dict) else value
            elif not (value is None or isinstance(value, (bool, str)) or _has_type(value, "number")):
                yield place, f"has {_shown(value)}, which JSON cannot hold"
        layer = within
    if layer:
        yield place, f"is nested more than {_DEEPEST} deep"


def _sample_misfits(sample: dict[str, Any], data: dict[str, Any], known: set[str]) -> Iterator[Problem]:
    size = len(sample["rows"])
    if any(row >= data["n_rows"] for row in sample["rows"]):
        yield "sample.rows", "has a position beyond the rows of the table"
    for part in ("values", "weights"):
        for name, numbers in sample[part].items():
            if name not in known:
                yield f"sample.{part}", f"names {_shown(name)}, which is no variable of the graph"
            if len(numbers) != size:
                yield f"sample.{part}.{name[:60]}", f"must have {size} numbers, got {len(numbers)}"
    if set(sample["values"]) != known:
        yield "sample.values", "must have every variable of the graph"
    for column in data["columns"]:
        codes = sample["values"].get(column["name"], ())
        levels = column["levels"]
        if levels is not None and any(
            c is not None and not (c == int(c) and 0 <= c < len(levels)) for c in codes
        ):
            yield f"sample.values.{column['name'][:60]}", "has a code that is no position in its levels"
