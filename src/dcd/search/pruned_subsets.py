r"""Algorithm 1 with fewer queries: exclusions that cannot be informative are skipped.

Let t and s be spouses: in each other's boundary but not adjacent. M is the boundary of t, and :math:`Z^*` the
members of M that are common children of t and s or descend from one.

*s drops only if all of* :math:`Z^*` *is excluded.* Otherwise a common child is kept or an ancestor of a kept
variable, so t and s are adjacent in the moral graph of the ancestors of t and the kept variables.

*Excluding* :math:`Z^*` *alone drops s.* Let K be the rest of M, and take the moral graph of the ancestors of
t and K. All neighbours of t in it are in K and none is s, so K without s separates the two:

- A parent of t is in M, and not in :math:`Z^*`, whose members descend from t.
- A child e of t is in M. If it were in :math:`Z^*`, it would not be an ancestor of t or s, hence one of
  another variable in K, which would be in :math:`Z^*` too. So e is in K; in particular, no common child of t
  and s is in the graph.
- Another parent of such a child e is in M. If it were in :math:`Z^*`, so would e.

So when exclusions are tried in order of size, the first that drops s is :math:`Z^*`. Consequences
for a perfect identifier:

1. *One side is enough.* The boundary of either t or s shows whether they are adjacent; the smaller is used.
2. *One drop is enough.* Let Z drop s, and let z be adjacent to both. If z is a common child, it is in Z. If
   not, it is not in Z, because t - z - s would be an open path. So the unshielded candidates of this drop are
   exactly the colliders between the two, and the pair is settled.
3. *Z consists of descendants.* All of :math:`Z^*` descends from t and from s, and it has every member of M
   that descends from one of its members. Descendants are known from settled pairs.

A fourth rule is valid but not used: t and s are adjacent if their boundaries are disjoint. Estimated
boundaries have false members, which drop when others are excluded; this rule would keep them (see
`docs/measurements.md` for the cost).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from dcd.search.base import Ask, Boundaries, Cut, Drop, Exclusion, Findings


def search_pruned(boundaries: Boundaries, ask: Ask, max_subsets: int | None = None) -> Findings:
    """Exclude possible separating sets, in rounds of one size over all targets.

    `max_subsets` limits the queries for one target: sizes are searched while all queries of a size fit, and
    size 1 in any case.
    """
    pairs = Pairs(boundaries)
    drops: dict[str, list[Drop]] = {target: [] for target in boundaries}
    n_asked = dict.fromkeys(boundaries, 0)
    cuts: dict[str, Cut] = {}
    for size in range(1, max(map(len, boundaries.values()), default=0)):
        questions = []
        for target in [target for target in boundaries if target not in cuts]:
            room = None if max_subsets is None or size == 1 else max(max_subsets - n_asked[target], 0)
            asked = list(islice(pairs.exclusions(target, size), None if room is None else room + 1))
            if room is not None and len(asked) > room:
                cuts[target] = Cut(target, len(boundaries[target]), n_asked[target])
                continue
            n_asked[target] += len(asked)
            questions += asked
        new = [drop for drop in ask(questions) if pairs.are_open(drop)]
        for drop in new:
            drops[drop.exclusion.target].append(drop)
        pairs.separate(new)
    return Findings(drops, pairs.separated, cuts)


class Pairs:
    """The state of pairs within boundaries: which end is queried, separations, descendants."""

    def __init__(self, boundaries: Boundaries) -> None:
        self._boundaries = boundaries
        self.separated: dict[str, set[str]] = {target: set() for target in boundaries}
        self._descendants: dict[str, set[str]] = {name: set() for name in boundaries}
        rank = {target: (len(boundaries[target]), index) for index, target in enumerate(boundaries)}
        self._asks = {
            target: {
                member
                for member in boundary
                if target not in boundaries[member] or rank[target] < rank[member]
            }
            for target, boundary in boundaries.items()
        }

    def are_open(self, drop: Drop) -> bool:
        """Whether target and member of a drop are not yet separated."""
        return drop.member not in self.separated[drop.exclusion.target]

    def exclusions(self, target: str, size: int) -> Iterator[Exclusion]:
        """The exclusions from a target's boundary that may separate an undecided member."""
        boundary = self._boundaries[target]
        undecided = self._asks[target].intersection(boundary) - self.separated[target]
        if not undecided or size >= len(boundary):
            return
        position = {name: at for at, name in enumerate(boundary)}
        closures = [
            None
            if target in self._descendants[name]
            else _bits(position[other] for other in {name, *self._descendants[name]} if other in position)
            for name in boundary
        ]
        for chosen in closed_sets(closures, size, _bits(position[name] for name in undecided)):
            excluded = tuple(boundary[at] for at in chosen)
            yield Exclusion(target, excluded, tuple(name for name in boundary if name not in excluded))

    def separate(self, drops: Sequence[Drop]) -> None:
        """Record the drops of a round."""
        for drop in drops:
            target, member = drop.exclusion.target, drop.member
            self.separated[target].add(member)
            self.separated[member].add(target)
            # From the other side, the smallest exclusion need not have been tried first.
            if member in self._asks[target]:
                for ancestor in (target, member):
                    self._descendants[ancestor].update(drop.exclusion.excluded)
        self._close_descent()

    def _close_descent(self) -> None:
        """Descendants of descendants are descendants."""
        changed = True
        while changed:
            changed = False
            for known in self._descendants.values():
                further = set().union(*(self._descendants[name] for name in known)) - known
                known |= further
                changed = changed or bool(further)


def closed_sets(closures: Sequence[int | None], size: int, undecided: int) -> Iterator[tuple[int, ...]]:
    """Sets of `size` positions that contain the closure of each member, in the order of `combinations`.

    Closures are bit sets. Positions with closure None are in no set, and no set has all of the `undecided`.
    Every partial set can be completed to a set of at most this size, so the time is bounded by the number of
    such sets, not of all combinations.
    """

    def grown(chosen: tuple[int, ...], needed: int) -> Iterator[tuple[int, ...]]:
        if len(chosen) == size:
            yield chosen
            return
        taken = _bits(chosen)
        for at in range(chosen[-1] + 1 if chosen else 0, len(closures)):
            closure = closures[at]
            if closure is not None:
                together = needed | closure
                nothing_missed = together & ((1 << at) - 1) == taken
                if nothing_missed and together.bit_count() <= size and together & undecided != undecided:
                    yield from grown((*chosen, at), together)
            if needed >> at & 1:  # a position that is needed must not be skipped
                return

    return grown((), 0)


def _bits(positions: Iterable[int]) -> int:
    return sum(1 << at for at in positions)
