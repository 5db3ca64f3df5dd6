"""Algorithm 1 (DCD-C): from Markov boundaries alone to the CPDAG, over any boundary identifier.

The search within each target's boundary tells its neighbours and candidate colliders. Their union is the
skeleton, candidates that are unshielded in it become colliders, and Meek's rules finish the graph. With a
perfect identifier the result is the true CPDAG (Theorem 2). With an estimated one the findings can contradict
each other; then the strongest evidence goes first, what does not fit is left out and recorded, and the answer
is the CPDAG of a DAG in any case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
from scipy.sparse.csgraph import connected_components

from dcd.arrays import BoolArray, IntArray
from dcd.graph import (
    CPDAG,
    Role,
    consistent_extension,
    contradictory_core,
    dag_to_cpdag,
    directed_part,
    is_acyclic,
    undirected_part,
)
from dcd.search import BoundaryOf, Cut, PValueOf, TargetSearch, check_max_subsets, search_boundary
from dcd.validation import InputError

Pair = tuple[int, int]
Triple = tuple[int, int, int]
Orient = Callable[[BoolArray], Mapping[Triple, float]]


class SearchCutWarning(UserWarning):
    """Some boundaries were too large to search in full."""


@dataclass(frozen=True)
class Conflict:
    """Something the data contradicted, and what was done about it.

    Attributes
    ----------
    kind : "asymmetric_boundary", "asymmetric_edge", "refused_collider" or "left_out_edge".
    variables : the variables concerned; for a collider `(x, z, y)` with z in the middle.
    problem, action : a sentence each, for a person.
    """

    kind: str
    variables: tuple[str, ...]
    problem: str
    action: str

    def __str__(self) -> str:
        return f"{self.problem} {self.action}"


@dataclass(frozen=True)
class Construction:
    """A CPDAG with the account of how it came about."""

    cpdag: CPDAG
    markov_boundaries: Mapping[str, Mapping[str, Role]]
    conflicts: tuple[Conflict, ...]
    searches: tuple[TargetSearch, ...] = field(repr=False)

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

    Returns
    -------
    Construction with the CPDAG, the boundaries with roles, conflicts, and searches cut short.

    Examples
    --------
    >>> import dcd
    >>> collider = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> identify = dcd.graph.oracle(collider, names=["smoking", "cancer", "asbestos"])
    >>> print(dcd.construct_cpdag(["smoking", "cancer", "asbestos"], identify).cpdag)
    smoking -> cancer
    asbestos -> cancer
    """
    construction = construct(names, markov_boundary, pvalue, max_subsets)
    warn_of_cuts(construction.cuts, stacklevel=3)
    return construction


def construct(
    names: Sequence[str],
    markov_boundary: BoundaryOf,
    pvalue: PValueOf | None,
    max_subsets: int | None,
) -> Construction:
    """`construct_cpdag` without its warning."""
    check_max_subsets(max_subsets)
    names = tuple(names)
    if len(set(names)) != len(names):
        raise InputError("parameter 'names'", "has a name twice", "Give every variable a name of its own.")
    searches = []
    for target in names:
        others = [name for name in names if name != target]
        found = set(markov_boundary(target, others))
        boundary = tuple(name for name in others if name in found)
        searches.append(search_boundary(target, boundary, others, markov_boundary, pvalue, max_subsets))
    return assemble(names, searches)


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
    names: Sequence[str], searches: Sequence[TargetSearch], orient: Orient | None = None
) -> Construction:
    """The rest of Algorithm 1: skeleton, colliders, Meek's rules, on findings that may be at odds.

    `orient` names the colliders of a skeleton and how strong each is; by default the candidates that the
    searches came upon are taken (Algorithm 1).
    """
    names = tuple(names)
    position = {name: index for index, name in enumerate(names)}
    edges = _edge_pvalues(searches, position)
    skeleton = _skeleton(len(names), edges)
    colliders = _collider_pvalues(searches, position) if orient is None else orient(skeleton.astype(bool))
    pattern, refused, left_out = _fit_pattern(skeleton, edges, colliders)
    dag = consistent_extension(pattern)
    assert dag is not None  # what `_fit_pattern` sees to
    cpdag = CPDAG(names, dag_to_cpdag(dag))
    return Construction(
        cpdag=cpdag,
        markov_boundaries={search.target: _roles(search, cpdag) for search in searches},
        conflicts=(
            *_asymmetries(searches),
            *(_refused_collider(names, triple, reason) for triple, reason in refused),
            *(_left_out_edge(names, pair) for pair in left_out),
        ),
        searches=tuple(searches),
    )


def orient_skeleton(skeleton: BoolArray, colliders: Mapping[Triple, float]) -> IntArray:
    """The adjacency matrix of the CPDAG with this skeleton and these colliders, strongest first.

    If no DAG fits it, the weakest colliders are left out, and edges if the skeleton fits no DAG at all.
    """
    edges = {(i, j): 0.0 for i, j in combinations(range(len(skeleton)), 2) if skeleton[i, j]}
    pattern, _, _ = _fit_pattern(skeleton.astype(np.int8), edges, colliders)
    dag = consistent_extension(pattern)
    assert dag is not None  # what `_fit_pattern` sees to
    return dag_to_cpdag(dag)


def _skeleton(n_variables: int, edges: Mapping[Pair, float]) -> IntArray:
    skeleton = np.zeros((n_variables, n_variables), dtype=np.int8)
    for i, j in edges:
        skeleton[i, j] = skeleton[j, i] = 1
    return skeleton


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


