"""Every public callable with random values."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from pathlib import Path

from support import public_surface

import dcd
from benchmarks.fuzz import Try


def parameters(r: random.Random, folder: Path) -> Iterator[Try]:
    """Random calls of the public surface, one hostile value at a time or several."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = dcd.RobustDCD(progress=False).fit(public_surface.TABLE)
    calls = list(public_surface.calls(public_surface.valid_values(fitted, folder)))
    while True:
        path, parameter, shown, call = r.choice(calls)
        if path == "dcd.baselines.run" and r.random() < 0.99:
            continue  # in a process of its own
        yield f"parameters: {path}({parameter}={shown})", call
