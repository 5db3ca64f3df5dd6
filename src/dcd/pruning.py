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

from collections.abc import Iterator, Sequence
from itertools import combinations, islice

from dcd.search import Ask, Boundaries, Cut, Drop, Exclusion, Findings, cut_after


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
            left = None if max_subsets is None or size == 1 else max(max_subsets - n_asked[target], 0)
            found = list(islice(pairs.exclusions(target, size), None if left is None else left + 1))
            if left is not None and len(found) > left:
                cuts[target] = cut_after(target, boundaries[target], n_asked[target])
                continue
            n_asked[target] += len(found)
            questions += found
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
        rank = {target: (len(boundaries[target]), place) for place, target in enumerate(boundaries)}
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
        undecided = [name for name in boundary if name in self._asks[target] - self.separated[target]]
        if not undecided or size >= len(boundary):
            return
        for excluded in combinations(boundary, size):
            left_out = set(excluded)
            open_to_it = not left_out.issuperset(undecided)
            if open_to_it and self._may_be_all_that_descends(left_out, target):
                yield Exclusion(target, excluded, tuple(name for name in boundary if name not in left_out))

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

    def _may_be_all_that_descends(self, excluded: set[str], target: str) -> bool:
        """Whether nothing that is kept, nor the target, is known to descend from what is excluded."""
        kept = {*self._boundaries[target], target} - excluded
        return all(self._descendants[name].isdisjoint(kept) for name in excluded)

    def _close_descent(self) -> None:
        """Descendants of descendants are descendants."""
        changed = True
        while changed:
            changed = False
            for known in self._descendants.values():
                further = set().union(*(self._descendants[name] for name in known)) - known
                known |= further
                changed = changed or bool(further)
