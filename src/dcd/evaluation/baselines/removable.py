"""RSL and MARVEL of the package rcd, with our Markov boundaries and test.

Both remove variables one by one such that the rest of the graph stays intact, starting from Markov boundaries
and a test. They return a skeleton, which the score of whole graphs orients.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any

import numpy as np
from rcd import marvel as rcd_marvel
from rcd import rsl_d as rcd_rsl_d

from dcd.features.gram_columns import TableColumns, family_gram
from dcd.features.rank_scores import make_scores
from dcd.graph.adjacency import unshielded_colliders
from dcd.independence.association import PartialAssociation
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray
from dcd.runtime.errors import check_number
from dcd.search.assemble import orient_skeleton
from dcd.search.best_graph import best_dag
from dcd.search.grow_shrink import GrowShrink


def rsl(values: FloatArray, *, seed: int, alpha: float = 0.05) -> IntArray:
    """RSL-D (for graphs without diamonds) on our boundaries."""
    return _learn(rcd_rsl_d.learn_and_get_skeleton, values, seed, alpha)


def marvel(values: FloatArray, *, seed: int, alpha: float = 0.05) -> IntArray:
    """MARVEL on our boundaries."""
    return _learn(rcd_marvel.learn_and_get_skeleton, values, seed, alpha)


def _learn(method: Callable[..., Any], values: FloatArray, seed: int, alpha: float) -> IntArray:
    check_number("alpha", alpha, above=0, below=1, suggestion=0.05)
    n_variables = values.shape[1]
    level = alpha / (n_variables - 1)
    scores = make_scores(values)
    test = PartialAssociation().bind(scores, level)

    def independent(x: int, y: int, given: Sequence[int], _: FloatArray) -> bool:
        return test.log_pvalue(int(x), int(y), [int(v) for v in given]) >= np.log(level)

    def boundaries(_: FloatArray) -> BoolArray:
        matrix = np.zeros((n_variables, n_variables), dtype=bool)
        for target in range(n_variables):
            matrix[target, GrowShrink().boundary(test, target, n_variables, level)] = True
        return matrix | matrix.T

    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        graph = method(independent, values, boundaries)
    skeleton = np.zeros((n_variables, n_variables), dtype=bool)
    for i, j in graph.edges:
        skeleton[i, j] = skeleton[j, i] = True
    best = best_dag(family_gram(TableColumns(scores)), allowed=skeleton, rng=np.random.default_rng(seed))
    return orient_skeleton(skeleton, dict.fromkeys(unshielded_colliders(best), 0.0))
