r"""Accelerated descent on the logarithms of the weights, :math:`p = \mathrm{softmax}(\theta)`.

A step follows the natural gradient, the gradient in the geometry of the simplex (multiplicative weights):

.. math:: \theta_k \leftarrow \theta_k - \eta (g_k - p^\top g), \qquad g = \partial L / \partial p ,

with Nesterov's momentum, which restarts whenever the loss has risen (O'Donoghue and Candes, 2015). The plain
gradient by :math:`\theta` has an additional factor :math:`p_k`, so a row of small weight hardly moves.
Without this factor, a row of weight two moves like a row that occurs twice, and the weights stay closer to
their start: the same decoupling leaves a larger effective sample size (docs/published.md).

`DirectDescent` holds the gradient of all rows at once. `BlockDescent` is for tables with many rows. It makes
one pass over the rows per step, a block at a time: in

.. math:: g_k = 2 \phi_k^\top C \phi_k - 4 \phi_k^\top C m, \qquad p^\top g = 2 (L - m^\top C m)

with C the covariance between the features of different variables and m their weighted mean, all but
:math:`\phi_k` is known before the pass. So each block takes its part of the step, and its new weights enter
C and m for the next one while its features are in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcd.features.kernel_blocks import FeatureBlocks, Staircase, in_order, total
from dcd.runtime.array_types import Float32Array, FloatArray
from dcd.runtime.rows import remaining_share
from dcd.weights.objective import Objective


class Momentum:
    """Nesterov's accelerated steps, for parameters that are moved all at once or in parts."""

    def __init__(self, step_size: float, size: int) -> None:
        self._step_size, self._velocity = step_size, np.zeros(size)
        self._count, self._last, self._share = 0, np.inf, 0.0

    def begin_step(self, loss: float) -> None:
        """Count a step from a point with this loss."""
        self._count = 0 if loss > self._last else self._count + 1
        self._last, self._share = loss, self._count / (self._count + 3.0)

    def step(self, gradient: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """The update of some or all parameters; to be called once per step for each."""
        velocity, move = self._velocity[rows], -self._step_size * gradient
        velocity *= self._share
        velocity += move
        return self._share * velocity + move


def softmax(theta: FloatArray) -> FloatArray:
    """Probabilities proportional to exp(theta)."""
    unscaled = np.exp(theta - theta.max())
    probabilities: FloatArray = unscaled / unscaled.sum()
    return probabilities


class DirectDescent:
    """A descent on any objective, a step at a time, all rows at once.

    `theta` is the starting point and `shares` (n,) are the initial shares of the rows.

    Attributes
    ----------
    probabilities : (n,) the current ones.
    loss : of these.
    """

    def __init__(self, objective: Objective, theta: FloatArray, step_size: float, shares: FloatArray) -> None:
        self._objective, self._theta, self._shares = objective, theta, shares
        self._momentum = Momentum(step_size, theta.size)
        self.probabilities = self._proposal = softmax(theta)
        self.loss, self._gradient = objective.value_and_gradient(self.probabilities)

    def propose(self) -> float:
        """Compute the next step; returns the share of the effective sample size that would remain."""
        self._momentum.begin_step(self.loss)
        # Subtracting the mean removes the constant that the objectives leave undetermined.
        self._theta = self._theta + self._momentum.step(self._gradient - self.probabilities @ self._gradient)
        self._proposal = softmax(self._theta)
        return remaining_share(self._proposal, self._shares)

    def accept(self) -> None:
        """Take the proposed step."""
        self.probabilities = self._proposal
        self.loss, self._gradient = self._objective.value_and_gradient(self.probabilities)


@dataclass(frozen=True)
class _Moments:
    """Sums of one pass over the rows that the next one needs.

    Attributes
    ----------
    covariance : (R, R) between features of different variables, without negligible entries.
    towards_mean : (R,) C m.
    loss, expected : L, and p'g.
    scale, remaining : sum of the unscaled weights, and the share of the effective sample size that remains.
    """

    covariance: Float32Array
    towards_mean: Float32Array
    loss: float
    expected: float
    scale: float
    remaining: float


class BlockDescent:
    """See `DirectDescent`; features in blocks, a pass over the rows for each step."""

    def __init__(
        self, features: FeatureBlocks, theta: FloatArray, step_size: float, shares: FloatArray
    ) -> None:
        self._features, self._staircase, self._shares = features, Staircase.of(features), shares
        self._theta = theta - theta.max()
        self._theta -= np.log(np.exp(self._theta).sum())
        self._momentum = Momentum(step_size, theta.size)
        self._unscaled, self._proposed = np.empty_like(theta), np.empty_like(theta)
        self._there = self._pass(None)
        self._moments = self._there
        self.accept()

    @property
    def loss(self) -> float:
        """See `DirectDescent`."""
        return self._moments.loss

    @property
    def probabilities(self) -> FloatArray:
        """See `DirectDescent`."""
        return self._unscaled / self._moments.scale

    def propose(self) -> float:
        """See `DirectDescent`."""
        self._momentum.begin_step(self.loss)
        self._there = self._pass(self._moments)
        return self._there.remaining

    def accept(self) -> None:
        """See `DirectDescent`."""
        self._moments = self._there
        self._unscaled, self._proposed = self._proposed, self._unscaled

    def _pass(self, moments: _Moments | None) -> _Moments:
        """Take the step given by the moments, if any, and return the moments of the new weights."""

        def part(task: range) -> tuple[FloatArray, ...]:
            return self._part_of_pass(task, moments)

        sums = total(in_order(part, self._features.tasks(), self._features.threads))
        products, means, (scale, squares) = sums
        covariance = products / scale - np.outer(means / scale, means / scale)
        covariance *= self._staircase.kept
        towards_mean = (covariance @ means + means @ covariance) / scale
        loss = 2.0 * float(np.square(covariance).sum())
        return _Moments(
            covariance=covariance.astype(np.float32),
            towards_mean=towards_mean.astype(np.float32),
            loss=loss,
            expected=2.0 * (loss - float(means @ towards_mean) / scale),
            scale=float(scale),
            remaining=float(scale**2 / squares),
        )

    def _part_of_pass(self, task: range, moments: _Moments | None) -> tuple[FloatArray, ...]:
        size = len(self._staircase.columns)
        products, means, sums = np.zeros((size, size)), np.zeros(size), np.zeros(2)
        for rows, features in self._features.each(task, self._staircase.columns):
            if moments is not None:
                self._theta[rows] += self._momentum.step(self._gradient(features, moments), rows)
            weights = np.exp(self._theta[rows])
            self._proposed[rows] = weights
            root = np.sqrt(weights).astype(np.float32)
            features *= root
            self._staircase.add_products(features, products)
            means += features @ root
            sums += weights.sum(), weights @ (weights / self._shares[rows])
        return products, means, sums

    def _gradient(self, features: Float32Array, moments: _Moments) -> FloatArray:
        """The natural gradient of some rows."""
        # The covariance holds one of each two mirror images, hence 4 where the formula has 2.
        by_weight = 4.0 * self._staircase.quadratic_form(features, moments.covariance)
        by_weight -= 4.0 * (moments.towards_mean @ features)
        return by_weight.astype(np.float64) - moments.expected
