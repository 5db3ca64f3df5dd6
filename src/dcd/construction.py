"""Algorithm 1 (DCD-C): from Markov boundaries alone to the CPDAG, over any boundary identifier.

A neighbour of a target stays in its boundary within every subset of variables; a spouse drops out once all
common children (and their descendants) are left out. So for each target, every non-empty proper subset of
its boundary is excluded in turn: what drops is a spouse, and the excluded variables are candidate colliders
between the two. With a perfect identifier the result is the true CPDAG (Theorem 2). With an estimated one
the findings can contradict each other; then the strongest evidence goes first, what does not fit is left out
and recorded, and the answer is the CPDAG of a DAG in any case.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb

import numpy as np

from dcd.arrays import IntArray
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
from dcd.validation import InputError, check_number

BoundaryOf = Callable[[str, Collection[str]], Collection[str]]
PValueOf = Callable[[str, str, Collection[str]], float]
Pair = tuple[int, int]
Triple = tuple[int, int, int]


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
class Cut:
    """A search that `max_subsets` cut short."""

    target: str
    boundary_size: int
    subsets_searched: int
    subsets_in_all: int

    def __str__(self) -> str:
        return (
            f"{self.target}: boundary of {self.boundary_size} variables, {self.subsets_searched} of its "
            f"{self.subsets_in_all} subsets searched"
        )


@dataclass(frozen=True)
class TargetSearch:
    """What excluding subsets of one target's boundary showed.

    Attributes
    ----------
    boundary : the Markov boundary within all variables.
    neighbours : the members that never dropped, each with its p-value within the whole boundary's set: the
        smaller, the stronger the evidence for the edge.
    colliders : for each `(z, dropped)` the largest p-value at which `dropped` left the boundary while z was
        excluded: the larger, the stronger the evidence for target -> z <- dropped.
    cut : set if not all subsets were searched.
    """

    target: str
    boundary: tuple[str, ...]
    neighbours: Mapping[str, float]
    colliders: Mapping[tuple[str, str], float]
    cut: Cut | None


@dataclass(frozen=True)
class Construction:
    """A CPDAG with the account of how it came about."""

    cpdag: CPDAG
    markov_boundaries: Mapping[str, Mapping[str, Role]]
    conflicts: tuple[Conflict, ...]
    cuts: tuple[Cut, ...]
    searches: tuple[TargetSearch, ...] = field(repr=False)


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
        exclude: sizes are searched in increasing order while all subsets of a size fit. None searches all.

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


# --- one target: which members of its boundary are neighbours? -------------------------------------------


def exclusions(
    boundary: Sequence[str], max_subsets: int | None = None
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """`(excluded, kept)` for the non-empty proper subsets of a boundary, small exclusions first.

    With `max_subsets`, as many whole sizes as together stay within it, and at least size 1.
    """
    n_visited = 0
    for size in range(1, len(boundary)):
        n_visited += comb(len(boundary), size)
        if max_subsets is not None and size > 1 and n_visited > max_subsets:
            return
        for excluded in combinations(boundary, size):
            left_out = set(excluded)
            yield excluded, tuple(name for name in boundary if name not in left_out)


def check_max_subsets(max_subsets: int | None) -> None:
    """Raise `InputError` unless the bound on the search is None or a positive whole number."""
    if max_subsets is not None:
        check_number("max_subsets", max_subsets, at_least=1, whole=True, suggestion=256)


def search_boundary(
    target: str,
    boundary: Sequence[str],
    others: Sequence[str],
    markov_boundary: BoundaryOf,
    pvalue: PValueOf | None = None,
    max_subsets: int | None = None,
) -> TargetSearch:
    """Lines 5 to 19 of Algorithm 1: exclude subsets of one target's boundary and see what drops."""
    pvalue = pvalue or _no_pvalue
    neighbours = dict.fromkeys(boundary, 0.0)
    colliders: dict[tuple[str, str], float] = {}
    n_searched = 0
    for excluded, kept in exclusions(boundary, max_subsets):
        n_searched += 1
        stayed = set(markov_boundary(target, kept))
        for dropped in (name for name in kept if name not in stayed):
            neighbours.pop(dropped, None)
            strength = pvalue(target, dropped, kept)
            for middle in excluded:
                colliders[middle, dropped] = max(strength, colliders.get((middle, dropped), 0.0))
    for name in neighbours:
        neighbours[name] = pvalue(target, name, others)
    n_subsets = max(2 ** len(boundary) - 2, 0)
    cut = Cut(target, len(boundary), n_searched, n_subsets) if n_searched < n_subsets else None
    return TargetSearch(target, tuple(boundary), neighbours, colliders, cut)


