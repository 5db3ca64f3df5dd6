"""How a checkpoint keeps the results of a fit: JSON values that msgspec checks, read back to the last bit.

Arrays are the bytes of their float64 numbers in base64, half the size of decimals; single numbers are
decimals with all their figures.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any

import msgspec
import numpy as np

from dcd.independence.base import Interaction, Record
from dcd.runtime.array_types import FloatArray
from dcd.runtime.checkpoint import Codec, Key
from dcd.search.decoupled_boundaries import DecoupledSet
from dcd.weights.base import SampleWeights, WeightSketch


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    """A result with what was done under weights for it."""

    balances: list[tuple[tuple[int, ...], SampleWeights]]
    interactions: list[Interaction]

    def record(self, n_variables: int) -> Record:
        """The record of the tests, if it can be one of so many variables."""
        for members, _ in self.balances:
            _check_positions(members, n_variables)
        for asked in self.interactions:
            _check_positions((*asked.pair, *asked.given), n_variables)
        return Record(dict(self.balances), {(*asked.pair, asked.given): asked for asked in self.interactions})


class _EdgeLine(_Line):
    log_pvalue: float


def robust_codecs(n_variables: int, n_shown: int) -> dict[str, Codec]:
    """Of the stage of `RobustDCD`: the test of an edge, with the record of its weights."""

    def write(result: tuple[float, Record]) -> Any:
        log_pvalue, record = result
        balances, interactions = list(record.balances.items()), list(record.interactions.values())
        return _written(_EdgeLine(balances, interactions, log_pvalue))

    def read(key: Key, value: Any) -> tuple[float, Record]:  # noqa: ARG001
        line = _read(value, _EdgeLine)
        for _, learned in line.balances:
            _check_sketch(learned.sketch, n_shown)
        return line.log_pvalue, line.record(n_variables)

    return {"edges": Codec(write, read)}


def published_codecs(names: Sequence[str], n_shown: int) -> dict[str, Codec]:
    """Of the stage of `DCD`: a decoupled set, by the positions of its variables."""

    def write(decoupled: DecoupledSet) -> Any:
        written = _written(decoupled)
        del written["variables"]
        return written

    def read(key: Key, value: Any) -> DecoupledSet:
        members = key if isinstance(key, tuple) else (key,)
        _check_positions(members, len(names))
        if {"variables", *value} != {entry.name for entry in fields(DecoupledSet)}:
            raise ValueError("other entries than a set has")
        decoupled = _read({**value, "variables": [names[v] for v in members]}, DecoupledSet)
        m, d = len(members), len(names)
        _check_sketch(decoupled.sketch, n_shown)
        return replace(
            decoupled,
            hsic_before=decoupled.hsic_before.reshape(m, m),
            hsic_after=decoupled.hsic_after.reshape(m, m),
            correlations=decoupled.correlations.reshape(m, d),
            pvalues=decoupled.pvalues.reshape(m, d),
        )

    return {"sets": Codec(write, read)}


def _check_positions(positions: Iterable[int], n_variables: int) -> None:
    if any(not 0 <= position < n_variables for position in positions):
        raise ValueError("no such variable")


def _check_sketch(sketch: WeightSketch | None, n_shown: int) -> None:
    if sketch is not None and (len(sketch.shown) != n_shown or len(sketch.bins) != len(sketch.counts) + 1):
        raise ValueError("weights of other rows, or no histogram")


# --- values ----------------------------------------------------------------------------------------------


def _written(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_plain)


def _read(value: Any, kind: Any) -> Any:
    return msgspec.convert(value, kind, dec_hook=_array)


def _plain(value: Any) -> Any:
    """An array or a number of NumPy as JSON holds it."""
    if isinstance(value, np.ndarray):
        return base64.b64encode(np.asarray(value, dtype="<f8").tobytes()).decode("ascii")
    return value.item()


def _array(kind: Any, value: Any) -> FloatArray:  # noqa: ARG001
    return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f8").astype(np.float64)
