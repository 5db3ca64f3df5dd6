"""Features to sample weights: a strategy learns `SampleWeights`, by HSIC descent (published) or convex."""

from dcd.runtime.rows import effective_sample_size
from dcd.weights.base import SampleWeights, Weighting
from dcd.weights.convex import ConvexWeights, convex_weights, measured
from dcd.weights.hsic_descent import HSICDescent, decoupling_weights

__all__ = [
    "ConvexWeights",
    "HSICDescent",
    "SampleWeights",
    "Weighting",
    "convex_weights",
    "decoupling_weights",
    "effective_sample_size",
    "measured",
]
