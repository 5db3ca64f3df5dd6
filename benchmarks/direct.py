"""A direct version of the paper's weight learning: full kernels, a loop over pairs, PyTorch autograd."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.metrics.pairwise import rbf_kernel

from dcd.features.kernels import median_bandwidth
from dcd.runtime.array_types import FloatArray
from dcd.weights.descent import Momentum
from dcd.weights.hsic_descent import HSICDescent


class DirectLearner:
    """Weights theta of one set of variables, advanced a step at a time."""

    def __init__(self, table: FloatArray, learning_rate: float = HSICDescent.learning_rate) -> None:
        self._kernels = [
            torch.from_numpy(rbf_kernel(x[:, None], gamma=0.5 / median_bandwidth(x) ** 2)) for x in table.T
        ]
        self._theta = torch.zeros(len(table), dtype=torch.float64)
        n_pairs = table.shape[1] * (table.shape[1] - 1)
        self._momentum = Momentum(learning_rate / n_pairs, len(table))

    def step(self) -> None:
        """One accelerated step on the sum of the pairwise weighted HSIC."""
        p = torch.softmax(self._theta, dim=0).requires_grad_()
        loss = torch.zeros((), dtype=torch.float64)
        for i, left in enumerate(self._kernels):
            for right in self._kernels[:i]:
                loss = loss + 2 * weighted_hsic(left, right, p)  # the pair counts in both orders
        (gradient,) = torch.autograd.grad(loss, p)
        self._momentum.begin_step(loss.item())
        centred = gradient - (p * gradient).sum()
        self._theta = self._theta + torch.from_numpy(self._momentum.step(centred.detach().numpy()))

    @property
    def weights(self) -> FloatArray:
        """The weights so far, summing to n."""
        weights: FloatArray = torch.softmax(self._theta, dim=0).numpy() * len(self._theta)
        return np.asarray(weights)


def weighted_hsic(left: torch.Tensor, right: torch.Tensor, p: torch.Tensor) -> torch.Tensor:
    """The three terms of the weighted HSIC of two kernels."""
    left_mean, right_mean = left @ p, right @ p
    joint = p @ ((left * right) @ p)
    apart = (p @ left_mean) * (p @ right_mean)
    return joint + apart - 2 * (p * left_mean * right_mean).sum()
