r"""Algorithm 1 with fewer questions: exclusions that cannot tell anything new are not tried.

Let t and s be in each other's boundary but not adjacent, so that they have common children; M is the boundary
of t, and :math:`Z^*` has the members of M that are common children of the two or descend from one.

*Nothing drops s that does not exclude all of* :math:`Z^*`. If some of it is kept, a common child is an
ancestor of something kept, or kept itself, so t and s are joined in the moral graph of the ancestors of t and
what is kept.

*Excluding* :math:`Z^*` *alone drops s.* Let K be the rest of M, and take the moral graph of the ancestors of
t and K. All neighbours of t in it are in K, and s is none of them, so K without s separates the two:

- A parent of t is in M, and not in :math:`Z^*`, whose members descend from t.
- A child e of t is in M. Were it in :math:`Z^*`, it would be no ancestor of t or s, which common children
  descend from, so one of something else in K, which then would be in :math:`Z^*`, too. So e is in K, and in
  particular no common child of t and s is in the graph.
- Another parent of such a child e is in M. Were it in :math:`Z^*`, e would be, too.

So when exclusions are tried in the order of their size, the first that drops s is :math:`Z^*`. What follows
for a perfect identifier:

1. *One side is enough.* Whether t and s are adjacent can be told from the boundary of either, so it is asked
   of the smaller one.
2. *One drop is enough.* Let Z drop s, and let z be adjacent to both. If z is a common child, it is in Z. If
   not, it is not in Z, because t - z - s would be an open path. So the unshielded candidates of this drop are
   all colliders between the two and no others, and the pair is done with.
3. *Z must be made of descendants.* All of :math:`Z^*` descends from t and from s, and it has every member of
   M that descends from a member of it. What is known of descent comes from the pairs that are done with:
   their :math:`Z^*` descends from both of them.

A fourth rule is as true and not used: common children are in both boundaries, so where these have nothing in
common t and s are adjacent, without a question. Estimated boundaries have members that do not belong, which
drop when others are excluded; this rule would keep them (`docs/measurements.md` has the cost).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from dcd.search.base import Ask, Boundaries, Cut, Drop, Exclusion, Findings


def search_pruned(boundaries: Boundaries, ask: Ask, max_subsets: int | None = None) -> Findings:
    """Exclude what may separate a pair, in rounds of one size over all targets.

    `max_subsets` bounds what is asked of one target: sizes are searched as long as all questions of a size
    are within it, and size 1 in any case.
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
    """What is known of every two variables that share a boundary: who asks, who is apart, who descends."""

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
        """Whether target and member of a drop were not known to be separated."""
        return drop.member not in self.separated[drop.exclusion.target]

    def exclusions(self, target: str, size: int) -> Iterator[Exclusion]:
        """What to exclude from a target's boundary to decide a member that is still open."""
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
            left_out = {boundary[at] for at in chosen}
            kept = tuple(name for name in boundary if name not in left_out)
            yield Exclusion(target, tuple(boundary[at] for at in chosen), kept)

    def separate(self, drops: Sequence[Drop]) -> None:
        """Take note of the drops of a round."""
        for drop in drops:
            target, member = drop.exclusion.target, drop.member
            self.separated[target].add(member)
            self.separated[member].add(target)
            # Seen from the other side, the smallest exclusion need not have been asked before.
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
    """Sets of so many positions that have the closure of each of theirs, in the order of `combinations`.

    Sets of bits are integers. A position whose closure is None is in no set, and no set has all of those
    `undecided`. What is grown can always be completed to some set of at most this size, so that the time is
    bounded by the number of sets up to this size, not of all combinations.
    """

    def grown(chosen: tuple[int, ...], needed: int) -> Iterator[tuple[int, ...]]:
        if len(chosen) == size:
            yield chosen
            return
        taken = _bits(chosen)
        for at in range(chosen[-1] + 1 if chosen else 0, len(closures)):
            own = closures[at]
            if own is not None:
                together = needed | own
                nothing_missed = together & ((1 << at) - 1) == taken
                if nothing_missed and together.bit_count() <= size and together & undecided != undecided:
                    yield from grown((*chosen, at), together)
            if needed >> at & 1:  # it may not be passed over
                return

    return grown((), 0)


def _bits(positions: Iterable[int]) -> int:
    return sum(1 << at for at in positions)
