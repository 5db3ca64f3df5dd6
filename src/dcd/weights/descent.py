r"""Adam on the logarithms of the weights, :math:`p = \mathrm{softmax}(\theta)`.

`DirectDescent` holds the gradient of all rows at once. `BlockDescent` is for tables of many rows. It goes
over the rows once a step, a block at a time: of the gradient

.. math:: \frac{\partial L}{\partial \theta_k} = p_k (g_k - p^\top g), \qquad
          g_k = 2 \phi_k^\top C \phi_k - 4 \phi_k^\top C m, \qquad p^\top g = 2 (L - m^\top C m)

with C the covariance between the features of different variables and m their weighted mean, all but
:math:`\phi_k` is known before the pass. So each block does its part of the step, and its new weights enter
C and m for the next one while its features are in the cache.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcd.features.kernel_blocks import FeatureBlocks, Staircase, in_order, total
from dcd.runtime.array_types import Float32Array, FloatArray
from dcd.runtime.rows import DENSE_ROWS
from dcd.weights.objective import Objective

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8


class Adam:
    """Kingma and Ba (2015) with the usual decay rates."""

    def __init__(self, learning_rate: float, size: int, epsilon: float = _EPSILON) -> None:
        self._learning_rate, self._epsilon = learning_rate, epsilon
        self._mean, self._square, self._count = np.zeros(size), np.zeros(size), 0

    def begin_step(self) -> None:
        """Count a step, which can be taken in parts."""
        self._count += 1

    def step(self, gradient: FloatArray, rows: slice = slice(None)) -> FloatArray:
        """What to subtract from some or all parameters; each is asked for once a step."""
        first, second = self._mean[rows], self._square[rows]
        first += (1 - _BETA_1) * (gradient - first)
        second += (1 - _BETA_2) * (np.square(gradient) - second)
        mean = first / (1 - _BETA_1**self._count)
        square = second / (1 - _BETA_2**self._count)
        return self._learning_rate * mean / (np.sqrt(square) + self._epsilon)


def softmax(theta: FloatArray) -> FloatArray:
    """Probabilities in proportion to exp(theta)."""
    unscaled = np.exp(theta - theta.max())
    probabilities: FloatArray = unscaled / unscaled.sum()
    return probabilities


class DirectDescent:
    """A descent on any objective, a step at a time, all rows at once.

    Attributes
    ----------
    probabilities : (n,) the current ones.
    loss : of these.
    """

    def __init__(self, objective: Objective, theta: FloatArray, learning_rate: float) -> None:
        self._objective, self._theta = objective, theta
        self._adam = Adam(learning_rate, theta.size)
        self.probabilities = self._proposal = softmax(theta)
        self.loss, self._gradient = objective.value_and_gradient(self.probabilities)

    def propose(self) -> float:
        """Compute the next step; one over the effective sample size after it."""
        # The derivative of the softmax; it projects out the constant that the objectives leave open.
        by_theta = self.probabilities * (self._gradient - self.probabilities @ self._gradient)
        self._adam.begin_step()
        self._theta = self._theta - self._adam.step(by_theta)
        self._proposal = softmax(self._theta)
        return float(self._proposal @ self._proposal)

    def accept(self) -> None:
        """Take the proposed step."""
        self.probabilities = self._proposal
        self.loss, self._gradient = self._objective.value_and_gradient(self.probabilities)


@dataclass(frozen=True)
class _Moments:
    """Sums of one pass over the rows that the next one needs.

    Attributes
    ----------
    covariance : (R, R) between features of different variables, where it counts.
    towards_mean : (R,) C m.
    loss, expected : L, and p'g.
    scale, inverse_ess : sum of the unscaled weights, and of the squares of the scaled ones.
    """

    covariance: Float32Array
    towards_mean: Float32Array
    loss: float
    expected: float
    scale: float
    inverse_ess: float


class BlockDescent:
    """See `DirectDescent`; features in blocks, a pass over the rows for each step."""

    def __init__(self, features: FeatureBlocks, theta: FloatArray, learning_rate: float) -> None:
        self._features, self._staircase = features, Staircase.of(features)
        self._theta = theta - theta.max()
        self._theta -= np.log(np.exp(self._theta).sum())
        # A gradient by theta is in proportion to 1 / n; epsilon would hold back the steps of long tables.
        epsilon = _EPSILON * min(1.0, DENSE_ROWS / features.n_samples)
        self._adam = Adam(learning_rate, theta.size, epsilon)
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
        self._adam.begin_step()
        self._there = self._pass(self._moments)
        return self._there.inverse_ess

    def accept(self) -> None:
        """See `DirectDescent`."""
        self._moments = self._there
        self._unscaled, self._proposed = self._proposed, self._unscaled

    def _pass(self, moments: _Moments | None) -> _Moments:
        """Take a step by the moments, if there are any, and return the moments of the new weights."""

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
            inverse_ess=float(squares / scale**2),
        )

    def _part_of_pass(self, task: range, moments: _Moments | None) -> tuple[FloatArray, ...]:
        size = len(self._staircase.columns)
        products, means, sums = np.zeros((size, size)), np.zeros(size), np.zeros(2)
        for rows, features in self._features.each(task, self._staircase.columns):
            if moments is not None:
                self._theta[rows] -= self._adam.step(self._gradient(rows, features, moments), rows)
            weights = np.exp(self._theta[rows])
            self._proposed[rows] = weights
            root = np.sqrt(weights).astype(np.float32)
            features *= root
            self._staircase.add_products(features, products)
            means += features @ root
            sums += weights.sum(), weights @ weights
        return products, means, sums

    def _gradient(self, rows: slice, features: Float32Array, moments: _Moments) -> FloatArray:
        """The gradient of the loss by theta of some rows."""
        # The covariance holds one of each two mirror images, hence 4 where the formula has 2.
        by_weight = 4.0 * self._staircase.quadratic_form(features, moments.covariance)
        by_weight -= 4.0 * (moments.towards_mean @ features)
        gradient: FloatArray = self._unscaled[rows] / moments.scale * (by_weight - moments.expected)
        return gradient
