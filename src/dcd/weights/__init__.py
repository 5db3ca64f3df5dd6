"""Sample weights that decouple variables, by descent on HSIC (as published) or by convex optimisation."""

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
