"""How far an estimated CPDAG is from the true one (Section 4).

An edge is right only if the true CPDAG has it with the same type and direction. SHD_c counts the pairs of
variables on which the two graphs differ in any way, each pair once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from dcd.arrays import IntArray
from dcd.graph import CPDAG, check_adjacency, skeleton_of
from dcd.validation import InputError


@dataclass(frozen=True)
class Comparison:
    """Distances and scores of one estimated graph; the `skeleton_` ones ignore type and direction."""

    shd_c: int
    precision: float
    recall: float
    f1: float
    skeleton_shd: int
    skeleton_precision: float
    skeleton_recall: float
    skeleton_f1: float


def compare(true_cpdag: CPDAG | npt.ArrayLike, estimated_cpdag: CPDAG | npt.ArrayLike) -> Comparison:
    """Compare two CPDAGs over the same variables.

    Two `CPDAG`s are matched by name; adjacency matrices must have their variables in the same order.
    Precision of a graph without edges is 0, unless the truth has none either: then every score is 1.
    """
    true, estimated = _matched(true_cpdag, estimated_cpdag)
    shd, precision, recall, f1 = _scores(true, estimated)
    skeleton = _scores(skeleton_of(true).astype(np.int8), skeleton_of(estimated).astype(np.int8))
    return Comparison(shd, precision, recall, f1, *skeleton)


def _matched(true: CPDAG | npt.ArrayLike, estimated: CPDAG | npt.ArrayLike) -> tuple[IntArray, IntArray]:
    """Both adjacency matrices in the variable order of the first."""
    if isinstance(true, CPDAG) and isinstance(estimated, CPDAG):
        if set(true.names) != set(estimated.names):
            unshared = ", ".join(repr(name) for name in sorted(set(true.names) ^ set(estimated.names)))
            raise InputError(
                "parameter 'estimated_cpdag'",
                f"is not over the same variables as the truth ({unshared} on one side only)",
                "Compare graphs over the same names.",
            )
        return true.adjacency, estimated.reorder(true.names).adjacency
    matrices = [
        graph.adjacency if isinstance(graph, CPDAG) else check_adjacency(graph, name)
        for name, graph in (("true_cpdag", true), ("estimated_cpdag", estimated))
    ]
    if matrices[0].shape != matrices[1].shape:
        raise InputError(
            "parameter 'estimated_cpdag'",
            f"has shape {matrices[1].shape} where the truth has {matrices[0].shape}",
            "Compare graphs over the same variables.",
        )
    return matrices[0], matrices[1]


def _scores(true: IntArray, estimated: IntArray) -> tuple[int, float, float, float]:
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
