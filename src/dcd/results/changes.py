"""What differs between two results on the same table, such as without and with background knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from dcd.graph.cpdag import Role
from dcd.results.model import Result
from dcd.results.origin import given_in
from dcd.runtime.errors import InputError

_DRAWN: dict[Role | None, str] = {
    "parent": "{0} -> {1}",
    "child": "{1} -> {0}",
    "neighbour": "{0} - {1}",
    None: "no edge",
}


@dataclass(frozen=True)
class Change:
    """A pair of variables whose edge differs, and both edges in words.

    Attributes
    ----------
    given : whether the edge or its direction now follows from knowledge, directly or by implication.
    """

    first: str
    second: str
    before: str
    after: str
    given: bool


@dataclass(frozen=True)
class Changes:
    """All differences between a result and an earlier one.

    Attributes
    ----------
    edges : the pairs whose edge differs.
    n_same : edges that are the same.
    settings : parameters that differ, other than knowledge: they may also be the reason.
    """

    edges: tuple[Change, ...]
    n_same: int
    settings: tuple[str, ...]


def changes_since(before: Result, after: Result) -> Changes:
    """What changed between two results of the same table; raises `InputError` for different tables."""
    if not isinstance(before, Result):
        problem = f"must be a Result, got {type(before).__name__}"
        raise InputError("parameter 'before'", problem, "Pass the result of dcd.load_result.")
    if before.data.fingerprint != after.data.fingerprint or set(before.names) != set(after.names):
        remedy = "Compare results of the same rows and columns."
        raise InputError("parameter 'before'", "is a result of another table", remedy)
    old, new, given = before.cpdag, after.cpdag, given_in(after)
    by_knowledge = {frozenset(arrow) for arrow in given.arrows} | given.edges
    edges, n_same = [], 0
    for first, second in combinations(after.names, 2):
        was, now = old.role(first, second), new.role(first, second)
        if was != now:
            drawn, redrawn = (_DRAWN[role].format(first, second) for role in (was, now))
            given_now = frozenset((first, second)) in by_knowledge
            edges.append(Change(first, second, drawn, redrawn, given_now))
        n_same += was == now is not None
    return Changes(tuple(edges), n_same, _other_settings(before, after))


def _other_settings(before: Result, after: Result) -> tuple[str, ...]:
    old = {"estimator": before.reproduction.estimator, **before.reproduction.parameters}
    new = {"estimator": after.reproduction.estimator, **after.reproduction.parameters}
    names = dict.fromkeys([*old, *new])
    return tuple(name for name in names if name != "knowledge" and old.get(name) != new.get(name))
