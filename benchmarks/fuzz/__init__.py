"""A bounded, seeded fuzzer: `make fuzz`, some minutes; prints tries and failures of each class.

    PYTHONPATH=tests python -m benchmarks.fuzz [--seed 0] [--tries 12000] [--only tables]

Classes, a module each: tables (random containers, types and values), files (random tables in every format,
mutated byte by byte and part by part), documents (mutated graphs, knowledge and results), parameters (every
public callable with random values, found by introspection), writing (random failures while files are
written). A try fails if anything but one of dcd's own errors is raised, if it takes too long, or if a table
is read with wrong values.
"""

from __future__ import annotations

from collections.abc import Callable

Try = tuple[str, Callable[[], object]]


class WrongAnswerError(Exception):
    """A table was read with wrong values."""
