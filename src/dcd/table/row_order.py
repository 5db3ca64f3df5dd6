"""Whether rows depend on the row before them, as in time series and repeated measurements.

Tests treat rows as independent. If two columns have autocorrelations r and s at lag 1, the variance of
their correlation is about (1 + rs) / (1 - rs) times as large (Bartlett, 1935), and two random walks are
associated in every table. Only the order of the rows can show this: r is the autocorrelation of ranks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from dcd.runtime.array_types import FloatArray, Positions
from dcd.table.columns import TableColumn

STRONG = 0.45  # in two columns, makes the variance of their correlation 1.5 times as large
_DEVIATIONS = 5.0  # from 0, of rows in random order: one table of a hundred columns in 30,000
_MOST_ROWS = 20_000  # the first rows, which show an order as well as all rows do
_SHOWN = 3


def dependent_on_the_row_before(
    columns: Sequence[TableColumn], groups: Positions | None = None
) -> tuple[tuple[str, ...], float]:
    """The columns whose autocorrelation is `STRONG`, if there are at least two, and its median.

    A row that repeats the one before it counts once, because it may come from a count. Of rows that are known
    to belong together, only the first counts. Nominal columns have no order and are left out, unless they
    have two categories.
    """
    ordered = [c for c in columns if len(c.levels) <= 2 or c.source == "ordered categories"]
    if len(ordered) < 2:
        return (), 0.0
    differs = np.zeros(min(len(ordered[0].values), _MOST_ROWS), dtype=bool)
    differs[:1] = True
    for values in (column.values[:_MOST_ROWS] for column in ordered):  # one by one: the table may be large
        differs[1:] |= (values[1:] != values[:-1]) & ~np.isnan(values[1:] + values[:-1])
    if groups is not None:
        first = np.zeros(len(groups), dtype=bool)
        first[np.unique(groups, return_index=True)[1]] = True
        differs &= first[: len(differs)]
    found = {c.name: _autocorrelation(np.asarray(c.values[:_MOST_ROWS])[differs]) for c in ordered}
    strong = {name: r for name, r in found.items() if r > STRONG}
    return (tuple(strong), float(np.median(list(strong.values())))) if len(strong) > 1 else ((), 0.0)


def _autocorrelation(values: FloatArray) -> float:
    """At lag 1, of ranks; 0 if rows in random order could have it."""
    present = values[~np.isnan(values)]
    if len(present) < 3:
        return 0.0
    ranks = rankdata(present) - (len(present) + 1) / 2
    variance = float(ranks @ ranks)
    r = float(ranks[1:] @ ranks[:-1]) / variance if variance else 0.0
    return r if r * np.sqrt(len(present)) > _DEVIATIONS else 0.0


def dependent_rows_note(names: Sequence[str], median: float, *, in_groups: bool) -> str:
    """A warning about rows, or groups of rows, that depend on each other; empty if no column shows it."""
    if not names:
        return ""
    listed = ", ".join(repr(name) for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    what = (
        "a row resembles the row before it",
        "If rows follow each other in time, or several belong to the same subject",
        "name the rows that belong together",
    )
    if in_groups:
        what = (
            "the first row of a group resembles that of the group before it",
            "If groups follow each other in time, or several belong together",
            "name larger groups",
        )
    found, condition, remedy = what
    return (
        f"In {len(names)} columns ({listed}) {found} (autocorrelation {median:.2f}). {condition}, tests "
        f"overstate the evidence and edges may be false: {remedy} (groups= or --groups), or use differences "
        "over time. If the table is merely sorted, ignore this."
    )
