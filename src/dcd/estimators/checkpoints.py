"""The contents of a checkpoint of a fit or its resamples: the inputs that results depend on, and the results.

Results are JSON values checked by msgspec and restored to the last bit. Arrays are stored as the bytes of
their float64 numbers in base64, half the size of decimals; single numbers as decimals with all digits.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from dcd.independence.base import Interaction, Record
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.runtime.checkpoint import Codec, Key
from dcd.runtime.digest import digest
from dcd.runtime.errors import InputError
from dcd.runtime.version import __version__
from dcd.search.decoupled_boundaries import DecoupledSet
from dcd.table.dataset import Dataset
from dcd.weights.base import SampleWeights, WeightSketch

WITHOUT_EFFECT = ("n_jobs", "progress", "memory_limit")
_BLOCK = 16_384  # rows
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")

# --- the inputs of a run, by which a checkpoint recognises it --------------------------------------------


def describe(model: Any, dataset: Dataset, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The table and the model with its parameters, except those in `without`, as JSON values.

    Like the results, they do not depend on the order of the columns.
    """
    parameters = {
        name: _parameter_text(name, value)
        for name, value in model.get_params(deep=False).items()
        if name not in (*WITHOUT_EFFECT, *without)
    }
    return {
        "version": __version__,
        "rows": dataset.summary.n_rows,
        "columns": len(dataset.names),
        "data": digest_of(dataset),
        "sample_weight": None if dataset.weights is None else digest([dataset.weights])[:16],
        "groups": None if dataset.groups is None else digest([dataset.groups])[:16],
        "model": type(model).__name__,
        **{f"model parameter '{name}'": value for name, value in parameters.items()},
    }


def digest_of(dataset: Dataset) -> str:
    """A digest of names, kinds, values and row positions, computed block by block."""

    def parts() -> Iterator[str | FloatArray | Positions]:
        order = sorted(range(len(dataset.names)), key=lambda column: dataset.names[column])
        for column in order:
            yield dataset.names[column]
            yield dataset.kinds[column]
        if len(dataset.rows) < dataset.summary.n_rows:
            yield dataset.rows
        for start in range(0, len(dataset.values), _BLOCK):
            yield dataset.values[start : start + _BLOCK][:, order]

    return digest(parts())[:16]


def seed_for_checkpoint(random_state: object, checkpoint: object) -> int | None:
    """The seed as an integer; raises `InputError` if a checkpoint needs one and there is none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if checkpoint is not None:
        raise InputError(
            "parameter 'random_state'",
            "must be a whole number with a checkpoint, because the run could not be resumed otherwise",
            "Try random_state=0.",
        )
    return None


def _parameter_text(name: str, value: object) -> str:
    """A parameter as text: the same in every process, and the same for 0.05 and NumPy's 0.05."""
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(dict(sorted(value.items(), key=str))) if isinstance(value, Mapping) else repr(value)
    if _ADDRESS.search(text):
        raise InputError(
            f"parameter '{name}'",
            f"has no text but its memory address ({text:.80}), so a resumed run could not recognise it",
            "To use a checkpoint, give its class a __repr__ that shows its parameters, as a dataclass does.",
        )
    return text


# --- results ---------------------------------------------------------------------------------------------


class _EdgeLine(msgspec.Struct, forbid_unknown_fields=True):
    """The test of an edge, with the record of its weights."""

    balances: list[tuple[tuple[int, ...], SampleWeights]]
    interactions: list[Interaction]
    log_pvalue: float


def robust_codecs(n_variables: int, n_shown: int) -> dict[str, Codec]:
    """For `RobustDCD`: how to store tests of edges with their weights, first parts of tests, and chains."""

    def write(result: tuple[float, Record]) -> Any:
        log_pvalue, record = result
        balances, interactions = list(record.balances.items()), list(record.interactions.values())
        return _written(_EdgeLine(balances, interactions, log_pvalue))

    def read(key: Key, value: Any) -> tuple[float, Record]:  # noqa: ARG001
        line = _read(value, _EdgeLine)
        for members, learned in line.balances:
            _check_positions(members, n_variables)
            _check_sketch(learned.sketch, n_shown)
        interactions = {}
        for asked in line.interactions:
            _check_positions((*asked.pair, *asked.given), n_variables)
            interactions[(*asked.pair, asked.given)] = asked
        return line.log_pvalue, Record(dict(line.balances), interactions)

    def write_first(result: tuple[float, Record | None]) -> Any:
        log_pvalue, record = result
        return log_pvalue if record is None else write((log_pvalue, record))

    def read_first(key: Key, value: Any) -> tuple[float, Record | None]:
        return read(key, value) if isinstance(value, dict) else (float(value), None)

    def write_chain(result: tuple[IntArray, FloatArray, BoolArray]) -> Any:
        dag, counts, sampled = result
        return [_plain(dag), _plain(counts), len(sampled), _text(np.packbits(sampled))]

    def read_chain(key: Key, value: Any) -> tuple[IntArray, FloatArray, BoolArray]:  # noqa: ARG001
        dag, counts, n_sampled, packed = value
        shape = (n_variables, n_variables)
        bits = np.unpackbits(np.frombuffer(base64.b64decode(packed, validate=True), dtype=np.uint8))
        sampled = bits[: n_sampled * n_variables**2].reshape(n_sampled, *shape).astype(bool)
        counts = _array(None, counts).reshape(2, 4, *shape)
        return _array(None, dag).reshape(shape).astype(np.int8), counts, sampled

    return {
        "first": Codec(write_first, read_first),
        "edges": Codec(write, read),
        "chains": Codec(write_chain, read_chain),
    }


def published_codecs(names: Sequence[str], n_shown: int) -> dict[str, Codec]:
    """For `DCD`: how to store a decoupled set, whose key is the positions of its variables."""

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
        shapes = {"hsic_before": (m, m), "hsic_after": (m, m), "correlations": (m, d), "pvalues": (m, d)}
        matrices = {name: getattr(decoupled, name).reshape(shape) for name, shape in shapes.items()}
        return replace(decoupled, **matrices)

    return {"sets": Codec(write, read)}


def _check_positions(positions: Iterable[int], n_variables: int) -> None:
    if any(not 0 <= position < n_variables for position in positions):
        raise ValueError("no such variable")


def _check_sketch(sketch: WeightSketch | None, n_shown: int) -> None:
    if sketch is not None and (len(sketch.shown) != n_shown or len(sketch.bins) != len(sketch.counts) + 1):
        raise ValueError("weights of other rows, or no histogram")


def _written(value: Any) -> Any:
    return msgspec.to_builtins(value, enc_hook=_plain)


def _read(value: Any, kind: Any) -> Any:
    return msgspec.convert(value, kind, dec_hook=_array)


def _plain(value: Any) -> Any:
    """A NumPy array or number as a JSON value."""
    if isinstance(value, np.ndarray):
        return _text(np.asarray(value, dtype="<f8"))
    return value.item()


def _text(array: npt.NDArray[Any]) -> str:
    """The bytes of an array, in base64."""
    return base64.b64encode(array.tobytes()).decode("ascii")


def _array(kind: Any, value: Any) -> FloatArray:  # noqa: ARG001
    return np.frombuffer(base64.b64decode(value, validate=True), dtype="<f8").astype(np.float64)
