"""Boundaries, neighbours and colliders to a CPDAG."""
