"""Features to sample weights."""

from dcd.weights.convex import ConvexWeights, convex_weights
from dcd.weights.hsic_descent import decoupling_weights

__all__ = ["ConvexWeights", "convex_weights", "decoupling_weights"]
