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
from dcd.runtime.errors import InputError, as_tuple, check_number, name_list

Identifier = Callable[[Any, Collection[Any]], Collection[Any]]


def d_separated(dag: npt.ArrayLike, x: int, y: int, given: Collection[int] = ()) -> bool:
    """Whether `given` d-separates `x` and `y`: separates them in the moral graph of these and ancestors."""
    matrix = check_adjacency(dag, "dag")
    given = as_tuple("parameter 'given'", given, "given=[2]")
    for name, node in [("x", x), ("y", y), *(("given", node) for node in given)]:
        check_number(name, node, at_least=0, below=len(matrix), whole=True, suggestion=0)
    return y not in _reached(matrix, x, {x, y, *given}, blocked=set(given))


def oracle(dag: npt.ArrayLike | pd.DataFrame, names: Sequence[Any] | None = None) -> Identifier:
    """The Markov boundary identifier of a known DAG, `identify(target, others) -> set`.

    Under faithfulness, a member of `others` is in the boundary of `target` if the moral graph of all their
    ancestors has a path between the two whose inner nodes are outside `others`.

    Nodes are named by `names`, by the columns of a labelled frame, or by their positions.
    """
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    if names is None:
        names = list(dag.columns) if isinstance(dag, pd.DataFrame) else range(len(matrix))
    else:
        names = name_list("names", names)
    if len(set(names)) != len(matrix) or len(names) != len(matrix):
        problem = f"must be {len(matrix)} different names, got {len(set(names))}"
        raise InputError("parameter 'names'", problem, "Give every node its own name.")
    labels = list(names)
    position = {name: index for index, name in enumerate(labels)}

    def identify(target: Any, others: Collection[Any]) -> set[Any]:
        start, observed = position[target], {position[name] for name in others}
        reached = _reached(matrix, start, {start, *observed}, blocked=observed)
        return {labels[index] for index in reached & observed}

    return identify


def _reached(dag: IntArray, start: int, nodes: set[int], blocked: set[int]) -> set[int]:
    """The nodes that `start` reaches, not through `blocked`, in the moral graph of `nodes` and ancestors."""
    moral: dict[int, set[int]] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in moral:
            moral[node] = set()
            pending += np.flatnonzero(dag[:, node]).tolist()
    for node in moral:
        for a, b in combinations([*np.flatnonzero(dag[:, node]).tolist(), node], 2):
            moral[a].add(b)
            moral[b].add(a)
    reached, pending = {start}, [start]
    while pending:
        found = moral[pending.pop()] - reached
        reached |= found
        pending += found - blocked
    return reached
