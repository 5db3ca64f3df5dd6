r"""Controls: graphs found without causal reasoning, to put scores into perspective.

- `empty`: no edges at all.
- `spanning_tree`: the tree with the largest sum of mutual information (Chow and Liu, 1968), without arrows.
  The information is that of the ranks in bins of equal size; categories are bins already.
- `sort_variance`, `sort_r2`, `sort_falling_r2`: the columns in the order of a criterion
  (`dcd.evaluation.sorting`); each is regressed on those before it, and its parents are those that a lasso
  with a penalty chosen by BIC keeps. The first two are the controls of Reisach and others (2021, 2023); the
  third has the reverse order of the second, which suits simulations whose roots are predicted best.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import minimum_spanning_tree
from scipy.stats import rankdata

from dcd.evaluation.sorting import criterion
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError
from dcd.table.columns import Kind


def empty(values: FloatArray, *, seed: int, kinds: Sequence[Kind] | None = None) -> IntArray:
    """No edges."""
    n_variables = values.shape[1]
    return np.zeros((n_variables, n_variables), dtype=np.int8)


def spanning_tree(values: FloatArray, *, seed: int, kinds: Sequence[Kind] | None = None) -> IntArray:
    """The undirected maximum spanning tree of the mutual information of ranks."""
    n_bins = int(np.ceil(len(values) ** (1 / 3)))
    codes = [_in_bins(column, n_bins) for column in values.T]
    information = np.zeros((len(codes), len(codes)))
    for first in range(len(codes)):
        for second in range(first):
            information[first, second] = _information(codes[first], codes[second])
    # The cheapest tree if much information costs little; 0 would mean no edge.
    cost = np.tril(information.max() - information + 1.0, k=-1)
    tree = minimum_spanning_tree(cost).toarray() > 0
    return (tree | tree.T).astype(np.int8)


def _in_bins(column: FloatArray, n_bins: int) -> npt.NDArray[np.intp]:
    """Codes 0, 1, ... of the values, or of bins of their ranks if there are more values than bins."""
    different, codes = np.unique(column, return_inverse=True)
    if len(different) > n_bins:
        bins = np.ceil(rankdata(column) / len(column) * n_bins)
        codes = np.unique(bins, return_inverse=True)[1]
    return codes


def _information(first: npt.NDArray[np.intp], second: npt.NDArray[np.intp]) -> float:
    """Mutual information in nats, minus its mean for independent columns, (a - 1)(b - 1) / 2n."""
    shape = int(first.max()) + 1, int(second.max()) + 1
    joint = np.bincount(first * shape[1] + second, minlength=shape[0] * shape[1]).reshape(shape) / len(first)
    product = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    information = float((joint[seen] * np.log(joint[seen] / product[seen])).sum())
    return information - (shape[0] - 1) * (shape[1] - 1) / (2 * len(first))


def sort_variance(values: FloatArray, *, seed: int) -> IntArray:
    """Columns sorted by variance."""
    return sort_and_regress(values, criterion(values, "variance"))


def sort_r2(values: FloatArray, *, seed: int) -> IntArray:
    """Columns sorted by R²."""
    return sort_and_regress(values, criterion(values, "r2"))


def sort_falling_r2(values: FloatArray, *, seed: int) -> IntArray:
    """Columns sorted by R², the best predicted first."""
    return sort_and_regress(values, -criterion(values, "r2"))


def sort_and_regress(values: FloatArray, scores: FloatArray) -> IntArray:
    """The DAG of lasso regressions of each column on those with lower scores.

    The lasso is adaptive: columns are scaled by their coefficients in an ordinary regression beforehand, so
    that weak ones are penalised more.
    """
    from sklearn.linear_model import LassoLarsIC

    if len(values) <= values.shape[1] + 1:
        problem = f"has {len(values)} rows for {values.shape[1]} variables"
        raise InputError("the table", problem, f"This method needs at least {values.shape[1] + 2}.")
    standardised = (values - values.mean(axis=0)) / values.std(axis=0)
    order = np.argsort(scores, kind="stable")
    dag = np.zeros((len(order), len(order)), dtype=np.int8)
    for place in range(1, len(order)):
        before, column = order[:place], order[place]
        inputs, output = standardised[:, before], standardised[:, column]
        scales = np.abs(np.linalg.lstsq(inputs, output, rcond=None)[0])
        lasso = LassoLarsIC(criterion="bic", noise_variance=None).fit(inputs * scales, output)
        dag[before[lasso.coef_ * scales != 0], column] = 1
    return dag
