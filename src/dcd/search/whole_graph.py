r"""The graph as a whole: the best one by family scores, with every edge confirmed by a test.

**Search.** Scores come from a Gram matrix (`family_score`), the best graph from a search over orders
(`order_search`).

**Prior on colliders.** Noise and misfit make colliders where there are none, and one of them turns many
edges. The share of the edges that lead to a variable with other parents is uniform up to a half: of N edges
with V such, the graph has prior probability :math:`\int_0^{1/2} s^V (1 - s)^{N - V} ds`. Without clear
colliders the first needs strong evidence, and trees stay trees; with many, the next needs little. A sum of
family scores cannot express this, so graphs are searched at a falling price for each parent beyond the first,
and the best of them by the prior is taken.

**Confirmation.** A score believes its model; the independence test adjusts for any function of the other
parents, and decouples where needed. Each edge is tested given the other parents of its ends, in the graphs of
the class. What is independent there may not be joined, and the search goes on without it. Where colliders are
few, each is tested too: its ends must depend on each other more given the middle than without it. Scores of
curves prefer directions by more than such a collider is worth, and in a tree all colliders are false.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import betaln, logsumexp

from dcd.features.family_gram import Categories, FamilyGram
from dcd.graph.adjacency import (
    directed_part,
    skeleton_of,
    topological_order,
    undirected_part,
    unshielded_colliders,
)
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.pattern import Triple, VariablePair
from dcd.independence.base import Record, SearchTest
from dcd.runtime.array_types import BoolArray, IntArray, Positions
from dcd.runtime.errors import InputError, check_number
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.threads import one_blas_thread
from dcd.search.base import GraphOutcome, GraphTask, TestedEdge

if TYPE_CHECKING:
    from dcd.search.family_score import ScoreModel

_COLLIDER_PRICES = (8.0, 4.0, 2.0, 1.0, 0.0)
_VARIABLES_A_RESTART, _MOST_TIMES = 5, 10  # where all relations are linear


@dataclass(frozen=True)
class WholeGraph:
    """Strategy: the best graph by evidence, its edges confirmed by tests.

    Attributes
    ----------
    restarts : random restarts of the search at each price of a collider.
    confirm : leave out edges whose test fails, and colliders that tests do not confirm where there are few.
    """

    restarts: int = 2
    confirm: bool = True

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("restarts", self.restarts, at_least=0, at_most=10_000, whole=True, suggestion=2)
        if not isinstance(self.confirm, (bool, np.bool_)):
            problem = f"must be True or False, got {self.confirm!r}"
            raise InputError("parameter 'confirm'", problem, "Try True.")

    def find(self, task: GraphTask) -> GraphOutcome:
        """The best graph; `task.test` records the tests."""
        from dcd.search.score_model import score_model  # Numba takes a second to load

        allowed, required = ~task.knowledge.forbidden, task.knowledge.required
        with one_blas_thread():
            model = score_model(task.gram, task.categories, allowed=allowed, required=required)
            search = _GraphSearch(model, task.rng, self.restarts)
            known: dict[_Question, tuple[float, Record]] = {}
            rounds = 0
            while True:
                dag = search.best()
                tested = _test_edges(task, dag, known)
                failing = [edge for edge in tested if self.confirm and _fails(edge, task)]
                if failing:
                    search.forbid(_apart(failing))
                    continue
                doubtful = _unconfirmed(task, dag, known) if self.confirm and rounds < _ROUNDS else []
                if not doubtful:
                    break
                search.refuse(doubtful)
                rounds += 1
            unconstrained = None
            if task.knowledge.says_something:
                unconstrained = best_dag(task.gram, task.categories, rng=task.rng, restarts=self.restarts)
        return GraphOutcome(dag, tuple(tested), task.level, search.separated, unconstrained)


def best_dag(
    gram: FamilyGram,
    categories: Categories | None = None,
    *,
    rng: np.random.Generator,
    allowed: BoolArray | None = None,
    restarts: int = WholeGraph.restarts,
) -> IntArray:
    """The best graph by scores and prior alone, with `allowed` arrows `[cause, effect]`."""
    from dcd.search.score_model import score_model

    anything = np.ones((len(gram.n_line),) * 2, dtype=bool)
    model = score_model(
        gram, categories, allowed=anything if allowed is None else allowed, required=~anything
    )
    return _GraphSearch(model, rng, restarts).best()


def collider_log_prior(n_shared: int, n_edges: int) -> float:
    """Log of the integral of s^V (1 - s)^(N - V) over the shares s from 0 to a half."""
    # The incomplete beta function at a half is the probability of at least V + 1 heads in N + 1 tosses.
    heads = np.arange(n_shared + 1, n_edges + 2)
    log_chance = -betaln(heads + 1, n_edges - heads + 2) - np.log(n_edges + 2) - (n_edges + 1) * np.log(2.0)
    return float(betaln(n_shared + 1, n_edges - n_shared + 1) + logsumexp(log_chance))


class _GraphSearch:
    """The best graph, again and again as edges are forbidden; each search starts at the order of the last."""

    def __init__(self, model: ScoreModel, rng: np.random.Generator, restarts: int) -> None:
        from dcd.search.order_search import OrderSearch

        self._model, self._restarts = model, restarts
        self._orders = OrderSearch(len(model.required), model.required, rng)
        self.separated: tuple[VariablePair, ...] = ()
        self._refused: list[Triple] = []

    def forbid(self, pairs: Sequence[VariablePair]) -> None:
        """Allow no edge between these."""
        allowed = self._model.allowed.copy()
        for x, y in pairs:
            allowed[x, y] = allowed[y, x] = False
        self._model = self._model._replace(allowed=allowed)
        self.separated += tuple(pairs)

    def refuse(self, colliders: Sequence[Triple]) -> None:
        """Allow none of these colliders `(x, z, y)`."""
        self._refused += list(colliders)
        most = max(Counter(z for _, z, _ in self._refused).values())
        unwanted = np.full((len(self._model.allowed), most, 2), -1)
        count: Counter[int] = Counter()
        for x, z, y in self._refused:
            unwanted[z, count[z]] = x, y
            count[z] += 1
        self._model = self._model._replace(unwanted=unwanted)

    def best(self) -> IntArray:
        """The best graph by family scores and the prior on colliders."""
        from dcd.search.order_search import dag_of

        found: list[tuple[float, IntArray, Positions]] = []
        for price in _COLLIDER_PRICES:
            total = self._orders.run(self._model._replace(collider_price=price), self._n_restarts(price))
            dag = dag_of(self._orders.families)
            n_shared, n_edges = _n_shared(dag), int(dag.sum())
            posterior = total + price * n_shared + collider_log_prior(n_shared, n_edges)
            found.append((posterior, dag, self._orders.order))
        _, dag, self._orders.order = max(found, key=lambda one: one[0])
        return dag

    def _n_restarts(self, price: float) -> int:
        """Random restarts at the first price and the last; between, orders are near.

        Of curves they are costly, and only the first search has them. Where all relations are linear they are
        cheap, and grow with the number of variables, as local optima do.
        """
        if price not in (_COLLIDER_PRICES[0], _COLLIDER_PRICES[-1]):
            return 0
        if self._model.may_curve.any() or self._model.may_cross.any():
            return 0 if self.separated or self._refused else self._restarts
        if price > 0:
            return self._restarts
        return self._restarts * min(-(-len(self._model.allowed) // _VARIABLES_A_RESTART), _MOST_TIMES)


def _n_shared(dag: IntArray) -> int:
    """Parents beyond the first, over all variables."""
    return int(np.maximum(dag.sum(axis=0) - 1, 0).sum())


# --- confirmation ----------------------------------------------------------------------------------------

_Question = tuple[int, ...]  # x, y and the set
_FEW = 4  # edges for each parent beyond the first, where colliders are so few that each is tested
_MORE = 1.5  # by which the log p-value given the middle of a collider has to be lower
_ROUNDS = 3  # of searches without unconfirmed colliders
_MOST_ADDED, _MOST_SETS = 2, 4  # variables of the clique that are added to the parents; sets for an edge


def _fails(edge: TestedEdge, task: GraphTask) -> bool:
    """Whether the data separate a pair that need not be joined, or cannot tell."""
    return not edge.log_pvalue < np.log(task.level) and not task.knowledge.joined[edge.pair]


def _apart(failing: Sequence[TestedEdge]) -> list[VariablePair]:
    """The failing edges with the largest p-values, of which no two share a variable.

    What an edge is tested given depends on the edges around it, so these are looked at again.
    """
    taken: set[int] = set()
    pairs = []
    for edge in sorted(failing, key=lambda edge: (-np.nan_to_num(edge.log_pvalue), edge.pair)):
        if taken.isdisjoint(edge.pair):
            taken.update(edge.pair)
            pairs.append(edge.pair)
    return pairs


def _questions(dag: IntArray) -> dict[VariablePair, list[_Question]]:
    """For each edge the sets to test it given: the other parents of either end in some graph of the class.

    In each of these graphs, the parents of a variable are those of its arrows in the CPDAG and a clique of
    the variables to which it has a line.
    """
    cpdag = dag_to_cpdag(dag)
    arrows, lines, adjacent = directed_part(cpdag), undirected_part(cpdag), skeleton_of(cpdag)
    questions: dict[VariablePair, list[_Question]] = {}
    for x, y in np.argwhere(np.triu(adjacent)).tolist():
        sets: dict[tuple[int, ...], None] = {}
        for cause, effect in ((x, y), (y, x)):
            if arrows[effect, cause]:
                continue
            parents = set(np.flatnonzero(arrows[:, effect]).tolist()) - {cause}
            beside = np.flatnonzero(lines[:, effect] & adjacent[cause]).tolist()
            for size in range(_MOST_ADDED + 1):
                for added in combinations(beside, size):
                    if all(adjacent[a, b] for a, b in combinations(added, 2)):
                        sets[tuple(sorted(parents.union(added)))] = None
        questions[x, y] = [(x, y, *given) for given in list(sets)[:_MOST_SETS]]
    return questions


def _test_edges(
    task: GraphTask, dag: IntArray, known: dict[_Question, tuple[float, Record]]
) -> list[TestedEdge]:
    """The edges of a graph, each with the test that is least certain of it; `known` are answers so far."""
    questions = _questions(dag)
    _ask(task, [question for asked in questions.values() for question in asked], known)
    untold = [pair for pair, asked in questions.items() if all(np.isnan(known[one][0]) for one in asked)]
    _ask(task, untold, known)  # too few rows are complete; perhaps enough are in the pair
    tested = []
    for pair, asked in questions.items():
        told = [one for one in asked if not np.isnan(known[one][0])] or [pair]
        least = max(told, key=lambda one: known[one][0])
        tested.append(TestedEdge(pair, least[2:], known[least][0]))
    task.test.record = _all_records(known, questions)
    return tested


def _unconfirmed(
    task: GraphTask, dag: IntArray, known: dict[_Question, tuple[float, Record]]
) -> list[Triple]:
    """The colliders `(x, z, y)`, where a graph has few, that tests do not confirm.

    At a collider, x and y depend on each other more given z than without it.
    """
    if _FEW * _n_shared(dag) > dag.sum():
        return []
    position = {v: at for at, v in enumerate(topological_order(dag))}
    asked: dict[Triple, tuple[_Question, _Question]] = {}
    for x, z, y in unshielded_colliders(dag):
        if not (task.knowledge.forbidden[z, x] or task.knowledge.forbidden[z, y]):
            later = max(x, y, key=position.__getitem__)
            given = set(np.flatnonzero(dag[:, later]).tolist()) - {z}
            asked[x, z, y] = (x, y, *sorted(given)), (x, y, *sorted(given | {z}))
    _ask(task, list(dict.fromkeys(one for pair in asked.values() for one in pair)), known)
    return [
        triple for triple, (without, within) in asked.items() if known[without][0] - known[within][0] < _MORE
    ]


def _ask(
    task: GraphTask, questions: Sequence[_Question], known: dict[_Question, tuple[float, Record]]
) -> None:
    """Add the answers to questions that are not known."""
    fresh = [question for question in questions if question not in known]
    shared = Shared(task.test)

    def compute(pending: list[int]) -> Generator[tuple[int, Any], None, None]:
        return as_done(_answer, [fresh[at] for at in pending], shared=shared, n_jobs=task.n_jobs)

    answers = task.run.gather("edges", fresh, compute, label="tests of edges")
    known.update(zip(fresh, answers, strict=True))


def _all_records(
    known: Mapping[_Question, tuple[float, Record]], questions: Mapping[VariablePair, Sequence[_Question]]
) -> Record:
    """What was decoupled: for the edges as they are, and for those that were left out."""
    whole = Record()
    for question, (_, record) in sorted(known.items()):
        pair = (question[0], question[1])
        if pair not in questions or question in questions[pair]:
            whole.add(record)
    return whole


def _answer(test: SearchTest, question: _Question) -> tuple[float, Record]:
    test.record = Record()
    x, y, *given = question
    with one_blas_thread():
        log_pvalue = test.log_pvalue(x, y, given)
    return log_pvalue, test.record
