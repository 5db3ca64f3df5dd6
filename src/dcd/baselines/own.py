"""The methods of this package, in the form in which all methods are compared."""

from __future__ import annotations

import warnings
from typing import Any

from dcd.arrays import FloatArray, IntArray
from dcd.construction import SearchCutWarning
from dcd.discovery import DCD
from dcd.validation import InputError


def dcd(values: FloatArray, *, seed: int, **options: Any) -> IntArray:
    """`DCD` at its default setting; `options` are its parameters."""
    unknown = set(options) - set(DCD().get_params())
    if unknown:
        raise InputError(f"parameter {sorted(unknown)[0]!r}", "is no parameter of DCD", "See help(dcd.DCD).")
    warnings.simplefilter("ignore", SearchCutWarning)
    model = DCD(**{"random_state": seed, "progress": False, **options}).fit(values)
    return model.cpdag_.adjacency
