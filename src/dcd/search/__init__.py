"""Searches for the CPDAG of a table: Algorithm 1 on Markov boundaries, and search over whole graphs."""

from dcd.search.algorithm1 import construct_cpdag

__all__ = ["construct_cpdag"]
