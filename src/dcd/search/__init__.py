"""From Markov boundaries, neighbours and colliders to a CPDAG."""

from dcd.search.algorithm1 import construct_cpdag

__all__ = ["construct_cpdag"]
