"""Shared by all conversions: the edges of a graph, and the equivalence class of a foreign graph.

Characters of a name that DOT or GraphML cannot represent (control characters, surrogates) become `_xHHHH_`,
as in Office Open XML; in names that already contain this form, the first underscore becomes `_x005F_`.
"""

from __future__ import annotations

import importlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pandas as pd

from dcd.graph.adjacency import directed_part, undirected_part
from dcd.graph.cpdag import CPDAG, ChosenDAG
from dcd.graph.equivalence import consistent_extension, contradictory_core
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.runtime.errors import InputError, MissingLibraryError, check_flag, check_type

Graph = CPDAG | ChosenDAG
Edge = tuple[str, str]

_EDGES_SHOWN = 8  # in a message
_FEW_NODES = 30  # up to which a minimal contradiction is searched for
_MOST_NODES = 5000  # limits the memory that a small text can allocate

_IMPOSSIBLE = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff"
_TO_HIDE = re.compile(rf"_(?=x[0-9A-Fa-f]{{4}}[_{_IMPOSSIBLE}])|[{_IMPOSSIBLE}]")
_HIDDEN = re.compile(r"_x([0-9A-Fa-f]{4})_")


def load(module: str, extra: str) -> Any:
    """Import a module of an optional package, or raise `MissingLibraryError`."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        remedy = f"pip install 'causal-dcd[{extra}]'"
        raise MissingLibraryError(f"package {package!r}", "is not installed", remedy) from error


def hide_impossible(name: str) -> str:
    """The name with every character that a text format cannot represent as `_xHHHH_`."""
    return _TO_HIDE.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


def show_impossible(text: str) -> str:
    """The inverse of `hide_impossible`."""
    return _HIDDEN.sub(lambda match: chr(int(match[1], 16)), text)


# --- to other packages -----------------------------------------------------------------------------------


def frame_of(graph: Graph) -> pd.DataFrame:
    """The labelled adjacency matrix of a CPDAG, or of one DAG of its class."""
    if isinstance(graph, ChosenDAG):
        return graph.adjacency
    check_type("graph", graph, CPDAG, "Pass .cpdag_ or .cpdag_.to_dag().")
    return graph.to_frame()


def names_and_edges(graph: Graph) -> tuple[tuple[str, ...], list[Edge], list[Edge]]:
    """The variables, the directed edges as (cause, effect), and each undirected edge once."""
    frame = frame_of(graph)
    names = tuple(frame.columns)
    arrows = [(names[i], names[j]) for i, j in np.argwhere(directed_part(frame))]
    lines = [(names[i], names[j]) for i, j in np.argwhere(np.triu(undirected_part(frame)))]
    return names, arrows, lines


def both_ways(arrows: Iterable[Edge], lines: Iterable[Edge]) -> list[Edge]:
    """All edges as directed edges: an undirected edge becomes two, one in each direction."""
    return [*arrows, *(edge for a, b in lines for edge in ((a, b), (b, a)))]


# --- from other packages ---------------------------------------------------------------------------------


def class_of_edges(names: Iterable[object], arrows: Iterable[Any], lines: Iterable[Any] = ()) -> CPDAG:
    """The CPDAG of a graph from its nodes and edges; arrows in both directions are an undirected edge."""
    return class_of_frame(frame_of_edges(names, arrows, lines))


def frame_of_edges(names: Iterable[object], arrows: Iterable[Any], lines: Iterable[Any] = ()) -> pd.DataFrame:
    """The labelled adjacency matrix of a graph as given."""
    nodes = list(names)
    if len(nodes) > _MOST_NODES:
        problem = f"has {len(nodes)} nodes, more than {_MOST_NODES}"
        raise InputError("parameter 'graph'", problem, "Pass a part of it.")
    position = {node: index for index, node in enumerate(nodes)}
    adjacency = np.zeros((len(nodes), len(nodes)), dtype=np.int8)
    for a, b in arrows:
        adjacency[position[a], position[b]] = 1
    for a, b in lines:
        adjacency[position[a], position[b]] = adjacency[position[b], position[a]] = 1
    labels = [str(node) for node in nodes]
    return pd.DataFrame(adjacency, index=labels, columns=labels)


def class_of_frame(frame: pd.DataFrame, *, as_given: bool = False) -> CPDAG:
    """The CPDAG of a labelled adjacency matrix; see `class_of_matrix`."""
    return class_of_matrix(list(frame.columns), frame.to_numpy(), as_given=as_given)


def frame_of_labelled_edges(
    labels: Mapping[str, str], arrows: Iterable[Edge], lines: Iterable[Edge], *, attribute: str
) -> pd.DataFrame:
    """The matrix of a graph whose nodes are named by `labels[node]`."""
    if len(set(labels.values())) < len(labels):
        raise InputError("parameter 'names'", f"two nodes have the same {attribute}", "Use names='id'.")
    relabelled = ([(labels[a], labels[b]) for a, b in edges] for edges in (arrows, lines))
    return frame_of_edges(labels.values(), *relabelled)


def class_of_matrix(names: Sequence[str], adjacency: IntArray, *, as_given: bool = False) -> CPDAG:
    """The CPDAG of the DAGs that have the edges, arrows and unshielded colliders of a graph.

    With `as_given`, all arrows of the graph are kept, as background knowledge.
    """
    check_flag("as_given", as_given)
    repeated = [name for name, count in Counter(names).items() if count > 1]
    if repeated:
        subject = f"variable {repeated[0]!r}"
        raise InputError(subject, "occurs more than once", "Use a different name for each node.")
    if adjacency.diagonal().any():
        name = names[int(adjacency.diagonal().argmax())]
        raise InputError(f"edge {_arrow(name, name)}", "is a loop", "Remove it.")
    dag = consistent_extension(adjacency)
    if dag is None:
        raise _contradiction(names, adjacency)
    known = np.argwhere(directed_part(adjacency)) if as_given else ()
    return CPDAG.from_dag(names, dag, [(names[i], names[j]) for i, j in known])


def foreign_mark(edge: str, mark: str) -> InputError:
    """The error for an edge of a graph with hidden variables."""
    return InputError(
        f"edge {edge}",
        f"is {mark}, but a CPDAG has only arrows and undirected edges",
        "Leave it out or give it one direction; graphs with hidden variables (PAG, ADMG) cannot be read.",
    )


def _arrow(cause: str, effect: str) -> str:
    return f"{cause!r} -> {effect!r}"


def _contradiction(names: Sequence[str], adjacency: IntArray) -> InputError:
    cycle = _directed_cycle(directed_part(adjacency))
    if cycle:
        listed = _listed([_arrow(names[a], names[b]) for a, b in pairwise([*cycle, cycle[0]])])
        return InputError(f"edges {listed}", "form a directed cycle", "Remove or reverse one of them.")
    edges = []
    for i, j in combinations(_smaller_core(adjacency), 2):
        if adjacency[i, j] and adjacency[j, i]:
            edges.append(f"{names[i]!r} - {names[j]!r}")
        elif adjacency[i, j] or adjacency[j, i]:
            edges.append(_arrow(names[i], names[j]) if adjacency[i, j] else _arrow(names[j], names[i]))
    return InputError(
        f"edges {_listed(edges)}",
        "fit no DAG: every direction of the undirected ones creates a cycle or a new collider",
        "Remove one of them, or give them directions.",
    )


def _listed(edges: Sequence[str]) -> str:
    return ", ".join(edges[:_EDGES_SHOWN]) + (", ..." if len(edges) > _EDGES_SHOWN else "")


def _directed_cycle(arrows: BoolArray) -> list[int]:
    """The nodes of a directed cycle in order, the lowest first; empty if there is none."""
    remaining = arrows.copy()
    while (sinks := remaining.any(axis=0) & ~remaining.any(axis=1)).any():
        remaining[:, sinks] = False
    has_child = remaining.any(axis=1)
    if not has_child.any():
        return []
    walk = [int(has_child.argmax())]
    while (child := int(remaining[walk[-1]].argmax())) not in walk:
        walk.append(child)
    cycle = walk[walk.index(child) :]
    first = cycle.index(min(cycle))
    return cycle[first:] + cycle[:first]


def _smaller_core(adjacency: IntArray) -> list[int]:
    """A contradictory set of nodes, minimal if it is small."""
    core = contradictory_core(adjacency)
    if len(core) > _FEW_NODES:  # each attempt to remove a node takes cubic time
        return core
    for node in tuple(core):
        rest = [other for other in core if other != node]
        smaller = contradictory_core(adjacency[np.ix_(rest, rest)])
        if smaller and node in core:
            core = [rest[index] for index in smaller]
    return core