def _fit_pattern(
    skeleton: IntArray, edges: Mapping[Pair, float], colliders: Mapping[Triple, float]
) -> tuple[IntArray, list[tuple[Triple, str]], list[Pair]]:
    """Skeleton and colliders that some DAG fits: `(pattern, refused colliders, edges left out)`.

    Parts of the graph that no edge connects are settled apart: what one contradicts is nothing to the other.
    """
    _, part_of = connected_components(skeleton, directed=False)
    pattern, refused, left_out = np.zeros_like(skeleton), [], []
    for part in np.unique(part_of):
        part_pattern, part_refused, part_left_out = _fit_connected_pattern(
            skeleton * np.outer(part_of == part, part_of == part),
            edges,
            {triple: p for triple, p in colliders.items() if part_of[triple[1]] == part},
        )
        pattern |= part_pattern
        refused += part_refused
        left_out += part_left_out
    return pattern, refused, left_out


def _fit_connected_pattern(
    skeleton: IntArray, edges: Mapping[Pair, float], colliders: Mapping[Triple, float]
) -> tuple[IntArray, list[tuple[Triple, str]], list[Pair]]:
    """`_fit_pattern` of one connected part.

    A skeleton can be impossible by itself: four variables in a ring need a collider somewhere, and there may
    be evidence for none. Then the weakest undirected edge of the contradiction is left out.
    """
    left_out: list[Pair] = []
    pattern, refused = _orient_colliders(skeleton, colliders)
    while core := contradictory_core(pattern):
        undirected = undirected_part(pattern)
        candidates = [pair for pair in combinations(core, 2) if undirected[pair]]
        left_out.append(max(candidates, key=lambda pair: (edges[pair], pair)))
        skeleton[left_out[-1]] = skeleton[left_out[-1][::-1]] = 0
        pattern, refused = _orient_colliders(skeleton, colliders)
    # The core holds what lies between two contradictions, too. An edge that was no part of either comes back.
    for pair in sorted(left_out, key=lambda pair: (edges[pair], pair)):
        trial = skeleton.copy()
        trial[pair] = trial[pair[::-1]] = 1
        trial_pattern, trial_refused = _orient_colliders(trial, colliders)
        if not contradictory_core(trial_pattern) and len(trial_refused) <= len(refused):
            skeleton, pattern, refused = trial, trial_pattern, trial_refused
            left_out.remove(pair)
    return pattern, refused, left_out


def _orient_colliders(
    skeleton: IntArray, colliders: Mapping[Triple, float]
) -> tuple[IntArray, list[tuple[Triple, str]]]:
    """Turn candidates into arrows: `(pattern, [(refused candidate, reason), ...])`; the arrows are acyclic.

    If all candidates together make a pattern that some DAG fits, as they do with a perfect identifier, that
    is the answer. Otherwise they are taken one by one, the strongest first, and one that does not fit the
    ones before is refused.
    """
    unshielded = [
        (x, z, y) for x, z, y in colliders if skeleton[x, z] and skeleton[y, z] and not skeleton[x, y]
    ]
    pattern = skeleton.copy()
    for x, z, y in unshielded:
        pattern[z, x] = pattern[z, y] = 0
    no_edge_lost = np.array_equal(pattern | pattern.T, skeleton)
    if no_edge_lost and not contradictory_core(pattern):
        return pattern, []

    pattern, core, refused = skeleton.copy(), set(contradictory_core(skeleton)), []
    for x, z, y in sorted(unshielded, key=lambda triple: (-colliders[triple], triple)):
        trial = pattern.copy()
        trial[z, x] = trial[z, y] = 0
        trial_core = set(contradictory_core(trial))
        if not pattern[x, z] or not pattern[y, z]:
            refused.append(((x, z, y), "one of these edges points away from the middle already"))
        elif not is_acyclic(directed_part(trial)):
            refused.append(((x, z, y), "that would close a directed cycle"))
        elif trial_core - core:
            refused.append(((x, z, y), "no directed acyclic graph has it together with the others"))
        else:
            pattern, core = trial, trial_core
    return pattern, refused


# --- the account -----------------------------------------------------------------------------------------


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


def _asymmetries(searches: Sequence[TargetSearch]) -> Iterator[Conflict]:
    """Pairs of which only one has the other in its boundary, or among its neighbours."""
    boundary = {search.target: set(search.boundary) for search in searches}
    neighbours = {search.target: set(search.neighbours) for search in searches}
    for x, y in combinations(boundary, 2):
        if (y in boundary[x]) != (x in boundary[y]):
            member, target = (y, x) if y in boundary[x] else (x, y)
            yield Conflict(
                "asymmetric_boundary",
                (x, y),
                f"{member} is in the Markov boundary of {target}, but not the other way round.",
                "One side suffices for an edge." if member in neighbours[target] else "No edge was drawn.",
            )
        elif (y in neighbours[x]) != (x in neighbours[y]):
            holds, drops = (x, y) if y in neighbours[x] else (y, x)
            yield Conflict(
                "asymmetric_edge",
                (x, y),
                f"{holds} drops out of the boundary of {drops} when others are left out, "
                f"but {drops} never drops out of that of {holds}.",
                "One side suffices for an edge.",
            )


def _refused_collider(names: Sequence[str], triple: Triple, reason: str) -> Conflict:
    x, z, y = (names[index] for index in triple)
    return Conflict(
        "refused_collider",
        (x, z, y),
        f"The data suggest {x} -> {z} <- {y}, but {reason}.",
        "Stronger evidence went first; this was left out.",
    )


def _left_out_edge(names: Sequence[str], pair: Pair) -> Conflict:
    x, y = (names[index] for index in pair)
    return Conflict(
        "left_out_edge",
        (x, y),
        f"No directed acyclic graph has {x} - {y} together with the other edges and colliders found.",
        "It has the weakest evidence among them and was left out.",
    )
