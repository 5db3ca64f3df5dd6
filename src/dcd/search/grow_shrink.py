"""Markov boundaries by growing and shrinking.

Grow: add the variable whose association with the target given the current boundary is strongest in the
screening and confirmed by the full test, until there is none. Shrink: after each addition, drop every member
that is independent of the target given the other members. Only members of the boundary are adjusted for and
decoupled, so cost and power depend on its size, not on the number of variables. Variables required by
knowledge are always members.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np

from dcd.independence.base import SearchTest
from dcd.runtime.errors import check_number


@dataclass(frozen=True)
class GrowShrink:
    """Search strategy for Markov boundaries: grow, then shrink, by conditional independence tests.

    Attributes
    ----------
    max_size : largest size of a boundary, unless knowledge requires more variables.
    """

    max_size: int = 8

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("max_size", self.max_size, at_least=1, whole=True, suggestion=8)

    def boundary(
        self, test: SearchTest, target: int, n_variables: int, level: float, required: Collection[int] = ()
    ) -> list[int]:
        """The Markov boundary of one target, each test at `level`; it includes the required variables."""
        log_level = float(np.log(level))
        members = sorted(required)
        seen, refused = {frozenset(members)}, set[int]()
        while len(members) < self.max_size:
            excluded = {target, *members, *refused}
            candidates = [v for v in range(n_variables) if v not in excluded]
            entering = _strongest(test, target, members, candidates, log_level)
            if entering is None:
                break
            grown = [*members, entering]
            while (leaving := _weakest(test, target, grown, required, log_level)) is not None:
                grown.remove(leaving)
            if frozenset(grown) in seen:
                refused.add(entering)  # otherwise the loop might not end
            else:
                members = grown
                seen.add(frozenset(grown))
        return sorted(members)


def _strongest(
    test: SearchTest, target: int, members: Sequence[int], candidates: Sequence[int], log_level: float
) -> int | None:
    """The candidate to add to the boundary."""
    for screened in test.screen(target, members):
        for candidate in sorted(candidates, key=lambda v: (screened[v], v)):
            if screened[candidate] >= log_level:
                break
            if test.log_pvalue(candidate, target, members) < log_level:
                return candidate
    return None


def _weakest(
    test: SearchTest, target: int, members: Sequence[int], required: Collection[int], log_level: float
) -> int | None:
    """The member to drop from the boundary."""
    log_pvalues = {
        member: test.log_pvalue(member, target, [other for other in members if other != member])
        for member in members
        if member not in required
    }
    # A member whose independence cannot be tested (NaN) stays.
    independent = [(p, member) for member, p in log_pvalues.items() if p >= log_level]
    return max(independent)[1] if independent else None
