r"""Calibration: from the shares of sampled graphs to probabilities.

Sampled graphs agree with each other more often than they are right: they share the errors of the model, and
one edge that all of them miss can reverse others; in dense graphs many are missed. Two steps correct for
this; x denotes properties of the table (`properties_of`).

**Edges.** With j the share of sampled graphs that join a pair, the log odds of an edge are

.. math:: e^{a \cdot x} \log \frac{j}{1 - j + \epsilon} + b \cdot x ,

so an edge is certain only if knowledge requires it. If j is at most 0.1, the log odds are instead (first for
pairs that no test separates, then for those that a test separates)

.. math:: f \cdot y + f_0 \log \frac{j + 0.01}{0.01} \qquad\text{and}\qquad g \cdot y'

with y and y' the density of the sampled graphs and other properties (`unlikely_edges`). A missed edge is more
probable in dense graphs and with few rows, and no pair is certain to have no edge unless knowledge forbids
it.

**Directions.** The shares s of the two directions and of no direction, among the graphs that join a pair,
become

.. math:: s'_t \propto (s_t + \delta)^\beta e^{u_t} , \qquad \beta = 1 / (1 + e^{-c \cdot x}) ,

where :math:`u = v \cdot x` for undirected edges, a constant for the more frequent direction if tests confirm
it (`arrow_tests`), and 0 otherwise.

The constants maximise the likelihood of the true types in simulated tables, in which wrong edges and
directions count one and a half times, for caution; `benchmarks.fit_calibration` computes them.

**The choice of the graph** does not depend on them: it takes edges as sampled, and directions with constants
of its own, so that a new calibration changes the probabilities reported for a graph, not the graph.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit

from dcd.graph.probabilities import ABSENT, BACKWARD, FORWARD, UNDIRECTED
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
    undirected : v, for undirected edges.
    least_share : delta, the least share of a direction.
    confirmed : u for an arrow that tests confirm.
    """

    slope: tuple[float, ...]
    shift: tuple[float, ...]
    least_absence: float
    temper: tuple[float, ...]
    undirected: tuple[float, ...]
    least_share: float
    confirmed: float


class RareConstants(NamedTuple):
    """The constants that `benchmarks.unlikely_pairs` fits.

    Attributes
    ----------
    rare : f_0 and f, for pairs that few sampled graphs join.
    separated : g, for pairs that a test separates.
    """

    rare: tuple[float, ...]
    separated: tuple[float, ...]


