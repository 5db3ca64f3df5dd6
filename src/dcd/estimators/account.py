"""The part of its table that a fit keeps for `dcd.summarise`: some rows, and the strengths of relations."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from dcd.estimators.strength import MEASURES, strength
from dcd.runtime.array_types import FloatArray, Positions
from dcd.search.base import TargetSearch
from dcd.table.dataset import Dataset
from dcd.table.fingerprint import fingerprint

SHOWN_ROWS = 300
_SEED = 853
_MOST_ROWS = 8_000  # used for a strength: enough for a standard error of .01


@dataclass(frozen=True)
class Strength:
    """How strongly a member of a boundary is associated with its target.

    Attributes
    ----------
    measure : the meaning of `before` and `after`, by the kinds of the two variables.
    before : under equal weights, or those passed by the user; None if too few rows have both values.
    after : under the weights that decouple the variables around the target; None if there are none.
    """

    measure: str
    before: float | None
    after: float | None


@dataclass(frozen=True)
class Account:
    """The part of its table that a fit keeps.

    Attributes
    ----------
    fingerprint : of the table, see `dcd.results.fingerprint`.
    rows : positions of up to 300 of the rows used, chosen by a fixed seed, in increasing order.
    values : of each variable in these rows; positions of categories for columns that have some.
    strengths : of each `(target, member)` of the Markov boundaries.
    """

    fingerprint: str
    rows: Positions = field(repr=False)
    values: dict[str, FloatArray] = field(repr=False)
    strengths: dict[tuple[str, str], Strength] = field(repr=False)


def with_shown_rows(dataset: Dataset) -> Dataset:
    """The dataset with its `shown` rows chosen: those that the account keeps."""
    chosen = np.random.default_rng(_SEED).permutation(len(dataset.rows))[:SHOWN_ROWS]
    return replace(dataset, shown=np.sort(dataset.rows[chosen]))


def keep_account(
    table: Any,
    dataset: Dataset,
    searches: Iterable[TargetSearch],
    boundaries: Mapping[str, Iterable[str]],
) -> Account:
    """The account of a fit, from the table as the user passed it and the dataset as the fit read it."""
    weights = {search.target: None if search.weights is None else search.weights.shown for search in searches}
    shown = dataset.shown_positions
    strengths = {
        (target, member): _strength(dataset, (member, target), shown, weights[target])
        for target, members in boundaries.items()
        for member in members
    }
    return Account(
        fingerprint=fingerprint(table),
        rows=dataset.shown,
        values={name: dataset.values[shown, place] for place, name in enumerate(dataset.names)},
        strengths=strengths,
    )


def _strength(
    dataset: Dataset, pair: tuple[str, str], shown: Positions, weights: FloatArray | None
) -> Strength:
    """`before` comes from the data; `after` adds the change due to the weights among the shown rows."""
    places = [dataset.names.index(name) for name in pair]
    nominal = (dataset.kinds[places[0]] == "nominal", dataset.kinds[places[1]] == "nominal")
    every = slice(None, None, -(-len(dataset.values) // _MOST_ROWS))
    base = np.ones(len(dataset.values)) if dataset.weights is None else dataset.weights
    before = _measured(dataset.values[every, places], base[every], nominal)
    after = None
    if weights is not None and before is not None:
        values, has_weight = dataset.values[shown][:, places], ~np.isnan(weights)
        unweighted = _measured(values[has_weight], base[shown][has_weight], nominal)
        weighted = _measured(values[has_weight], weights[has_weight], nominal)
        if unweighted is not None and weighted is not None:
            lowest = 0.0 if any(nominal) else -1.0
            after = float(np.clip(before + weighted - unweighted, lowest, 1.0))
    return Strength(MEASURES[sum(nominal)], before, after)


def _measured(values: FloatArray, weights: FloatArray, nominal: tuple[bool, bool]) -> float | None:
    complete = ~np.isnan(values).any(axis=1)
    if complete.sum() < 3 or not weights[complete].sum() > 0:
        return None
    return strength(values[complete, 0], values[complete, 1], weights[complete], nominal)
