"""Markov boundaries by growing and shrinking, and which of their members are neighbours.

Grow: of all variables outside, add the one whose association with the target given the current boundary is
strongest at first look and holds, as long as there is one. Shrink: after each addition, drop every member
that is independent of the target given the other members. Only the variables of the boundary are ever
adjusted for and decoupled, so the cost and the loss of information depend on the boundary, not on the number
of variables.

Two variables are neighbours if one is in the boundary of the other and no small subset of either boundary
makes them independent. A spouse is in the boundary too, but independent given the right subset. What is
associated must be connected, though: an edge comes back if two parts of the graph would be torn apart.
What is required by knowledge is in the boundary and an edge whatever the tests say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import comb
from typing import Any

import numpy as np

from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.knowledge import bind_knowledge
from dcd.independence.association import BoundTest, Record
from dcd.runtime.errors import check_number
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.runs import Compute, Run
from dcd.runtime.threads import one_blas_thread
from dcd.search.neighbours import TargetSearch
from dcd.weights.sketch import WeightSketch

Pair = tuple[int, int]


@dataclass(frozen=True)
class Boundary:
    """The Markov boundary of one target.

    Attributes
    ----------
    members : of the boundary, by position.
    log_pvalues : each member with the log p-value of its independence of the target given the others.
    decoupled, weights : the largest part of the boundary that was decoupled to test it, and its weights.
    """

    members: tuple[int, ...]
    log_pvalues: tuple[tuple[int, float], ...]
    decoupled: tuple[int, ...] = ()
    weights: WeightSketch | None = field(default=None, repr=False)


@dataclass(frozen=True)
class GrowShrink:
    """The search, as a strategy.

    Attributes
    ----------
    max_size : largest boundary.
    max_given : largest subset of a boundary that is tried as a separating set.
    lines_from : from this number of variables on, `RobustDCD` asks whether lines are all there is in the
        table, and if so searches over orders instead (`order_search`), which sees weaker relations. None
        never asks.
    """

    max_size: int = 8
    max_given: int = 3
    lines_from: int | None = 21

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("max_size", self.max_size, at_least=1, whole=True, suggestion=8)
        check_number("max_given", self.max_given, at_least=0, whole=True, suggestion=3)
        if self.lines_from is not None:
            check_number("lines_from", self.lines_from, at_least=2, whole=True, suggestion=21)

    def boundary(
        self, test: BoundTest, target: int, n_variables: int, level: float, keep: Collection[int] = ()
    ) -> list[int]:
        """The Markov boundary of one target, each test at `level`; those to `keep` are in it in any case."""
        log_level = np.log(level)
        members = sorted(keep)
        seen = {frozenset(members)}
        refused: set[int] = set()
        while len(members) < self.max_size:
            outside = [v for v in range(n_variables) if v != target and v not in members]
            candidates = [v for v in outside if v not in refused]
            entering = _strongest(test, target, candidates, members, log_level)
            if entering is None:
                break
            grown = [*members, entering]
            _shrink(test, target, grown, log_level, keep)
            if frozenset(grown) in seen:
                refused.add(entering)  # members would come and go for ever
            else:
                members = grown
                seen.add(frozenset(members))
        return sorted(members)

    def separation(
        self, test: BoundTest, pair: Pair, boundaries: Mapping[int, Sequence[int]], level: float
    ) -> float:
        """The largest log p-value of the independence of a pair over subsets of either boundary.

        The search ends with the first set that separates the two at `level`.
        """
        largest = -np.inf
        for given in self._separators(pair, boundaries):
            log_pvalue = test.log_pvalue(*pair, given)
            if np.isnan(log_pvalue):
                continue  # the rows that have all of these cannot tell
            largest = max(largest, log_pvalue)
            if largest >= np.log(level):
                break
        return largest

    def most_sets(self, item: tuple[Pair, Mapping[int, Sequence[int]]]) -> float:
        """How many sets `separation` tries at most."""
        sizes = [len(members) - 1 for members in item[1].values()]
        return sum(comb(max(size, 0), given) for size in sizes for given in range(self.max_given + 1))

    def _separators(self, pair: Pair, boundaries: Mapping[int, Sequence[int]]) -> Iterator[tuple[int, ...]]:
        pools = [[v for v in boundaries[end] if v not in pair] for end in pair]
        seen: set[tuple[int, ...]] = set()
        for pool in pools:
            for size in range(min(self.max_given, len(pool)) + 1):
                for given in combinations(pool, size):
                    if given not in seen:
                        seen.add(given)
                        yield given


def _strongest(
    test: BoundTest, target: int, candidates: Sequence[int], members: Sequence[int], log_level: float
) -> int | None:
    """The candidate with the strongest association given the members, if any is below the level."""
    for look in test.looks(target, members):
        for candidate in sorted(candidates, key=lambda v: (look[v], v)):
            if look[candidate] >= log_level:
                break
            if test.log_pvalue(candidate, target, members) < log_level:
                return candidate
    return None


def _shrink(
    test: BoundTest, target: int, members: list[int], log_level: float, keep: Collection[int]
) -> None:
    """Drop the weakest member, of those not to keep, while it is independent given the others."""
    while free := [member for member in members if member not in keep]:
        log_pvalues = {
            member: test.log_pvalue(member, target, [other for other in members if other != member])
            for member in free
        }
        # What cannot be told to be independent stays.
        log_pvalues = {member: -np.inf if np.isnan(p) else p for member, p in log_pvalues.items()}
        weakest = max(free, key=lambda member: (log_pvalues[member], member))
        if log_pvalues[weakest] < log_level:
            return
        members.remove(weakest)


# --- all targets -----------------------------------------------------------------------------------------


def search_boundaries(
    strategy: GrowShrink,
    test: BoundTest,
    names: Sequence[str],
    level: float,
    *,
    knowledge: BoundKnowledge | None = None,
    n_jobs: int | None = None,
    run: Run | None = None,
) -> list[TargetSearch]:
    """Boundaries and neighbours of all variables, over `n_jobs` processes, as pieces of a `run`."""
    run = run or Run()
    known = knowledge or bind_knowledge(None, names)
    targets = range(len(names))
    shared = Shared(_Table(strategy, test, len(names), level))

    def doing(
        work: Callable[..., Any], items: Sequence[Any], effort: Callable[[Any], float] | None = None
    ) -> Compute:
        return lambda pending: as_done(
            work, [items[at] for at in pending], shared=shared, n_jobs=n_jobs, effort=effort
        )

    required = [np.flatnonzero(row).tolist() for row in known.joined]
    to_grow = list(zip(targets, required, strict=True))
    grown = run.gather(
        "boundaries", targets, doing(_grow, to_grow), label="Markov boundaries", then="neighbours"
    )
    boundaries = {target: found.members for target, (found, _) in zip(targets, grown, strict=True)}
    pairs = sorted({(min(t, v), max(t, v)) for t, members in boundaries.items() for v in members})
    to_separate = [(pair, {end: boundaries[end] for end in pair}) for pair in pairs]
    separations = run.gather(
        "separations",
        pairs,
        doing(_separate, to_separate, strategy.most_sets),
        label="pairs of neighbours",
        efforts=[strategy.most_sets(item) for item in to_separate],
    )
    test.record = Record()
    for _, record in (*grown, *separations):
        test.record.add(record)
    found = {pair: log_pvalue for pair, (log_pvalue, _) in zip(pairs, separations, strict=True)}
    return _concluded(test, names, level, known, [boundary for boundary, _ in grown], found)


def _concluded(
    test: BoundTest,
    names: Sequence[str],
    level: float,
    known: BoundKnowledge,
    boundaries: Sequence[Boundary],
    found: Mapping[Pair, float],
) -> list[TargetSearch]:
    """The account of every target, from its boundary and what was `found` for each pair."""
    targets = range(len(names))
    by_test = {pair for pair, log_pvalue in found.items() if log_pvalue < np.log(level)}
    edges = [pair for pair in found if known.joined[pair] or (pair in by_test and not known.apart[pair])]
    separated = [pair for pair in found if pair not in edges and not known.apart[pair]]
    with one_blas_thread():
        edges += reconnecting(test, separated, edges, len(names), level)
    overruled = {pair for pair in found if (known.apart if pair in by_test else known.joined)[pair]}
    neighbours: dict[int, dict[str, float]] = {target: {} for target in targets}
    for x, y in edges:
        neighbours[x][names[y]] = neighbours[y][names[x]] = float(np.exp(found[x, y]))
    return [
        TargetSearch(
            target=names[t],
            boundary=tuple(names[v] for v in boundary.members),
            neighbours=neighbours[t],
            colliders={},
            cut=None,
            overruled=tuple(names[v] for v in targets if (min(t, v), max(t, v)) in overruled),
            pvalues={names[v]: float(np.exp(p)) for v, p in boundary.log_pvalues if not np.isnan(p)},
            decoupled=tuple(names[v] for v in boundary.decoupled),
            weights=boundary.weights,
        )
        for t, boundary in enumerate(boundaries)
    ]


def reconnecting(
    test: BoundTest, separated: Sequence[Pair], edges: Sequence[Pair], n_variables: int, level: float
) -> list[Pair]:
    """Separated pairs that must be edges after all, for what is associated has to be connected.

    If y is nearly a function of x, each separates the other from a common neighbour w, and w would lose both.
    So the strongest associations come back as edges as long as they join parts that no edge connects.
    """
    part = list(range(n_variables))

    def root(v: int) -> int:
        while part[v] != v:
            v = part[v]
        return v

    for x, y in edges:
        part[root(x)] = root(y)
    associations = {pair: float(np.nan_to_num(test.log_pvalue(*pair, ()))) for pair in separated}
    restored = []
    for x, y in sorted(separated, key=lambda pair: (associations[pair], pair)):
        if associations[x, y] < np.log(level) and root(x) != root(y):
            part[root(x)] = root(y)
            restored.append((x, y))
    return restored


@dataclass(frozen=True)
class _Table:
    """A search on a table: what every process has."""

    strategy: GrowShrink
    test: BoundTest
    n_variables: int
    level: float

    def begun(self) -> BoundTest:
        """The test with a new record; what it knows already it keeps."""
        self.test.record = Record()
        return self.test


def _grow(table: _Table, item: tuple[int, Sequence[int]]) -> tuple[Boundary, Record]:
    """The boundary of a target with those to keep in it, and what was done under weights for it."""
    test, (target, keep) = table.begun(), item
    members = table.strategy.boundary(test, target, table.n_variables, table.level, keep)
    log_pvalues = [(v, test.log_pvalue(v, target, [u for u in members if u != v])) for v in members]
    decoupled = _largest_decoupled(test.record, members)
    weights = test.record.balances[decoupled].sketch if decoupled else None
    boundary = Boundary(tuple(members), tuple(log_pvalues), decoupled, weights)
    return boundary, test.record.without_sketches()


def _largest_decoupled(record: Record, members: Collection[int]) -> tuple[int, ...]:
    """Of the sets within a boundary that tests decoupled the largest, and of these the most distorted."""
    within = [chosen for chosen in record.balances if len(chosen) > 1 and set(chosen) <= set(members)]
    return min(within, key=lambda chosen: (-len(chosen), record.balances[chosen].ess, chosen), default=())


def _separate(table: _Table, item: tuple[Pair, Mapping[int, Sequence[int]]]) -> tuple[float, Record]:
    """The separation of a pair by the boundaries of its two, and what was done under weights for it."""
    test, (pair, boundaries) = table.begun(), item
    log_pvalue = table.strategy.separation(test, pair, boundaries, table.level)
    return log_pvalue, test.record.without_sketches()
