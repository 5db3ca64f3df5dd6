"""Grow and shrink: a set of variables by single additions, each followed by all removals that it allows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence


def grow_shrink(
    required: Collection[int],
    strongest: Callable[[Sequence[int], Collection[int]], int | None],
    weakest: Callable[[Sequence[int]], int | None],
    max_size: float,
) -> list[int]:
    """The members, sorted, at most `max_size` of them unless more are required.

    `strongest(members, refused)` is the variable to add, which is not among those refused, and
    `weakest(members)` the one to remove; None if there is none. Required members come first in `members`.
    """
    members = sorted(required)
    seen, refused = {frozenset(members)}, set[int]()
    while len(members) < max_size and (entering := strongest(members, refused)) is not None:
        grown = [*members, entering]
        while (leaving := weakest(grown)) is not None:
            grown.remove(leaving)
        if frozenset(grown) in seen:
            refused.add(entering)  # members would come and go for ever
        else:
            members = grown
            seen.add(frozenset(grown))
    return sorted(members)
