r"""How far sampled arrows can be believed.

Graphs that are sampled agree on directions more often than they are right. Directions follow from missing
edges, so one edge that all of them miss turns others with it, and in a dense graph many are missed. So the
shares s of the two directions and of no direction, among the graphs that join a pair, are tempered:

.. math:: s'_t \propto (s_t + \delta)^\beta e^{u_t} , \qquad
   \beta = 1 / (1 + e^{-c \cdot x}) ,

where x are terms of the traits of a table and u is that of undirected edges. The probability that there is an
edge stays. The constants maximise the probability of the true types in simulated tables;
`benchmarks.fit_arrows` makes them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dcd.runtime.array_types import BoolArray, FloatArray

if TYPE_CHECKING:
    from dcd.search.family_score import ScoreModel


class Traits(NamedTuple):
    """What of a table decides how far its arrows can be believed.

    Attributes
    ----------
    density : the expected share of the pairs that are joined.
    log_samples : log of the number of samples over 800.
    linear : share of the variables whose relations to their parents are lines only.
    counted : share of the variables that are categories.
    """

    density: float
    log_samples: float
    linear: float
    counted: float


class Constants(NamedTuple):
    """What `benchmarks.fit_arrows` fits.

    Attributes
    ----------
    temper : of 1, density, density squared, log_samples, linear and counted in the temper.
    undirected : of 1 and density, in favour of undirected edges.
    least_share : what is added to each share, since no type is impossible.
    """

    temper: tuple[float, ...]
    undirected: tuple[float, ...]
    least_share: float


CONSTANTS = Constants((2.8, -1.32, -2.16, 0.29, -1.84, -2.95), (-0.43, -0.12), 0.0025)


def traits_of(sampled: FloatArray, model: ScoreModel) -> Traits:
    """The traits of a table, from the frequencies (4, d, d) of types in its sampled graphs."""
    counted = model.n_levels > 0
    curved = model.may_curve | (model.may_cross > 0)
    pairs = np.triu_indices(len(counted), k=1)
    return Traits(
        float((1.0 - sampled[3])[pairs].mean()),
        float(np.log(model.n_samples / 800.0)),
        float((~curved & ~counted).mean()),
        float(counted.mean()),
    )


def temper_terms(traits: Traits) -> tuple[float, ...]:
    """What the constants of the temper are multiplied by."""
    return (1.0, traits.density, traits.density**2, traits.log_samples, traits.linear, traits.counted)


def calibrated(
    sampled: FloatArray, traits: Traits, settled: BoolArray, constants: Constants = CONSTANTS
) -> FloatArray:
    """Probabilities of types from their frequencies (4, d, d); where directions are `settled`, these."""
    joined = sampled[:3].sum(axis=0)
    shares = sampled[:3] / np.where(joined > 0.0, joined, 1.0) + constants.least_share
    beta = 1.0 / (1.0 + np.exp(-np.dot(constants.temper, temper_terms(traits))))
    tempered = shares**beta
    tempered[2] *= np.exp(np.dot(constants.undirected, (1.0, traits.density)))
    tempered *= joined / np.where(joined > 0.0, tempered.sum(axis=0), 1.0)
    types = sampled.copy()
    types[:3] = np.where(settled, sampled[:3], tempered)
    return types
