"""The equivalence class of a DAG as types of pairs, and the graph whose class has the least loss.

Computed by compiled code (`native/graph_class.c`).
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.search.native import Layout, library, pointer


class _Graph(NamedTuple):
    """A DAG, the pairs for which knowledge allows only one direction, and workspace.

    Attributes
    ----------
    arrows, lines, types : (d, d) of the class.
    seen, stack : (d,) the variables on a path.
    """

    dag: BoolArray
    oriented: BoolArray
    arrows: BoolArray
    lines: BoolArray
    types: IntArray
    seen: BoolArray
    stack: Positions


_GRAPH = Layout(
    "Graph",
    {
        "dag": np.bool_,
        "oriented": np.bool_,
        "arrows": np.bool_,
        "lines": np.bool_,
        "types": np.int8,
        "seen": np.bool_,
        "stack": np.int64,
    },
    sizes=("n",),
    written=("dag", "arrows", "lines", "types", "seen", "stack"),
)


def _graph(dag: BoolArray, oriented: BoolArray) -> Any:
    square, n = dag.shape, len(dag)
    graph = _Graph(
        np.array(dag, dtype=np.bool_, order="C"),
        np.ascontiguousarray(oriented),
        np.empty(square, np.bool_),
        np.empty(square, np.bool_),
        np.empty(square, np.int8),
        np.empty(n, np.bool_),
        np.empty(n, np.int64),
    )
    return _GRAPH.fill(graph, n=n)


def class_types(dag: BoolArray, oriented: BoolArray) -> IntArray:
    """(d, d) the type of each pair `[i, j]` in the class of a DAG: i -> j, j -> i, undirected or absent.

    Unshielded colliders, and edges for which knowledge allows only one direction, are arrows; Meek's four
    rules add the arrows that these imply.
    """
    graph = _graph(dag, oriented)
    library().class_types(ctypes.byref(graph))
    types: IntArray = graph.record.types
    return types


def loss_of(dag: BoolArray, loss: FloatArray, oriented: BoolArray) -> float:
    """The loss of the class of a DAG; `loss` (4, d, d) is that of each type of each pair."""
    loss = np.ascontiguousarray(loss)
    return float(library().class_loss(ctypes.byref(_graph(dag, oriented)), pointer(loss, np.float64)))


def improve_loss(
    dag: BoolArray, loss: FloatArray, possible: BoolArray, allowed: BoolArray, oriented: BoolArray
) -> BoolArray:
    """The graph after a greedy search that changes one relation at a time while this lowers the loss."""
    graph = _graph(dag, oriented)
    loss = np.ascontiguousarray(loss)
    possible, allowed = np.ascontiguousarray(possible), np.ascontiguousarray(allowed)
    library().improve_loss(
        ctypes.byref(graph),
        pointer(loss, np.float64),
        pointer(possible, np.bool_),
        pointer(allowed, np.bool_),
    )
    improved: BoolArray = graph.record.dag
    return improved
