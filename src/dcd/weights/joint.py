r"""Joint decoupling: weights that make groups of variables independent at the least cost in sample size.

They minimise, over :math:`p = \mathrm{softmax}(\theta)` by L-BFGS, the loss of `joint_objective` relative to
the chance level, plus a price for the sample,

.. math:: \mathrm{dHSIC}_w / \text{chance} + \frac{\lambda}{n} \sum_k p_k^2 / b_k ,

with b the initial shares of the rows; for equal shares the second term is :math:`\lambda / \mathrm{ESS}`. Of
all weights that leave as little dependence, these keep the largest effective sample size, and the marginals
of the variables are free to change. A descent on the dependence alone that stops at a floor moves all weights
at the same speed and loses most of the sample: on x = A·B + noise at n = 500 it ends at an effective sample
size of .1 n, whereas the minimum of the sum leaves less dependence at .45 n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize

from dcd.features.kernel_blocks import features_of
from dcd.features.rank_scores import Scores
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.rows import remaining_share
from dcd.table.dataset import Dataset
from dcd.weights.base import SampleWeights
from dcd.weights.joint_objective import Group, JointObjective, choose_joint_objective
from dcd.weights.objective import pairwise_hsic

# At n = 500 the false rejections of sign(A·B) are .30 at a price of 50, .08 at 15, .03 at 10 and .01 at 7,
# and the power on A·B·C with y += .3 x is 1.0 at 50, .87 at 15 and .73 at 10 (30 to 150 samples). At n = 2000
# a price of 60, the same per row, leaves sign(A·B) at .25 and 15 at .00 (12 and 24 samples): the price does
# not grow with n.
PRICE = 12.0
_RAISE, _MOST_RAISES = 2.0, 20  # of the price, until the effective sample size is above its floor
_CORRECTIONS, _MOST_STEPS = 20, 500
_FEW_REPEATED = 0.9  # distinct rows, as a share of all, up to which equal rows are merged
_CONVERGED = 1e-5  # decrease of the loss in a step, relative to chance


def learn_joint_weights(
    table: Scores | Dataset,
    variables: Sequence[int],
    *,
    apart: int | None = None,
    price: float = PRICE,
    min_ess: float = 0.0,
    max_rows: int | None = None,
) -> SampleWeights:
    """Weights that make variables, by position, mutually independent, or one independent of the others.

    `apart` is the variable that has to be independent of all others jointly; `min_ess` a floor on the
    effective sample size, relative to its initial value. If there are more than `max_rows` rows, that many
    evenly spaced ones get weights and the others none.
    """
    everything = table.probabilities
    rows = _used_rows(len(everything), max_rows)
    # A variable that is constant in these rows is independent of everything.
    varying = [v for v in variables if np.ptp(table.values[rows, v]) > 0]
    if len(varying) < 2 or (apart is not None and apart not in varying):
        hsic = pairwise_hsic(features_of(table, variables), everything)
        return SampleWeights.of(
            everything, 0.0, 0.0, status="nothing_to_decouple", hsic_before=hsic, hsic_after=hsic
        )
    shares = everything[rows] / everything[rows].sum()
    points = _Points.of(table.values[rows][:, varying], shares)
    objective = choose_joint_objective(_groups(table, points, varying, apart), table.memory)
    used, loss_path, status = minimise(
        objective, points.shares, price=price, min_ess=min_ess, n_rows=len(shares), repeats=points.repeats
    )
    before, after = (
        objective.value_and_gradient(q)[0] / _chance(objective, q, points.repeats)
        for q in (points.shares, used)
    )
    p = np.zeros(len(everything))
    p[rows] = used[points.of_row] * shares / points.shares[points.of_row]
    features = features_of(table, variables)
    return SampleWeights.of(
        p,
        before,
        after,
        status=status,
        loss_path=np.array(loss_path),
        hsic_before=pairwise_hsic(features, everything),
        hsic_after=pairwise_hsic(features, p),
    )


def _used_rows(n_samples: int, most: int | None) -> slice | Positions:
    """All rows, or `most` evenly spaced ones."""
    if most is None or n_samples <= most:
        return slice(None)
    return np.linspace(0, n_samples - 1, most).astype(np.intp)


@dataclass(frozen=True)
class _Points:
    """Rows with equal values, merged into points; at the minimum, a row has its share of its point's weight.

    Attributes
    ----------
    values, shares : (m, k) and (m,) the distinct rows, and their total shares.
    of_row : (n,) the point of each row.
    repeats : (m,) sum of squares, over the rows of a point, of their shares in it: 1 for a single row.
    """

    values: FloatArray
    shares: FloatArray
    of_row: Positions
    repeats: FloatArray

    @classmethod
    def of(cls, values: FloatArray, shares: FloatArray) -> _Points:
        distinct, of_row = np.unique(values, axis=0, return_inverse=True)
        of_row = of_row.reshape(-1)
        if len(distinct) > _FEW_REPEATED * len(values):
            return cls(values, shares, np.arange(len(values)), np.ones(len(values)))
        together: FloatArray = np.bincount(of_row, weights=shares).astype(np.float64)
        repeats = np.bincount(of_row, weights=np.square(shares)) / np.square(together)
        return cls(distinct, together, of_row, repeats)


def _groups(
    table: Scores | Dataset, points: _Points, variables: Sequence[int], apart: int | None
) -> list[Group]:
    shares = points.shares if np.ptp(points.shares) > 0 else None
    position = {v: at for at, v in enumerate(variables)}

    def group(members: Sequence[int], *, is_set: bool = False) -> Group:
        kinds = tuple(table.kinds[v] for v in members)
        columns = points.values[:, [position[v] for v in members]]
        return Group(columns, kinds, is_set=is_set, shares=shares)

    if apart is None:
        return [group([v]) for v in variables]
    return [group([apart]), group([v for v in variables if v != apart], is_set=True)]


def _chance(objective: JointObjective, probabilities: FloatArray, repeats: FloatArray) -> float:
    """The mean loss of independent groups, if points stand for several rows."""
    squares = np.square(probabilities)
    return objective.chance(probabilities) * float(squares @ repeats) / float(squares.sum())


def minimise(
    objective: JointObjective,
    shares: FloatArray,
    *,
    price: float,
    min_ess: float,
    n_rows: int | None = None,
    repeats: FloatArray | None = None,
) -> tuple[FloatArray, list[float], str]:
    """The weights with the least loss at a given price; the price is raised if they are below the floor.

    Returns probabilities (m,), the loss relative to chance after each step, and why it stopped. `n_rows` and
    `repeats` (see `_Points`) belong to points that stand for several rows.
    """
    n_rows = len(shares) if n_rows is None else n_rows
    repeats = np.ones_like(shares) if repeats is None else repeats
    unit = _chance(objective, shares, repeats)
    first = objective.value_and_gradient(shares)[0] / unit
    for raised in range(_MOST_RAISES):
        path = [first]
        rate = price * _RAISE**raised / n_rows
        # From equal weights each time: L-BFGS does not recover from extreme weights.
        theta, ended = _descend(objective, shares, np.sqrt(repeats), unit, rate, path)
        probabilities = _tilted(shares, theta)
        if remaining_share(probabilities, shares) >= min_ess:
            return probabilities, path, "ess_floor" if raised else ended
    return shares, [first], "ess_floor"


def _tilted(shares: FloatArray, theta: FloatArray) -> FloatArray:
    unscaled = shares * np.exp(theta - theta.max())
    probabilities: FloatArray = unscaled / unscaled.sum()
    return probabilities


def _descend(
    objective: JointObjective,
    shares: FloatArray,
    scale: FloatArray,
    unit: float,
    rate: float,
    path: list[float],
) -> tuple[FloatArray, str]:
    """The minimum by L-BFGS from the shares, and why it stopped; the path gets the loss after each step.

    With theta in units of `scale`, its steps are those it would take with every row separate.
    """
    latest = 0.0

    def penalised(scaled: FloatArray) -> tuple[float, FloatArray]:
        nonlocal latest
        p = _tilted(shares, scale * scaled)
        value, gradient = objective.value_and_gradient(p)
        latest, ratio = value / unit, p / shares
        gradient = gradient / unit + 2.0 * rate * ratio
        return latest + rate * float(p @ ratio), scale * p * (gradient - p @ gradient)

    result = minimize(
        penalised,
        np.zeros_like(shares),
        jac=True,
        method="L-BFGS-B",
        callback=lambda _: path.append(latest),
        options={"maxiter": _MOST_STEPS, "maxcor": _CORRECTIONS, "ftol": _CONVERGED, "gtol": 1e-9},
    )
    return scale * result.x, "max_steps" if result.nit >= _MOST_STEPS else "converged"
