"""Graphs in one encoding: `adjacency[i, j] = 1` with `adjacency[j, i] = 0` is `i -> j`; both 1 is `i - j`.

Short pure functions on that matrix, and `CPDAG`, the one type in which results are handed out. A CPDAG
stands for all DAGs that imply the same conditional independences: an arrow that they share is an arrow, an
edge that turns around among them is undirected. With background knowledge it stands for those of them that
have certain arrows, and has every arrow that these share (an MPDAG).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.display import ShownInNotebooks
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.runtime.errors import InputError, suggest

Role = Literal["parent", "child", "neighbour", "spouse"]
Identifier = Callable[[Any, Collection[Any]], Collection[Any]]


# --- checks and small views ------------------------------------------------------------------------------


def check_adjacency(adjacency: npt.ArrayLike, what: str = "adjacency") -> IntArray:
    """A square 0/1 matrix with an empty diagonal, as int8; anything else is an `InputError`."""
    if isinstance(adjacency, pd.DataFrame) and list(adjacency.index) != list(adjacency.columns):
        raise InputError(
            f"parameter '{what}'",
            "has rows and columns with different labels",
            "Give both the same names in the same order.",
        )
    matrix = np.asarray(adjacency)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1]
    if not square or not ((matrix == 0) | (matrix == 1)).all() or matrix.diagonal().any():
        raise InputError(
            f"parameter '{what}'",
            f"must be a square matrix of 0 and 1 with an empty diagonal, got shape {matrix.shape}",
            "Set [i, j] = 1 for i -> j, and both [i, j] and [j, i] for i - j.",
        )
    return matrix.astype(np.int8)


def directed_part(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where `i -> j`."""
    present = np.asarray(adjacency, dtype=bool)
    return present & ~present.T


