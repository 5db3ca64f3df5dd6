"""Distance of an estimated CPDAG from the true one (Section 4).

An edge is correct if the true CPDAG has it with the same type and direction. SHD_c counts the pairs of
variables on which the two graphs differ. Adjustment distances count the pairs for which the estimated graph
leads to a wrong conclusion about the effect of one variable on the other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.evaluation.sorting import sortability
from dcd.graph.adjacency import check_adjacency, directed_part, is_acyclic, skeleton_of, undirected_part
from dcd.graph.cpdag import CPDAG
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.runtime.errors import InputError, MissingLibraryError

__all__ = ["AdjustmentDistances", "Comparison", "Graph", "adjustment_distances", "compare", "sortability"]

Graph = CPDAG | pd.DataFrame | npt.ArrayLike


@dataclass(frozen=True)
class Comparison:
    """Scores of an estimated graph; the `skeleton_` ones ignore type and direction."""

    shd_c: int
    precision: float
    recall: float
    f1: float
    skeleton_shd: int
    skeleton_precision: float
    skeleton_recall: float
    skeleton_f1: float


def compare(true_cpdag: Graph, estimated_cpdag: Graph) -> Comparison:
    """Compare two CPDAGs over the same variables.

    Each is a `CPDAG`, a labelled adjacency matrix or a plain one. Graphs with names are matched by name;
    otherwise the variables must be in the same order. The precision of a graph without edges is 0, unless the
    truth has none either: then precision, recall and F1 are 1.
    """
    true, estimated = _matched(true_cpdag=true_cpdag, estimated_cpdag=estimated_cpdag)
    return Comparison(*_scores(true, estimated), *_scores(skeleton_of(true), skeleton_of(estimated)))


@dataclass(frozen=True)
class AdjustmentDistances:
    """How many effects an estimated graph gets wrong, out of `n_effects` ordered pairs of variables.

    Attributes
    ----------
    parent, ancestor, optimal : with the parents of the treatment, its ancestors or the optimal set ("oset")
        of the estimated graph as adjustment set.
    sid : structural intervention distance; None unless both graphs are DAGs.
    n_effects : d (d - 1).
    """

    parent: int
    ancestor: int
    optimal: int
    sid: int | None
    n_effects: int


def adjustment_distances(true_graph: Graph, estimated_graph: Graph) -> AdjustmentDistances:
    """Adjustment identification distances of two DAGs or CPDAGs, by the package gadjid.

    For every ordered pair (t, y) the estimated graph implies that t has no effect on y, that its effect
    cannot be identified by adjustment, or which set to adjust for; that is wrong if it does not hold in the
    true graph (Henckel, Würtzen and Weichwald, *Adjustment identification distance*, 2024). Graphs are
    matched as in `compare`, and used as given: a DAG is not replaced by its CPDAG.
    """
    try:
        import gadjid
    except ImportError as error:
        remedy = "pip install 'causal-dcd[gadjid]'"
        raise MissingLibraryError("adjustment distances", "need the package gadjid", remedy) from error
    pair = _matched(true_graph=true_graph, estimated_graph=estimated_graph)
    for matrix, parameter in zip(pair, ("true_graph", "estimated_graph"), strict=True):
        if not is_acyclic(directed_part(matrix)):
            problem = "has a directed cycle, so it determines no effect"
            raise InputError(f"parameter '{parameter}'", problem, "Use a DAG or a CPDAG.")
    true, estimated = (
        np.ascontiguousarray(matrix + undirected_part(matrix), dtype=np.int8) for matrix in pair
    )
    parent, ancestor, optimal = (
        distance(true, estimated, edge_direction="from row to column")[1]
        for distance in (gadjid.parent_aid, gadjid.ancestor_aid, gadjid.oset_aid)
    )
    both_dags = not any(undirected_part(matrix).any() for matrix in pair)
    sid = gadjid.sid(true, estimated, edge_direction="from row to column")[1] if both_dags else None
    return AdjustmentDistances(parent, ancestor, optimal, sid, len(true) * (len(true) - 1))


def _matched(**graphs: Graph) -> tuple[IntArray, IntArray]:
    """The matrices of the truth and an estimate, by parameter, in the variable order of the truth."""
    (true_names, true_matrix), (names, matrix) = (_read(graph, name) for name, graph in graphs.items())
    subject = f"parameter '{list(graphs)[1]}'"
    if true_names is not None and names is not None:
        if set(true_names) != set(names):
            unshared = ", ".join(repr(name) for name in sorted(map(str, set(true_names) ^ set(names))))
            raise InputError(
                subject,
                f"is not over the same variables as the truth ({unshared} on one side only)",
                "Compare graphs over the same names.",
            )
        order = [names.index(name) for name in true_names]
        return true_matrix, matrix[np.ix_(order, order)]
    if true_matrix.shape != matrix.shape:
        raise InputError(
            subject,
            f"has shape {matrix.shape}, but the truth has {true_matrix.shape}",
            "Compare graphs over the same variables.",
        )
    return true_matrix, matrix


def _read(graph: Graph, parameter: str) -> tuple[list[str] | None, IntArray]:
    """Names, if the graph has any, and adjacency matrix."""
    if isinstance(graph, CPDAG):
        return list(graph.names), graph.adjacency
    names = list(graph.columns) if isinstance(graph, pd.DataFrame) else None
    return names, check_adjacency(graph, parameter)


def _scores(true: IntArray | BoolArray, estimated: IntArray | BoolArray) -> tuple[int, float, float, float]:
    """(distance, precision, recall, F1), each pair of variables counted once."""
    upper = np.triu_indices(len(true), k=1)
    same = ((true == estimated) & (true == estimated).T)[upper]
    n_true = int(skeleton_of(true)[upper].sum())
    n_estimated = int(skeleton_of(estimated)[upper].sum())
    n_right = int((same & skeleton_of(true)[upper]).sum())
    if n_true == n_estimated == 0:
        return 0, 1.0, 1.0, 1.0
    precision = n_right / n_estimated if n_estimated else 0.0
    recall = n_right / n_true if n_true else 0.0
    f1 = 2 * n_right / (n_true + n_estimated)
    return int((~same).sum()), precision, recall, f1
