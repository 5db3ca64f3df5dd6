"""Differences between two results on the same table, such as without and with background knowledge."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

from dcd.graph.cpdag import Role
from dcd.graph.probabilities import Probabilities
from dcd.results.model import Result
from dcd.results.origin import given_in
from dcd.runtime.errors import InputError, check_type
from dcd.runtime.text import percent

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
    shares : the probabilities, before and now, of the edge as drawn now; None if a result has none.
    """

    first: str
    second: str
    before: str
    after: str
    given: bool
    shares: tuple[float, float] | None = None

    @property
    def shares_in_words(self) -> str:
        """`41 % before, 93 % now`; empty without probabilities."""
        return "" if self.shares is None else "{} before, {} now".format(*map(percent, self.shares))


@dataclass(frozen=True)
class Changes:
    """All differences between a result and an earlier one.

    Attributes
    ----------
    edges : the pairs whose edge differs.
    n_same : edges that are the same.
    settings : parameters that differ, other than knowledge: they may also be the reason.
    informed : whether there is knowledge now.
    """

    edges: tuple[Change, ...]
    n_same: int
    settings: tuple[str, ...]
    informed: bool = False

    def reason(self, change: Change) -> str:
        """Why a pair differs."""
        if change.given:
            return "by knowledge"
        return "the data, given the knowledge" if self.informed else "the data"

    @property
    def by_constraint(self) -> tuple[Change, ...]:
        """Changes that knowledge caused but did not settle: among the graphs it allows, the data decide."""
        return tuple(change for change in self.edges if self.informed and not change.given)


def changes_since(before: Result, after: Result) -> Changes:
    """The changes between two results of the same table; raises `InputError` for different tables."""
    check_type("before", before, Result, "Pass the result of dcd.load_result.")
    if before.data.fingerprint != after.data.fingerprint or set(before.names) != set(after.names):
        remedy = "Compare results of the same rows and columns."
        raise InputError("parameter 'before'", "is a result of another table", remedy)
    old, new, given = before.cpdag, after.cpdag, given_in(after)
    by_knowledge = {frozenset(arrow) for arrow in given.arrows} | given.edges
    told_before, told_now = _probabilities(before), _probabilities(after)
    edges, n_same = [], 0
    for first, second in combinations(after.names, 2):
        was, now = old.role(first, second), new.role(first, second)
        if was != now:
            drawn, redrawn = (_DRAWN[role].format(first, second) for role in (was, now))
            given_now = frozenset((first, second)) in by_knowledge
            earlier, later = (_share(told, first, second, now) for told in (told_before, told_now))
            shares = None if earlier is None or later is None else (earlier, later)
            edges.append(Change(first, second, drawn, redrawn, given_now, shares))
        n_same += was == now is not None
    return Changes(tuple(edges), n_same, _other_settings(before, after), bool(after.knowledge))


_Told = dict[tuple[str, str], Probabilities]


def _probabilities(result: Result) -> _Told | None:
    """The probabilities of all pairs that may have an edge, in both orders; None without a posterior."""
    if result.posterior is None:
        return None
    told: _Told = {}
    for pair in result.posterior.pairs:
        told[pair.first, pair.second] = pair.probabilities
        told[pair.second, pair.first] = pair.probabilities.reversed()
    return told


def _share(told: _Told | None, first: str, second: str, role: Role | None) -> float | None:
    """The probability that a pair has a given role; for an undirected edge, that of any edge."""
    if told is None:
        return None
    if (found := told.get((first, second))) is None:
        return None
    return {"parent": found.forward, "child": found.backward, None: found.absent}.get(role, found.edge)


def _other_settings(before: Result, after: Result) -> tuple[str, ...]:
    old = {"estimator": before.reproduction.estimator, **before.reproduction.parameters}
    new = {"estimator": after.reproduction.estimator, **after.reproduction.parameters}
    names = dict.fromkeys([*old, *new])
    return tuple(name for name in names if name != "knowledge" and old.get(name) != new.get(name))
