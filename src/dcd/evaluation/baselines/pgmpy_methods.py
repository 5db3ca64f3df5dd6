"""GES of pgmpy with a score for tables of numbers and categories."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pandas as pd
from pgmpy.causal_discovery import GES

from dcd.runtime.array_types import FloatArray, IntArray
from dcd.table.columns import Kind


def ges_cg(values: FloatArray, *, seed: int, kinds: Sequence[Kind] | None = None) -> IntArray:
    """GES with the BIC score of conditional Gaussian models: numbers are linear and normal given categories.

    Columns of kind "nominal" are categories; without `kinds` all columns are numbers.
    """
    columns = {
        f"x{at}": pd.Categorical(column) if kinds is not None and kinds[at] == "nominal" else column
        for at, column in enumerate(values.T)
    }
    with _quiet():
        graph = GES(scoring_method="bic-cg", return_type="pdag").fit(pd.DataFrame(columns)).causal_graph_
    names = list(columns)
    adjacency = np.zeros((len(names), len(names)), dtype=np.int8)
    for one, other in [*graph.directed_edges, *graph.undirected_edges]:
        adjacency[names.index(one), names.index(other)] = 1
    for one, other in graph.undirected_edges:
        adjacency[names.index(other), names.index(one)] = 1
    return adjacency


@contextmanager
def _quiet() -> Iterator[None]:
    """No messages about the types that pgmpy infers."""
    logger = logging.getLogger("pgmpy")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
