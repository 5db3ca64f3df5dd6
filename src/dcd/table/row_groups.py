r"""Rows that belong together, such as all rows of one person, and their effective number.

Rows of one group resemble each other. If two columns have the intraclass correlations r and s (the
correlation of two rows of one group), the variance of the covariance of the two columns is

.. math:: 1 + (m - 1)\, r s , \qquad m = \sum_g n_g^2 / n

times as large as for independent rows (Moulton 1986; the design effect of Kish 1965). Its mean over all pairs
of columns is the design effect of a table, the ratio of its number of rows to its effective sample size. It
is 1 if rows of a group have nothing in common, and the size of the groups if they repeat each other.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.errors import InputError
from dcd.runtime.rows import group_sums
from dcd.table.sources import to_array

_SUBJECT = "parameter 'groups'"


def row_groups(groups: Any, n_rows: int) -> Positions | None:
    """(n,) the group of each row, numbered by first appearance; None without groups."""
    if groups is None:
        return None
    given = to_array(groups, _SUBJECT)
    if given.ndim != 1 and given.shape[1:] != (1,):
        problem = f"must have one value for each row, got {'one value' if not given.ndim else given.shape}"
        remedy = "Pass a column, such as table['person'], and leave it out of the table."
        raise InputError(_SUBJECT, problem, remedy)
    if len(given) != n_rows:
        raise InputError(_SUBJECT, f"has {len(given)} values for {n_rows} rows", "Give one for each row.")
    try:
        codes: Positions = pd.factorize(given.reshape(-1))[0]
    except Exception as error:  # of values that cannot be compared
        problem = f"has values that cannot serve as group names ({error})"
        raise InputError(_SUBJECT, problem, "Give numbers or text.") from error
    if (codes < 0).any():
        problem = f"has {int((codes < 0).sum())} missing values, the first in row {int(codes.argmin())}"
        raise InputError(_SUBJECT, problem, "Give each row that belongs to no group a value of its own.")
    return codes


def groups_of_rows(codes: Positions | None) -> Positions | None:
    """Groups renumbered after rows were left out; None if each row is its own group."""
    if codes is None:
        return None
    renumbered, present = pd.factorize(codes)
    return None if len(present) == len(codes) else renumbered


def used_groups(codes: Positions | None) -> Positions | None:
    """`groups_of_rows` of the rows that are used; raises `InputError` if these are one group."""
    groups = groups_of_rows(codes)
    if groups is not None and groups.max() == 0:
        problem = "puts all rows that are used into one group, from which nothing can be told"
        raise InputError(_SUBJECT, problem, "Pass the column that names the subjects, or leave it out.")
    return groups


def intraclass_correlation(
    parts: Iterable[tuple[slice, FloatArray, FloatArray]], groups: Positions, n_columns: int
) -> float:
    """The correlation of two rows of one group, at least 0, of a variable with standardised columns.

    It is the mean over these columns, and over all pairs of rows by their shares; `parts` are blocks of rows,
    with their shares (b, 1) and their columns (b, k).
    """
    totals, squares = np.zeros((int(groups.max()) + 1, n_columns + 1)), np.zeros(n_columns + 1)
    for rows, shares, columns in parts:
        both = np.hstack([shares * columns, shares]).astype(np.float64)
        totals += group_sums(both, groups[rows], len(totals))
        squares += np.square(both).sum(axis=0)
    pairs = np.square(totals).sum(axis=0) - squares
    return float(np.clip(pairs[:-1].mean() / pairs[-1], 0.0, 1.0)) if n_columns else 0.0


def design_effect(correlations: FloatArray, shares: FloatArray, groups: Positions | None) -> float:
    """The number of rows over their effective number, from intraclass correlations (d,)."""
    if groups is None or len(correlations) < 2:
        return 1.0
    size = float(np.square(group_sums(shares[:, None], groups)).sum() / np.square(shares).sum())
    n_variables = len(correlations)
    products = (correlations.sum() ** 2 - np.square(correlations).sum()) / (n_variables * (n_variables - 1))
    return float(1.0 + (size - 1.0) * products)