CONSTANTS = Constants(
    slope=(-0.21, 0.0, 0.0, 0.59, -0.8, -0.26, -0.68, 0.0),
    shift=(-1.15, 0.0, 0.0, 3.64, 1.91, -0.77, -0.58, 0.0),
    least_absence=0.00016,
    temper=(1.48, -0.31, 0.53, -0.13, -1.05, 0.84, -0.86, -1.79),
    undirected=(0.38, -0.34, 0.03, -1.01, -0.37, 0.24, 0.79, 0.3),
    least_share=0.0051,
    confirmed=1.14,
)
RARE_CONSTANTS = RareConstants(
    rare=(0.54, -3.18, 0.96, -0.69, 0.85, 1.09, 2.41, -0.35, -1.0), separated=(-0.38, 0.21, -1.26)
)
RARE = 0.1  # share of sampled graphs up to which an edge counts as rare
_RARE_SCALE = 0.01  # shares far below it differ by chance
_LEAST_DENSITY, _MOST_DENSITY = 0.02, 0.9
_PSEUDO_SHARE = 0.02  # of directions about which rare edges say nothing
# The range of traits in the tables to which the constants were fitted; values beyond it count as its ends.
# Few of these tables share more than three neighbours.
_LEAST_TRAITS, _MOST_TRAITS = Traits(0.0, -1.0, 0.0, 0.0), Traits(3.0, 1.9, 1.0, 1.0)
# For the choice of the graph; fitted without caution to tables of seeds 1,700,000 and up.
_CHOICE = CONSTANTS._replace(
    temper=(3.98, -0.9, 0.43, -2.18, -3.27, 0.0, 0.0, 0.0),
    undirected=(-0.3, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    least_share=0.0014,
    confirmed=0.0,
)


def traits_of(sampled: FloatArray, model: ScoreModel) -> Traits:
    """The traits of a table, from the frequencies (4, d, d) of types in its sampled graphs."""
    counted = model.n_levels > 0
    curved = model.may_curve | (model.may_cross > 0)
    shared = (len(counted) - 2) * _density(sampled) ** 2
    linear = float((~curved & ~counted).mean())
    return Traits(
        shared=shared,
        log_samples=float(np.log(model.n_samples / 800.0)),
        linear=linear,
        counted=float(counted.mean()),
    )


class Pairs(NamedTuple):
    """What is known of the pairs of a table, (d, d) each.

    Attributes
    ----------
    settled : directions that stay as sampled.
    required : edges that knowledge requires.
    allowed : arrows `[cause, effect]` that knowledge allows.
    confirmed : pairs whose more frequent direction tests confirm.
    separated : pairs that a test separates; it counts if at most `RARE` of the sampled graphs join them.
    """

    settled: BoolArray
    required: BoolArray
    allowed: BoolArray
    confirmed: BoolArray
    separated: BoolArray


def calibrated(sampled: FloatArray, traits: Traits, pairs: Pairs) -> FloatArray:
    """Probabilities of types from their frequencies (4, d, d)."""
    joined, shares = _joined_and_shares(sampled)
    shares = np.where(pairs.settled, shares, direction_shares(shares, traits, pairs.confirmed))
    edge = np.where(pairs.required, joined, edge_probability(joined, traits))
    rare = (joined <= RARE) & ~pairs.required
    density = np.full_like(joined, _density(sampled))
    edge[rare] = unlikely_edges(joined, pairs.separated, density, traits)[rare]
    shares[:, rare] = _shares_of_rare(sampled, pairs)[:, rare]
    edge[rare & ~(pairs.allowed | pairs.allowed.T)] = 0.0
    np.fill_diagonal(edge, 0.0)
    absent = np.where(pairs.required, sampled[ABSENT], 1.0 - edge)
    return np.concatenate([shares * edge, [absent]])


def _density(sampled: FloatArray) -> float:
    """The share of pairs that a sampled graph joins."""
    pairs = np.triu_indices(sampled.shape[1], k=1)
    return float((1.0 - sampled[ABSENT])[pairs].mean())


def _shares_of_rare(sampled: FloatArray, pairs: Pairs) -> FloatArray:
    """The shares (3, d, d) of directions and of none, more equal for edges that fewer graphs have.

    What is settled without knowledge has no direction.
    """
    either = pairs.allowed & pairs.allowed.T
    arrows = pairs.allowed & ~(pairs.settled & either)
    possible = np.stack([arrows, arrows.T, either])
    shares = sampled[:ABSENT] + _PSEUDO_SHARE * possible / np.maximum(possible.sum(axis=0), 1)
    total = shares.sum(axis=0)
    return shares / np.where(total > 0.0, total, 1.0)


def types_for_choice(sampled: FloatArray, traits: Traits, settled: BoolArray) -> FloatArray:
    """The shares of types (4, d, d) for the choice of the graph: edges as sampled, directions less sure."""
    joined, shares = _joined_and_shares(sampled)
    # Tests of arrows need the graph, so they do not count here.
    tempered = _tempered(shares, _properties(np.array(traits)), np.zeros(joined.shape), _CHOICE)
    return np.concatenate([np.where(settled, shares, tempered) * joined, sampled[ABSENT:]])


def edge_probability(
    joined: FloatArray, traits: Traits | FloatArray, constants: Constants = CONSTANTS
) -> FloatArray:
    """The probability of an edge by the share of sampled graphs that have it, from `RARE` on.

    `traits` are (4,), or (n, 4) for n pairs.
    """
    properties = properties_of(traits)
    share = np.clip(joined, RARE, 1.0)
    log_odds = np.log(share) - np.log(1.0 - share + constants.least_absence)
    return np.asarray(expit(np.exp(properties @ constants.slope) * log_odds + properties @ constants.shift))


def unlikely_edges(
    joined: FloatArray,
    separated: BoolArray,
    density: FloatArray,
    traits: Traits | FloatArray,
    constants: RareConstants = RARE_CONSTANTS,
) -> FloatArray:
    """The probability of an edge between pairs that few sampled graphs join, or that a test separates.

    `density` is the share of all pairs that a sampled graph joins; `traits` are (4,) or (n, 4) for n pairs.
    Unless a test separates it, no pair is told more than one that `RARE` of the graphs join.
    """
    of_rare, of_separated = properties_of_unlikely(joined, density, traits)
    most = edge_probability(np.full(np.shape(joined), RARE), traits)
    rare = np.minimum(expit(of_rare @ constants.rare), most)
    return np.asarray(np.where(separated, expit(of_separated @ constants.separated), rare))


def properties_of_unlikely(
    joined: FloatArray, density: FloatArray, traits: Traits | FloatArray
) -> tuple[FloatArray, FloatArray]:
    """The properties (..., 9) and (..., 3) that the log odds of unlikely edges are linear in."""
    bounded = np.clip(np.asarray(traits, dtype=np.float64), _LEAST_TRAITS, _MOST_TRAITS)
    _, log_samples, linear, counted = np.moveaxis(bounded, -1, 0)
    share = np.clip(density, _LEAST_DENSITY, _MOST_DENSITY)
    dense = np.log(share / (1.0 - share))
    same = np.ones_like(dense)
    of_rare = [
        np.log((joined + _RARE_SCALE) / _RARE_SCALE), same, dense, dense * linear, dense * counted,
        same * linear, same * counted, same * log_samples, 4.0 * same * counted * (1.0 - counted),
    ]  # fmt: skip
    return np.stack(of_rare, axis=-1), np.stack([same, dense, same * log_samples], axis=-1)


def direction_shares(
    shares: FloatArray, traits: Traits | FloatArray, confirmed: BoolArray, constants: Constants = CONSTANTS
) -> FloatArray:
    """The shares (3, ...) of the two directions and of none; `traits` are (4,) or (n, 4) for n pairs.

    `confirmed` are the pairs whose more frequent direction tests confirm.
    """
    favour = np.where(confirmed, constants.confirmed, 0.0)
    return _tempered(shares, properties_of(traits), favour, constants)


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
    shares: FloatArray, properties: FloatArray, favour: FloatArray, constants: Constants
) -> FloatArray:
    """The shares (3, ...), with `favour` (...) as the log weight of the more frequent direction."""
    tempered = (shares + constants.least_share) ** expit(properties @ constants.temper)
    tempered[FORWARD] *= np.exp(favour * (shares[FORWARD] > shares[BACKWARD]))
    tempered[BACKWARD] *= np.exp(favour * (shares[BACKWARD] > shares[FORWARD]))
    tempered[UNDIRECTED] *= np.exp(properties @ constants.undirected)
    return np.asarray(tempered / tempered.sum(axis=0))
