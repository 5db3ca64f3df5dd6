"""FLOP of flopsearch: a search over orders for linear models (Wienöbst, Henckel and Weichwald, 2025).

In its matrix 1 is an arrow from row to column, and 2, which is symmetric, an undirected edge. Its restarts
use an unseeded generator, so two runs can differ.
"""

from __future__ import annotations

import flopsearch
import numpy as np

from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import check_number


def flop(values: FloatArray, *, seed: int, penalty: float = 2.0, restarts: int = 20) -> IntArray:
    """FLOP with the penalty of the BIC that its authors recommend."""
    check_number("penalty", penalty, above=0, suggestion=2.0)
    check_number("restarts", restarts, at_least=0, whole=True, suggestion=20)
    marks = flopsearch.flop(np.ascontiguousarray(values), penalty, restarts=restarts)
    return ((marks == 1) | (marks == 2)).astype(np.int8)
