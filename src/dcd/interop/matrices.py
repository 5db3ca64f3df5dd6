"""gCastle and lingam: matrices without names, each the transpose of the other.

gCastle has `X = X W + noise`, so `matrix[i, j]` is `i -> j`; lingam has `x = B x + noise`, so `matrix[i, j]`
is `j -> i`. In both, nonzero weights are edges.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.graph.adjacency import weight_matrix
from dcd.graph.cpdag import CPDAG
from dcd.interop.common import Graph, class_of_matrix, foreign_mark, frame_of
from dcd.runtime.array_types import IntArray
from dcd.runtime.errors import InputError, as_tuple, check_number


def to_gcastle(graph: Graph) -> IntArray:
    """The `causal_matrix` of gCastle, in the order of `graph.names`: 1 in both directions for `i - j`."""
    return frame_of(graph).to_numpy(dtype=int, copy=True)


def from_gcastle(
    matrix: npt.ArrayLike, names: Sequence[str] | None = None, *, threshold: float = 0.0
) -> CPDAG:
    """The CPDAG of gCastle's `causal_matrix` or `weight_causal_matrix`.

    Parameters
    ----------
    matrix : `[i, j]` is the weight of `i -> j`; both directions are an undirected edge.
    names : the variables; by default the columns of a labelled frame, or "x0", "x1", ....
    threshold : an entry is an edge if its absolute value is above this.
    """
    return _class_of_weights(matrix, names, threshold)


def to_lingam(graph: Graph) -> IntArray:
    """The `adjacency_matrix_` of lingam, in the order of `graph.names`: 1 in both directions for `i - j`.

    lingam itself has no undirected edges; for a matrix without them pass `cpdag.to_dag()`.
    """
    return to_gcastle(graph).T.copy()


def from_lingam(
    matrix: npt.ArrayLike, names: Sequence[str] | None = None, *, threshold: float = 0.0
) -> CPDAG:
    """The CPDAG of lingam's `adjacency_matrix_`, `[i, j]` for `j -> i`; see `from_gcastle`."""
    return _class_of_weights(matrix, names, threshold, transpose=True)


def _class_of_weights(
    matrix: npt.ArrayLike, names: Sequence[str] | None, threshold: float, *, transpose: bool = False
) -> CPDAG:
    check_number("threshold", threshold, at_least=0, suggestion=0.0)
    if names is None and isinstance(matrix, pd.DataFrame):
        if list(matrix.index) != list(matrix.columns):
            problem = "has rows and columns with different labels"
            raise InputError("parameter 'matrix'", problem, "Give both the same names in the same order.")
        names = list(matrix.columns)
    weights = weight_matrix(matrix, "matrix")
    given = None if names is None else as_tuple("parameter 'names'", names, "names=['a', 'b']")
    labels = [f"x{i}" for i in range(len(weights))] if given is None else [str(name) for name in given]
    if len(labels) != len(weights):
        problem = f"must be {len(weights)} names, got {len(labels)}"
        raise InputError("parameter 'names'", problem, "Give one for each row.")
    for i, j in np.argwhere(np.isnan(weights)):
        mark = "not a number (the sign for a hidden common cause)"
        raise foreign_mark(f"{labels[i]!r}, {labels[j]!r}", mark)
    adjacency = (np.abs(weights) > threshold).astype(np.int8)
    return class_of_matrix(labels, adjacency.T if transpose else adjacency)
