"""The arrows of a graph that tests confirm.

Arrows follow from colliders, and these from missing edges. A score judges both by its model; a test makes
fewer assumptions. At an unshielded collider x -> z <- y, x and y are independent without z and dependent
given it. Tests confirm both of its arrows if independence without z is not rejected at 5 % and independence
given z is rejected at 0.1 %. Weaker evidence is not enough: in 168 simulated tables with curves or
categories, 0.95 of 1,103 arrows were right if the second p-value was below 0.001, 0.80 of 204 if it was
between 0.001 and 0.05, and 0.52 of the 1,013 others (seeds from 1,995,001).

Arrows that only follow from others, because z would otherwise be a collider or there would be a cycle, count
as unconfirmed: they rest on everything that directed the others. On real tables, such arrows were hardly more
reliable than chance, even where tests agreed with them.

The conditioning sets are the parents, in the graph, of whichever of x and y comes later. For each arrow a few
colliders are tried, and one that confirms it suffices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dcd.graph.adjacency import topological_order, unshielded_colliders
from dcd.graph.pattern import VariablePair
from dcd.graph.probabilities import FORWARD
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.search.graph_class import class_types

Question = tuple[int, ...]  # x, y and the conditioning set
Ask = Callable[[Sequence[Question]], Mapping[Question, float]]
# Log p-values above which a pair counts as independent, and below which it counts as dependent.
_INDEPENDENT, _DEPENDENT = float(np.log(0.05)), float(np.log(0.001))
_TRIES = 4  # colliders for an arrow


class Contrast(NamedTuple):
    """Two questions that decide whether z is a collider between x and y, and the arrows it would have."""

    without: Question
    within: Question
    arrows: tuple[VariablePair, VariablePair]


def confirmed_arrows(dag: IntArray, oriented: BoolArray, ask: Ask) -> BoolArray:
    """(d, d) the arrows of the class of a DAG that tests confirm, or that knowledge settles.

    `oriented` is true where knowledge allows only one direction; `ask` returns log p-values.
    """
    confirmed = oriented & (class_types(dag.astype(bool), oriented) == FORWARD)
    contrasts = Contrasts(dag)
    by_arrow: dict[VariablePair, list[Contrast]] = defaultdict(list)
    for x, z, y in unshielded_colliders(dag):
        contrast = contrasts.at(x, z, y)
        for arrow in contrast.arrows:
            by_arrow[arrow].append(contrast)
    for at in range(_TRIES):
        pending = [some[at] for arrow, some in by_arrow.items() if at < len(some) and not confirmed[arrow]]
        for contrast in _confirming(pending, ask):
            confirmed[tuple(np.transpose(contrast.arrows))] = True
    return confirmed


def _confirming(contrasts: Sequence[Contrast], ask: Ask) -> list[Contrast]:
    """The contrasts whose pair is independent without the middle, and dependent given it.

    The second question is asked only if the answer to the first fits.
    """
    log_pvalues = ask(list(dict.fromkeys(contrast.without for contrast in contrasts)))
    apart = [contrast for contrast in contrasts if log_pvalues[contrast.without] > _INDEPENDENT]
    log_pvalues = ask(list(dict.fromkeys(contrast.within for contrast in apart)))
    return [contrast for contrast in apart if log_pvalues[contrast.within] < _DEPENDENT]


class Contrasts:
    """The questions about the middle variable of triples of a DAG."""

    def __init__(self, dag: IntArray) -> None:
        self._parents = [set(np.flatnonzero(column).tolist()) for column in dag.T]
        self._position = {v: at for at, v in enumerate(topological_order(dag))}

    def at(self, x: int, z: int, y: int) -> Contrast:
        """The questions that decide whether z is a collider between x and y."""
        given = self._parents[max(x, y, key=self._position.__getitem__)] - {x, y, z}
        first, second = min(x, y), max(x, y)
        without = (first, second, *sorted(given))
        return Contrast(without, (first, second, *sorted(given | {z})), ((x, z), (y, z)))
