"""Algorithm 1 (DCD-C): from Markov boundaries alone to the CPDAG, over any boundary identifier.

The search within each target's boundary tells its neighbours and candidate colliders. Their union is the
skeleton, candidates that are unshielded in it become colliders, and Meek's rules finish the graph. With a
perfect identifier the result is the true CPDAG (Theorem 2). With an estimated one the findings can contradict
each other; then the strongest evidence goes first, what does not fit is left out and recorded, and the answer
is the CPDAG of a DAG in any case. Background knowledge goes before all evidence: the arrows that it leaves no
choice about are drawn before the colliders, and Meek's rules close the graph over both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import get_args

import numpy as np

from dcd.graph.adjacency import unshielded_colliders
from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.equivalence import apply_meek_rules
from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.graph.pattern import Pair, Triple, agree, draw_skeleton, drop_circular, fit_pattern
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.runtime.errors import InputError, SearchCutWarning, check_choice
from dcd.search.conflicts import (
    NOT_WITH_KNOWLEDGE,
    Conflict,
    asymmetries,
    circular_edge,
    known_collider,
    left_out_edge,
    overruled,
    refused_collider,
)
from dcd.search.neighbours import (
    Ask,
    BoundaryOf,
    Cut,
    Drop,
    Exclusion,
    PValueOf,
    Search,
    TargetSearch,
    check_max_subsets,
    conclude,
    search_in_full,
)
from dcd.search.pruned_neighbours import search_pruned

Prepare = Callable[[Sequence[Collection[str]], str], None]
Orient = Callable[[BoolArray, BoolArray], Mapping[Triple, float]]


@dataclass(frozen=True)
class Construction:
    """A CPDAG with the account of how it came about.

    `colliders` has those `(x, z, y)` that the data suggest and the graph has, with the strength of each.
    """

    cpdag: CPDAG
    markov_boundaries: Mapping[str, Mapping[str, Role]]
    conflicts: tuple[Conflict, ...]
    searches: tuple[TargetSearch, ...] = field(repr=False)
    colliders: Mapping[tuple[str, str, str], float] = field(repr=False)

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The searches that were cut short."""
        return tuple(search.cut for search in self.searches if search.cut is not None)


def construct_cpdag(
    names: Sequence[str],
    markov_boundary: BoundaryOf,
    *,
    pvalue: PValueOf | None = None,
    max_subsets: int | None = None,
    knowledge: Knowledge | None = None,
    search: Search = "full",
) -> Construction:
    """Algorithm 1 over any identifier of Markov boundaries.

    Parameters
    ----------
    names : the variables.
    markov_boundary : `markov_boundary(target, others)` returns the members of `others` that form the
        boundary of `target` within `others`.
    pvalue : `pvalue(target, member, others)` tells how well the independence of the two fits the data with
        all of `others` decoupled; decides which of two contradicting findings wins. Without it all count the
        same, and earlier names win.
    max_subsets : bound on the search within one boundary of m variables, which has 2^m - 2 subsets to
        exclude: sizes are searched in increasing order while all subsets of a size fit, and size 1 in any
        case. None searches all.
    knowledge : arrows that must be or may not be; they go before what the boundaries tell.
    search : "full" excludes all subsets of every boundary, as published. "pruned" leaves out those from which
        a perfect identifier could tell nothing new: the same answer from far fewer questions.

    Returns
    -------
    Construction with the CPDAG, the boundaries with roles, conflicts, and searches cut short.

    Examples
    --------
    >>> import dcd
    >>> collider = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> identify = dcd.graph.oracle(collider, names=["smoking", "cancer", "asbestos"])
    >>> print(dcd.search.construct_cpdag(["smoking", "cancer", "asbestos"], identify).cpdag)
    smoking -> cancer
    asbestos -> cancer
    """
    construction = construct(names, markov_boundary, pvalue, max_subsets, knowledge, search=search)
    warn_of_cuts(construction.cuts, stacklevel=3)
    return construction


def construct(
    names: Sequence[str],
    markov_boundary: BoundaryOf,
    pvalue: PValueOf | None,
    max_subsets: int | None,
    knowledge: Knowledge | None = None,
    *,
    search: Search = "full",
    prepare: Prepare | None = None,
) -> Construction:
    """`construct_cpdag` without its warning.

    `prepare(sets, label)` is told, before each round of questions, within which sets boundaries will be asked
    for; the label is for a progress bar.
    """
    check_max_subsets(max_subsets)
    check_search(search)
    names = tuple(names)
    if len(set(names)) != len(names):
        raise InputError("parameter 'names'", "has a name twice", "Give every variable a name of its own.")
    prepare = prepare or _nothing_ahead
    known = bind_knowledge(knowledge, names)
    others = {target: [name for name in names if name != target] for target in names}
    prepare(list(others.values()), "Markov boundaries")
    found = {target: set(markov_boundary(target, others[target])) for target in names}
    required, apart = _by_name(names, known.joined), _by_name(names, known.apart)
    boundaries = {
        target: [name for name in others[target] if name in found[target] or name in required[target]]
        for target in names
    }
    findings = (search_pruned if search == "pruned" else search_in_full)(
        boundaries, _asking(markov_boundary, prepare), max_subsets
    )
    searches = [
        conclude(
            target,
            boundaries[target],
            findings,
            others[target],
            pvalue,
            found=found[target],
            required=required[target],
            apart=apart[target],
        )
        for target in names
    ]
    return assemble(names, searches, knowledge=known)


