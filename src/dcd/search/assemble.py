"""From the findings of a search, which may contradict each other, to a valid CPDAG.

The skeleton has every edge suggested by at least one of its ends; then colliders are oriented and Meek's
rules applied. Background knowledge takes precedence, then the strongest evidence; what does not fit is left
out and recorded, so that the result is always the CPDAG of some DAG.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Protocol

import numpy as np

from dcd.graph.adjacency import unshielded_colliders
from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.equivalence import apply_meek_rules
from dcd.graph.knowledge import bind_knowledge
from dcd.graph.pattern import Triple, VariablePair, agree, draw_skeleton, drop_circular, fit_pattern
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.search.base import Construction, TargetSearch
from dcd.search.conflicts import (
    NOT_WITH_KNOWLEDGE,
    asymmetries,
    circular_edge,
    known_collider,
    left_out_edge,
    overruled,
    refused_collider,
)


class Orient(Protocol):
    """Finds the colliders `(x, z, y)`, x < y, of a skeleton, with the strength of each."""

    def __call__(self, skeleton: BoolArray, *, forbidden: BoolArray) -> Mapping[Triple, float]:
        """`forbidden[i, j]` is true if `i -> j` is forbidden."""
        ...


def assemble(
    names: Sequence[str],
    searches: Sequence[TargetSearch],
    orient: Orient | None = None,
    *,
    knowledge: BoundKnowledge | None = None,
) -> Construction:
    """Skeleton, colliders, Meek's rules.

    Without `orient`, the candidate colliders of the searches are used (Algorithm 1). The searches already
    respect the edges that `knowledge` requires and forbids.
    """
    names = tuple(names)
    known = knowledge or bind_knowledge(None, names)
    position = {name: index for index, name in enumerate(names)}
    edges = _edge_pvalues(searches, position)
    circular = drop_circular(edges, known)
    skeleton = draw_skeleton(len(names), edges)
    arrows = known.arrows(skeleton.astype(bool))
    colliders, suggested = (
        (_collider_pvalues(searches, position),) * 2
        if orient is None
        else _oriented(orient, skeleton, arrows, known)
    )
    pattern, refused, left_out = fit_pattern(skeleton, edges, colliders, arrows)
    refused += [(triple, NOT_WITH_KNOWLEDGE) for triple in suggested if triple not in colliders]
    background = tuple((names[i], names[j]) for i, j in np.argwhere(arrows))
    cpdag = CPDAG(names, apply_meek_rules(pattern), background)
    drawn = list(unshielded_colliders(pattern))
    unsuggested = [
        (x, z, y)
        for x, z, y in drawn
        if (x, z, y) not in suggested and (arrows[x, z] or arrows[y, z] or (x, z, y) in colliders)
    ]
    return Construction(
        cpdag=cpdag,
        markov_boundaries={search.target: _roles(search, cpdag) for search in searches},
        conflicts=(
            *asymmetries(searches),
            *overruled(searches, position, known),
            *(circular_edge(names, pair, known) for pair in circular),
            *(refused_collider(names, triple, reason, known) for triple, reason in refused),
            *(left_out_edge(names, pair) for pair in left_out),
            *(known_collider(names, triple) for triple in unsuggested),
        ),
        searches=tuple(searches),
        colliders={
            (names[x], names[z], names[y]): colliders[x, z, y] for x, z, y in drawn if (x, z, y) in colliders
        },
    )


def _oriented(
    orient: Orient, skeleton: IntArray, arrows: BoolArray, known: BoundKnowledge
) -> tuple[Mapping[Triple, float], Mapping[Triple, float]]:
    """The colliders given knowledge, and those of the data alone if these contradict it."""
    colliders = orient(skeleton.astype(bool), forbidden=known.forbidden)
    if not arrows.any():
        return colliders, colliders
    alone = orient(skeleton.astype(bool), forbidden=np.zeros_like(arrows))
    return colliders, colliders if agree(skeleton, alone, arrows) else alone


def orient_skeleton(skeleton: BoolArray, colliders: Mapping[Triple, float]) -> IntArray:
    """The adjacency matrix of the CPDAG with this skeleton and these colliders, strongest first.

    If no DAG fits, the weakest colliders are left out; then edges, if no DAG has the skeleton.
    """
    edges = {(i, j): 0.0 for i, j in combinations(range(len(skeleton)), 2) if skeleton[i, j]}
    pattern, _, _ = fit_pattern(skeleton.astype(np.int8), edges, colliders)
    return apply_meek_rules(pattern)


def _edge_pvalues(searches: Sequence[TargetSearch], position: Mapping[str, int]) -> dict[VariablePair, float]:
    """Every edge suggested by at least one of its ends, with the smaller p-value."""
    pvalues: dict[VariablePair, float] = {}
    for search in searches:
        for neighbour, p in search.neighbours.items():
            i, j = sorted((position[search.target], position[neighbour]))
            pvalues[i, j] = min(p, pvalues.get((i, j), 1.0))
    return pvalues


def _collider_pvalues(searches: Sequence[TargetSearch], position: Mapping[str, int]) -> dict[Triple, float]:
    """Every candidate `(x, z, y)`, x < y, with the larger p-value of its two ends."""
    pvalues: dict[Triple, float] = {}
    for search in searches:
        for (middle, dropped), p in search.colliders.items():
            x, y = sorted((position[search.target], position[dropped]))
            triple = (x, position[middle], y)
            pvalues[triple] = max(p, pvalues.get(triple, 0.0))
    return pvalues


def _roles(search: TargetSearch, cpdag: CPDAG) -> dict[str, Role]:
    """The role of each member of a boundary in the final graph.

    All neighbours are members. Members without an edge count as spouses, whether or not the collider was
    accepted.
    """
    roles: dict[str, Role] = {}
    for name in cpdag.names:
        role = cpdag.role(name, search.target)
        if role is not None:
            roles[name] = role
        elif name in search.boundary:
            roles[name] = "spouse"
    return roles
