"""From the outcome of a search to a valid CPDAG: the class of a DAG, or of compatible findings.

Findings of Algorithm 1 may contradict each other. The skeleton has every edge suggested by at least one of
its ends; then colliders are oriented and Meek's rules applied. Background knowledge takes precedence, then
the strongest evidence; whatever does not fit is left out and recorded, so that the result is always the CPDAG
of some DAG.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from dcd.graph.adjacency import directed_part, skeleton_of, unshielded_colliders
from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.equivalence import apply_meek_rules, dag_to_cpdag, with_arrows
from dcd.graph.pattern import Triple, VariablePair, draw_skeleton, drop_circular, fit_pattern
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.search.base import Construction, GraphOutcome, Posterior, TargetSearch
from dcd.search.conflicts import (
    NOT_WITH_KNOWLEDGE,
    asymmetries,
    circular_edge,
    known_collider,
    left_out_edge,
    overruled,
    refused_collider,
)


def assemble(names: Sequence[str], searches: Sequence[TargetSearch], known: BoundKnowledge) -> Construction:
    """Skeleton, colliders, Meek's rules, from the findings of Algorithm 1.

    The searches already respect the edges that are `known` to be required or forbidden.
    """
    names = tuple(names)
    position = {name: index for index, name in enumerate(names)}
    edges = _edge_pvalues(searches, position)
    circular = drop_circular(edges, known)
    skeleton = draw_skeleton(len(names), edges)
    arrows = known.arrows(skeleton.astype(bool))
    colliders = _collider_pvalues(searches, position)
    pattern, refused, left_out = fit_pattern(skeleton, edges, colliders, arrows)
    background = tuple((names[i], names[j]) for i, j in np.argwhere(arrows))
    cpdag = CPDAG(names, apply_meek_rules(pattern), background)
    unsuggested = [
        (x, z, y)
        for x, z, y in unshielded_colliders(pattern)
        if (x, z, y) not in colliders and (arrows[x, z] or arrows[y, z])
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
    )


class DrawnArrows(NamedTuple):
    """The conditions for an arrow to be drawn as one.

    Attributes
    ----------
    least_probability : the smallest probability of an arrow that is drawn.
    only_confirmed : whether tests have to confirm the arrow. Scores of categories are approximations: in
        simulated tables with categories, arrows that tests confirm are right nearly always, and others in
        about half of the cases, whatever their probabilities.
    """

    least_probability: float = 0.0
    only_confirmed: bool = False


def assemble_dag(
    names: Sequence[str], outcome: GraphOutcome, knowledge: BoundKnowledge, shown: DrawnArrows | None = None
) -> Construction:
    """The CPDAG of the class of a DAG, given knowledge; arrows that are not drawn are uncertain."""
    names = tuple(names)
    skeleton = skeleton_of(outcome.dag)
    arrows = knowledge.arrows(skeleton)
    learned = dag_to_cpdag(outcome.dag)
    known = [(int(i), int(j)) for i, j in np.argwhere(arrows)]
    adjacency = with_arrows(learned, known)
    background = tuple((names[i], names[j]) for i, j in known)
    free = directed_part(adjacency) & ~arrows  # knowledge is not uncertain
    weak = _uncertain(free, outcome.posterior, shown or DrawnArrows())
    cpdag = CPDAG(names, adjacency, background, tuple((names[i], names[j]) for i, j in np.argwhere(weak)))
    searches = _searches_of_dag(names, outcome, _differences(outcome, knowledge))
    position = {name: index for index, name in enumerate(names)}
    suggested = set() if outcome.unconstrained is None else set(unshielded_colliders(outcome.unconstrained))
    drawn = set(unshielded_colliders(outcome.dag))
    forbidden = knowledge.forbidden
    against = [
        (x, z, y)
        for x, z, y in suggested - drawn
        if forbidden[x, z] or forbidden[y, z] or (skeleton[x, z] and skeleton[y, z])
    ]
    by_knowledge = [t for t in drawn - suggested if arrows[t[0], t[1]] or arrows[t[2], t[1]]]
    return Construction(
        cpdag=cpdag,
        markov_boundaries={search.target: _roles(search, cpdag) for search in searches},
        conflicts=(
            *overruled(searches, position, knowledge),
            *(refused_collider(names, t, NOT_WITH_KNOWLEDGE, knowledge) for t in sorted(against)),
            *(known_collider(names, t) for t in sorted(by_knowledge)),
        ),
        searches=searches,
        posterior=outcome.posterior,
    )


def _uncertain(arrows: BoolArray, posterior: Posterior | None, shown: DrawnArrows) -> BoolArray:
    """The arrows that are not drawn."""
    if posterior is None:
        return np.zeros_like(arrows)
    weak = arrows & (posterior.types[0] < shown.least_probability)
    if shown.only_confirmed and posterior.confirmed is not None:
        weak |= arrows & ~posterior.confirmed
    return weak


def _searches_of_dag(
    names: Sequence[str], outcome: GraphOutcome, differing: Collection[VariablePair]
) -> tuple[TargetSearch, ...]:
    """The findings about every variable; on the edges `differing`, knowledge overrules the data."""
    neighbours: list[dict[int, float]] = [{} for _ in names]
    for edge in outcome.edges:
        i, j = edge.pair
        neighbours[i][j] = neighbours[j][i] = float(np.exp(edge.log_pvalue))
    return tuple(
        TargetSearch(
            target=name,
            boundary=tuple(names[v] for v in _boundary(outcome.dag, t)),
            neighbours={names[v]: pvalue for v, pvalue in sorted(neighbours[t].items())},
            overruled=tuple(names[v] for v in range(len(names)) if (min(t, v), max(t, v)) in differing),
        )
        for t, name in enumerate(names)
    )


def _boundary(dag: IntArray, target: int) -> list[int]:
    """Parents, children and the children's other parents, in increasing order."""
    children = dag[target].astype(bool)
    members = children | dag[:, target].astype(bool) | dag[:, children].any(axis=1)
    members[target] = False
    return [int(v) for v in np.flatnonzero(members)]


def _differences(outcome: GraphOutcome, knowledge: BoundKnowledge) -> set[VariablePair]:
    """Required edges that no test confirms, and forbidden edges that the data suggest."""
    level = np.log(outcome.level)
    pairs = {
        edge.pair
        for edge in outcome.edges
        if knowledge.joined[edge.pair] and not edge.log_pvalue < level  # NaN if it cannot be tested
    }
    if outcome.unconstrained is not None:
        suggested = skeleton_of(outcome.unconstrained) & knowledge.apart
        pairs |= {(int(i), int(j)) for i, j in np.argwhere(np.triu(suggested))}
    return pairs


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