def _no_pvalue(target: str, member: str, others: Collection[str]) -> float:  # noqa: ARG001
    return 0.0


# --- all targets: one graph that is valid ----------------------------------------------------------------


def assemble(names: Sequence[str], searches: Sequence[TargetSearch]) -> Construction:
    """Lines 20 to 31 of Algorithm 1: skeleton, colliders, Meek's rules, on findings that may be at odds."""
    names = tuple(names)
    position = {name: index for index, name in enumerate(names)}
    pattern, refused, left_out = _fit_pattern(
        len(names), _edge_pvalues(searches, position), _collider_pvalues(searches, position)
    )
    dag = consistent_extension(pattern)
    assert dag is not None  # what `_fit_pattern` sees to
    cpdag = CPDAG(names, dag_to_cpdag(dag))
    cuts = tuple(search.cut for search in searches if search.cut is not None)
    if cuts:
        warnings.warn(
            f"The search was cut short for {len(cuts)} large Markov boundaries, so spouses may be left as "
            f"edges ({cuts[0]}{', ...' if len(cuts) > 1 else ''}). Raise max_subsets, or lower alpha.",
            SearchCutWarning,
            stacklevel=3,
        )
    return Construction(
        cpdag=cpdag,
        markov_boundaries={search.target: _roles(search, cpdag) for search in searches},
        conflicts=(
            *_asymmetries(searches),
            *(_refused_collider(names, triple, reason) for triple, reason in refused),
            *(_left_out_edge(names, pair) for pair in left_out),
        ),
        cuts=cuts,
        searches=tuple(searches),
    )


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
    n_variables: int, edges: Mapping[Pair, float], colliders: Mapping[Triple, float]
) -> tuple[IntArray, list[tuple[Triple, str]], list[Pair]]:
    """Skeleton and colliders that some DAG fits: `(pattern, refused colliders, edges left out)`.

    A skeleton can be impossible by itself: four variables in a ring need a collider somewhere, and there may
    be evidence for none. Then the weakest undirected edge of the contradiction is left out.
    """
    skeleton = np.zeros((n_variables, n_variables), dtype=np.int8)
    for i, j in edges:
        skeleton[i, j] = skeleton[j, i] = 1
    left_out: list[Pair] = []
    while True:
        unshielded = [
            (x, z, y) for x, z, y in colliders if skeleton[x, z] and skeleton[y, z] and not skeleton[x, y]
        ]
        strongest_first = sorted(unshielded, key=lambda triple: (-colliders[triple], triple))
        pattern, refused = _orient_colliders(skeleton, strongest_first)
        core = contradictory_core(pattern)
        if not core:
            return pattern, refused, left_out
        undirected = undirected_part(pattern)
        weakest = max(
            (pair for pair in combinations(core, 2) if undirected[pair]), key=lambda p: (edges[p], p)
        )
        skeleton[weakest] = skeleton[weakest[::-1]] = 0
        left_out.append(weakest)


def _orient_colliders(
    skeleton: IntArray, strongest_first: Sequence[Triple]
) -> tuple[IntArray, list[tuple[Triple, str]]]:
    """Turn candidates into arrows: `(pattern, [(refused candidate, reason), ...])`; the arrows are acyclic.

    If all candidates together make a pattern that some DAG fits, as they do with a perfect identifier, that
    is the answer. Otherwise they are taken one by one, and one that does not fit the ones before is refused.
    """
    pattern = skeleton.copy()
    for x, z, y in strongest_first:
        pattern[z, x] = pattern[z, y] = 0
    no_edge_lost = np.array_equal(pattern | pattern.T, skeleton)
    if no_edge_lost and not contradictory_core(pattern):
        return pattern, []

    pattern, refused = skeleton.copy(), []
    for x, z, y in strongest_first:
        trial = pattern.copy()
        trial[z, x] = trial[z, y] = 0
        if not pattern[x, z] or not pattern[y, z]:
            refused.append(((x, z, y), "one of these edges points away from the middle already"))
        elif not is_acyclic(directed_part(trial)):
            refused.append(((x, z, y), "that would close a directed cycle"))
        elif contradictory_core(trial) and not contradictory_core(pattern):
            refused.append(((x, z, y), "no directed acyclic graph has it together with the others"))
        else:
            pattern = trial
    return pattern, refused


# --- the account -----------------------------------------------------------------------------------------


def _roles(search: TargetSearch, cpdag: CPDAG) -> dict[str, Role]:
    """What each member of a boundary is to its target in the finished graph.

    An edge that only the other side saw makes that side a member too, so that boundaries and graph agree.
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
