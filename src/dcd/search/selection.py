"""Grow-shrink selection: single additions, each followed by all possible removals."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence


def grow_shrink(
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
