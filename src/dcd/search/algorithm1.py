"""Algorithm 1 (DCD-C): from Markov boundaries to the CPDAG, with any boundary identifier.

A neighbour of a target is in its boundary within every subset of variables; a spouse drops out once all
common children and their descendants are excluded. Every non-empty proper subset of each boundary is
therefore excluded in turn: a member that drops out is a spouse, and the excluded variables are candidate
colliders between the two. (`pruned_subsets` excludes fewer subsets.) `assemble` builds the CPDAG from the
neighbours and the candidates. With a perfect identifier it is the true CPDAG (Theorem 2).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import combinations
from math import comb
from typing import Literal, get_args

from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, SearchCutWarning, check_choice, check_number, name_list
from dcd.search.assemble import assemble
from dcd.search.base import (
    Ask,
    Boundaries,
    BoundaryOf,
    Construction,
    Cut,
    Drop,
    Exclusion,
    Findings,
    PValueOf,
    TargetSearch,
)
from dcd.search.pruned_subsets import search_pruned

Subsets = Literal["all", "pruned"]


_SUBSETS = "subsets of boundaries"
Prepare = Callable[[Sequence[Collection[str]], str, str | None], None]
Announce = Callable[[Boundaries], None]


def construct_cpdag(
    names: Sequence[str],
    markov_boundary: BoundaryOf,
    *,
    pvalue: PValueOf | None = None,
    max_subsets: int | None = None,
    subsets: Subsets = "all",
    knowledge: Knowledge | None = None,
) -> Construction:
    """Algorithm 1 with any identifier of Markov boundaries.

    Parameters
    ----------
    names : the variables.
    markov_boundary : `markov_boundary(target, others)` returns the members of `others` that form the
        boundary of `target` within `others`.
    pvalue : `pvalue(target, member, others)` is the p-value of independence with all of `others` decoupled;
        it decides between contradictory findings. Without it, earlier names win.
    max_subsets : limit on the subsets searched within a boundary of m variables, which has 2^m - 2. Sizes
        are searched in increasing order while all subsets of a size fit, and size 1 in any case. None
        searches all.
    subsets : "all" excludes every subset of every boundary, as published. "pruned" skips those that give a
        perfect identifier no new information.
    knowledge : required and forbidden arrows, which take precedence over the boundaries.

    Examples
    --------
    >>> import dcd
    >>> collider = [[0, 1, 0], [0, 0, 0], [0, 1, 0]]
    >>> identify = dcd.graph.oracle(collider, names=["smoking", "cancer", "asbestos"])
    >>> print(dcd.search.construct_cpdag(["smoking", "cancer", "asbestos"], identify).cpdag)
    smoking -> cancer
    asbestos -> cancer
    """
    construction = construct(names, markov_boundary, pvalue, max_subsets, knowledge, subsets=subsets)
    warn_of_cuts(construction.cuts, stacklevel=3)
    return construction


def construct(
    names: Sequence[str],
    markov_boundary: BoundaryOf,
    pvalue: PValueOf | None,
    max_subsets: int | None,
    knowledge: Knowledge | None = None,
    *,
    subsets: Subsets = "all",
    prepare: Prepare | None = None,
    announce: Announce | None = None,
) -> Construction:
    """`construct_cpdag` without its warning.

    `prepare(sets, label, then)` is called before each round of queries with the sets to be decoupled, their
    label, and the name of the next stage; `announce(boundaries)` when the boundaries are known and their
    subsets are to be searched.
    """
    check_subsets(subsets, max_subsets)
    names = name_list("names", names)
    if len(set(names)) != len(names):
        raise InputError("parameter 'names'", "has a name twice", "Use a different name for each variable.")
    prepare = prepare or (lambda *_: None)  # for identifiers without preparation
    known = bind_knowledge(knowledge, names)
    for parameter, value in (
        ("markov_boundary", markov_boundary),
        ("pvalue", max if pvalue is None else pvalue),
    ):
        if not callable(value):
            problem = f"must be a function, got {type(value).__name__}"
            raise InputError(f"parameter '{parameter}'", problem, "See dcd.graph.oracle for one.")
    others = {target: [name for name in names if name != target] for target in names}
    prepare(list(others.values()), "Markov boundaries", _SUBSETS)
    identified = {target: set(markov_boundary(target, others[target])) for target in names}
    required, apart = _by_name(names, known.joined), _by_name(names, known.apart)
    boundaries = {
        target: [name for name in others[target] if name in identified[target] or name in required[target]]
        for target in names
    }
    if announce is not None:
        announce(boundaries)
    search = search_pruned if subsets == "pruned" else search_all
    findings = search(boundaries, _asking(markov_boundary, prepare), max_subsets)
    searches = [
        conclude(
            target,
            boundaries[target],
            findings,
            others[target],
            pvalue,
            identified=identified[target],
            required=required[target],
            apart=apart[target],
        )
        for target in names
    ]
    return assemble(names, searches, known)


def check_subsets(subsets: object, max_subsets: object) -> None:
    """Raise `InputError` unless both parameters are valid."""
    check_choice("subsets", subsets, get_args(Subsets))
    if max_subsets is not None:
        check_number("max_subsets", max_subsets, at_least=1, whole=True, suggestion=256)


def _asking(markov_boundary: BoundaryOf, prepare: Prepare) -> Ask:
    def ask(exclusions: Sequence[Exclusion]) -> list[Drop]:
        prepare([exclusion.kept for exclusion in exclusions], _SUBSETS, None)
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


def warn_of_cuts(cuts: Sequence[Cut], stacklevel: int) -> None:
    """Warn if a search was cut short; `stacklevel` as in `warnings.warn`."""
    if cuts:
        warnings.warn(
            f"The search was cut short for {len(cuts)} large Markov boundaries, so some edges may be false: "
            f"spouses ({cuts[0]}{', ...' if len(cuts) > 1 else ''}). Raise max_subsets, or lower alpha.",
            SearchCutWarning,
            stacklevel=stacklevel,
        )


# --- the inner loops: neighbours among the members of a boundary -----------------------------------------


def search_all(boundaries: Boundaries, ask: Ask, max_subsets: int | None = None) -> Findings:
    """Exclude every subset of every boundary, all in one round."""
    asked = {
        target: [Exclusion(target, *sides) for sides in exclusions(boundary, max_subsets)]
        for target, boundary in boundaries.items()
    }
    drops: dict[str, list[Drop]] = {target: [] for target in boundaries}
    for drop in ask([exclusion for of_target in asked.values() for exclusion in of_target]):
        drops[drop.exclusion.target].append(drop)
    separated = {target: {drop.member for drop in dropped} for target, dropped in drops.items()}
    searched = [Cut(target, len(boundaries[target]), len(asked[target])) for target in boundaries]
    cuts = {cut.target: cut for cut in searched if cut.subsets_searched < cut.subsets_in_all}
    return Findings(drops, separated, cuts)


def exclusions(
    boundary: Sequence[str], max_subsets: int | None = None
) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """`(excluded, kept)` for the non-empty proper subsets of a boundary, small exclusions first.

    With `max_subsets`, all subsets of the sizes that fit within it together, and at least those of size 1.
    """
    for size in exclusion_sizes(len(boundary), max_subsets):
        for excluded in combinations(boundary, size):
            yield excluded, tuple(name for name in boundary if name not in excluded)


def exclusion_sizes(n_members: int, max_subsets: int | None = None) -> dict[int, int]:
    """The sizes of the subsets that `exclusions` of a boundary excludes, and how many there are of each."""
    sizes: dict[int, int] = {}
    for size in range(1, n_members):
        count = comb(n_members, size)
        if max_subsets is not None and size > 1 and sum(sizes.values()) + count > max_subsets:
            break
        sizes[size] = count
    return sizes


def conclude(
    target: str,
    boundary: Sequence[str],
    findings: Findings,
    others: Sequence[str],
    pvalue: PValueOf | None = None,
    *,
    identified: Collection[str],
    required: Collection[str] = (),
    apart: Collection[str] = (),
) -> TargetSearch:
    """The findings about one target.

    `boundary` holds the `identified` members and the `required` ones, which are always neighbours. Variables
    to be kept `apart` never are.
    """
    pvalue = pvalue or (lambda *_: 0.0)
    colliders: dict[tuple[str, str], float] = {}
    for drop in findings.drops[target]:
        strength = pvalue(target, drop.member, drop.exclusion.kept)
        for middle in drop.exclusion.excluded:
            triple = middle, drop.member
            colliders[triple] = max(strength, colliders.get(triple, 0.0))
    undropped = set(identified) - set(findings.separated[target])
    pvalues = {name: pvalue(target, name, others) for name in boundary}
    neighbours = {
        name: pvalues[name]
        for name in boundary
        if name in required or (name in undropped and name not in apart)
    }
    overruled = tuple(name for name in boundary if (name in neighbours) != (name in undropped))
    cut = findings.cuts.get(target)
    return TargetSearch(target, tuple(boundary), neighbours, colliders, cut, overruled, pvalues)
