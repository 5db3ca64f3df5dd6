r"""Which arrows of a graph tests confirm.

Arrows follow from colliders, and these from missing edges. A score judges both by its model; a test makes
fewer assumptions.

- **Colliders.** At an unshielded collider x -> z <- y, x and y are independent without z and dependent given
  it. Both of its arrows are confirmed if tests at 5 % find this.
- **Not a collider.** z is not a collider between x and y if tests find these dependent without it and
  independent given it. This confirms z -> y if x -> z is confirmed (Meek's first rule), and z -> w if w -> z
  would make z a collider: if x -> w and y -> w are confirmed (his third), or x -> c and c -> w with a
  neighbour c of z, and y is w (his fourth).
- **No cycle.** If a -> b and b -> c are confirmed, so is a -> c (his second rule).

The conditioning sets are the parents, in the graph, of whichever of x and y comes later. For each arrow a few
triples are tried, and one that confirms it suffices.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dcd.graph.adjacency import topological_order, unshielded_colliders
from dcd.graph.pattern import Triple, VariablePair
from dcd.graph.probabilities import ABSENT, FORWARD
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.search.graph_class import class_types

Question = tuple[int, ...]  # x, y and the conditioning set
Ask = Callable[[Sequence[Question]], Mapping[Question, float]]
_LOG_LEVEL = float(np.log(0.05))
_TRIES = 4  # for an arrow, of either kind


class Contrast(NamedTuple):
    """Two questions that decide whether z is a collider between x and y, and the arrows they can confirm."""

    without: Question
    within: Question
    arrows: tuple[VariablePair, ...]


def confirmed_arrows(dag: IntArray, oriented: BoolArray, ask: Ask) -> BoolArray:
    """(d, d) the arrows of the class of a DAG that tests confirm, or that knowledge settles.

    `oriented` is true where knowledge allows only one direction; `ask` returns log p-values.
    """
    types = class_types(dag.astype(bool), oriented)
    arrows, adjacent = types == FORWARD, types != ABSENT
    contrasts = Contrasts(dag)
    confirmed = arrows & oriented
    by_arrow: dict[VariablePair, list[Contrast]] = defaultdict(list)
    for x, z, y in unshielded_colliders(dag):
        contrast = contrasts.at(x, z, y, confirms=((x, z), (y, z)))
        for arrow in contrast.arrows:
            by_arrow[arrow].append(contrast)
    _try_in_turn(by_arrow, confirmed, ask, collider=True)
    while True:
        before = confirmed.sum()
        _close_triangles(arrows, confirmed)
        by_arrow = {
            (z, w): [
                contrasts.at(*triple, confirms=((z, w),))
                for triple in _no_colliders(z, w, confirmed, adjacent)
            ]
            for z, w in np.argwhere(arrows & ~confirmed).tolist()
        }
        _try_in_turn(by_arrow, confirmed, ask, collider=False)
        if confirmed.sum() == before:
            return confirmed


def _no_colliders(z: int, w: int, confirmed: BoolArray, adjacent: BoolArray) -> Iterator[Triple]:
    """The triples in which z must not be a collider for the confirmed arrows to imply z -> w."""
    for x in np.flatnonzero(confirmed[:, z] & ~adjacent[:, w]).tolist():
        yield x, z, w
    beside = np.flatnonzero(confirmed[:, w] & adjacent[:, z]).tolist()
    yield from ((x, z, y) for x, y in combinations(beside, 2) if not adjacent[x, y])
    for c in beside:
        yield from (
            (x, z, w) for x in np.flatnonzero(confirmed[:, c] & adjacent[:, z] & ~adjacent[:, w]).tolist()
        )


class Contrasts:
    """The questions about the middle variable of triples of a DAG."""

    def __init__(self, dag: IntArray) -> None:
        self._parents = [set(np.flatnonzero(column).tolist()) for column in dag.T]
        self._position = {v: at for at, v in enumerate(topological_order(dag))}

    def at(self, x: int, z: int, y: int, confirms: tuple[VariablePair, ...] = ()) -> Contrast:
        """The questions that decide whether z is a collider between x and y."""
        x, y = min(x, y), max(x, y)
        given = self._parents[max(x, y, key=self._position.__getitem__)] - {x, y, z}
        return Contrast((x, y, *sorted(given)), (x, y, *sorted(given | {z})), confirms)


def _try_in_turn(
    by_arrow: Mapping[VariablePair, Sequence[Contrast]],
    confirmed: BoolArray,
    ask: Ask,
    *,
    collider: bool,
) -> None:
    """Ask one contrast for each unconfirmed arrow, then the next, and mark the arrows that they confirm.

    Is a pair independent without the middle of a collider, and dependent given it? Or the reverse, if it is
    not a collider? The second question of a contrast is asked only if the answer to the first fits.
    """
    for at in range(_TRIES):
        pending = [some[at] for arrow, some in by_arrow.items() if at < len(some) and not confirmed[arrow]]
        apart = [contrast.without if collider else contrast.within for contrast in pending]
        log_pvalues = ask(list(dict.fromkeys(apart)))
        fitting = [
            (contrast, contrast.within if collider else contrast.without)
            for contrast, question in zip(pending, apart, strict=True)
            if log_pvalues[question] > _LOG_LEVEL
        ]
        log_pvalues = ask(list(dict.fromkeys(question for _, question in fitting)))
        for contrast, question in fitting:
            if log_pvalues[question] < _LOG_LEVEL:
                confirmed[tuple(np.transpose(contrast.arrows))] = True


def _close_triangles(arrows: BoolArray, confirmed: BoolArray) -> None:
    """Confirm a -> c if a -> b and b -> c are confirmed."""
    while True:
        implied = arrows & ~confirmed & ((confirmed.astype(int) @ confirmed) > 0)
        if not implied.any():
            return
        confirmed |= implied
