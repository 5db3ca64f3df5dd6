"""Data sets, simulation, metrics, and the methods to compare with."""

from dcd.evaluation import baselines, datasets, metrics, simulate

__all__ = ["baselines", "datasets", "metrics", "simulate"]
