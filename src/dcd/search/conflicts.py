"""Conflicts in words: among findings, and between findings and background knowledge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Protocol

from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.pattern import Triple, VariablePair
from dcd.search.base import Conflict, TargetSearch

_WITH_KNOWLEDGE = ("required_edge", "forbidden_edge", "known_collider")
NOT_WITH_KNOWLEDGE = "no graph with it agrees with all knowledge"
_NOT_DRAWN = "Knowledge took precedence; no edge was drawn."


class _Described(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def action(self) -> str: ...


def is_with_knowledge(conflict: _Described) -> bool:
    """Whether data and knowledge conflict, rather than the data among themselves."""
    refused = conflict.kind == "refused_collider" and conflict.action.startswith("Knowledge")
    return refused or conflict.kind in _WITH_KNOWLEDGE


def asymmetries(searches: Sequence[TargetSearch]) -> Iterator[Conflict]:
    """Pairs in which only one variable has the other in its boundary or among its neighbours."""
    boundary = {search.target: set(search.boundary) for search in searches}
    neighbours = {search.target: set(search.neighbours) for search in searches}
    for x, y in combinations(boundary, 2):
        if (y in boundary[x]) != (x in boundary[y]):
            member, target = (y, x) if y in boundary[x] else (x, y)
            yield Conflict(
                "asymmetric_boundary",
                (x, y),
                f"{member} is in the Markov boundary of {target}, but not the other way round.",
                "One side is enough for an edge." if member in neighbours[target] else "No edge was drawn.",
            )
        elif (y in neighbours[x]) != (x in neighbours[y]):
            holds, drops = (x, y) if y in neighbours[x] else (y, x)
            yield Conflict(
                "asymmetric_edge",
                (x, y),
                f"{holds} drops out of the boundary of {drops} when others are left out, "
                f"but {drops} never drops out of that of {holds}.",
                "One side is enough for an edge.",
            )


def overruled(
    searches: Sequence[TargetSearch], position: Mapping[str, int], known: BoundKnowledge
) -> Iterator[Conflict]:
    """Edges on which data and knowledge disagree; one end is enough for an edge."""
    decided = {search.target: search.overruled for search in searches}
    for x, y in combinations(decided, 2):
        i, j = position[x], position[y]
        if known.joined[i, j] and y in decided[x] and x in decided[y]:
            reason = known.reason(i, j) if known.required[i, j] else known.reason(j, i)
            problem = f"The data show no edge {x} - {y}, but {reason}."
            yield Conflict("required_edge", (x, y), problem, "Knowledge took precedence; the edge was drawn.")
        elif known.apart[i, j] and (y in decided[x] or x in decided[y]):
            reasons = " and ".join(dict.fromkeys((known.reason(i, j), known.reason(j, i))))
            problem = f"The data suggest {x} - {y}, but {reasons}."
            yield Conflict("forbidden_edge", (x, y), problem, _NOT_DRAWN)


def circular_edge(names: Sequence[str], pair: VariablePair, known: BoundKnowledge) -> Conflict:
    """An edge left out because knowledge would direct it into a cycle."""
    cause, effect = pair if known.forbidden[pair[::-1]] else pair[::-1]
    return Conflict(
        "forbidden_edge",
        (names[cause], names[effect]),
        f"The data suggest {names[cause]} - {names[effect]}, but {known.reason(effect, cause)}, "
        f"and the other direction would close a cycle with other knowledge.",
        _NOT_DRAWN,
    )


def known_collider(names: Sequence[str], triple: Triple) -> Conflict:
    """A collider from knowledge."""
    x, z, y = (names[index] for index in triple)
    return Conflict(
        "known_collider",
        (x, z, y),
        f"Knowledge implies {x} -> {z} <- {y}, which the data alone do not suggest.",
        "Knowledge took precedence; the collider is in the graph.",
    )


def refused_collider(names: Sequence[str], triple: Triple, reason: str, known: BoundKnowledge) -> Conflict:
    """A collider that the data suggest but the graph does not have."""
    x, z, y = triple
    against = [known.reason(end, z) for end in (x, y) if known.forbidden[end, z]]
    by_knowledge = bool(against) or reason == NOT_WITH_KNOWLEDGE
    return Conflict(
        "refused_collider",
        (names[x], names[z], names[y]),
        f"The data suggest {names[x]} -> {names[z]} <- {names[y]}, but {against[0] if against else reason}.",
        f"{'Knowledge' if by_knowledge else 'Stronger evidence'} took precedence; the collider was left out.",
    )


def left_out_edge(names: Sequence[str], pair: VariablePair) -> Conflict:
    """An edge without which no DAG would fit."""
    x, y = (names[index] for index in pair)
    return Conflict(
        "left_out_edge",
        (x, y),
        f"No directed acyclic graph contains {x} - {y} together with the other edges and colliders found.",
        "It has the weakest evidence among them and was left out.",
    )
