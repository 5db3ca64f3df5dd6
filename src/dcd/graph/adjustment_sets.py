"""Adjustment sets for the effect of x on y, in each graph of a Markov equivalence class.

The graphs of a class can differ in the parents of x, and with them in the effect. IDA (Maathuis, Kalisch and
Bühlmann 2009) goes through the sets of parents that x has in some member. Once the parents of x are fixed,
the remaining differences between members do not matter (Perković 2020): any of them shows whether x causes y,
and which set to adjust for.

Of all valid sets, the *optimal* one has the least variance (Henckel, Perković and Maathuis 2022): the parents
of the variables on causal paths, without these paths and their descendants. The *parents* of x depend on less
of the graph.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import combinations, islice
from typing import Literal, get_args

import numpy as np
from scipy.sparse.csgraph import breadth_first_order, connected_components

from dcd.graph.adjacency import directed_part, skeleton_of, undirected_part, unshielded_colliders
from dcd.graph.cpdag import CPDAG
from dcd.graph.equivalence import apply_meek_rules, consistent_extension, dag_to_cpdag, with_arrows
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray

Rule = Literal["optimal", "parents"]
RULES: tuple[Rule, ...] = get_args(Rule)
Adjustment = tuple[int, ...] | None  # the variables to hold fixed; None if x does not cause y

_MOST_PARENT_SETS = 500  # of x in one class; a few milliseconds each
_MOST_REVERSALS = 512  # sets of uncertain arrows that are reversed
_MOST_COUNTED = 400  # partial orientations considered to count the members of a class


@dataclass(frozen=True)
class Adjustments:
    """The adjustment sets of several graphs.

    Attributes
    ----------
    shares : for each set the share of the graphs that need it, the largest first; they sum to 1.
    counted : whether the graphs were counted; otherwise every set of parents of x counts the same.
    complete : whether all graphs were considered; otherwise there were too many.
    errors : the Monte Carlo standard error of each share; empty if it is unknown, or if nothing was sampled.
    """

    shares: dict[Adjustment, float]
    counted: bool
    complete: bool
    errors: dict[Adjustment, float] = field(default_factory=dict)


def adjustment_of(dag: IntArray, x: int, y: int, rule: Rule = "optimal") -> Adjustment:
    """The adjustment set of one DAG: optimal, or the parents of x."""
    below = reached(dag, x)
    if not below[y]:
        return None
    if rule == "parents":
        return tuple(np.flatnonzero(dag[:, x]).tolist())
    on_paths = below & reached(dag.T, y)
    on_paths[x] = False
    forbidden = on_paths.copy()
    for node in np.flatnonzero(on_paths):
        forbidden |= reached(dag, int(node))
    forbidden[x] = True
    parents = dag[:, on_paths].any(axis=1)
    return tuple(np.flatnonzero(parents & ~forbidden).tolist())


def class_adjustments(cpdag: CPDAG, treatment: str, outcome: str, rule: Rule = "optimal") -> Adjustments:
    """The adjustment sets of the graphs of a CPDAG; its uncertain arrows may also be reversed."""
    x, y = cpdag.index(treatment), cpdag.index(outcome)
    graphs = list(islice(_with_reversals(cpdag), _MOST_REVERSALS))
    parts = [_of_class(graph, x, y, rule, sizes_matter=len(graphs) > 1) for graph in graphs]
    counted = all(part.counted for part in parts)
    total: Counter[Adjustment] = Counter()
    for part in parts:
        total.update(part.n_graphs if counted else part.n_parent_sets)
    complete = len(graphs) < _MOST_REVERSALS and all(part.complete for part in parts)
    return Adjustments(_shares(total), counted and complete, complete)


def sampled_adjustments(
    dags: Iterable[IntArray],
    oriented: BoolArray,
    x: int,
    y: int,
    rule: Rule = "optimal",
    *,
    n_chains: int | None = None,
) -> Adjustments:
    """The adjustment sets of sampled DAGs, each with all graphs of its class.

    `oriented[i, j]` is true if knowledge allows only i -> j: members that disagree do not count. `n_chains`
    says that the DAGs come from so many chains, one chain after another, each with the same number of DAGs;
    the shares then have standard errors.
    """
    raws = [np.ascontiguousarray(dag, dtype=np.int8).tobytes() for dag in dags]
    by_chain = _counts_by_chain(raws, n_chains or 1)
    total: dict[Adjustment, float] = defaultdict(float)
    in_chain: dict[Adjustment, FloatArray] = defaultdict(lambda: np.zeros(n_chains or 1))
    complete, known = True, dict[bytes, _ClassCounts]()
    for raw, count in Counter(raws).items():
        dag = np.frombuffer(raw, dtype=np.int8).reshape(oriented.shape)
        arrows = [(int(i), int(j)) for i, j in np.argwhere(dag & oriented)]
        graph = with_arrows(dag_to_cpdag(dag), arrows)
        key = graph.tobytes()
        if key not in known:
            known[key] = _of_class(graph, x, y, rule)
        part = known[key]
        complete &= part.complete
        for adjustment, share in _shares(part.n_graphs if part.counted else part.n_parent_sets).items():
            total[adjustment] += share * count
            in_chain[adjustment] += share * by_chain[raw]
    errors = {} if n_chains is None else _errors(in_chain, len(raws))
    return Adjustments(_shares(total), counted=True, complete=complete, errors=errors)


def _counts_by_chain(raws: list[bytes], n_chains: int) -> dict[bytes, FloatArray]:
    """How often each graph occurs in each chain."""
    counts: dict[bytes, FloatArray] = defaultdict(lambda: np.zeros(n_chains))
    for position, raw in enumerate(raws):
        counts[raw][position * n_chains // len(raws)] += 1
    return counts


def _errors(in_chain: Mapping[Adjustment, FloatArray], n_dags: int) -> dict[Adjustment, float]:
    """The standard error of each share, from its spread between chains."""
    n_chains = len(next(iter(in_chain.values()), ()))
    if n_chains < 2 or n_dags % n_chains:
        return {}
    scale = n_chains / n_dags / np.sqrt(n_chains)
    return {adjustment: float(counts.std(ddof=1) * scale) for adjustment, counts in in_chain.items()}


def _shares(total: Mapping[Adjustment, float]) -> dict[Adjustment, float]:
    whole = sum(total.values())
    ordered = sorted(total.items(), key=lambda item: (-item[1], item[0] is None, item[0] or ()))
    return {adjustment: weight / whole for adjustment, weight in ordered}


def reached(arrows: IntArray | BoolArray, start: int) -> BoolArray:
    """The variables that directed paths reach, including the start."""
    found = np.zeros(len(arrows), dtype=bool)
    found[breadth_first_order(np.asarray(arrows, dtype=np.int8), start, return_predecessors=False)] = True
    return found


# --- the members of a class ------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ClassCounts:
    """How many graphs of a class, and how many sets of parents of x, need each set."""

    n_graphs: Counter[Adjustment]
    n_parent_sets: Counter[Adjustment]
    counted: bool
    complete: bool


def _of_class(graph: IntArray, x: int, y: int, rule: Rule, *, sizes_matter: bool = False) -> _ClassCounts:
    """The adjustment sets of the members of one class."""
    members = list(islice(_by_parents(graph, x), _MOST_PARENT_SETS + 1))
    complete, members = len(members) <= _MOST_PARENT_SETS, members[:_MOST_PARENT_SETS]
    counter = _Counter()
    n_graphs, n_parent_sets = Counter[Adjustment](), Counter[Adjustment]()
    for closed, dag in members:
        adjustment = adjustment_of(dag, x, y, rule)
        n_parent_sets[adjustment] += 1
        n_graphs[adjustment] += counter.members(closed) if sizes_matter or len(members) > 1 else 1
    return _ClassCounts(n_graphs, n_parent_sets, counter.within_bounds, complete)


def _by_parents(graph: IntArray, x: int) -> Iterator[tuple[IntArray, IntArray]]:
    """For each set of parents that x has in some member: the graph with these, and one such member.

    The new parents are adjacent to each other; otherwise x would be a new collider between them.
    """
    adjacent, colliders = skeleton_of(graph), set(unshielded_colliders(graph))
    beside = np.flatnonzero(undirected_part(graph)[x]).tolist()
    for new in _cliques(adjacent, beside):
        arrows = [(v, x) if v in new else (x, v) for v in beside]
        closed = with_arrows(graph, arrows)
        member = consistent_extension(closed)
        if member is not None and set(unshielded_colliders(member)) == colliders:
            yield closed, member


def _cliques(adjacent: BoolArray, nodes: list[int]) -> Iterator[tuple[int, ...]]:
    """All sets of pairwise adjacent nodes, the small ones first."""
    pending: deque[tuple[tuple[int, ...], list[int]]] = deque([((), nodes)])
    while pending:
        chosen, later = pending.popleft()
        yield chosen
        for at, node in enumerate(later):
            pending.append(((*chosen, node), [v for v in later[at + 1 :] if adjacent[node, v]]))


def _with_reversals(cpdag: CPDAG) -> Iterator[IntArray]:
    """The graph, and those with some of its uncertain arrows reversed, in order of their number."""
    uncertain = [(cpdag.index(cause), cpdag.index(effect)) for cause, effect in cpdag.uncertain]
    yield cpdag.adjacency
    for size in range(1, len(uncertain) + 1):
        for arrows in combinations(uncertain, size):
            graph = cpdag.adjacency.copy()
            for cause, effect in arrows:
                graph[cause, effect], graph[effect, cause] = 0, 1
            closed = apply_meek_rules(graph)
            member = consistent_extension(closed)
            if member is not None and set(unshielded_colliders(member)) == set(unshielded_colliders(graph)):
                yield closed


class _Counter:
    """Counts the members of a class: products over connected parts, sums over the source of each.

    A part connected by undirected edges has exactly one source in each member (He, Jia and Yu 2015).
    """

    def __init__(self) -> None:
        self._known: dict[bytes, int] = {}
        self.within_bounds = True

    def members(self, graph: IntArray) -> int:
        """The number of DAGs that a graph closed under Meek's rules represents; 1 beyond the bound."""
        n_parts, part_of = connected_components(undirected_part(graph), directed=False)
        product = 1
        for part in range(n_parts):
            nodes = np.flatnonzero(part_of == part)
            if len(nodes) > 1:
                product *= self._part(np.ascontiguousarray(graph[np.ix_(nodes, nodes)]))
        return product

    def _part(self, graph: IntArray) -> int:
        key = graph.tobytes()
        if key not in self._known:
            if len(self._known) >= _MOST_COUNTED:
                self.within_bounds = False
                return 1
            self._known[key] = 0
            sources = np.flatnonzero(~directed_part(graph).any(axis=0))
            self._known[key] = sum(self._with_source(graph, int(source)) for source in sources)
        return self._known[key]

    def _with_source(self, graph: IntArray, source: int) -> int:
        beside = np.flatnonzero(undirected_part(graph)[source]).tolist()
        closed = with_arrows(graph, [(source, v) for v in beside])
        member = consistent_extension(closed)
        if member is None or any(unshielded_colliders(member)):
            return 0
        return self.members(closed)
