"""Conditional independence tests: strategies that, bound to a table, return p-values."""
