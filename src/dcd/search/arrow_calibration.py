r"""Calibration of the directions of sampled graphs.

Sampled graphs agree on directions more often than the directions are right. Directions follow from missing
edges, so one edge that all of them miss reverses others, and in a dense graph many are missed. So the shares
s of the two directions and of no direction, among the graphs that join a pair, are tempered:

.. math:: s'_t \propto (s_t + \delta)^\beta e^{u_t} , \qquad
   \beta = 1 / (1 + e^{-c \cdot x}) ,

where x are properties of the table, :math:`\delta` is larger for arrows that tests do not confirm
(`arrow_tests`), and u is nonzero only for undirected edges. The probability that there is an edge is
unchanged. The constants maximise the probability of the true types in simulated tables;
`benchmarks.fit_arrows` computes them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dcd.graph.probabilities import ABSENT, UNDIRECTED
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.search.family_score import ScoreModel


class Traits(NamedTuple):
    """The properties of a table that determine how reliable its arrows are.

    Attributes
    ----------
    shared : how many neighbours two variables would share if edges were spread evenly over the pairs.
    log_samples : log of the number of samples over 800.
    linear : share of the variables whose relations to their parents are all linear.
    counted : share of the variables that are categories.
    """

    shared: float
    log_samples: float
    linear: float
    counted: float


class Constants(NamedTuple):
    """The constants that `benchmarks.fit_arrows` fits.

    Attributes
    ----------
    temper : the coefficients c, of the constant 1 and of the traits.
    undirected : log weight in favour of undirected edges.
    least_share, unconfirmed_share : added to each share, since no type is impossible: if tests confirm the
        arrow, and if not.
    """

    temper: tuple[float, ...]
    undirected: float
    least_share: float
    unconfirmed_share: float


CONSTANTS = Constants((3.98, -0.9, 0.43, -2.18, -3.27), -0.3, 0.0014, 0.011)


def traits_of(sampled: FloatArray, model: ScoreModel) -> Traits:
    """The traits of a table, from the frequencies (4, d, d) of types in its sampled graphs."""
    counted = model.n_levels > 0
    curved = model.may_curve | (model.may_cross > 0)
    joined = float((1.0 - sampled[ABSENT])[np.triu_indices(len(counted), k=1)].mean())
    return Traits(
        (len(counted) - 2) * joined**2,
        float(np.log(model.n_samples / 800.0)),
        float((~curved & ~counted).mean()),
        float(counted.mean()),
    )


def calibrated(
    sampled: FloatArray,
    traits: Traits,
    settled: BoolArray,
    confirmed: BoolArray,
    constants: Constants = CONSTANTS,
) -> FloatArray:
    """Probabilities of types from their frequencies (4, d, d), which are kept if directions are `settled`.

    `confirmed` (d, d) are the pairs whose more frequent direction tests confirm.
    """
    joined = sampled[:ABSENT].sum(axis=0)
    shares = sampled[:ABSENT] / np.where(joined > 0.0, joined, 1.0)
    shares += np.where(confirmed, constants.least_share, constants.unconfirmed_share)
    beta = 1.0 / (1.0 + np.exp(-np.dot(constants.temper, (1.0, *traits))))
    tempered = shares**beta
    tempered[UNDIRECTED] *= np.exp(constants.undirected)
    tempered *= joined / np.where(joined > 0.0, tempered.sum(axis=0), 1.0)
    types = sampled.copy()
    types[:ABSENT] = np.where(settled, sampled[:ABSENT], tempered)
    return types
