"""Which members of a Markov boundary are neighbours? The inner loops of Algorithm 1, as published.

A neighbour of a target stays in its boundary within every subset of variables; a spouse drops out once all
common children (and their descendants) are left out. So every non-empty proper subset of the boundary is
excluded in turn: what drops is a spouse, and the excluded variables are candidate colliders between the two.

`pruning` asks fewer of these questions. Both hand over `Findings`, which `conclude` makes an account of for
each target.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Literal

from dcd.runtime.errors import check_number
from dcd.weights.sketch import WeightSketch

Search = Literal["full", "pruned"]
BoundaryOf = Callable[[str, Collection[str]], Collection[str]]
PValueOf = Callable[[str, str, Collection[str]], float]
Boundaries = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Exclusion:
    """A question: the boundary of a target within what is `kept` of its boundary when some are `excluded`."""

    target: str
    excluded: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Drop:
    """An answer: `member`, which was kept, is no longer in the boundary."""

    exclusion: Exclusion
    member: str


Ask = Callable[[Sequence[Exclusion]], list[Drop]]


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
class Findings:
    """What a search over all targets came upon.

    Attributes
    ----------
    drops : for each target which members of its boundary dropped, and under which exclusions.
    separated : for each target the members that are no neighbours of it.
    cuts : the targets whose search was cut short.
    """

    drops: Mapping[str, Sequence[Drop]]
    separated: Mapping[str, Collection[str]]
    cuts: Mapping[str, Cut]


@dataclass(frozen=True)
class TargetSearch:
    """What excluding subsets of one target's boundary showed.

    Attributes
    ----------
    boundary : the Markov boundary within all variables.
    neighbours : the members that never dropped, each with its p-value when all other variables are
        decoupled: the smaller, the stronger the evidence for the edge. Of `RobustDCD` it is the largest over
        the sets that might separate the two (where rows are many and a sample of them is enough, a bound
        from that sample), or that of the regression where lines are all there is.
    colliders : for each `(z, dropped)` the largest p-value at which `dropped` left the boundary while z was
        excluded: the larger, the stronger the evidence for target -> z <- dropped.
    cut : set if not all subsets were searched.
    overruled : the variables of which knowledge, not the data, decides whether they are neighbours: required
        ones that dropped, and ones that did not drop but may not be.
    pvalues : of every member of the boundary, its p-value when all other variables are decoupled; of
        `RobustDCD` given the other members.
    decoupled, weights : the variables that were decoupled for the boundary and what is kept of the weights;
        none where no test was repeated under weights.
    """

    target: str
    boundary: tuple[str, ...]
    neighbours: Mapping[str, float]
    colliders: Mapping[tuple[str, str], float]
    cut: Cut | None
    overruled: tuple[str, ...] = ()
    pvalues: Mapping[str, float] = field(default_factory=dict)
    decoupled: tuple[str, ...] = ()
    weights: WeightSketch | None = field(default=None, repr=False)


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


def search_in_full(boundaries: Boundaries, ask: Ask, max_subsets: int | None = None) -> Findings:
    """Exclude every subset of every boundary, all in one round."""
    asked = {
        target: [Exclusion(target, *sides) for sides in exclusions(boundary, max_subsets)]
        for target, boundary in boundaries.items()
    }
    drops: dict[str, list[Drop]] = {target: [] for target in boundaries}
    for drop in ask([exclusion for of_target in asked.values() for exclusion in of_target]):
        drops[drop.exclusion.target].append(drop)
    separated = {target: {drop.member for drop in dropped} for target, dropped in drops.items()}
    cuts = {
        target: cut_after(target, boundary, len(asked[target]))
        for target, boundary in boundaries.items()
        if len(asked[target]) < 2 ** len(boundary) - 2
    }
    return Findings(drops, separated, cuts)


def cut_after(target: str, boundary: Sequence[str], n_searched: int) -> Cut:
    """The record of a search cut short."""
    return Cut(target, len(boundary), n_searched, 2 ** len(boundary) - 2)


def conclude(
    target: str,
    boundary: Sequence[str],
    findings: Findings,
    others: Sequence[str],
    pvalue: PValueOf | None = None,
    *,
    found: Collection[str],
    required: Collection[str] = (),
    apart: Collection[str] = (),
) -> TargetSearch:
    """What a search showed of one target.

    `boundary` is what was searched: what was `found` to be its boundary, and the `required`, which are
    neighbours whatever drops. Those to be kept `apart` never are.
    """
    pvalue = pvalue or _no_pvalue
    colliders: dict[tuple[str, str], float] = {}
    for drop in findings.drops[target]:
        strength = pvalue(target, drop.member, drop.exclusion.kept)
        for middle in drop.exclusion.excluded:
            triple = middle, drop.member
            colliders[triple] = max(strength, colliders.get(triple, 0.0))
    undropped = set(found) - set(findings.separated[target])
    pvalues = {name: pvalue(target, name, others) for name in boundary}
    neighbours = {
        name: pvalues[name]
        for name in boundary
        if name in required or (name in undropped and name not in apart)
    }
    overruled = tuple(name for name in boundary if (name in neighbours) != (name in undropped))
    return TargetSearch(
        target, tuple(boundary), neighbours, colliders, findings.cuts.get(target), overruled, pvalues
    )


def _no_pvalue(target: str, member: str, others: Collection[str]) -> float:  # noqa: ARG001
    return 0.0
