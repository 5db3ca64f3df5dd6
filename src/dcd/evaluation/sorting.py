"""How much the scales of a table reveal about the order of its variables.

In many simulated tables an effect has more variance than its causes, or more of it can be predicted from the
other columns, for reasons unrelated to causality in the real world. A method that sorts the columns
by such a criterion then finds the order without any causal reasoning (Reisach, Seiler and Weichwald, *Beware
of the simulated DAG!*, 2021; Reisach, Tami, Seiler, Chambaz and Weichwald, *A scale-invariant sorting
criterion to find a causal order in additive noise models*, 2023).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from dcd.graph.adjacency import check_adjacency, directed_part, is_acyclic
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError, check_choice
from dcd.table.sources import columns_of

CRITERIA = ("variance", "r2")
_TIE = 1e-9  # relative


def sortability(dag: npt.ArrayLike, values: npt.ArrayLike, *, by: str = "variance") -> float:
    """Share of causal paths along which a criterion of the columns grows.

    1 means that sorting the columns by the criterion gives a causal order, 0 that the reverse order is one,
    and 1/2 that the criterion does not help. Pairs of an ancestor and a descendant count once for
    each length of the paths between them; ties count half. nan for a graph without edges.

    Parameters
    ----------
    dag : adjacency matrix, `dag[i, j] = 1` for `i -> j`.
    values : the table (n, d), numbers.
    by : "variance", or "r2", the share of variance that a linear regression on all other columns explains.
    """
    step = directed_part(check_adjacency(dag, "dag"))
    if (np.asarray(dag) != 0).sum() != step.sum() or not is_acyclic(step):
        problem = "must be a directed graph without cycles"
        raise InputError("parameter 'dag'", problem, "Use the graph that the table was made from.")
    scores = criterion(_checked(values, len(step)), by)
    tied = np.isclose(scores[:, None], scores[None, :], rtol=_TIE, atol=0.0)
    sorted_share = np.where(tied, 0.5, scores[:, None] < scores[None, :])
    paths, n_paths, n_sorted = step, 0, 0.0
    while paths.any():
        n_paths += int(paths.sum())
        n_sorted += float(sorted_share[paths].sum())
        paths = (paths.astype(np.int64) @ step) > 0
    return n_sorted / n_paths if n_paths else float("nan")


def criterion(values: FloatArray, by: str) -> FloatArray:
    """The variance or the R² of every column."""
    check_choice("by", by, CRITERIA)
    if by == "variance":
        return np.var(values, axis=0)
    correlations: FloatArray = np.atleast_2d(np.corrcoef(values, rowvar=False))
    explained = np.empty(len(correlations))
    for column in range(len(correlations)):
        others = np.arange(len(correlations)) != column
        with_others = correlations[others, column]
        # Least squares, as columns may be linear combinations of others.
        slopes = np.linalg.lstsq(correlations[np.ix_(others, others)], with_others, rcond=None)[0]
        explained[column] = with_others @ slopes
    return np.clip(explained, 0.0, 1.0)


def _checked(values: npt.ArrayLike, n_variables: int) -> FloatArray:
    columns = columns_of(values)
    table = np.column_stack([column.values for column in columns]) if columns else np.empty((0, 0))
    if table.shape[1] != n_variables or len(table) < 2:
        problem = f"has shape {table.shape}, but the graph has {n_variables} variables"
        raise InputError("parameter 'values'", problem, "Pass one column for each variable, in order.")
    numbers = not any(column.levels or column.trouble for column in columns)
    if not numbers or not np.isfinite(table).all() or (np.ptp(table, axis=0) == 0).any():
        problem = "must be finite numbers, none of its columns constant"
        raise InputError("parameter 'values'", problem, "Leave such rows or columns out.")
    return table
