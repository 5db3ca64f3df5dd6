"""Sampled graphs in a saved result: all their arrows once, and each graph as a number whose bits are arrows.

In this form, 640 graphs of 20 variables with 20 to 60 edges took 46 to 58 kB; lists of edges would take 140
to 400.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dcd.graph.adjacency import is_acyclic
from dcd.runtime.array_types import BoolArray

Packed = tuple[tuple[tuple[str, str], ...], tuple[str, ...], tuple[int, ...]]


def packed(graphs: BoolArray, names: Sequence[str]) -> Packed:
    """The arrows of (k, d, d) graphs, each different graph as a hexadecimal number, and how often it occurs.

    The first arrow is the lowest bit. All numbers have as many digits as the arrows need.
    """
    arrows = np.argwhere(graphs.any(axis=0))
    n_digits = _n_digits(len(arrows))
    bits = graphs[:, arrows[:, 0], arrows[:, 1]]
    powers = [1 << at for at in range(len(arrows))]
    numbers = Counter(sum(powers[at] for at in np.flatnonzero(row)) for row in bits)
    written = tuple(f"{number:0{n_digits}x}" for number in numbers)
    return tuple((names[i], names[j]) for i, j in arrows), written, tuple(numbers.values())


def unpacked(sampled: Any, names: Sequence[str]) -> BoolArray:
    """(k, d, d) the graphs, each as often as it was sampled."""
    return np.repeat(_different(sampled, names), sampled.counts, axis=0)


def _different(sampled: Any, names: Sequence[str]) -> BoolArray:
    position = {name: index for index, name in enumerate(names)}
    graphs = np.zeros((len(sampled.graphs), len(names), len(names)), dtype=bool)
    for at, (cause, effect) in enumerate(sampled.arrows):
        graphs[:, position[cause], position[effect]] = [int(one, 16) >> at & 1 for one in sampled.graphs]
    return graphs


def _n_digits(n_arrows: int) -> int:
    return max(1, -(-n_arrows // 4))


def misfits(sampled: Any, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The place and the problem of every inconsistency; the names of variables were checked before."""
    n_digits = _n_digits(len(sampled.arrows))
    if len(set(sampled.arrows)) < len(sampled.arrows) or any(a == b for a, b in sampled.arrows):
        yield "posterior.graphs.arrows", "has an arrow twice, or from a variable to itself"
    if len(sampled.counts) != len(sampled.graphs):
        yield "posterior.graphs.counts", f"must be {len(sampled.graphs)} numbers, got {len(sampled.counts)}"
    if len(set(sampled.graphs)) < len(sampled.graphs):
        yield "posterior.graphs.graphs", "has a graph twice"
    for at, number in enumerate(sampled.graphs):
        if len(number) != n_digits or int(number, 16) >> len(sampled.arrows):
            problem = f"must be {n_digits} hexadecimal digits, a bit for each of {len(sampled.arrows)} arrows"
            yield f"posterior.graphs.graphs[{at}]", problem
            return
    for at, graph in enumerate(_different(sampled, names)):
        if not is_acyclic(graph):
            yield f"posterior.graphs.graphs[{at}]", "has a directed cycle"
