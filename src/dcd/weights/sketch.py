"""Weights in bounded memory: what the account of a fit shows of them, whatever the number of rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dcd.runtime.array_types import FloatArray, Positions

_N_BINS = 24
_SHORTEST_AXIS = 2.0  # so that equal weights, all 1, stand in the middle


class Decoupling(Protocol):
    """How far a set of variables was decoupled."""

    @property
    def ess(self) -> float:
        """Effective sample size under the weights."""

    @property
    def status(self) -> str:
        """Why learning ended."""

    @property
    def dependence_before(self) -> float:
        """Dependence under equal weights, in units of what chance leaves."""

    @property
    def dependence(self) -> float:
        """The same under the learned weights."""


class LearnedWeights(Decoupling, Protocol):
    """The same with the weights of the rows; see `SampleWeights`."""

    @property
    def weights(self) -> FloatArray:
        """(n,) weights."""


@dataclass(frozen=True, eq=False)
class WeightSketch:
    """What is kept of the weights that decouple one set.

    Attributes
    ----------
    n_rows : rows that have weights.
    ess : effective sample size.
    status : why learning ended.
    dependence_before, dependence : of the set, in units of what chance leaves.
    bins, counts : histogram of the weights; `bins` are the limits, one more than counts.
    shown : weights of the rows that are shown (`Dataset.shown`), NaN where a row has none.
    """

    n_rows: int
    ess: float
    status: str
    dependence_before: float
    dependence: float
    bins: FloatArray = field(repr=False)
    counts: tuple[int, ...] = field(repr=False)
    shown: FloatArray = field(repr=False)


def sketch_weights(learned: LearnedWeights, shown: Positions) -> WeightSketch:
    """The sketch of learned weights; `shown` are positions among their rows, -1 for rows they do not have."""
    weights = learned.weights
    longest = max(float(weights.max()), _SHORTEST_AXIS)
    counts, bins = np.histogram(weights, bins=_N_BINS, range=(0.0, longest))
    return WeightSketch(
        n_rows=len(weights),
        ess=learned.ess,
        status=learned.status,
        dependence_before=learned.dependence_before,
        dependence=learned.dependence,
        bins=bins,
        counts=tuple(counts.tolist()),
        shown=np.where(shown >= 0, weights[shown], np.nan),
    )