def check_search(search: object) -> None:
    """Raise `InputError` unless `search` is one of the two."""
    check_choice("search", search, get_args(Search))


def _asking(markov_boundary: BoundaryOf, prepare: Prepare) -> Ask:
    """A function that answers a round of questions."""

    def ask(exclusions: Sequence[Exclusion]) -> list[Drop]:
        prepare([exclusion.kept for exclusion in exclusions], "subsets of boundaries")
        drops = []
        for exclusion in exclusions:
            stayed = set(markov_boundary(exclusion.target, exclusion.kept))
            drops += [Drop(exclusion, name) for name in exclusion.kept if name not in stayed]
        return drops

    return ask


def _by_name(names: Sequence[str], pairs: BoolArray) -> dict[str, list[str]]:
    return {
        name: [other for other, paired in zip(names, row, strict=True) if paired]
        for name, row in zip(names, pairs, strict=True)
    }


def _nothing_ahead(sets: Sequence[Collection[str]], label: str) -> None:
    """For identifiers that answer each question when it is asked."""


def warn_of_cuts(cuts: Sequence[Cut], stacklevel: int) -> None:
    """Warn if a search was cut short; `stacklevel` as in `warnings.warn`, counted from here."""
    if cuts:
        warnings.warn(
            f"The search was cut short for {len(cuts)} large Markov boundaries, so spouses may be left as "
            f"edges ({cuts[0]}{', ...' if len(cuts) > 1 else ''}). Raise max_subsets, or lower alpha.",
            SearchCutWarning,
            stacklevel=stacklevel,
        )


# --- all targets: one graph that is valid ----------------------------------------------------------------


def assemble(
    names: Sequence[str],
    searches: Sequence[TargetSearch],
    orient: Orient | None = None,
    *,
    knowledge: BoundKnowledge | None = None,
) -> Construction:
    """The rest of Algorithm 1: skeleton, colliders, Meek's rules, on findings that may be at odds.

    `orient(skeleton, forbidden)` names the colliders of a skeleton and how strong each is, where some arrows
    may not be; by default the candidates that the searches came upon are taken (Algorithm 1). The searches
    have the edges that `knowledge` requires, and none between variables that it keeps apart.
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
    made = list(unshielded_colliders(pattern))
    unsuggested = [
        (x, z, y)
        for x, z, y in made
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
            (names[x], names[z], names[y]): colliders[x, z, y] for x, z, y in made if (x, z, y) in colliders
        },
    )


def _oriented(
    orient: Orient, skeleton: IntArray, arrows: BoolArray, known: BoundKnowledge
) -> tuple[Mapping[Triple, float], Mapping[Triple, float]]:
    """The colliders of a skeleton, with what is known; and those of the data alone, if they contradict it."""
    colliders = orient(skeleton.astype(bool), known.forbidden)
    if not arrows.any():
        return colliders, colliders
    alone = orient(skeleton.astype(bool), np.zeros_like(arrows))
    return colliders, colliders if agree(skeleton, alone, arrows) else alone


def orient_skeleton(skeleton: BoolArray, colliders: Mapping[Triple, float]) -> IntArray:
    """The adjacency matrix of the CPDAG with this skeleton and these colliders, strongest first.

    If no DAG fits it, the weakest colliders are left out, and edges if the skeleton fits no DAG at all.
    """
    edges = {(i, j): 0.0 for i, j in combinations(range(len(skeleton)), 2) if skeleton[i, j]}
    pattern, _, _ = fit_pattern(skeleton.astype(np.int8), edges, colliders)
    return apply_meek_rules(pattern)


def _edge_pvalues(searches: Sequence[TargetSearch], position: Mapping[str, int]) -> dict[Pair, float]:
    """Every edge that one side at least holds on to, with the smaller p-value of the two."""
    pvalues: dict[Pair, float] = {}
    for search in searches:
        for neighbour, p in search.neighbours.items():
            i, j = sorted((position[search.target], position[neighbour]))
            pvalues[i, j] = min(p, pvalues.get((i, j), 1.0))
    return pvalues


def _collider_pvalues(searches: Sequence[TargetSearch], position: Mapping[str, int]) -> dict[Triple, float]:
    """Every candidate `(x, z, y)`, x < y, with the larger p-value of the two sides."""
    pvalues: dict[Triple, float] = {}
    for search in searches:
        for (middle, dropped), p in search.colliders.items():
            x, y = sorted((position[search.target], position[dropped]))
            triple = (x, position[middle], y)
            pvalues[triple] = max(p, pvalues.get(triple, 0.0))
    return pvalues


def _roles(search: TargetSearch, cpdag: CPDAG) -> dict[str, Role]:
    """What each member of a boundary is to its target in the finished graph.

    An edge that only the other side saw makes that side a member, too. A member without an edge counts as a
    spouse, whether or not the collider between the two was accepted.
    """
    roles: dict[str, Role] = {}
    for name in cpdag.names:
        role = cpdag.role(name, search.target)
        if role is not None:
            roles[name] = role
        elif name in search.boundary:
            roles[name] = "spouse"
    return roles
