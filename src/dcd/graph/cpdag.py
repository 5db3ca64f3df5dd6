"""`CPDAG`, the type of all graphs that the library returns.

A CPDAG represents the Markov equivalence class of a DAG: arrows shared by all its members are directed, the
other edges are undirected. With background knowledge it represents the members that agree with it (an MPDAG).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pkgutil import resolve_name
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pandas as pd

from dcd.graph.adjacency import check_adjacency, directed_part, undirected_part
from dcd.graph.drawing.svg import graph_html, graph_svg
from dcd.graph.equivalence import consistent_extension, dag_to_cpdag, with_arrows
from dcd.runtime.array_types import IntArray
from dcd.runtime.errors import InputError, as_tuple, is_whole, name_list, suggest

Role = Literal["parent", "child", "neighbour", "spouse"]


@dataclass(frozen=True, eq=False)
class ChosenDAG:
    """One DAG of an equivalence class.

    Attributes
    ----------
    adjacency : labelled frame, `[i, j] = 1` for `i -> j`.
    arbitrary : `(cause, effect)` for each arrow whose direction was chosen arbitrarily, because other DAGs
        of the class have it reversed.
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
class CPDAG:
    """A completed partially directed acyclic graph over named variables.

    Attributes
    ----------
    names : the variables, in the order of the rows and columns of `adjacency`.
    adjacency : read-only int8 array, `[i, j] = 1, [j, i] = 0` for `i -> j`, both 1 for `i - j`.
    background : the arrows `(cause, effect)` that follow from knowledge but not from skeleton and colliders,
        in the order of `names`. `adjacency` also has the arrows that they imply.
    uncertain : the arrows `(cause, effect)` of `adjacency` that are too uncertain to be drawn as arrows: they
        are among `undirected_edges`, and undirected in `to_frame` and in pictures.
    """

    names: tuple[str, ...]
    adjacency: IntArray = field(repr=False)
    background: tuple[tuple[str, str], ...] = ()
    uncertain: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        adjacency = check_adjacency(self.adjacency)
        object.__setattr__(self, "names", name_list("names", self.names))
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
                "Use CPDAG.from_dag for a DAG; consistent_extension extends a partial graph to one.",
            )
        added = sorted({(i, j) for i, j in arrows if of_class[j, i]})
        object.__setattr__(self, "background", self._named(added))
        doubtful = sorted(set(self._positions(self.uncertain, adjacency, "uncertain")))
        object.__setattr__(self, "uncertain", self._named(doubtful))
        adjacency.setflags(write=False)
        object.__setattr__(self, "adjacency", adjacency)

    @classmethod
    def from_dag(
        cls, names: Sequence[str], dag: npt.ArrayLike, background: Sequence[tuple[str, str]] = ()
    ) -> CPDAG:
        """The CPDAG of the class of `dag`, restricted to the members that have the `background` arrows."""
        of_class = cls(name_list("names", names), dag_to_cpdag(dag))
        arrows = of_class._positions(background, check_adjacency(dag, "dag"))
        return cls(of_class.names, with_arrows(of_class.adjacency, arrows), tuple(background))

    def without_background(self) -> CPDAG:
        """The CPDAG of the whole class, without background knowledge and without uncertain arrows."""
        return CPDAG.from_dag(self.names, self.to_dag().adjacency)

    @cached_property
    def drawn(self) -> IntArray:
        """The adjacency matrix with uncertain arrows as undirected edges."""
        drawn = self.adjacency.copy()
        for cause, effect in self.uncertain:
            drawn[self.index(effect), self.index(cause)] = 1
        drawn.setflags(write=False)
        return drawn

    @cached_property
    def directed_edges(self) -> tuple[tuple[str, str], ...]:
        """`(cause, effect)` for each arrow."""
        return self._named(np.argwhere(directed_part(self.drawn)))

    @cached_property
    def undirected_edges(self) -> tuple[tuple[str, str], ...]:
        """Each undirected edge, listed once."""
        return self._named(np.argwhere(np.triu(undirected_part(self.drawn))))

    def to_frame(self) -> pd.DataFrame:
        """The adjacency matrix with names as row and column labels; uncertain arrows are undirected."""
        return pd.DataFrame(self.drawn.astype(int), index=list(self.names), columns=list(self.names))

    def to_networkx(self) -> Any:
        """A `networkx.DiGraph`; an undirected edge appears in both directions."""
        return resolve_name("dcd.interop:to_networkx")(self)

    def to_dag(self) -> ChosenDAG:
        """One DAG of the class, with the arrows that were chosen arbitrarily."""
        dag = consistent_extension(self.adjacency)
        assert dag is not None  # checked when the graph was made
        frame = pd.DataFrame(dag.astype(int), index=list(self.names), columns=list(self.names))
        chosen = np.argwhere(directed_part(dag) & undirected_part(self.adjacency))
        return ChosenDAG(frame, self._named(chosen))

    def reorder(self, names: Sequence[str]) -> CPDAG:
        """The same graph with its variables in another order."""
        names = name_list("names", names)
        order = [self.index(name) for name in names]
        return CPDAG(names, self.adjacency[np.ix_(order, order)], self.background, self.uncertain)

    def role(self, member: str, target: str) -> Role | None:
        """Role of `member` for `target`: "parent", "child", "neighbour" (undirected) or None (no edge)."""
        i, j = self.index(member), self.index(target)
        forward, backward = bool(self.drawn[i, j]), bool(self.drawn[j, i])
        if forward and backward:
            return "neighbour"
        return "parent" if forward else "child" if backward else None

    def _named(self, pairs: Iterable[Sequence[int]]) -> tuple[tuple[str, str], ...]:
        return tuple((self.names[i], self.names[j]) for i, j in pairs)

    def _positions(
        self, arrows: Sequence[tuple[str, str]], graph: IntArray, parameter: str = "background"
    ) -> list[tuple[int, int]]:
        """Arrows of a graph by position; raises `InputError` if the graph lacks one."""
        listed = as_tuple(f"parameter {parameter!r}", arrows, f"{parameter}=[('a', 'b')]")
        named = [name_list(parameter, arrow) for arrow in listed]
        if any(len(arrow) != 2 for arrow in named):
            raise InputError(f"parameter {parameter!r}", "must hold pairs of names", "Try [('a', 'b')].")
        pairs = [(self.index(cause), self.index(effect)) for cause, effect in named]
        for i, j in pairs:
            if not graph[i, j] or graph[j, i]:
                arrow = f"{self.names[i]} -> {self.names[j]}"
                problem = f"has {arrow}, which is not in the graph"
                raise InputError(f"parameter {parameter!r}", problem, "Leave it out.")
        return pairs

    def index(self, name: str) -> int:
        """Position of a variable."""
        if not (isinstance(name, str) or is_whole(name)) or name not in self.names:
            raise InputError(f"variable {name!r}", "is not in the graph", suggest(name, self.names))
        return self.names.index(name)

    def __eq__(self, other: object) -> bool:
        """Equal if both have the same variables, in any order, and the same edges, whatever their origin."""
        if not isinstance(other, CPDAG):
            return NotImplemented
        if set(self.names) != set(other.names):
            return False
        order = [other.names.index(name) for name in self.names]
        return np.array_equal(self.drawn, other.drawn[np.ix_(order, order)])

    def __hash__(self) -> int:
        return hash((frozenset(self.names), frozenset(self.directed_edges)))

    def __str__(self) -> str:
        arrows = [f"{a} -> {b}" for a, b in self.directed_edges]
        lines = [f"{a} - {b}" for a, b in self.undirected_edges]
        return "\n".join(arrows + lines) or "(no edges)"

    def _repr_svg_(self) -> str:
        return graph_svg(self.names, self.drawn, self.background)

    def _repr_html_(self) -> str:
        return graph_html(self.names, self.drawn, self.background, text=str(self))

    def __repr__(self) -> str:
        by_data = self.without_background().directed_edges if self.background else self.directed_edges
        n_known = len(set(self.directed_edges).difference(by_data))  # with those that `background` implies
        known = f" ({n_known} by knowledge)" if n_known else ""
        return (
            f"CPDAG({len(self.names)} variables, {len(self.directed_edges)} directed{known}, "
            f"{len(self.undirected_edges)} undirected edges)"
        )
