"""Which part of a result comes from background knowledge, not from the data."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from dcd.graph.adjacency import skeleton_of, unshielded_colliders
from dcd.graph.cpdag import CPDAG
from dcd.graph.equivalence import apply_meek_rules
from dcd.graph.knowledge import bind_knowledge
from dcd.results.consistency import knowledge_of
from dcd.results.model import Edge, ReportedConflict, Result


@dataclass(frozen=True)
class Given:
    """The part of a graph that the data do not show.

    Attributes
    ----------
    edges : pairs that have an edge only because it was required.
    arrows : `(cause, effect)` whose opposite knowledge forbids or whose direction the data alone leave open,
        and all arrows of `edges`.
    """

    edges: frozenset[frozenset[str]] = frozenset()
    arrows: frozenset[tuple[str, str]] = frozenset()

    def drew(self, edge: Edge) -> bool:
        """Whether the data show no such edge."""
        return frozenset((edge.first, edge.second)) in self.edges

    def directed(self, edge: Edge) -> bool:
        """Whether the direction, and perhaps the edge itself, comes from knowledge."""
        return edge.type == "->" and (edge.first, edge.second) in self.arrows


def given_in(result: Result) -> Given:
    """The part of a result that comes from knowledge."""
    if not result.knowledge and not result.conflicts and not any(edge.background for edge in result.edges):
        return Given()
    required = {frozenset(clash.variables) for clash in result.conflicts if clash.kind == "required_edge"}
    drawn = frozenset(frozenset((edge.first, edge.second)) for edge in result.edges) & required
    cpdag = result.cpdag
    arrows = (*_stated(result, cpdag), *_arrows_by_knowledge(cpdag, drawn, result.conflicts))
    return Given(drawn, frozenset(arrows))


def _stated(result: Result, cpdag: CPDAG) -> Iterable[tuple[str, str]]:
    """Arrows whose opposite knowledge forbids: the data did not decide their direction."""
    forbidden = bind_knowledge(knowledge_of(result.reproduction.parameters), cpdag.names).forbidden
    for cause, effect in cpdag.directed_edges:
        if forbidden[cpdag.index(effect), cpdag.index(cause)]:
            yield cause, effect


def _arrows_by_knowledge(
    cpdag: CPDAG, drawn: frozenset[frozenset[str]], conflicts: Iterable[ReportedConflict]
) -> Iterable[tuple[str, str]]:
    """Arrows that do not follow from the edges and colliders that the data show."""
    names = cpdag.names
    known = {
        (conflict.variables[1], frozenset((conflict.variables[0], conflict.variables[2])))
        for conflict in conflicts
        if conflict.kind == "known_collider" and len(conflict.variables) == 3
    }
    seen = skeleton_of(cpdag.adjacency).astype("int8")
    for a, b in (tuple(pair) for pair in drawn):
        seen[cpdag.index(a), cpdag.index(b)] = seen[cpdag.index(b), cpdag.index(a)] = 0
    for x, z, y in unshielded_colliders(cpdag.adjacency):
        if seen[x, z] and seen[y, z] and (names[z], frozenset((names[x], names[y]))) not in known:
            seen[z, x] = seen[z, y] = 0
    by_data = apply_meek_rules(seen)
    for cause, effect in cpdag.directed_edges:
        i, j = cpdag.index(cause), cpdag.index(effect)
        if not by_data[i, j] or by_data[j, i]:
            yield cause, effect
