r"""Whether rows depend on rows before them, as in time series, seasons and repeated measurements.

Tests treat rows as independent. If two columns have the autocorrelations :math:`r_k` and :math:`s_k` at lag
k, the variance of their correlation is

.. math:: 1 + 2 \sum_k (1 - k / n)\, r_k s_k

times as large (Bartlett 1935): two random walks, or two columns with the same season, are associated in
every table. Only the order of the rows can show this, or that of a column of dates. A column is reported if

* its ranks are not in random order, by one of two tests: of the autocorrelation at any lag, of either sign,
  with level proportional to 1 / k(k + 1), because near rows are the likeliest to be related; and Fisher's
  test (1929) of the largest ordinate of the periodogram, for weak seasons;
* two such columns would have at least `STRONG` times the variance.

A sum of products of scores whose square is at most b has at most the tail of a Poisson variable with steps of
size b and the same variance; unlike the normal tail, this holds for rare categories too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import gammainc
from scipy.stats import rankdata

from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.table.columns import TableColumn

STRONG = 1.4  # factor on the variance of the correlation of two such columns; 1.4 is 0.4^k at lag k
LEVEL = 1e-3  # of all columns of a table together
MOST_ROWS = 20_000  # the first rows, which show an order as well as all rows do
_MOST_LAGS = 1000
_SHOWN = 3


@dataclass(frozen=True)
class RowOrder:
    """Columns whose rows depend on earlier ones; the strongest of them, with its lag and autocorrelation.

    `by` is the column of dates that gives the order of the rows; None for the order of the table.
    """

    names: tuple[str, ...]
    strongest: str
    lag: int
    correlation: float
    by: str | None = None


def dependence_on_earlier_rows(
    columns: Sequence[TableColumn], groups: Positions | None = None, times: Sequence[TableColumn] = ()
) -> RowOrder | None:
    """The columns that are reported by the rule above, in the order of rows, or else of the first of `times`.

    Of rows that are known to belong together, only the first counts. Sorted columns say only that the table
    was sorted, and are left out.
    """
    orders: list[tuple[str | None, Positions | None]] = [(None, None)]
    for time in times:
        moments = np.asarray(time.values[:MOST_ROWS])
        if not np.isnan(moments).any() and not _is_sorted(moments):
            orders.append((time.name, np.argsort(moments, kind="stable")))
    tests = len(orders) * len(columns)
    for by, order in orders:
        found = _in_one_order([c for c in columns if c.name != by], groups, order, tests)
        if found:
            strongest = max(found, key=lambda name: found[name][2])
            lag, correlation, _ = found[strongest]
            return RowOrder(tuple(found), strongest, lag, correlation, by)
    return None


def _in_one_order(
    columns: Sequence[TableColumn], groups: Positions | None, order: Positions | None, tests: int
) -> dict[str, tuple[int, float, float]]:
    """Lag, autocorrelation and factor of the variance for each column that is reported.

    Rows that repeat the row before them may come from a count, so a column must be reported without them too.
    A test without repetitions alone is not enough: a row that has to differ depends on the row before.
    """
    kept = np.arange(min(len(columns[0].values), MOST_ROWS)) if columns else np.arange(0)
    kept = kept if order is None else order
    if groups is not None:
        kept = kept[np.sort(np.unique(groups[kept], return_index=True)[1])]
    found = {c.name: column_order(scores(c, kept), tests) for c in columns}
    repeats = ~_differs(columns, kept) if any(found.values()) else np.zeros(0, dtype=bool)
    if repeats.any():
        reported = [c for c in columns if found[c.name]]
        found = {c.name: column_order(scores(c, kept[~repeats]), tests) for c in reported}
    return {name: of_column for name, of_column in found.items() if of_column}


def scores(column: TableColumn, rows: Positions) -> FloatArray:
    """Some rows of a column; for unordered categories, whether a row has the most frequent one."""
    values = np.asarray(column.values[rows])
    if len(column.levels) <= 2 or column.source == "ordered categories":
        return values
    missing = np.isnan(values)
    counts = np.bincount(values[~missing].astype(np.intp), minlength=1)
    return np.where(missing, np.nan, values == counts.argmax())


def _differs(columns: Sequence[TableColumn], kept: Positions) -> BoolArray:
    """(n,) whether a row differs from the row before it; column by column, as the table may be large."""
    differs = np.zeros(len(kept), dtype=bool)
    differs[:1] = True
    for column in columns:
        values = np.asarray(column.values[kept])
        differs[1:] |= (values[1:] != values[:-1]) & ~np.isnan(values[1:] + values[:-1])
    return differs


def _is_sorted(values: FloatArray) -> bool:
    steps = np.diff(values[~np.isnan(values)])
    return bool((steps >= 0).all() or (steps <= 0).all())


def column_order(values: FloatArray, tests: int = 1) -> tuple[int, float, float] | None:
    """Lag, autocorrelation there and factor of the variance; None if rows in random order could have them."""
    present, n = ~np.isnan(values), len(values)
    x = standard_ranks(values)
    if x is None or _is_sorted(values):
        return None
    lags = np.arange(1, min(n // 2, _MOST_LAGS) + 1)
    products, pairs = _at_lags(x, len(lags)), np.maximum(_at_lags(present * 1.0, len(lags)).round(), 1.0)
    largest = float(np.square(x).max())
    shape = pairs / largest**2
    at_lags = 4 * lags * (lags + 1) * gammainc(shape + np.abs(products) / largest, shape)
    ordinates = np.square(np.abs(rfft(x)))[1 : (n + 1) // 2] / present.sum()
    cycles = int(ordinates.argmax()) + 1
    of_period = 2 * len(ordinates) * np.exp(-ordinates[cycles - 1])
    if min(at_lags.min(), of_period) * tests > LEVEL:
        return None
    r = products / pairs
    # The expected square of an estimate of 0 is the factor over the number of pairs (Bartlett): solve for it.
    factor = (1.0 + 2.0 * float(pairs @ r**2) / n) / (1.0 + 2.0 * len(lags) / n)
    if factor < STRONG:
        return None
    lag = int(at_lags.argmin()) + 1
    first, last = int(n / (cycles + 0.5)), int(n / (cycles - 0.5)) + 1  # lags of nearly this period
    if of_period < at_lags[lag - 1] and last <= len(lags):
        lag = max(first, 1) + int(r[max(first, 1) - 1 : last].argmax())
    return lag, float(r[lag - 1]), factor


def standard_ranks(values: FloatArray) -> FloatArray | None:
    """Ranks with mean 0 and variance 1, 0 where missing; None if all values are equal."""
    present = ~np.isnan(values)
    ranks = np.zeros(len(values))
    if present.any():
        ranks[present] = rankdata(values[present]) - (present.sum() + 1) / 2
    variance = float(ranks @ ranks) / max(int(present.sum()), 1)
    return ranks / np.sqrt(variance) if variance else None


def _at_lags(x: FloatArray, lags: int) -> FloatArray:
    """(lags,) the sums of the products of values 1, 2, ... rows apart."""
    size = next_fast_len(len(x) + lags, real=True)
    sums: FloatArray = irfft(np.square(np.abs(rfft(x, size))), size)[1 : lags + 1]
    return sums


def dependent_rows_text(found: RowOrder, *, in_groups: bool) -> str:
    """A warning about rows, or groups of rows, that depend on each other."""
    names = sorted(found.names, key=lambda name: name != found.strongest)
    strongest = f"in {found.strongest!r}, "
    listed = ", ".join(repr(name) for name in names[:_SHOWN]) + (", ..." if len(names) > _SHOWN else "")
    what = "groups depend on earlier groups" if in_groups else "rows depend on earlier rows"
    where = f"{len(names)} columns ({listed}) {what}: {strongest}" if len(names) > 1 else f"column {listed} "
    where = f"In {where}" if found.by is None else f"In the order of {found.by!r}, in {where}"
    verb = "resembles" if found.correlation > 0 else "is unlike"
    unit = "groups" if in_groups else "rows"
    before = "before it" if found.lag == 1 else f"{found.lag} {unit} before it"
    observed, condition, remedy = (
        f"a row {verb} the row {before}",
        "rows follow each other in time, or several belong to the same subject",
        "name the rows that belong together",
    )
    if in_groups:
        observed = f"the first row of a group {verb} that of the group {before}"
        condition = "groups follow each other in time, or several belong together"
        remedy = "name larger groups"
    harm = "overstate the evidence and edges may be false" if len(names) > 1 else "may overstate the evidence"
    return (
        f"{where}{observed} (autocorrelation {found.correlation:.2f}). If {condition}, tests {harm}: "
        f"{remedy} (groups= or --groups), or use differences over time."
        f"{' If the table is merely sorted, ignore this.' if found.by is None else ''}"
    )
