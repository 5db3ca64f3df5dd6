"""What decoupling does around each target: weights, how much of the sample they keep, what they change."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.estimators.dcd import DCD
from dcd.independence.pvalues import IndependenceTest
from dcd.results.model import Member, View
from dcd.results.strength import measure_for, strength
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError
from dcd.runtime.rows import effective_sample_size
from dcd.table.columns import Column, Kind
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table
from dcd.weights.base import weights_of_table
from dcd.weights.convex import ConvexWeights
from dcd.weights.hsic_descent import decoupling_weights

_BINS = 24
Rows = npt.NDArray[np.intp]
_WEIGHT_OPTIONS = ("learning_rate", "max_steps", "min_ess", "tolerance", "init_scale")


@dataclass(frozen=True)
class Table:
    """What the views need of a fitted model and its table."""

    model: Any
    columns: Mapping[str, Column]
    kinds: Mapping[str, Kind]
    base: FloatArray
    pvalues: Mapping[tuple[str, str], float] = field(default_factory=dict)

    def complete(self, names: Sequence[str]) -> Rows:
        """Positions of the rows with weight in which none of the columns is missing."""
        kept = self.base > 0
        for name in names:
            kept &= ~np.isnan(self.columns[name].values)
        return np.flatnonzero(kept)

    def frame(self, names: Sequence[str], rows: Rows) -> pd.DataFrame:
        """Some columns and rows, as numbers."""
        return pd.DataFrame({name: self.columns[name].values[rows] for name in names})


def decoupled_around(table: Table, target: str) -> tuple[str, ...]:
    """The variables that are decoupled to look at one target.

    The members of its boundary, or for `DCD` all other variables, as the method itself does.
    """
    if isinstance(table.model, DCD):
        return tuple(name for name in table.columns if name != target)
    return tuple(table.model.markov_boundaries_[target])


def look_at(table: Table, target: str) -> tuple[View | None, FloatArray]:
    """The view of one target, and its weights for all rows of the table (NaN where a row has none)."""
    names = decoupled_around(table, target)
    weights = np.full(len(table.base), np.nan)
    if not names:
        return None, weights
    rows = table.complete([target, *names])
    try:
        learned, before, after, status = _learn(table, names, rows)
    except InputError:  # what is left of the table after rows with missing values does not do
        return None, weights
    weights[rows] = learned
    counts, bins = np.histogram(weights[rows], bins=_BINS, range=(0.0, max(float(weights[rows].max()), 2.0)))
    view = View(
        decoupled=names,
        n_rows=len(rows),
        ess=_rounded(effective_sample_size(weights[rows])),
        status=status,
        dependence_before=_rounded(before),
        dependence=_rounded(after),
        bins=tuple(_rounded(limit) for limit in bins),
        counts=tuple(int(count) for count in counts),
    )
    return view, weights


def _learn(table: Table, names: Sequence[str], rows: Rows) -> tuple[FloatArray, float, float, str]:
    """Weights, dependence before and after, status."""
    if len(names) < 2:
        return table.base[rows] / table.base[rows].mean(), 0.0, 0.0, "nothing_to_decouple"
    reading: dict[str, Any] = {"kinds": {name: table.kinds[name] for name in names}}
    if np.ptp(table.base) > 0:
        reading["sample_weight"] = table.base[rows]
    frame = table.frame(names, rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the account has the same in words
        if isinstance(table.model, DCD):
            options = {name: getattr(table.model, name) for name in _WEIGHT_OPTIONS}
            learned: Any = decoupling_weights(frame, **options, **reading, random_state=0)
        else:
            strategy = getattr(table.model.test, "weights", None) or ConvexWeights()
            weights = reading.pop("sample_weight", None)
            read = read_table(frame, options=TableOptions(**reading), sample_weight=weights)
            learned = weights_of_table(strategy, read)
    return learned.weights, learned.dependence_before, learned.dependence, learned.status


def members_of(table: Table, target: str, weights: FloatArray) -> tuple[Member, ...]:
    """The boundary of one target with roles, p-values, and associations under equal and these weights."""
    boundary = table.model.markov_boundaries_[target]
    return tuple(_member(table, target, name, role, weights) for name, role in boundary.items())


def _member(table: Table, target: str, name: str, role: Any, weights: FloatArray) -> Member:
    nominal = (table.kinds[name] == "nominal", table.kinds[target] == "nominal")
    rows = table.complete([target, name])
    weighted = rows[~np.isnan(weights[rows])]
    return Member(
        name=name,
        role=role,
        pvalue=table.pvalues.get((target, name)),
        measure=measure_for(nominal),
        before=_strength(table, (name, target), rows, table.base[rows], nominal),
        after=_strength(table, (name, target), weighted, weights[weighted], nominal),
    )


def _strength(
    table: Table, pair: tuple[str, str], rows: Rows, weights: FloatArray, nominal: tuple[bool, bool]
) -> float | None:
    if len(rows) < 3 or not weights.sum() > 0:
        return None
    x, y = (table.columns[name].values[rows] for name in pair)
    return _rounded(strength(x, y, weights, nominal))


def boundary_pvalues(table: Table) -> dict[tuple[str, str], float]:
    """`{(target, member): p-value}` of all members of all boundaries, as far as it can be told."""
    found = {
        (search.target, name): float(pvalue)
        for search in table.model.diagnostics_.searches
        for name, pvalue in search.neighbours.items()
    }
    wanted = {
        (target, name) for target, members in table.model.markov_boundaries_.items() for name in members
    } - found.keys()
    if wanted:
        found |= _decoupled_pvalues(table, wanted) if isinstance(table.model, DCD) else _tested(table, wanted)
    return found


def _decoupled_pvalues(table: Table, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Of `DCD`: with all other variables decoupled."""
    diagnostics = table.model.diagnostics_
    order = [search.target for search in diagnostics.searches]
    behind = dict(zip(order, diagnostics.sets, strict=False))
    return {
        (target, name): float(
            behind[target].pvalues[behind[target].variables.index(name), order.index(target)]
        )
        for target, name in wanted
    }


def _tested(table: Table, wanted: set[tuple[str, str]]) -> dict[tuple[str, str], float]:
    """Of `RobustDCD`: given the other members of the boundary."""
    names = tuple(table.columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        test = IndependenceTest(
            table.frame(names, np.arange(len(table.base))),
            test=table.model.test,
            kinds=dict(table.kinds),
            missing=table.model.table_.missing,
            sample_weight=table.base,
        )
    found = {
        (target, name): test(
            target, name, [other for other in table.model.markov_boundaries_[target] if other != name]
        )
        for target, name in sorted(wanted)
    }
    return {pair: pvalue for pair, pvalue in found.items() if not np.isnan(pvalue)}


def _rounded(number: float) -> float:
    return float(f"{number:.6g}")
