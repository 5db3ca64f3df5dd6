"""What the results of a run depend on, as a checkpoint records it to recognise its own run."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.digest import digest
from dcd.runtime.errors import InputError
from dcd.runtime.version import __version__
from dcd.table.dataset import Dataset

WITHOUT_EFFECT = ("n_jobs", "progress", "memory_limit")
_BLOCK = 16_384  # rows
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+>")


def describe(model: Any, dataset: Dataset, *, without: Collection[str] = ()) -> dict[str, Any]:
    """The table and the model with its parameters, `without` some, as JSON values.

    The order of the columns makes no difference, as it makes none to results.
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
        "model": type(model).__name__,
        **{f"model parameter '{name}'": value for name, value in parameters.items()},
    }


def digest_of(dataset: Dataset) -> str:
    """A digest of names, kinds, values and the positions of the rows; block by block, for any size."""

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
    """The seed as a whole number; an `InputError` if a checkpoint needs one and there is none."""
    if isinstance(random_state, (int, np.integer)):
        return int(random_state)
    if checkpoint is not None:
        raise InputError(
            "parameter 'random_state'",
            "must be a whole number with a checkpoint, which could not be resumed otherwise",
            "Try random_state=0.",
        )
    return None


def _parameter_text(name: str, value: object) -> str:
    """The text of a parameter, the same in every process, and for 0.05 as for NumPy's 0.05."""
    if isinstance(value, np.generic):
        value = value.item()
    text = repr(dict(sorted(value.items(), key=str))) if isinstance(value, Mapping) else repr(value)
    if _ADDRESS.search(text):
        raise InputError(
            f"parameter '{name}'",
            f"is known by its place in memory only ({text:.80}), and could not be recognised later",
            "Give its class a __repr__ that shows its parameters (as a dataclass has), to use a checkpoint.",
        )
    return text
