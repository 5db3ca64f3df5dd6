"""Possible and impossible arrows between columns that cannot be effects and all other columns.

An arrow from an exogenous column to another is possible, an arrow into it from a column that is not exogenous
is impossible. Edges between two exogenous columns are not counted: an arrow between two of them has no known
direction, or should not be there.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import astuple, dataclass

import numpy as np
import pandas as pd

from dcd.graph.equivalence import dag_to_cpdag
from dcd.runtime.array_types import IntArray


@dataclass(frozen=True)
class Counts:
    """How many pairs of an exogenous column and another have each kind of edge."""

    possible: float = 0
    impossible: float = 0
    undirected: float = 0
    none: float = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(mine + theirs for mine, theirs in zip(astuple(self), astuple(other), strict=True)))

    def __truediv__(self, divisor: float) -> Counts:
        return Counts(*(count / divisor for count in astuple(self)))


def count_edges(
    names: Sequence[str], adjacency: IntArray, exogenous: Collection[str], counted: Collection[str]
) -> Counts:
    """The edges of a graph at the `counted` exogenous columns."""
    position = {name: index for index, name in enumerate(names)}
    total = Counts()
    for inside in counted:
        for outside in (name for name in names if name not in exogenous):
            out = bool(adjacency[position[inside], position[outside]])
            into = bool(adjacency[position[outside], position[inside]])
            total += Counts(out and not into, into and not out, out and into, not (out or into))
    return total


def count_probable(
    probabilities: pd.DataFrame, exogenous: Collection[str], counted: Collection[str], threshold: float
) -> Counts:
    """The same from the probabilities of a fit, with an arrow where its direction has at least `threshold`.

    `probabilities` has a row for each pair: first, second, forward (first -> second), backward, undirected,
    absent. A pair without such an arrow is an undirected edge unless "absent" has at least one half.
    """
    total = Counts()
    for pair in probabilities.to_dict("records"):
        inside, outside, out, into = pair["first"], pair["second"], pair["forward"], pair["backward"]
        if inside in exogenous:
            pass
        elif outside in exogenous:
            inside, outside, out, into = outside, inside, into, out
        if inside not in counted or outside in exogenous:
            continue
        if max(out, into) >= threshold:
            total += Counts(possible=out >= into, impossible=out < into)
        else:
            total += Counts(undirected=pair["absent"] < 0.5, none=pair["absent"] >= 0.5)
    return total


def random_classes(adjacency: IntArray, n_draws: int, rng: np.random.Generator) -> list[IntArray]:
    """Equivalence classes of the skeleton of a graph with edges directed along random orders of columns."""
    skeleton = (adjacency | adjacency.T).astype(bool)
    classes = []
    for _ in range(n_draws):
        place = rng.permutation(len(skeleton))
        classes.append(dag_to_cpdag((skeleton & (place[:, None] < place[None, :])).astype(np.int8)))
    return classes
