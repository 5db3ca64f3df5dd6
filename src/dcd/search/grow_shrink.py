"""Markov boundaries by growing and shrinking, and the neighbours among their members.

Grow: while there is one, add the variable whose association with the target given the current boundary is
strongest in the screening and confirmed by the full test. Shrink: after each addition, drop every member that
is independent of the target given the other members. Only members of the boundary are adjusted for and
decoupled, so cost and power depend on its size, not on the number of variables.

Two variables are neighbours if one is in the boundary of the other and no small subset of either boundary
separates them, as one does a spouse. Separated but associated variables get an edge back if they would end up
in different components. Variables required by knowledge are always members and neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import DisjointSet

from dcd.graph.pattern import VariablePair
from dcd.independence.base import Record, SearchTest
from dcd.runtime.errors import check_number
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.runs import Compute
from dcd.runtime.threads import one_blas_thread
from dcd.search.base import SearchOutcome, SearchTask, TargetSearch, target_searches
from dcd.search.linear import regressions_if_linear
from dcd.search.linear_search import search_linear
from dcd.search.selection import grow_shrink
from dcd.weights.sketch import WeightSketch

_ToSeparate = tuple[VariablePair, Mapping[int, Sequence[int]]]  # a pair and the boundaries of its ends


@dataclass(frozen=True)
class GrownBoundary:
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
    """Strategy: grow-shrink boundaries.

    Attributes
    ----------
    max_size : largest boundary.
    max_conditioning : largest separating set that is tried.
    linear_from : with at least so many variables, `RobustDCD` first tests whether all relations are linear,
        and if so searches over orders instead (`linear_search`), which detects weaker relations. None
        disables this.
    """

    max_size: int = 8
    max_conditioning: int = 3
    linear_from: int | None = 21

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("max_size", self.max_size, at_least=1, whole=True, suggestion=8)
        check_number("max_conditioning", self.max_conditioning, at_least=0, whole=True, suggestion=3)
        if self.linear_from is not None:
            check_number("linear_from", self.linear_from, at_least=2, whole=True, suggestion=21)

    def find(self, task: SearchTask) -> SearchOutcome:
        """Boundaries and neighbours of all variables; `task.test` records the tests."""
        if task.scores is not None and self.linear_from is not None and len(task.names) >= self.linear_from:
            with one_blas_thread():
                regressions = regressions_if_linear(task.scores, task.level)
                if regressions is not None:
                    return search_linear(regressions, task.names, task.rng, task.knowledge)
        return _search_by_tests(self, task)

    def boundary(
        self, test: SearchTest, target: int, n_variables: int, level: float, required: Collection[int] = ()
    ) -> list[int]:
        """The Markov boundary of one target, each test at `level`; it includes the required variables."""
        log_level = np.log(level)

        def strongest(members: Sequence[int], refused: Collection[int]) -> int | None:
            excluded = {target, *members, *refused}
            candidates = [v for v in range(n_variables) if v not in excluded]
            for screened in test.screen(target, members):
                for candidate in sorted(candidates, key=lambda v: (screened[v], v)):
                    if screened[candidate] >= log_level:
                        break
                    if test.log_pvalue(candidate, target, members) < log_level:
                        return candidate
            return None

        def weakest(members: Sequence[int]) -> int | None:
            log_pvalues = {
                member: test.log_pvalue(member, target, [other for other in members if other != member])
                for member in members
                if member not in required
            }
            # A member whose independence cannot be tested (NaN) stays.
            independent = [(p, member) for member, p in log_pvalues.items() if p >= log_level]
            return max(independent)[1] if independent else None

        return grow_shrink(required, strongest, weakest, self.max_size)

    def separation(
        self, test: SearchTest, pair: VariablePair, boundaries: Mapping[int, Sequence[int]], level: float
    ) -> float:
        """The largest log p-value of the independence of a pair over subsets of either boundary.

        The search stops at the first set that separates the two at `level`.
        """
        largest = -np.inf
        for conditioning in self._separators(pair, boundaries):
            log_pvalue = test.log_pvalue(*pair, conditioning)
            if np.isnan(log_pvalue):
                continue  # too few complete rows
            largest = max(largest, log_pvalue)
            if largest >= np.log(level):
                break
        return largest

    def most_sets(self, item: _ToSeparate) -> float:
        """The largest number of sets that `separation` tries."""
        sizes = [max(len(members) - 1, 0) for members in item[1].values()]
        return sum(comb(size, k) for size in sizes for k in range(self.max_conditioning + 1))

    def _separators(
        self, pair: VariablePair, boundaries: Mapping[int, Sequence[int]]
    ) -> Iterator[tuple[int, ...]]:
        seen: set[tuple[int, ...]] = set()
        for end in pair:
            pool = [v for v in boundaries[end] if v not in pair]
            for size in range(min(self.max_conditioning, len(pool)) + 1):
                fresh = [subset for subset in combinations(pool, size) if subset not in seen]
                seen.update(fresh)
                yield from fresh


# --- all targets -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _SharedSearch:
    """What all processes share."""

    strategy: GrowShrink
    test: SearchTest
    n_variables: int
    level: float

    def fresh_test(self) -> SearchTest:
        """The test with a new record; what it has computed it keeps."""
        self.test.record = Record()
        return self.test


def _grow(search: _SharedSearch, item: tuple[int, Sequence[int]]) -> tuple[GrownBoundary, Record]:
    """The boundary of a target with those required in it, and the record of its tests."""
    test, (target, required) = search.fresh_test(), item
    members = search.strategy.boundary(test, target, search.n_variables, search.level, required)
    log_pvalues = [(v, test.log_pvalue(v, target, [u for u in members if u != v])) for v in members]
    decoupled = _largest_decoupled(test.record, members)
    weights = test.record.balances[decoupled].sketch if decoupled else None
    boundary = GrownBoundary(tuple(members), tuple(log_pvalues), decoupled, weights)
    return boundary, test.record.without_sketches()


def _largest_decoupled(record: Record, members: Collection[int]) -> tuple[int, ...]:
    """Of the sets within a boundary that tests decoupled the largest, and of these the most distorted."""
    within = [chosen for chosen in record.balances if len(chosen) > 1 and set(chosen) <= set(members)]
    return min(within, key=lambda chosen: (-len(chosen), record.balances[chosen].ess, chosen), default=())


def _separate(search: _SharedSearch, item: _ToSeparate) -> tuple[float, Record]:
    """The separation of a pair, and the record of its tests."""
    test, (pair, boundaries) = search.fresh_test(), item
    log_pvalue = search.strategy.separation(test, pair, boundaries, search.level)
    return log_pvalue, test.record.without_sketches()


def _search_by_tests(strategy: GrowShrink, task: SearchTask) -> SearchOutcome:
    """Boundaries, then neighbours, over `n_jobs` processes."""
    test, targets = task.test, range(len(task.names))
    shared = Shared(_SharedSearch(strategy, test, len(targets), task.level))

    def doing(
        work: Callable[..., Any], items: Sequence[Any], effort: Callable[[Any], float] | None = None
    ) -> Compute:
        return lambda pending: as_done(
            work, [items[at] for at in pending], shared=shared, n_jobs=task.n_jobs, effort=effort
        )

    to_grow = [(target, np.flatnonzero(row).tolist()) for target, row in enumerate(task.knowledge.joined)]
    grown = task.run.gather(
        "boundaries", targets, doing(_grow, to_grow), label="Markov boundaries", then="neighbours"
    )
    boundaries = [boundary.members for boundary, _ in grown]
    pairs = sorted({(min(t, v), max(t, v)) for t in targets for v in boundaries[t]})
    to_separate = [(pair, {end: boundaries[end] for end in pair}) for pair in pairs]
    separations = task.run.gather(
        "separations",
        pairs,
        doing(_separate, to_separate, strategy.most_sets),
        label="pairs of neighbours",
        efforts=[strategy.most_sets(item) for item in to_separate],
    )
    test.record = Record()
    for _, record in (*grown, *separations):
        test.record.add(record)
    log_pvalues = {pair: log_pvalue for pair, (log_pvalue, _) in zip(pairs, separations, strict=True)}
    searches = zip(_concluded(task, boundaries, log_pvalues), grown, strict=True)
    return SearchOutcome(
        tuple(_with_its_tests(search, boundary, task.names) for search, (boundary, _) in searches),
        cut_boundaries=tuple(task.names[t] for t in targets if len(boundaries[t]) >= strategy.max_size),
    )


def _with_its_tests(search: TargetSearch, boundary: GrownBoundary, names: Sequence[str]) -> TargetSearch:
    """The findings about a target with the tests of its boundary."""
    return replace(
        search,
        pvalues={names[v]: float(np.exp(p)) for v, p in boundary.log_pvalues if not np.isnan(p)},
        decoupled=tuple(names[v] for v in boundary.decoupled),
        weights=boundary.weights,
    )


def _concluded(
    task: SearchTask, boundaries: Sequence[Sequence[int]], log_pvalues: Mapping[VariablePair, float]
) -> tuple[TargetSearch, ...]:
    """The findings about every target, from boundaries and separations."""
    known = task.knowledge
    by_test = {pair for pair, log_pvalue in log_pvalues.items() if log_pvalue < np.log(task.level)}
    edges = [
        pair for pair in log_pvalues if known.joined[pair] or (pair in by_test and not known.apart[pair])
    ]
    separated = [pair for pair in log_pvalues if pair not in edges and not known.apart[pair]]
    with one_blas_thread():
        edges += reconnecting(task.test, separated, edges, len(task.names), task.level)
    overruled = {pair for pair in log_pvalues if (known.apart if pair in by_test else known.joined)[pair]}
    pvalues = {pair: float(np.exp(log_pvalues[pair])) for pair in edges}
    return target_searches(task.names, boundaries, pvalues, overruled)


def reconnecting(
    test: SearchTest,
    separated: Sequence[VariablePair],
    edges: Sequence[VariablePair],
    n_variables: int,
    level: float,
) -> list[VariablePair]:
    """Separated pairs that become edges again, because associated variables have to be connected.

    If y is nearly a function of x, each separates the other from a common neighbour, which would lose both.
    So the strongest associations between different components are restored as edges.
    """
    parts = DisjointSet(range(n_variables))
    for x, y in edges:
        parts.merge(x, y)
    associations = {pair: float(np.nan_to_num(test.log_pvalue(*pair, ()))) for pair in separated}
    strongest_first = sorted(separated, key=lambda pair: (associations[pair], pair))
    return [pair for pair in strongest_first if associations[pair] < np.log(level) and parts.merge(*pair)]
