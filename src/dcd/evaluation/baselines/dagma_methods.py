"""Linear DAGMA (Bello, Aragam and Ravikumar, 2022); its `W[i, j]` is `i -> j`."""

from __future__ import annotations

import io
from contextlib import redirect_stderr

import numpy as np
from dagma.linear import DagmaLinear

from dcd.graph.equivalence import prune_cycles
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import check_number


def dagma(
    values: FloatArray, *, seed: int, threshold: float = 0.3, penalty: float = 0.02, standardise: bool = True
) -> IntArray:
    """DAGMA with the penalty of its authors, by default on standardised columns, as for `notears`."""
    check_number("threshold", threshold, at_least=0, suggestion=0.3)
    check_number("penalty", penalty, at_least=0, suggestion=0.02)
    scaled = (values - values.mean(axis=0)) / values.std(axis=0) if standardise else values.copy()
    with redirect_stderr(io.StringIO()):  # its progress bar
        weights = DagmaLinear(loss_type="l2").fit(scaled, lambda1=penalty, w_threshold=threshold)
    if not np.isfinite(weights).all():
        raise ArithmeticError("the weights are not finite")
    return prune_cycles(weights)
