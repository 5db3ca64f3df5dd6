"""d-separation, and the Markov boundaries of a known DAG."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.graph.adjacency import check_adjacency, topological_order
from dcd.runtime.array_types import IntArray

Identifier = Callable[[Any, Collection[Any]], Collection[Any]]


def d_separated(dag: npt.ArrayLike, x: int, y: int, given: Collection[int] = ()) -> bool:
    """Whether `given` d-separates `x` and `y`: separates them in the moral graph of all ancestors."""
    blocked = set(given)
    moral = _moral_graph(_parents(check_adjacency(dag, "dag")), {x, y, *blocked})
    return y not in _reached(moral, x, through=lambda node: node not in blocked)


def oracle(dag: npt.ArrayLike | pd.DataFrame, names: Sequence[Any] | None = None) -> Identifier:
    """The Markov boundary identifier of a known DAG, `identify(target, others) -> set`.

    Under faithfulness, a member of `others` is in the boundary of `target` if the moral graph of all their
    ancestors has a path between the two whose inner nodes are outside `others`.

    Nodes are named by `names`, by the columns of a labelled frame, or by their positions.
    """
    if names is None:
        names = list(dag.columns) if isinstance(dag, pd.DataFrame) else list(range(len(np.asarray(dag))))
    labels = list(names)
    position = {name: index for index, name in enumerate(labels)}
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    parents = _parents(matrix)

    def identify(target: Any, others: Collection[Any]) -> set[Any]:
        observed = {position[name] for name in others}
        start = position[target]
        moral = _moral_graph(parents, observed | {start})
        reached = _reached(moral, start, through=lambda node: node not in observed)
        return {labels[index] for index in reached & observed}

    return identify


def _parents(dag: IntArray) -> list[list[int]]:
    return [np.flatnonzero(column).tolist() for column in dag.T]


def _moral_graph(parents: Sequence[Sequence[int]], nodes: set[int]) -> dict[int, set[int]]:
    """Neighbours in the moral graph over `nodes` and their ancestors."""
    moral: dict[int, set[int]] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in moral:
            moral[node] = set()
            pending += parents[node]
    for node in moral:
        for a, b in combinations([*parents[node], node], 2):
            moral[a].add(b)
            moral[b].add(a)
    return moral


def _reached(neighbours: dict[int, set[int]], start: int, through: Callable[[int], bool]) -> set[int]:
    """All nodes on paths from `start` whose inner nodes satisfy `through`."""
    reached = {start}
    pending = [start]
    while pending:
        for node in neighbours[pending.pop()] - reached:
            reached.add(node)
            if through(node):
                pending.append(node)
    return reached
