r"""Columns that number or name subjects with several rows each, in any order.

Rows of one subject resemble each other, which tests mistake for evidence (`dcd.table.row_groups`). A column
names subjects, and does not measure something, if rows with the same value are alike but neighbouring values
are not: the means :math:`m_g` of another column, in the order of the values, have the variance

.. math:: \tau^2 = \frac{1}{2} \overline{(m_{g+1} - m_g)^2 - s^2 (1 / n_g + 1 / n_{g+1})}

about a smooth function of the value, where :math:`s^2` is the variance within values. It is nearly the whole
variance between values for subject numbers, and nearly 0 for ages. The squares have an F distribution, if
their correlation with the next is allowed for. Where the name of the column says what it is, the variance
between values counts, smooth or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import fdtrc

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.memory import BLOCK_ROWS
from dcd.runtime.text import words_of
from dcd.table.columns import FEW_VALUES, TableColumn
from dcd.table.row_order import LEVEL, STRONG, scores, standard_ranks

_ROUGH = 0.6  # share of the variance between values that is not smooth; 1 for subjects, on average
_STEPS = 2.2  # a sum over the root of its squares; 1 if it comes from a single step between values
_SHOWN = 3
_MOST_ROWS, _SOME_VALUES = 10_000, 200
_MOST_COLUMNS = 30  # that may name subjects, and as many that they are compared with
_ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by it mixes the bits of a number
_SUBJECTS = frozenset(
    [
        *("id", "ids", "identifier", "person", "individual", "subject", "participant", "respondent", "user"),
        *("patient", "customer", "student", "household", "family", "school", "hospital"),
    ]
)


@dataclass(frozen=True)
class Subjects:
    """A column that names subjects, the columns in which rows of a subject are alike, and how alike."""

    name: str
    n_subjects: int
    alike: tuple[str, ...]
    correlation: float  # the largest intraclass correlation
    said: bool  # whether its name says so


def subject_columns(columns: Sequence[TableColumn]) -> list[Subjects]:
    """Columns whose names say that they name subjects with several rows; else the most likely such column."""
    candidates = [c for c in columns if _may_name_subjects(c)]
    candidates = sorted(candidates, key=lambda c: not _is_said(c))[:_MOST_COLUMNS]
    tests = len(candidates) * min(len(columns), _MOST_COLUMNS)
    found = []
    for candidate in candidates:
        others = [c for c in columns if c is not candidate][:_MOST_COLUMNS]
        said, rows = _is_said(candidate), _rows_to_compare(candidate)
        rows = rows if said else _without_copies(columns, rows)
        order, starts = _by_value(candidate.values[rows])
        r = {c.name: _correlation(scores(c, rows[order]), starts, tests, said) for c in others}
        alike = tuple(name for name in r if r[name])
        if alike:
            found.append(Subjects(candidate.name, candidate.n_distinct, alike, max(r.values()), said))
    found.sort(key=lambda subjects: (len(subjects.alike), subjects.correlation), reverse=True)
    return [subjects for subjects in found if subjects.said] or found[:1]


def _is_said(column: TableColumn) -> bool:
    return bool(_SUBJECTS & set(words_of(column.name)[-1:]))


def _may_name_subjects(column: TableColumn) -> bool:
    """Whole numbers, or categories if their name says so, with at least two rows each on average."""
    if column.n_missing or column.n_infinite or column.source == "ordered categories":
        return False
    if not FEW_VALUES < column.n_distinct <= len(column.values) / 2:
        return False
    return _is_said(column) if column.levels else column.source == "numbers" and column.is_whole


def _rows_to_compare(column: TableColumn) -> Positions:
    """All rows of a small table; of a large one, the first rows of some values from all over the table."""
    values, n_rows = column.values, len(column.values)
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    some = np.unique(values[np.linspace(0, n_rows - 1, _SOME_VALUES).astype(np.intp)])
    rows: Positions = np.zeros(0, dtype=np.intp)
    for start in range(0, n_rows, BLOCK_ROWS):
        chosen = np.flatnonzero(np.isin(values[start : start + BLOCK_ROWS], some)) + start
        rows = np.concatenate([rows, chosen])
        if len(rows) >= _MOST_ROWS:
            break
    return rows[:_MOST_ROWS]


def _without_copies(columns: Sequence[TableColumn], rows: Positions) -> Positions:
    """The rows without those equal to an earlier one, which may come from a count."""
    digests = np.zeros(len(rows), dtype=np.uint64)
    for column in columns:  # one by one: the table may be large
        cells = np.asarray(column.values[rows]) + 0.0  # -0.0 is 0.0
        digests = (digests ^ cells.view(np.uint64)) * _ODD
        digests ^= digests >> np.uint64(29)
    return rows[np.sort(np.unique(digests, return_index=True)[1])]


def _by_value(values: FloatArray) -> tuple[Positions, Positions]:
    """The order of rows by value, and where each value begins in it."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return order, np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))


def _correlation(values: FloatArray, starts: Positions, tests: int, smooth_too: bool) -> float:
    """The intraclass correlation; 0 if it could be chance, does no harm, or belongs to a measurement."""
    x = standard_ranks(values)
    if x is None:
        return 0.0
    sizes = np.add.reduceat(~np.isnan(values), starts, dtype=np.float64)
    several = sizes > 1
    sums, squares = np.add.reduceat(x, starts)[several], np.add.reduceat(x * x, starts)[several]
    sizes = sizes[several]
    n, n_values, means = sizes.sum(), len(sizes), sums / sizes
    if n_values <= FEW_VALUES:
        return 0.0
    free = n - n_values
    of_values = np.maximum(squares - sums * means, 0.0)  # not the same for all values
    within, noise = max(of_values.sum() / free, 1e-9), of_values / (sizes - 1) / sizes
    between = float(np.var(means, ddof=1) - noise.mean())
    if smooth_too:
        excess = np.square(means - means.mean()) - noise
        rough, degrees, ratio = between, n_values - 1.0, float(sums @ means) / (n_values - 1) / within
    else:
        steps = np.square(np.diff(means))
        excess = steps - noise[1:] - noise[:-1]
        rough, degrees = float(excess.mean()) / 2, 2 * (n_values - 1) / 3
        ratio = float((steps / (1 / sizes[1:] + 1 / sizes[:-1])).mean() / within)
    few = excess.sum() < _STEPS * np.sqrt(np.square(excess).sum())
    chance = fdtrc(degrees, free, ratio) * tests > LEVEL
    correlation = rough / (rough + within) if rough > 0 else 0.0
    factor = 1.0 + (float(np.square(sizes).sum()) / n - 1.0) * correlation**2
    return 0.0 if few or chance or factor < STRONG or rough < _ROUGH * between else correlation


def subjects_text(found: Subjects) -> str:
    """A warning about rows that belong to the same subject."""
    names = [repr(name) for name in found.alike[:_SHOWN]]
    listed = ", ".join(names) + (", ..." if len(found.alike) > _SHOWN else "")
    why = "" if found.said else ", but rows with neighbouring values do not"
    other = "" if found.said else " If its numbers are codes of categories, declare it nominal."
    return (
        f"Column {found.name!r} looks as if it names {found.n_subjects} subjects with several rows each: "
        f"rows with the same value resemble each other in {listed} (intraclass correlation up to "
        f"{found.correlation:.2f}){why}. Tests would treat these rows as independent and overstate the "
        f"evidence: pass the column as groups (groups= or --groups).{other}"
    )
