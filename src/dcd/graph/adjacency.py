"""Graphs as matrices: `[i, j] = 1` with `[j, i] = 0` is `i -> j`; both 1 is `i - j`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.array_types import BoolArray, FloatArray, IntArray
from dcd.runtime.errors import InputError


def check_adjacency(adjacency: npt.ArrayLike, what: str = "adjacency") -> IntArray:
    """A square 0/1 matrix with an empty diagonal, as int8; raises `InputError` for anything else."""
    if isinstance(adjacency, pd.DataFrame) and list(adjacency.index) != list(adjacency.columns):
        raise InputError(
            f"parameter '{what}'",
            "has rows and columns with different labels",
            "Give both the same names in the same order.",
        )
    try:
        matrix = np.asarray(adjacency)
        square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
        valid = bool(square and ((matrix == 0) | (matrix == 1)).all() and not matrix.diagonal().any())
        got = f"shape {matrix.shape}"
    except (TypeError, ValueError):  # lists of different lengths, cells that cannot be compared
        valid, got = False, type(adjacency).__name__
    if not valid:
        raise InputError(
            f"parameter '{what}'",
            f"must be a square matrix of 0 and 1 with an empty diagonal, got {got}",
            "Set [i, j] = 1 for i -> j, and both [i, j] and [j, i] for i - j.",
        )
    return matrix.astype(np.int8)


def _present(adjacency: npt.ArrayLike, what: str = "adjacency") -> BoolArray:
    """Where a square matrix is not zero."""
    try:
        present = np.asarray(adjacency, dtype=bool)
    except (TypeError, ValueError):
        present = np.empty(0, dtype=bool)
    if present.ndim != 2 or present.shape[0] != present.shape[1]:
        problem = f"must be a square matrix, got {type(adjacency).__name__}"
        raise InputError(f"parameter '{what}'", problem, "Set [i, j] = 1 for i -> j.")
    return present


def weight_matrix(weights: npt.ArrayLike, what: str) -> FloatArray:
    """A square matrix of numbers; raises `InputError` for anything else."""
    try:
        matrix = np.array(weights, dtype=np.float64)
    except (TypeError, ValueError) as error:
        problem = "is not a matrix of numbers"
        raise InputError(f"parameter '{what}'", problem, "Pass weights.") from error
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise InputError(f"parameter '{what}'", f"must be square, got shape {matrix.shape}", "Pass weights.")
    return matrix


def directed_part(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where `i -> j`."""
    present = _present(adjacency)
    return present & ~present.T


def undirected_part(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where `i - j`; symmetric."""
    present = _present(adjacency)
    return present & present.T


def skeleton_of(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where there is any edge; symmetric."""
    present = _present(adjacency)
    return present | present.T


def with_directions(graph: IntArray, arrows: Iterable[tuple[int, int]]) -> IntArray:
    """The graph with some edges directed as these arrows; an edge directed both ways is removed."""
    directed = graph.copy()
    for cause, effect in arrows:
        directed[effect, cause] = 0
    return directed


def topological_order(dag: npt.ArrayLike) -> list[int]:
    """The nodes, parents before children; raises `InputError` for a cyclic graph."""
    edges = check_adjacency(dag, "dag").astype(bool)
    order = _sources_first(edges)
    if len(order) < len(edges):
        raise InputError("parameter 'dag'", "has a directed cycle", "Remove or reverse one of its edges.")
    return order


def _sources_first(edges: BoolArray) -> list[int]:
    """The nodes, parents before children, up to those in and after directed cycles."""
    n_parents = edges.sum(axis=0)
    order: list[int] = []
    while (ready := np.flatnonzero(n_parents == 0)).size:
        order += ready.tolist()
        n_parents -= edges[ready].sum(axis=0)
        n_parents[ready] = -1  # already in the order
    return order


def is_acyclic(directed: npt.ArrayLike) -> bool:
    """Whether a matrix of directed edges has no directed cycle."""
    edges = _present(directed, "directed")
    return len(_sources_first(edges)) == len(edges)


def unshielded_colliders(adjacency: npt.ArrayLike) -> Iterator[tuple[int, int, int]]:
    """All `(x, z, y)` with `x -> z <- y`, x and y not adjacent, x < y."""
    arrows, adjacent = directed_part(adjacency), skeleton_of(adjacency)
    for z in range(len(arrows)):
        for x, y in combinations(np.flatnonzero(arrows[:, z]), 2):
            if not adjacent[x, y]:
                yield int(x), z, int(y)
