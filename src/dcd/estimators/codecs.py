"""What a checkpoint keeps of a fit: results of single pieces as JSON values, read back to the last bit.

Matrices are the bytes of their float64 numbers in base64, half the size of decimals; single numbers are
decimals with all their figures.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from dcd.independence.base import Interaction, Record
from dcd.runtime.array_types import FloatArray
from dcd.runtime.checkpoint import Codec, Key
from dcd.search.decoupled_boundaries import DecoupledSet
from dcd.weights.base import SampleWeights

_ACCOUNT = {one.name: str(one.type) for one in fields(SampleWeights) if one.compare}
_MATRICES = ("hsic_before", "hsic_after", "correlations", "pvalues")


def robust_codecs(n_variables: int) -> dict[str, Codec]:
    """Of the stages of `RobustDCD`: a boundary or a separation, each with the record of its tests."""

    def members(key: Key, value: Any) -> list[int]:
        found = _positions(value, n_variables)
        if key in found:
            raise ValueError("a variable in its own boundary")
        return found

    def log_pvalue(key: Key, value: Any) -> float:  # noqa: ARG001
        return _number(value)

    return {
        "boundaries": _with_record(members, n_variables),
        "separations": _with_record(log_pvalue, n_variables),
    }


def published_codecs(names: Sequence[str]) -> dict[str, Codec]:
    """Of the stage of `DCD`: a decoupled set, by the positions of its variables."""
    plain = [one.name for one in fields(DecoupledSet) if one.name not in ("variables", *_MATRICES)]

    def write(decoupled: DecoupledSet) -> dict[str, Any]:
        matrices = {name: _written(getattr(decoupled, name)) for name in _MATRICES}
        return {name: getattr(decoupled, name) for name in plain} | matrices

    def read(key: Key, value: Any) -> DecoupledSet:
        members = _positions(key, len(names))
        _check_entries(value, [*plain, *_MATRICES])
        m, d = len(members), len(names)
        shapes = {"hsic_before": (m, m), "hsic_after": (m, m), "correlations": (m, d), "pvalues": (m, d)}
        types = _types(DecoupledSet)
        given: dict[str, Any] = {name: _entry(types[name], value[name], d) for name in plain}
        given |= {name: _matrix(value[name], shapes[name]) for name in _MATRICES}
        return DecoupledSet(tuple(names[member] for member in members), **given)

    return {"sets": Codec(write, read)}


def _with_record(read_found: Any, n_variables: int) -> Codec:
    """A result together with what was done under weights for it."""

    def write(result: tuple[Any, Record]) -> dict[str, Any]:
        found, record = result
        return {
            "found": found,
            "balances": [
                {"members": members, **{name: getattr(learned, name) for name in _ACCOUNT}}
                for members, learned in record.balances.items()
            ],
            "interactions": [vars(interaction) for interaction in record.interactions.values()],
        }

    def read(key: Key, value: Any) -> tuple[Any, Record]:
        _check_entries(value, ["found", "balances", "interactions"])
        record = Record()
        for entry in map(_mapping, value["balances"]):
            account = {name: given for name, given in entry.items() if name != "members"}
            members = tuple(_positions(entry["members"], n_variables))
            record.balances[members] = _object(_account, account, _ACCOUNT, n_variables)
        for entry in value["interactions"]:
            found = _object(Interaction, entry, _types(Interaction), n_variables)
            record.interactions[*found.pair, found.given] = found
        return read_found(key, value["found"]), record

    return Codec(write, read)


# --- values ----------------------------------------------------------------------------------------------


def _account(**entries: Any) -> SampleWeights:
    return SampleWeights(np.empty(0), **entries)


def _types(kind: Any) -> dict[str, str]:
    return {one.name: str(one.type) for one in fields(kind)}


def _object(make: Any, value: Any, types: Mapping[str, str], n_variables: int) -> Any:
    """An object whose attributes are numbers, words and positions of variables."""
    _check_entries(value, list(types))
    return make(**{name: _entry(types[name], given, n_variables) for name, given in value.items()})


def _entry(annotation: str, value: Any, n_variables: int) -> Any:
    if annotation.startswith("tuple[int"):
        return tuple(_positions(value, n_variables))
    if annotation == "int":
        return _whole(value)
    if annotation == "float":
        return _number(value)
    if not isinstance(value, str):
        raise ValueError("no word")
    return value


def _mapping(value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("no entries")
    return value


def _check_entries(value: Any, names: Sequence[str]) -> None:
    if not isinstance(value, Mapping) or set(value) != set(names):
        raise ValueError("other entries")


def _positions(value: Any, n_variables: int) -> list[int]:
    found = [_whole(position) for position in value]
    if any(not 0 <= position < n_variables for position in found):
        raise ValueError("no such variable")
    return found


def _whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError("no whole number")
    return value


def _number(value: Any) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise ValueError("no number")
    try:
        return float(value)
    except OverflowError as error:  # a whole number of hundreds of figures
        raise ValueError("no number") from error


def _written(matrix: FloatArray) -> str:
    return base64.b64encode(np.asarray(matrix, dtype="<f8").tobytes()).decode("ascii")


def _matrix(value: Any, shape: tuple[int, int]) -> FloatArray:
    content = base64.b64decode(value, validate=True)
    return np.frombuffer(content, dtype="<f8").astype(np.float64).reshape(shape)
