"""The contracts of searches: for a graph (`GraphTask` in, `GraphOutcome` out) and for one Markov boundary.

A new search is one class with the methods of `GraphSearch`, passed as `RobustDCD(search=...)`, or of
`BoundarySearch`, passed as `MarkovBoundary(search=...)`. `assemble` turns outcomes into a valid CPDAG. The
searches of Algorithm 1 within boundaries exchange `Exclusion`, `Drop` and `Findings`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Protocol

import numpy as np
import pandas as pd

from dcd.features.family_gram import Categories, FamilyGram
from dcd.features.gram_columns import GapColumns, TableColumns
from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.cpdag import CPDAG, Role
from dcd.graph.pattern import VariablePair
from dcd.independence.base import SearchTest
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray
from dcd.runtime.runs import Run
from dcd.search.calibration import Traits
from dcd.weights.base import WeightSketch

# --- findings --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cut:
    """A search that `max_subsets` cut short."""

    target: str
    boundary_size: int
    subsets_searched: int

    @property
    def subsets_in_all(self) -> int:
        """The non-empty proper subsets of the boundary."""
        return 2**self.boundary_size - 2

    def __str__(self) -> str:
        return (
            f"{self.target}: boundary of {self.boundary_size} variables, {self.subsets_searched} of its "
            f"{self.subsets_in_all} subsets searched"
        )


@dataclass(frozen=True)
class TargetSearch:
    """The findings about one variable.

    Attributes
    ----------
    boundary : its Markov boundary within all variables.
    neighbours : the adjacent variables with a p-value each: the smaller, the stronger the evidence for the
        edge. In `DCD` it is the p-value with all other variables decoupled; in `RobustDCD` the largest given
        the other parents that its ends have in some graph of the class.
    colliders : for each `(z, dropped)` the largest p-value at which `dropped` left the boundary while z was
        excluded: the larger, the stronger the evidence for target -> z <- dropped. Algorithm 1 only.
    cut : set if not all subsets were searched.
    overruled : the variables whose adjacency is decided by knowledge against the data: required neighbours
        that the data separate, and forbidden ones that they do not.
    pvalues : of each member of the boundary its p-value with all other variables decoupled; `DCD` only.
    decoupled, weights : the variables that were decoupled for the boundary and a sketch of the weights; none
        if no test was repeated under weights.
    """

    target: str
    boundary: tuple[str, ...]
    neighbours: Mapping[str, float]
    colliders: Mapping[tuple[str, str], float] = field(default_factory=dict)
    cut: Cut | None = None
    overruled: tuple[str, ...] = ()
    pvalues: Mapping[str, float] = field(default_factory=dict)
    decoupled: tuple[str, ...] = ()
    weights: WeightSketch | None = field(default=None, repr=False)


@dataclass(frozen=True)
class Conflict:
    """A contradiction, and how it was resolved.

    Attributes
    ----------
    kind : "asymmetric_boundary", "asymmetric_edge", "refused_collider" or "left_out_edge"; if data and
        knowledge differ, "required_edge", "forbidden_edge" or "known_collider".
    variables : the variables concerned; for a collider `(x, z, y)` with z in the middle.
    problem, action : a sentence each.
    """

    kind: str
    variables: tuple[str, ...]
    problem: str
    action: str

    def __str__(self) -> str:
        return f"{self.problem} {self.action}"


MOST_DRIFT = 0.1  # of a posterior (`Posterior.drift`); above it the chains have not converged


@dataclass(frozen=True)
class Posterior:
    """Probabilities of the types of edges between all pairs of variables.

    Attributes
    ----------
    names : the d variables.
    types : (4, d, d) the probability that the class of the graph has i -> j, j -> i, an undirected edge
        between them, and no edge.
    sampled : (4, d, d) how often it has these in the sampled graphs, before `calibration`.
    traits : of the table, by which they are calibrated.
    drift : the largest difference in any of these between the first and the second halves of the chains.
    n_chains : number of chains.
    subsampled : whether each chain ran on a random subset of the rows.
    graphs : (k, d, d) DAGs sampled by the chains, `[., i, j]` is i -> j; None if the search keeps none.
    confirmed : (d, d) the arrows of the graph that tests confirm; None if none were tested.
    """

    names: tuple[str, ...]
    types: FloatArray = field(repr=False)
    sampled: FloatArray = field(repr=False)
    traits: Traits
    drift: float
    n_chains: int
    subsampled: bool
    graphs: BoolArray | None = field(default=None, repr=False)
    confirmed: BoolArray | None = field(default=None, repr=False)

    def confirms(self, cause: str, effect: str) -> bool | None:
        """Whether tests confirm an arrow of the graph; None if there were no tests."""
        if self.confirmed is None:
            return None
        return bool(self.confirmed[self.names.index(cause), self.names.index(effect)])

    def graphs_of(self, names: Sequence[str]) -> BoolArray | None:
        """The sampled graphs with the variables in the order of `names`."""
        order = [self.names.index(name) for name in names]
        return None if self.graphs is None else self.graphs[:, order][:, :, order]

    def to_frame(self, names: Sequence[str]) -> pd.DataFrame:
        """A row for each pair, in the order of `names`, with the probabilities of its types."""
        position = {name: index for index, name in enumerate(self.names)}
        pairs = list(combinations(names, 2))
        rows = [(*pair, *self.types[:, position[pair[0]], position[pair[1]]]) for pair in pairs]
        return pd.DataFrame(rows, columns=["first", "second", "forward", "backward", "undirected", "absent"])


@dataclass(frozen=True)
class Construction:
    """A CPDAG and how it was constructed."""

    cpdag: CPDAG
    markov_boundaries: Mapping[str, Mapping[str, Role]]
    conflicts: tuple[Conflict, ...]
    searches: tuple[TargetSearch, ...] = field(repr=False)
    posterior: Posterior | None = None

    @property
    def cuts(self) -> tuple[Cut, ...]:
        """The searches that were cut short."""
        return tuple(search.cut for search in self.searches if search.cut is not None)


# --- searches of `RobustDCD` -----------------------------------------------------------------------------


@dataclass(frozen=True)
class GraphTask:
    """The input of a search for a graph; variables are given by position in `names`.

    Attributes
    ----------
    names : the d variables.
    gram : the Gram matrix of the table.
    categories : the variables whose levels are counted, if there are any and no value is missing.
    test : the independence test on the table; it keeps a record of the tests.
    level : level of each single test.
    knowledge : required and forbidden arrows.
    rng : for random starts.
    n_jobs : number of processes; the outcome must not depend on it.
    run : checkpoint and progress.
    columns : of the table, to compute Gram matrices of subsets of its rows; without them all rows are used.
    """

    names: tuple[str, ...]
    gram: FamilyGram
    categories: Categories | None
    test: SearchTest
    level: float
    knowledge: BoundKnowledge
    rng: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))
    n_jobs: int | None = None
    run: Run = field(default_factory=Run)
    columns: TableColumns | GapColumns | None = field(default=None, repr=False)


@dataclass(frozen=True)
class TestedEdge:
    """An edge between `pair`, x < y, and the log p-value of their independence given a set."""

    __test__ = False  # despite its name, pytest must not collect it as a test

    pair: VariablePair
    given: tuple[int, ...]
    log_pvalue: float


@dataclass(frozen=True)
class GraphOutcome:
    """A graph and its tests.

    Attributes
    ----------
    dag : (d, d) a DAG that respects knowledge; the CPDAG is that of its class.
    edges : its edges with their tests.
    level : level of these tests.
    separated : pairs that an earlier graph joined and a test separated.
    unconstrained : the best DAG without knowledge, if there is any knowledge.
    posterior : the probabilities of all pairs, if the search has any.
    """

    dag: IntArray
    edges: tuple[TestedEdge, ...]
    level: float
    separated: tuple[VariablePair, ...] = ()
    unconstrained: IntArray | None = None
    posterior: Posterior | None = None


class GraphSearch(Protocol):
    """A strategy that searches for the graph of a table.

    A method `check()` that raises `InputError` for a parameter out of range is called if there is one.
    """

    def find(self, task: GraphTask) -> GraphOutcome:
        """The graph of a table."""
        ...


class BoundarySearch(Protocol):
    """A strategy that searches for the Markov boundary of one variable; `check()` as for `GraphSearch`."""

    def boundary(
        self, test: SearchTest, target: int, n_variables: int, level: float, required: Collection[int] = ()
    ) -> list[int]:
        """The Markov boundary of one target; it includes the required variables."""
        ...


# --- searches within the boundaries of Algorithm 1 -------------------------------------------------------

BoundaryOf = Callable[[str, Collection[str]], Collection[str]]
PValueOf = Callable[[str, str, Collection[str]], float]
Boundaries = Mapping[str, Sequence[str]]


@dataclass(frozen=True)
class Exclusion:
    """A query: the boundary of a target within the `kept` members of its boundary, others `excluded`."""

    target: str
    excluded: tuple[str, ...]
    kept: tuple[str, ...]


@dataclass(frozen=True)
class Drop:
    """An answer: the kept `member` is no longer in the boundary."""

    exclusion: Exclusion
    member: str


Ask = Callable[[Sequence[Exclusion]], list[Drop]]


@dataclass(frozen=True)
class Findings:
    """The outcome of a search within the boundaries of all targets.

    Attributes
    ----------
    drops : for each target which members of its boundary dropped, and under which exclusions.
    separated : for each target the members that are not neighbours of it.
    cuts : the targets whose search was cut short.
    """

    drops: Mapping[str, Sequence[Drop]]
    separated: Mapping[str, Collection[str]]
    cuts: Mapping[str, Cut]
