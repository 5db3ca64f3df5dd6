r"""Calibration: from the shares of sampled graphs to probabilities.

Sampled graphs agree with each other more often than they are right: they share the errors of the model, and
one edge that all of them miss reverses others; in dense graphs many are missed. Two steps correct for this; x
are properties of the table (`properties_of`).

**Edges.** With j the share of sampled graphs that join a pair, the log odds of an edge are

.. math:: e^{a \cdot x} \log \frac{j}{1 - j + \epsilon} + b \cdot x ,

so an edge is certain only if knowledge requires it. Below j = 0.1, where nothing was fitted, the probability
is proportional to j, and a pair that no sampled graph joins stays apart.

**Directions.** The shares s of the two directions and of no direction, among the graphs that join a pair,
become

.. math:: s'_t \propto (s_t + \delta)^\beta e^{u_t} , \qquad \beta = 1 / (1 + e^{-c \cdot x}) ,

where :math:`\delta` is larger for arrows that tests do not confirm (`arrow_tests`), and :math:`u = v \cdot x`
for undirected edges and 0 for arrows.

The constants maximise the likelihood of the true types in simulated tables, in which wrong directions count
one and a half times, for caution; `benchmarks.fit_calibration` computes them.

**The choice of the graph** does not depend on them: it takes edges as sampled, and directions with constants
of its own, so that a new calibration changes what is told of a graph and not the graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from dcd.graph.probabilities import ABSENT, UNDIRECTED
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.search.family_score import ScoreModel


class Traits(NamedTuple):
    """The properties of a table that determine how reliable its sampled graphs are.

    Attributes
    ----------
    shared : how many neighbours two variables would share if edges were spread evenly over the pairs.
    log_samples : log of the number of samples over 800, as the score counts them.
    linear : share of the variables whose relations to their parents are all linear.
    counted : share of the variables that are categories.
    """

    shared: float
    log_samples: float
    linear: float
    counted: float


class Constants(NamedTuple):
    """The constants that `benchmarks.fit_calibration` fits; tuples are coefficients of properties.

    Attributes
    ----------
    slope, shift : a and b, for edges.
    least_absence : epsilon, the least weight of no edge.
    temper : c, for directions.
    undirected : v, in favour of undirected edges.
    least_share, unconfirmed_share : delta if tests confirm the arrow, and if not.
    """

    slope: tuple[float, ...]
    shift: tuple[float, ...]
    least_absence: float
    temper: tuple[float, ...]
    undirected: tuple[float, ...]
    least_share: float
    unconfirmed_share: float


CONSTANTS = Constants(
    slope=(-0.13, 0.0, 0.0, 0.32, -0.7, -0.23, -0.39, 0.0),
    shift=(-0.92, 0.0, 0.0, 3.19, 2.33, -0.96, -0.41, 0.0),
    least_absence=0.00042,
    temper=(2.37, -0.47, 0.62, -0.36, -1.54, 0.86, -0.74, -1.55),
    undirected=(0.06, -0.13, 0.11, -0.4, 0.28, 0.25, 0.33, -0.07),
    least_share=0.0016,
    unconfirmed_share=0.024,
)
_LEAST_FITTED = 0.1  # the smallest share of sampled graphs for which edges were calibrated
# The range of traits in the tables to which the constants were fitted; values beyond it count as its ends.
_LEAST_TRAITS, _MOST_TRAITS = Traits(0.0, -1.0, 0.0, 0.0), Traits(5.0, 1.9, 1.0, 1.0)
# For the choice of the graph; fitted without caution to tables of seeds 1,700,000 and up.
_CHOICE = CONSTANTS._replace(
    temper=(3.98, -0.9, 0.43, -2.18, -3.27, 0.0, 0.0, 0.0),
    undirected=(-0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    least_share=0.0014,
)


def traits_of(sampled: FloatArray, model: ScoreModel) -> Traits:
    """The traits of a table, from the frequencies (4, d, d) of types in its sampled graphs."""
    counted = model.n_levels > 0
    curved = model.may_curve | (model.may_cross > 0)
    joined = float((1.0 - sampled[ABSENT])[np.triu_indices(len(counted), k=1)].mean())
    shared = (len(counted) - 2) * joined**2
    linear = float((~curved & ~counted).mean())
    return Traits(
        shared=shared,
        log_samples=float(np.log(model.n_samples / 800.0)),
        linear=linear,
        counted=float(counted.mean()),
    )


def calibrated(
    sampled: FloatArray, traits: Traits, settled: BoolArray, required: BoolArray, confirmed: BoolArray
) -> FloatArray:
    """Probabilities of types from their frequencies (4, d, d).

    Directions of `settled` pairs and edges between `required` pairs (d, d) stay as sampled; `confirmed`
    (d, d) are the pairs whose more frequent direction tests confirm.
    """
    joined, shares = _joined_and_shares(sampled)
    shares = np.where(settled, shares, direction_shares(shares, traits, confirmed))
    edge = np.where(required, joined, edge_probability(joined, traits))
    absent = np.where(required, sampled[ABSENT], 1.0 - edge)
    types = np.concatenate([shares * edge, [absent]])
    types[:, joined == 0.0] = sampled[:, joined == 0.0]
    return types


def types_for_choice(sampled: FloatArray, traits: Traits, settled: BoolArray) -> FloatArray:
    """The shares of types (4, d, d) for the choice of the graph: edges as sampled, directions less sure."""
    joined, shares = _joined_and_shares(sampled)
    # As if tests confirmed every arrow: they need the graph.
    tempered = _tempered(shares, _properties(np.array(traits)), np.asarray(_CHOICE.least_share), _CHOICE)
    return np.concatenate([np.where(settled, shares, tempered) * joined, sampled[ABSENT:]])


def edge_probability(
    joined: FloatArray, traits: Traits | FloatArray, constants: Constants = CONSTANTS
) -> FloatArray:
    """The probability of an edge by the share of sampled graphs that have it; `traits` are (4,) or (n, 4)."""
    properties = properties_of(traits)
    share = np.clip(joined, _LEAST_FITTED, 1.0)
    log_odds = np.log(share) - np.log(1.0 - share + constants.least_absence)
    log_odds = np.exp(properties @ constants.slope) * log_odds + properties @ constants.shift
    return np.asarray(expit(log_odds) * np.minimum(joined / _LEAST_FITTED, 1.0))


def direction_shares(
    shares: FloatArray, traits: Traits | FloatArray, confirmed: BoolArray, constants: Constants = CONSTANTS
) -> FloatArray:
    """The shares (3, ...) of the two directions and of none; `traits` are (4,) or (n, 4) for n pairs."""
    least = np.where(confirmed, constants.least_share, constants.unconfirmed_share)
    return _tempered(shares, properties_of(traits), least, constants)


def properties_of(traits: Traits | FloatArray) -> FloatArray:
    """The properties (8,) or (n, 8) of tables with given traits, within the range of the fit.

    They are the constant 1, the traits, a number that is 1 if half of the variables are categories and 0 if
    all or none are, and the products of `shared` with `linear` and with `counted`.
    """
    return _properties(np.clip(np.asarray(traits, dtype=np.float64), _LEAST_TRAITS, _MOST_TRAITS))


def _properties(traits: FloatArray) -> FloatArray:
    shared, _, linear, counted = np.moveaxis(traits, -1, 0)
    derived = [4.0 * counted * (1.0 - counted), shared * linear, shared * counted]
    return np.concatenate([np.ones_like(traits[..., :1]), traits, np.stack(derived, axis=-1)], axis=-1)


def _joined_and_shares(sampled: FloatArray) -> tuple[FloatArray, FloatArray]:
    """How often pairs are joined (d, d), and the shares (3, d, d) of directions and of none if they are."""
    joined = sampled[:ABSENT].sum(axis=0)
    return joined, sampled[:ABSENT] / np.where(joined > 0.0, joined, 1.0)


def _tempered(
    shares: FloatArray, properties: FloatArray, least: FloatArray, constants: Constants
) -> FloatArray:
    tempered = (shares + least) ** expit(properties @ constants.temper)
    tempered[UNDIRECTED] *= np.exp(properties @ constants.undirected)
    return np.asarray(tempered / tempered.sum(axis=0))
