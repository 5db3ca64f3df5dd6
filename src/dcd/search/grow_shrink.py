"""Markov boundaries by growing and shrinking.

Grow: while there is one, add the variable whose association with the target given the current boundary is
strongest in the screening and confirmed by the full test. Shrink: after each addition, drop every member that
is independent of the target given the other members. Only members of the boundary are adjusted for and
decoupled, so cost and power depend on its size, not on the number of variables. Variables required by
knowledge are always members.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

import numpy as np

from dcd.independence.base import SearchTest
from dcd.runtime.errors import check_number


@dataclass(frozen=True)
class GrowShrink:
    """Strategy: grow-shrink boundaries.

    Attributes
    ----------
    max_size : largest boundary.
    """

    max_size: int = 8

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("max_size", self.max_size, at_least=1, whole=True, suggestion=8)

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

        return _grow_shrink(required, strongest, weakest, self.max_size)


def _grow_shrink(
    required: Collection[int],
    strongest: Callable[[Sequence[int], Collection[int]], int | None],
    weakest: Callable[[Sequence[int]], int | None],
    max_size: float,
) -> list[int]:
    """The members, sorted, at most `max_size` of them unless more are required.

    `strongest(members, refused)` is the variable to add, not one of those refused, and `weakest(members)` the
    one to remove, or None. Required members come first.
    """
    members = sorted(required)
    seen, refused = {frozenset(members)}, set[int]()
    while len(members) < max_size and (entering := strongest(members, refused)) is not None:
        grown = [*members, entering]
        while (leaving := weakest(grown)) is not None:
            grown.remove(leaving)
        if frozenset(grown) in seen:
            refused.add(entering)  # otherwise the loop might not end
        else:
            members = grown
            seen.add(frozenset(grown))
    return sorted(members)
