"""One target: which members of its Markov boundary are neighbours? The inner loops of Algorithm 1.

A neighbour of a target stays in its boundary within every subset of variables; a spouse drops out once all
common children (and their descendants) are left out. So every non-empty proper subset of the boundary is
excluded in turn: what drops is a spouse, and the excluded variables are candidate colliders between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

from dcd.validation import check_number

BoundaryOf = Callable[[str, Collection[str]], Collection[str]]
PValueOf = Callable[[str, str, Collection[str]], float]


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
    neighbours : the members that never dropped, each with its p-value when all other variables are
        decoupled: the smaller, the stronger the evidence for the edge.
    colliders : for each `(z, dropped)` the largest p-value at which `dropped` left the boundary while z was
        excluded: the larger, the stronger the evidence for target -> z <- dropped.
    cut : set if not all subsets were searched.
    overruled : the variables of which knowledge, not the data, decides whether they are neighbours: required
        ones that dropped, and ones that did not drop but may not be.
    """

    target: str
    boundary: tuple[str, ...]
    neighbours: Mapping[str, float]
    colliders: Mapping[tuple[str, str], float]
    cut: Cut | None
    overruled: tuple[str, ...] = ()


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
    *,
    required: Collection[str] = (),
    apart: Collection[str] = (),
) -> TargetSearch:
    """The inner loops of Algorithm 1: exclude subsets of one target's boundary and see what drops.

    The `required` are neighbours whatever drops, and those to be kept `apart` never are.
    """
    pvalue = pvalue or _no_pvalue
    undropped = set(boundary)
    boundary = [name for name in others if name in undropped or name in required]
    colliders: dict[tuple[str, str], float] = {}
    n_searched = 0
    for excluded, kept in exclusions(boundary, max_subsets):
        n_searched += 1
        stayed = set(markov_boundary(target, kept))
        for dropped in (name for name in kept if name not in stayed):
            undropped.discard(dropped)
            strength = pvalue(target, dropped, kept)
            for middle in excluded:
                colliders[middle, dropped] = max(strength, colliders.get((middle, dropped), 0.0))
    neighbours = {
        name: pvalue(target, name, others)
        for name in boundary
        if name in required or (name in undropped and name not in apart)
    }
    overruled = tuple(name for name in boundary if (name in neighbours) != (name in undropped))
    n_subsets = max(2 ** len(boundary) - 2, 0)
    cut = Cut(target, len(boundary), n_searched, n_subsets) if n_searched < n_subsets else None
    return TargetSearch(target, tuple(boundary), neighbours, colliders, cut, overruled)


def _no_pvalue(target: str, member: str, others: Collection[str]) -> float:  # noqa: ARG001
    return 0.0
