"""What the results of a run depend on, in a few words: by this a checkpoint knows its own run again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np

from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError
from dcd.runtime.version import __version__
from dcd.table.dataset import Dataset

# How a run is done, not what comes out.
_MEANS = ("n_jobs", "progress", "memory_limit")
_BLOCK = 16_384  # rows
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


def describe(model: Any, dataset: Dataset, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The table and the model with its parameters, `without` some, as JSON values.

    The order of the columns makes no difference, as it makes none to results.
    """
    parameters = {
        name: _worded(name, value)
        for name, value in model.get_params(deep=False).items()
        if name not in (*_MEANS, *without)
    }
    return {
        "version": __version__,
        "rows": dataset.summary.n_rows,
        "columns": len(dataset.names),
        "data": digest_of(dataset),
        "sample_weight": None if dataset.weights is None else _digest_of_weights(dataset.weights),
        "model": type(model).__name__,
        **{f"model parameter '{name}'": value for name, value in parameters.items()},
    }


def digest_of(dataset: Dataset) -> str:
    """A fingerprint of names, kinds, values and the rows that they are of; block by block, for any size."""
    digest = hashlib.sha256()
    order = sorted(range(len(dataset.names)), key=lambda column: dataset.names[column])
    for column in order:
        for text in (dataset.names[column], dataset.kinds[column]):
            encoded = text.encode("utf-8", "surrogatepass")
            digest.update(len(encoded).to_bytes(8, "little") + encoded)
    if len(dataset.rows) < dataset.summary.n_rows:
        digest.update(dataset.rows.astype("<i8").tobytes())
    for start in range(0, len(dataset.values), _BLOCK):
        block = np.asarray(dataset.values[start : start + _BLOCK], dtype="<f8")[:, order] + 0.0  # no -0.0
        block[np.isnan(block)] = np.nan  # there are many kinds of it
        digest.update(block.tobytes())
    return digest.hexdigest()[:16]


def seed_for_checkpoint(random_state: object, checkpoint: object) -> int | None:
    """The seed as a number that can be written down; refused if a checkpoint needs one and there is none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if checkpoint is not None:
        raise InputError(
            "parameter 'random_state'",
            "must be a whole number with a checkpoint, which could not be gone on with otherwise",
            "Try random_state=0.",
        )
    return None


def _digest_of_weights(weights: FloatArray) -> str:
    return hashlib.sha256(weights.astype("<f8").tobytes()).hexdigest()[:16]


def _worded(name: str, value: object) -> str:
    """A parameter in words that are the same in another process, and for 0.05 as for NumPy's 0.05."""
    if isinstance(value, np.generic):
        value = value.item()
    words = repr(dict(sorted(value.items(), key=str))) if isinstance(value, Mapping) else repr(value)
    if _ADDRESS.search(words):
        raise InputError(
            f"parameter '{name}'",
            f"is known by its place in memory only ({words:.80}), and could not be told from others later",
            "Give its class a __repr__ that shows its parameters (as a dataclass has), to use a checkpoint.",
        )
    return words
