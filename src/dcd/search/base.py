"""What searches share: the protocol they follow, the task they get and the findings they hand over.

A search reads a `SearchTask` and returns a `SearchOutcome`: for every variable its Markov boundary and its
neighbours. `assemble` makes a valid CPDAG of them. A new search is one new file with a class that has the
methods of `BoundarySearch`; an object of it goes to `RobustDCD(search=...)`.

Algorithm 1 identifies boundaries first and then searches within them. Its two ways to do so, all subsets and
pruned ones, ask by `Exclusion`, are answered by `Drop` and hand over `Findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from dcd.features.rank_scores import Scores
from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.pattern import VariablePair
from dcd.independence.base import SearchTest
from dcd.runtime.errors import InputError
from dcd.runtime.runs import Run
from dcd.weights.sketch import WeightSketch

# --- what is found ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A search that `max_subsets` cut short."""

    target: str
    boundary_size: int
    subsets_searched: int

    @property
    def subsets_in_all(self) -> int:
        """The non-empty proper subsets of the boundary."""
        return 2**self.boundary_size - 2

    def __str__(self) -> str:
        return (
            f"{self.target}: boundary of {self.boundary_size} variables, {self.subsets_searched} of its "
            f"{self.subsets_in_all} subsets searched"
        )


@dataclass(frozen=True)
class TargetSearch:
    """What a search shows about one variable.

    Attributes
    ----------
    boundary : its Markov boundary within all variables.
    neighbours : the variables adjacent to it, each with a p-value: the smaller, the stronger the evidence for
        the edge. In `DCD` it is the p-value with all other variables decoupled. In `RobustDCD` it is the
        largest over the sets that might separate the two (where a sample of many rows is enough, a bound from
        that sample), or that of the regression where all relations are linear.
    colliders : for each `(z, dropped)` the largest p-value at which `dropped` left the boundary while z was
        excluded: the larger, the stronger the evidence for target -> z <- dropped. Only Algorithm 1 has them.
    cut : set if not all subsets were searched.
    overruled : the variables whose adjacency is decided by knowledge against the data: required neighbours
        that the data separate, and forbidden ones that they do not.
    pvalues : of each member of the boundary its p-value with all other variables decoupled; in `RobustDCD`,
        given the other members.
    decoupled, weights : the variables that were decoupled for the boundary and a sketch of the weights; none
        where no test was repeated under weights.
    """

    target: str
    boundary: tuple[str, ...]
    neighbours: Mapping[str, float]
    colliders: Mapping[tuple[str, str], float] = field(default_factory=dict)
    cut: Cut | None = None
    overruled: tuple[str, ...] = ()
    pvalues: Mapping[str, float] = field(default_factory=dict)
    decoupled: tuple[str, ...] = ()
    weights: WeightSketch | None = field(default=None, repr=False)


def target_searches(
    names: Sequence[str],
    boundaries: Sequence[Collection[int]],
    edges: Mapping[VariablePair, float],
    overruled: Collection[VariablePair] = (),
) -> tuple[TargetSearch, ...]:
    """The findings about every variable, from boundaries and pairs `(i, j)`, i < j, by position.

    `edges` has the p-value of each edge.
    """
    neighbours: list[dict[int, float]] = [{} for _ in names]
    for (i, j), pvalue in edges.items():
        neighbours[i][j] = neighbours[j][i] = pvalue
    return tuple(
        TargetSearch(
            target=name,
            boundary=tuple(names[v] for v in sorted(boundaries[t])),
            neighbours={names[v]: pvalue for v, pvalue in sorted(neighbours[t].items())},
            overruled=tuple(names[v] for v in range(len(names)) if (min(t, v), max(t, v)) in overruled),
        )
        for t, name in enumerate(names)
    )


@dataclass(frozen=True)
class Conflict:
    """Something the data contradicted, and what was done about it.

    Attributes
    ----------
    kind : "asymmetric_boundary", "asymmetric_edge", "refused_collider" or "left_out_edge"; and where data
        and knowledge differ "required_edge", "forbidden_edge" or "known_collider".
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


# --- searches of `RobustDCD` -----------------------------------------------------------------------------


@dataclass(frozen=True)
class SearchTask:
    """A table and the means to search it; variables are positions in `names`.

    Attributes
    ----------
    names : the d variables.
    test : the independence test on the table; a search leaves the record of its tests on it.
    level : level of each single test.
    knowledge : edges and arrows that must be or may not be.
    scores : of all variables, for a search that regresses instead of testing; None if there are missing
        values or the test asks for decoupling weights in any case.
    rng : for random starts.
    n_jobs : number of processes; the outcome must not depend on it.
    run : keeps finished parts in a checkpoint and shows progress.
    """

    names: tuple[str, ...]
    test: SearchTest
    level: float
    knowledge: BoundKnowledge
    scores: Scores | None = None
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_jobs: int | None = None
    run: Run = field(default_factory=Run)


@dataclass(frozen=True)
class SearchOutcome:
    """Boundaries and neighbours of all variables.

    Attributes
    ----------
    searches : the findings about each variable, in the order of `SearchTask.names`.
    order : the best order of the variables if all relations are linear, so that orientation can rely on
        linear regressions and start there; None otherwise.
    cut_boundaries : the variables whose boundary reached the largest size allowed.
    """

    searches: tuple[TargetSearch, ...]
    order: Sequence[int] | None = None
    cut_boundaries: tuple[str, ...] = ()


class BoundarySearch(Protocol):
    """How boundaries and neighbours are searched, as a strategy."""

    def check(self) -> None:
        """Raise `InputError` for a parameter out of range."""
        ...

    def boundary(
        self, test: SearchTest, target: int, n_variables: int, level: float, required: Collection[int] = ()
    ) -> list[int]:
        """The Markov boundary of one target; the required variables belong to it in any case."""
        ...

    def find(self, task: SearchTask) -> SearchOutcome:
        """Boundaries and neighbours of all variables."""
        ...


def check_search(search: object) -> None:
    """Raise `InputError` unless the object has the methods of a `BoundarySearch` and its parameters fit."""
    needed = ("check", "boundary", "find")
    absent = [f"{name}()" for name in needed if not callable(getattr(search, name, None))]
    if absent or isinstance(search, type):
        problem = "is a class" if isinstance(search, type) else f"has no {' and no '.join(absent)}"
        raise InputError(
            "parameter 'search'",
            f"must be None or an object with the methods of BoundarySearch, got {search!r}, which {problem}",
            "Try GrowShrink().",
        )
    search.check()  # type: ignore[attr-defined]


# --- searches within the boundaries of Algorithm 1 -------------------------------------------------------

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
class Findings:
    """What a search within the boundaries of all targets shows.

    Attributes
    ----------
    drops : for each target which members of its boundary dropped, and under which exclusions.
    separated : for each target the members that are not neighbours of it.
    cuts : the targets whose search was cut short.
    """

    drops: Mapping[str, Sequence[Drop]]
    separated: Mapping[str, Collection[str]]
    cuts: Mapping[str, Cut]
