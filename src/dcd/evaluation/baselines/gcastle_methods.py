"""ICALiNGAM, DirectLiNGAM, Notears, GOLEM and GraNDAG of gCastle.

gCastle's `weight_causal_matrix[i, j]` is `i -> j`. It needs PyTorch without declaring it. Thresholds are its
defaults.
"""

from __future__ import annotations

from typing import Any

import castle.algorithms as castle
import numpy as np

from dcd.graph.equivalence import prune_cycles
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import check_number


def icalingam(values: FloatArray, *, seed: int, threshold: float = 0.3) -> IntArray:
    """LiNGAM by independent component analysis."""
    _check_threshold(threshold)
    return _learned(castle.ICALiNGAM(random_state=seed, thresh=threshold), values, threshold)


def directlingam(values: FloatArray, *, seed: int, threshold: float = 0.3) -> IntArray:
    """LiNGAM by repeated search for a root."""
    _check_threshold(threshold)
    return _learned(castle.DirectLiNGAM(thresh=threshold), values, threshold)


def notears(
    values: FloatArray, *, seed: int, threshold: float = 0.3, penalty: float = 0.1, standardise: bool = True
) -> IntArray:
    """Linear NOTEARS, by default on standardised columns, as the paper's table implies."""
    _check_threshold(threshold)
    check_number("penalty", penalty, at_least=0, suggestion=0.1)
    model = castle.Notears(lambda1=penalty, w_threshold=threshold)
    return _learned(model, _standardised(values) if standardise else values, threshold)


def golem(values: FloatArray, *, seed: int, threshold: float = 0.3, iterations: int = 20_000) -> IntArray:
    """GOLEM with equal noise variances."""
    check_number("iterations", iterations, at_least=1, whole=True, suggestion=20_000)
    _check_threshold(threshold)
    return _learned(castle.GOLEM(num_iter=iterations, seed=seed, graph_thres=threshold), values, threshold)


def grandag(
    values: FloatArray, *, seed: int, iterations: int = 10_000, standardise: bool = False
) -> IntArray:
    """GraN-DAG, without its authors' preliminary neighbour selection and pruning."""
    check_number("iterations", iterations, at_least=1, whole=True, suggestion=10_000)
    model = castle.GraNDAG(input_dim=values.shape[1], iterations=iterations, random_seed=seed)
    model.learn(_standardised(values) if standardise else values)
    return prune_cycles(model.causal_matrix)


def _check_threshold(threshold: float) -> None:
    check_number("threshold", threshold, at_least=0, suggestion=0.3)


def _learned(model: Any, values: FloatArray, threshold: float) -> IntArray:
    """The DAG of the weights above the threshold; raises an error for diverged weights."""
    model.learn(values)
    matrix = np.asarray(model.weight_causal_matrix, dtype=np.float64)
    if not np.isfinite(matrix).all():
        raise ArithmeticError("the weights are not finite")
    return prune_cycles(np.where(np.abs(matrix) > threshold, matrix, 0.0))


def _standardised(values: FloatArray) -> FloatArray:
    return (values - values.mean(axis=0)) / values.std(axis=0)
