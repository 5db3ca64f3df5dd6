"""Data sets, simulation, metrics, and the methods to compare with."""
