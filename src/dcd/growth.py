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
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from dcd.association import BoundTest, Record
from dcd.binding import BoundKnowledge
from dcd.decoupling import one_blas_thread
from dcd.knowledge import bind_knowledge
from dcd.progress import watched
from dcd.search import TargetSearch
from dcd.validation import check_number

Pair = tuple[int, int]
_SHARES = 4  # of the work for each process, so that none waits long for the others


@dataclass(frozen=True)
class GrowShrink:
    """The search, as a strategy.

    Attributes
    ----------
    max_size : largest boundary.
    max_given : largest subset of a boundary that is tried as a separating set.
    lines_from : from this number of variables on, `RobustDCD` asks whether lines are all there is in the
        table, and if so searches over orders instead (`dcd.orders`), which sees weaker relations. None never
        asks.
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
    progress: str | None = None,
) -> list[TargetSearch]:
    """Boundaries and neighbours of all variables, over `n_jobs` processes; `progress` labels a bar."""
    known = knowledge or bind_knowledge(None, names)
    targets = range(len(names))
    required = [np.flatnonzero(row).tolist() for row in known.joined]
    grown = _spread(_grow_some, strategy, test, targets, (len(names), level, required), n_jobs, progress)
    boundaries = dict(zip(targets, grown, strict=True))
    pairs = sorted({(min(t, v), max(t, v)) for t, members in boundaries.items() for v in members})
    separations = _spread(
        _separate_some, strategy, test, pairs, (boundaries, level), n_jobs, progress and "neighbours"
    )
    found = dict(zip(pairs, separations, strict=True))
    by_test = {pair for pair, log_pvalue in found.items() if log_pvalue < np.log(level)}
    edges = [pair for pair in pairs if known.joined[pair] or (pair in by_test and not known.apart[pair])]
    separated = [pair for pair in pairs if pair not in edges and not known.apart[pair]]
    with one_blas_thread():
        edges += reconnecting(test, separated, edges, len(names), level)
    overruled = {pair for pair in pairs if (known.apart if pair in by_test else known.joined)[pair]}
    neighbours: dict[int, dict[str, float]] = {target: {} for target in targets}
    for x, y in edges:
        neighbours[x][names[y]] = neighbours[y][names[x]] = float(np.exp(found[x, y]))
    return [
        TargetSearch(
            target=names[t],
            boundary=tuple(names[v] for v in boundaries[t]),
            neighbours=neighbours[t],
            colliders={},
            cut=None,
            overruled=tuple(names[v] for v in targets if (min(t, v), max(t, v)) in overruled),
        )
        for t in targets
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


def _grow_some(
    strategy: GrowShrink,
    test: BoundTest,
    targets: Sequence[int],
    setting: tuple[int, float, Sequence[Sequence[int]]],
) -> tuple[list[list[int]], Record]:
    n_variables, level, keep = setting
    with one_blas_thread():
        grown = [strategy.boundary(test, target, n_variables, level, keep[target]) for target in targets]
        return grown, test.record


def _separate_some(
    strategy: GrowShrink,
    test: BoundTest,
    pairs: Sequence[Pair],
    setting: tuple[Mapping[int, Sequence[int]], float],
) -> tuple[list[float], Record]:
    with one_blas_thread():
        return [strategy.separation(test, pair, *setting) for pair in pairs], test.record


def _spread(
    work: Callable[..., tuple[list[Any], Record]],
    strategy: GrowShrink,
    test: BoundTest,
    items: Sequence[Any],
    setting: tuple[Any, ...],
    n_jobs: int | None,
    progress: str | None,
) -> list[Any]:
    """`work` on all items in their order, in shares, each in one process; what they tested is gathered."""
    n_processes = effective_n_jobs(n_jobs)
    n_shares = min(len(items), _SHARES * n_processes) if n_processes > 1 else len(items)
    shares = [items[start::n_shares] for start in range(n_shares)]
    done = Parallel(n_jobs=n_processes, return_as="generator")(
        delayed(work)(strategy, test, share, setting) for share in shares
    )
    results: list[Any] = [None] * len(items)
    for start, (part, record) in enumerate(watched(done, progress, total=n_shares)):
        results[start::n_shares] = part
        test.record.add(record)
    return results
