"""Graphs as matrices: `[i, j] = 1` with `[j, i] = 0` is `i -> j`; both 1 is `i - j`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.runtime.array_types import BoolArray, IntArray
from dcd.runtime.errors import InputError


def check_adjacency(adjacency: npt.ArrayLike, what: str = "adjacency") -> IntArray:
    """A square 0/1 matrix with an empty diagonal, as int8; anything else is an `InputError`."""
    if isinstance(adjacency, pd.DataFrame) and list(adjacency.index) != list(adjacency.columns):
        raise InputError(
            f"parameter '{what}'",
            "has rows and columns with different labels",
            "Give both the same names in the same order.",
        )
    matrix = np.asarray(adjacency)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not square or not ((matrix == 0) | (matrix == 1)).all() or matrix.diagonal().any():
        raise InputError(
            f"parameter '{what}'",
            f"must be a square matrix of 0 and 1 with an empty diagonal, got shape {matrix.shape}",
            "Set [i, j] = 1 for i -> j, and both [i, j] and [j, i] for i - j.",
        )
    return matrix.astype(np.int8)


def directed_part(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where `i -> j`."""
    present = np.asarray(adjacency, dtype=bool)
    return present & ~present.T


def undirected_part(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where `i - j`; symmetric."""
    present = np.asarray(adjacency, dtype=bool)
    return present & present.T


def skeleton_of(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where there is any edge; symmetric."""
    present = np.asarray(adjacency, dtype=bool)
    return present | present.T


def with_directions(graph: IntArray, arrows: Iterable[tuple[int, int]]) -> IntArray:
    """The graph with some of its edges directed as these arrows; it loses an edge directed both ways."""
    directed = graph.copy()
    for cause, effect in arrows:
        directed[effect, cause] = 0
    return directed


def topological_order(dag: npt.ArrayLike) -> list[int]:
    """The nodes, parents before children; an `InputError` for a cyclic graph."""
    edges = check_adjacency(dag, "dag").astype(int)
    n_parents = edges.sum(axis=0)
    order: list[int] = []
    while len(order) < len(edges):
        ready = np.flatnonzero(n_parents == 0)
        if not ready.size:
            raise InputError("parameter 'dag'", "has a directed cycle", "Remove or reverse one of its edges.")
        order += ready.tolist()
        n_parents -= edges[ready].sum(axis=0)
        n_parents[ready] = -1  # no parents are left to wait for, and it is in the order already
    return order


def is_acyclic(directed: npt.ArrayLike) -> bool:
    """Whether a matrix of directed edges has no directed cycle."""
    try:
        topological_order(directed)
    except InputError:
        return False
    return True


def unshielded_colliders(adjacency: npt.ArrayLike) -> Iterator[tuple[int, int, int]]:
    """All `(x, z, y)` with `x -> z <- y`, x and y not adjacent, x < y."""
    arrows, adjacent = directed_part(adjacency), skeleton_of(adjacency)
    for z in range(len(arrows)):
        for x, y in combinations(np.flatnonzero(arrows[:, z]), 2):
            if not adjacent[x, y]:
                yield int(x), z, int(y)