def undirected_part(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where `i - j`; symmetric."""
    present = np.asarray(adjacency, dtype=bool)
    return present & present.T


def skeleton_of(adjacency: npt.ArrayLike) -> BoolArray:
    """`[i, j]` is true where there is any edge; symmetric."""
    present = np.asarray(adjacency, dtype=bool)
    return present | present.T


def topological_order(dag: npt.ArrayLike) -> list[int]:
    """Nodes with every parent before its children; an `InputError` if there is none."""
    remaining = check_adjacency(dag, "dag").astype(bool)
    pending = list(range(len(remaining)))
    order: list[int] = []
    while pending:
        ready = [node for node in pending if not remaining[pending, node].any()]
        if not ready:
            raise InputError("parameter 'dag'", "has a directed cycle", "Remove or turn an edge on it.")
        order += ready
        pending = [node for node in pending if node not in ready]
    return order


def is_acyclic(directed: npt.ArrayLike) -> bool:
    """Whether a matrix of directed edges has no directed cycle."""
    try:
        topological_order(directed)
    except InputError:
        return False
    return True


def unshielded_colliders(adjacency: npt.ArrayLike) -> Iterator[tuple[int, int, int]]:
    """All `(x, z, y)` with `x -> z <- y`, x and y not adjacent, x < y."""
    arrows, adjacent = directed_part(adjacency), skeleton_of(adjacency)
    for z in range(len(arrows)):
        for x, y in combinations(np.flatnonzero(arrows[:, z]), 2):
            if not adjacent[x, y]:
                yield int(x), z, int(y)


# --- Meek's rules, DAG -> CPDAG and back -----------------------------------------------------------------


def apply_meek_rules(adjacency: npt.ArrayLike) -> IntArray:
    """Orient every undirected edge whose direction the arrows of a partially directed graph imply.

    Meek (1995), rules 1 to 4: `a - b` becomes `a -> b` where `b -> a` would make a new unshielded collider
    or a directed cycle.
    """
    graph = check_adjacency(adjacency)
    pending = [(int(a), int(b)) for a, b in np.argwhere(undirected_part(graph))]
    changed = True
    while changed:
        changed = False
        arrows, undirected = directed_part(graph), undirected_part(graph)
        adjacent = arrows | arrows.T | undirected
        for a, b in pending:
            if undirected[a, b] and _is_implied(a, b, arrows, undirected, adjacent):
                graph[b, a] = 0
                arrows[a, b] = changed = True
                undirected[a, b] = undirected[b, a] = False
    return graph


def _is_implied(a: int, b: int, arrows: BoolArray, undirected: BoolArray, adjacent: BoolArray) -> bool:
    """Whether one of Meek's rules turns `a - b` into `a -> b`."""
    if (arrows[:, a] & ~adjacent[:, b]).any():  # rule 1: c -> a, c and b apart
        return True
    if (arrows[a] & arrows[:, b]).any():  # rule 2: a -> c -> b
        return True
    middle = np.flatnonzero(undirected[a] & arrows[:, b])  # a - c -> b
    if any(not adjacent[c, d] for c, d in combinations(middle, 2)):  # rule 3: two such, apart
        return True
    middle = np.flatnonzero(adjacent[a] & arrows[:, b])  # rule 4: a - d -> c -> b, d and b apart
    return any((undirected[a] & arrows[:, c] & ~adjacent[:, b]).any() for c in middle)


def dag_to_cpdag(dag: npt.ArrayLike) -> IntArray:
    """The CPDAG of a DAG: its skeleton, its unshielded colliders, and what these imply."""
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    pattern = skeleton_of(matrix).astype(np.int8)
    for x, z, y in unshielded_colliders(matrix):
        pattern[z, x] = pattern[z, y] = 0
    return apply_meek_rules(pattern)


def with_arrows(cpdag: IntArray, arrows: Sequence[tuple[int, int]]) -> IntArray:
    """A CPDAG with some of its edges directed, and what follows by Meek's rules."""
    graph = cpdag.copy()
    for i, j in arrows:
        graph[j, i] = 0
    return apply_meek_rules(graph)


def consistent_extension(adjacency: npt.ArrayLike) -> IntArray | None:
    """A DAG with the edges, arrows and unshielded colliders of a partially directed graph, if there is one.

    It does not matter why an arrow is there: of a collider, of background knowledge, or by Meek's rules.
    Dor and Tarsi (1992): take a node without outgoing arrows whose undirected neighbours are adjacent to all
    its other neighbours, point its edges at it, set it aside, repeat.
    """
    dag, core = _set_sinks_aside(adjacency)
    return None if core else dag


def contradictory_core(adjacency: npt.ArrayLike) -> list[int]:
    """The nodes among which a partially directed graph contradicts itself; none if some DAG fits it."""
    return _set_sinks_aside(adjacency)[1]


def _set_sinks_aside(adjacency: npt.ArrayLike) -> tuple[IntArray, list[int]]:
    """As far as it goes: the arrows given and added, and the nodes of which none can be set aside."""
    graph = check_adjacency(adjacency)
    dag = directed_part(graph).astype(np.int8)
    remaining = list(range(len(graph)))
    while (sink := next((node for node in remaining if _can_be_set_aside(node, graph)), None)) is not None:
        dag[graph[:, sink].astype(bool), sink] = 1
        graph[sink, :] = graph[:, sink] = 0
        remaining.remove(sink)
    return dag, remaining


def _can_be_set_aside(node: int, graph: IntArray) -> bool:
    """Whether all edges of `node` can point at it without turning an arrow or adding a collider."""
    adjacent = skeleton_of(graph)
    if directed_part(graph)[node].any():
        return False
    around = np.flatnonzero(adjacent[node])
    return all(
        adjacent[neighbour, other]
        for neighbour in np.flatnonzero(undirected_part(graph)[node])
        for other in around
        if other != neighbour
    )


# --- d-separation ----------------------------------------------------------------------------------------


def d_separated(dag: npt.ArrayLike, x: int, y: int, given: Collection[int] = ()) -> bool:
    """Whether `x` and `y` are d-separated by `given`: apart in the moral graph of all their ancestors."""
    blocked = set(given)
    moral = _moral_graph(_parents(check_adjacency(dag, "dag")), {x, y, *blocked})
    return y not in _reached(moral, x, through=lambda node: node not in blocked)


def oracle(dag: npt.ArrayLike | pd.DataFrame, names: Sequence[Any] | None = None) -> Identifier:
    """The Markov boundary identifier of a known DAG, `identify(target, others) -> set`.

    In a faithful distribution a member of `others` is in the boundary of `target` exactly when the two are
    dependent given the rest of `others`. In the moral graph of the ancestors of all of them, that is: there
    is a path between the two that otherwise runs outside `others`.

    Nodes are named by `names`, by the columns of a labelled frame, or by their positions.
    """
    if names is None:
        names = list(dag.columns) if isinstance(dag, pd.DataFrame) else list(range(len(np.asarray(dag))))
    labels = list(names)
    position = {name: index for index, name in enumerate(labels)}
    matrix = check_adjacency(dag, "dag")
    topological_order(matrix)
    parents = _parents(matrix)

    def identify(target: Any, others: Collection[Any]) -> set[Any]:
        observed = {position[name] for name in others}
        start = position[target]
        moral = _moral_graph(parents, observed | {start})
        reached = _reached(moral, start, through=lambda node: node not in observed)
        return {labels[index] for index in reached & observed}

    return identify


def _parents(dag: IntArray) -> list[list[int]]:
    return [np.flatnonzero(column).tolist() for column in dag.T]


def _moral_graph(parents: Sequence[Sequence[int]], nodes: set[int]) -> dict[int, set[int]]:
    """Neighbours in the moral graph over `nodes` and their ancestors."""
    moral: dict[int, set[int]] = {}
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in moral:
            moral[node] = set()
            pending += parents[node]
    for node in moral:
        for a, b in combinations([*parents[node], node], 2):
            moral[a].add(b)
            moral[b].add(a)
    return moral


def _reached(neighbours: dict[int, set[int]], start: int, through: Callable[[int], bool]) -> set[int]:
    """All nodes on paths from `start` whose inner nodes satisfy `through`."""
    reached = {start}
    pending = [start]
    while pending:
        for node in neighbours[pending.pop()] - reached:
            reached.add(node)
            if through(node):
                pending.append(node)
    return reached


# --- the result types ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChosenDAG:
    """One DAG of a class, chosen where the class leaves the direction open.

    Attributes
    ----------
    adjacency : labelled frame, `[i, j] = 1` for `i -> j`.
    arbitrary : `(cause, effect)` for each arrow whose direction was chosen arbitrarily: another DAG of the
        class has it the other way round.
    """

    adjacency: pd.DataFrame = field(repr=False)
    arbitrary: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        names, matrix = list(self.adjacency.columns), self.adjacency.to_numpy()
        edges = [(names[i], names[j]) for i, j in np.argwhere(matrix)]
        lines = [f"{a} -> {b}{' (arbitrary)' * ((a, b) in self.arbitrary)}" for a, b in edges]
        count = f"{len(self.arbitrary)} of {len(edges)} directions chosen arbitrarily"
        return "\n".join([*lines, count]) if edges else "(no edges)"


@dataclass(frozen=True, eq=False)
class CPDAG(ShownInNotebooks):
    """A completed partially directed acyclic graph over named variables.

    Attributes
    ----------
    names : the variables, in the order of the rows and columns of `adjacency`.
    adjacency : read-only int8 array, `[i, j] = 1, [j, i] = 0` for `i -> j`, both 1 for `i - j`.
    background : the arrows `(cause, effect)` that are there by knowledge and not by skeleton and colliders,
        in the order of `names`. With them, `adjacency` has what they imply as well. Arrows that skeleton and
        colliders imply anyway are left out of it.
    """

    names: tuple[str, ...]
    adjacency: IntArray = field(repr=False)
    background: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        adjacency = check_adjacency(self.adjacency)
        object.__setattr__(self, "names", tuple(self.names))
        if len(self.names) != len(adjacency) or len(set(self.names)) != len(self.names):
            raise InputError(
                "parameter 'names'",
                f"must be {len(adjacency)} different names, got {len(set(self.names))}",
                "Give one name for each row of the adjacency matrix.",
            )
        arrows = self._positions(self.background, adjacency)
        dag = consistent_extension(adjacency)
        of_class = None if dag is None else dag_to_cpdag(dag)
        if of_class is None or not np.array_equal(with_arrows(of_class, arrows), adjacency):
            raise InputError(
                "parameter 'adjacency'",
                "is not the CPDAG of any DAG" + (" with this background" if arrows else ""),
                "Use CPDAG.from_dag for a DAG; consistent_extension makes one of a partial graph.",
            )
        added = sorted({(i, j) for i, j in arrows if of_class[j, i]})
        object.__setattr__(self, "background", tuple((self.names[i], self.names[j]) for i, j in added))
        adjacency.setflags(write=False)
        object.__setattr__(self, "adjacency", adjacency)

    @classmethod
    def from_dag(
        cls, names: Sequence[str], dag: npt.ArrayLike, background: Sequence[tuple[str, str]] = ()
    ) -> CPDAG:
        """The CPDAG of the class that `dag` belongs to, or of its members with these arrows of `dag`."""
        of_class = cls(tuple(names), dag_to_cpdag(dag))
        arrows = of_class._positions(background, check_adjacency(dag, "dag"))
        return cls(of_class.names, with_arrows(of_class.adjacency, arrows), tuple(background))

    def without_background(self) -> CPDAG:
        """The CPDAG of the whole class, without what knowledge tells about its members."""
        return CPDAG.from_dag(self.names, self.to_dag().adjacency)

    @cached_property
    def directed_edges(self) -> tuple[tuple[str, str], ...]:
        """`(cause, effect)` for each arrow."""
        pairs = np.argwhere(directed_part(self.adjacency))
        return tuple((self.names[i], self.names[j]) for i, j in pairs)

    @cached_property
    def undirected_edges(self) -> tuple[tuple[str, str], ...]:
        """Each edge without a direction once."""
        pairs = np.argwhere(np.triu(undirected_part(self.adjacency)))
        return tuple((self.names[i], self.names[j]) for i, j in pairs)

    def to_frame(self) -> pd.DataFrame:
        """The adjacency matrix with names on both sides."""
        return pd.DataFrame(self.adjacency.astype(int), index=list(self.names), columns=list(self.names))

    def to_dag(self) -> ChosenDAG:
        """One DAG of the class, and which of its arrows were chosen arbitrarily."""
        dag = consistent_extension(self.adjacency)
        assert dag is not None  # checked when the graph was made
        frame = pd.DataFrame(dag.astype(int), index=list(self.names), columns=list(self.names))
        chosen = np.argwhere(directed_part(dag) & undirected_part(self.adjacency))
        return ChosenDAG(frame, tuple((self.names[i], self.names[j]) for i, j in chosen))

    def reorder(self, names: Sequence[str]) -> CPDAG:
        """The same graph with its variables in another order."""
        order = [self.index(name) for name in names]
        return CPDAG(tuple(names), self.adjacency[np.ix_(order, order)], self.background)

    def role(self, member: str, target: str) -> Role | None:
        """What `member` is to `target`: "parent", "child", "neighbour" (undirected) or None (no edge)."""
        i, j = self.index(member), self.index(target)
        forward, backward = bool(self.adjacency[i, j]), bool(self.adjacency[j, i])
        if forward and backward:
            return "neighbour"
        return "parent" if forward else "child" if backward else None

    def _positions(self, arrows: Sequence[tuple[str, str]], graph: IntArray) -> list[tuple[int, int]]:
        """Arrows of a graph by position; an `InputError` for one that it does not have."""
        pairs = [(self.index(cause), self.index(effect)) for cause, effect in arrows]
        for i, j in pairs:
            if not graph[i, j] or graph[j, i]:
                arrow = f"{self.names[i]} -> {self.names[j]}"
                raise InputError(
                    "parameter 'background'", f"has {arrow}, which the graph has not", "Leave it out."
                )
        return pairs

    def index(self, name: str) -> int:
        """Position of a variable."""
        if name not in self.names:
            raise InputError(f"variable {name!r}", "is not in the graph", suggest(name, self.names))
        return self.names.index(name)

    def __eq__(self, other: object) -> bool:
        """Equal if both have the same variables, in any order, and the same edges.

        These settle for which DAGs a graph stands; `background` only tells where arrows came from.
        """
        if not isinstance(other, CPDAG):
            return NotImplemented
        return (
            frozenset(self.names) == frozenset(other.names)
            and set(self.directed_edges) == set(other.directed_edges)
            and {frozenset(edge) for edge in self.undirected_edges}
            == {frozenset(edge) for edge in other.undirected_edges}
        )

    def __hash__(self) -> int:
        return hash((frozenset(self.names), frozenset(self.directed_edges)))

    def __str__(self) -> str:
        arrows = [f"{a} -> {b}" for a, b in self.directed_edges]
        lines = [f"{a} - {b}" for a, b in self.undirected_edges]
        return "\n".join(arrows + lines) or "(no edges)"

    def __repr__(self) -> str:
        known = f" ({len(self.background)} by knowledge)" if self.background else ""
        return (
            f"CPDAG({len(self.names)} variables, {len(self.directed_edges)} directed{known}, "
            f"{len(self.undirected_edges)} undirected edges)"
        )
