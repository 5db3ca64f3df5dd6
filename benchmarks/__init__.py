"""Measurements of speed, accuracy and robustness; each module says how to run it."""
