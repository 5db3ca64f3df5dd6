"""The search for the whole graph: the best one by family scores, with every edge confirmed by a test.

The best graph (`best_graph`) is confirmed edge by edge. With many rows there are several such graphs, from
scores that count different numbers of samples, and the one that predicts held-out rows best is kept
(`held_out`). Then graphs are sampled on random subsamples of the rows (`posterior`), without the edges that
tests rejected, and the graph with the least expected error is returned. Its arrows are tested in turn
(`arrow_tests`): those that tests do not confirm are less probable.

**Confirmation.** A score relies on its model; the independence test adjusts for any function of the other
parents, and decouples where needed. Each edge is tested given the other parents of its ends, in the graphs of
the class. A pair that is independent there may not be joined, and the search continues without it. If there
are few colliders, each is tested too: its ends must depend on each other more given the middle than without
it. Scores of curves prefer directions by more than such a collider costs, and in a tree all colliders are
false.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from dcd.graph.adjacency import (
    directed_part,
    skeleton_of,
    undirected_part,
    unshielded_colliders,
)
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.pattern import Triple, VariablePair
from dcd.independence.base import Record, SearchTest
from dcd.runtime.array_types import BoolArray, IntArray
from dcd.runtime.errors import check_flag, check_number
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.threads import one_blas_thread
from dcd.search.arrow_tests import Contrasts, Question, confirmed_arrows
from dcd.search.base import GraphOutcome, GraphTask, Posterior, TestedEdge
from dcd.search.best_graph import MANY_VARIABLES, BestGraph, best_dag, n_shared_parents
from dcd.search.held_out import HeldOutRows, can_hold_out
from dcd.search.posterior import (
    least_error_dag,
    oriented,
    sample_posterior,
    types_with_best_graph,
    with_tests,
)
from dcd.search.score_model import MOST_SAMPLES, score_model

# Shares of a fit, for its progress: on eight tables of 10 to 20 variables, 4 to 30 % of the time came before
# the chains, and 2 to 35 % after them, for tests of arrows. With further searches, 56 to 70 % came before.
_FIRST_SEARCH, _ALL_SEARCHES, _AFTER_CHAINS = 0.2, 0.6, 0.83

# Besides `MOST_SAMPLES`: how many samples the score counts in further searches of a table with many rows.
_OTHER_SAMPLES = (1_250.0, 5_000.0, 10_000.0)


@dataclass(frozen=True)
class WholeGraph:
    """Search over whole graphs: score them, confirm their edges by tests, and average over the posterior.

    Attributes
    ----------
    restarts : random restarts of the search for the best graph, at the highest and the lowest penalty on
        colliders. With curved relations only the first search has them; if all relations are linear or all
        columns categories, there are more at the lowest penalty.
    confirm : leave out edges whose test fails and, if there are few colliders, colliders that tests do not
        confirm; give arrows that tests do not confirm a lower probability.
    chains : Markov chains over graphs, each on a random subsample of the rows; 0 for the single best graph,
        without probabilities.
    """

    restarts: int = 2
    confirm: bool = True
    chains: int = 32

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("restarts", self.restarts, at_least=0, at_most=10_000, whole=True, suggestion=2)
        check_number("chains", self.chains, at_least=0, at_most=10_000, whole=True, suggestion=32)
        check_flag("confirm", self.confirm)

    def find(self, task: GraphTask) -> GraphOutcome:
        """The graph with the least expected error, or the best one; `task.test` records the tests."""
        known = _Answers(task.test)
        posterior = None
        task.run.phase("the best graph", _FIRST_SEARCH if self.chains else 1.0, rounds=True)
        with one_blas_thread():
            search, dag, tested = self._best(task, known)
            if self.chains:
                task.run.phase("chains over graphs", _AFTER_CHAINS)
                posterior, starts = sample_posterior(task, search, self.chains)
                task.run.phase("the graph of least error", 1.0, rounds=True)
                dag, tested = self._least_error(task, search, known, posterior, [dag, *starts])
                confirmed = _confirmed_arrows(task, dag, known) if self.confirm else None
                posterior = with_tests(posterior, task, confirmed, search.separated)
            unconstrained = None
            if task.knowledge.says_something:
                unconstrained = self._without_knowledge(task, search.model.n_samples)
        return GraphOutcome(dag, tuple(tested), task.level, search.separated, unconstrained, posterior)

    def _best(self, task: GraphTask, known: _Answers) -> tuple[BestGraph, IntArray, list[TestedEdge]]:
        """The best confirmed graph and its search; with many rows, the best at predicting held-out rows."""
        first = self._search(task, MOST_SAMPLES)
        dag, tested = self._confirmed(task, first, known)
        if first.model.n_samples >= task.gram.n_samples or not can_hold_out(task.columns, task.categories):
            return first, dag, tested
        task.run.phase("further graphs", _ALL_SEARCHES if self.chains else 1.0, rounds=True)
        others = [self._search(task, most) for most in _OTHER_SAMPLES if most < task.gram.n_samples]
        searches = [first, *others]
        dags = [dag, *(self._confirmed(task, search, known)[0] for search in others)]
        best = HeldOutRows(task.columns).best_of(dags)
        return searches[best], dags[best], _test_edges(task, dags[best], known, confirm=self.confirm)

    def _search(self, task: GraphTask, most_samples: float) -> BestGraph:
        """A search whose score counts at most this many samples, unless all relations are linear."""
        allowed, required = ~task.knowledge.forbidden, task.knowledge.required
        model = score_model(
            task.gram, task.categories, allowed=allowed, required=required, most_samples=most_samples
        )
        return BestGraph(model, task.rng, self.restarts)

    def _without_knowledge(self, task: GraphTask, n_samples: float) -> IntArray:
        """The best graph whatever is known, with a score that counts as many samples."""
        most_samples = n_samples if n_samples < task.gram.n_samples else MOST_SAMPLES
        return best_dag(
            task.gram, task.categories, rng=task.rng, restarts=self.restarts, most_samples=most_samples
        )

    def _confirmed(
        self, task: GraphTask, search: BestGraph, known: _Answers
    ) -> tuple[IntArray, list[TestedEdge]]:
        """The best graph whose edges are confirmed by tests."""
        rounds = 0
        while True:
            dag = search.best()
            tested = _test_edges(task, dag, known, confirm=self.confirm)
            failing = [edge for edge in tested if self.confirm and _fails(edge, task)]
            if failing:
                search.forbid(_apart(failing))
                continue
            doubtful = _unconfirmed(task, dag, known) if self.confirm and rounds < _ROUNDS else []
            if not doubtful:
                return dag, tested
            search.refuse(doubtful)
            rounds += 1

    def _least_error(
        self,
        task: GraphTask,
        search: BestGraph,
        known: _Answers,
        posterior: Posterior,
        starts: Sequence[IntArray],
    ) -> tuple[IntArray, list[TestedEdge]]:
        """The graph with the least expected error and confirmed edges; the best graph is the first start."""
        types = types_with_best_graph(posterior, starts[0], task)
        while True:
            dag = least_error_dag(types, starts, search.model, task)
            tested = _test_edges(task, dag, known, confirm=self.confirm)
            failing = [edge for edge in tested if self.confirm and _fails(edge, task)]
            if not failing:
                return dag, tested
            search.forbid(_apart(failing))


# --- confirmation ----------------------------------------------------------------------------------------

_FEW = 4  # edges for each parent beyond the first, from which colliders are so few that each is tested
_MORE = 1.5  # how much lower the log p-value given the middle of a collider has to be
_ROUNDS = 3  # of searches without unconfirmed colliders
_MOST_ADDED, _MOST_SETS = 2, 4  # variables of the clique that are added to the parents; sets for an edge


class _Answers(dict[Question, tuple[float, Record]]):
    """The results of tests so far; the test is sent to other processes once, and keeps its cache there.

    `bounds` are log p-values that the rest of a test can only raise (`SearchTest.first_log_pvalue`).
    """

    def __init__(self, test: SearchTest) -> None:
        super().__init__()
        self.test, self.bounds = Shared(test), dict[Question, float]()

    def least(self, question: Question) -> float:
        """A lower bound on a log p-value."""
        return self[question][0] if question in self else self.bounds[question]


def _fails(edge: TestedEdge, task: GraphTask) -> bool:
    """Whether a test separates a pair, or cannot decide, and knowledge does not require the edge."""
    return not edge.log_pvalue < np.log(task.level) and not task.knowledge.joined[edge.pair]


def _apart(failing: Sequence[TestedEdge]) -> list[VariablePair]:
    """The failing edges with the largest p-values, no two of which share a variable.

    The conditioning set of an edge depends on the edges around it, so these are tested again.
    """
    taken: set[int] = set()
    pairs = []
    for edge in sorted(failing, key=lambda edge: (-np.nan_to_num(edge.log_pvalue), edge.pair)):
        if taken.isdisjoint(edge.pair):
            taken.update(edge.pair)
            pairs.append(edge.pair)
    return pairs


def _questions(dag: IntArray) -> dict[VariablePair, list[Question]]:
    """The conditioning sets of each edge: the other parents of either end in some graph of the class.

    In each of these graphs, the parents of a variable are its parents in the CPDAG and a clique of the
    variables to which it has an undirected edge.
    """
    cpdag = dag_to_cpdag(dag)
    arrows, lines, adjacent = directed_part(cpdag), undirected_part(cpdag), skeleton_of(cpdag)
    questions: dict[VariablePair, list[Question]] = {}
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


def _test_edges(task: GraphTask, dag: IntArray, known: _Answers, *, confirm: bool) -> list[TestedEdge]:
    """The edges of a graph, each with its largest p-value; `known` are the results so far.

    With many variables, edges that fail the first part of a test are returned alone: the graph around them
    will change, and with it the sets that the rest of the tests would decouple.
    """
    questions = _questions(dag)
    every = [question for asked in questions.values() for question in asked]
    if confirm and len(dag) > MANY_VARIABLES:
        _ask_first(task, every, known)
        failing = [_tested(*edge, known) for edge in questions.items() if not _unanswered(edge[1], known)]
        failing = [edge for edge in failing if _fails(edge, task)]
        if failing:
            return failing
    _ask(task, every, known)
    # If too few rows are complete, the pair alone may have enough.
    _ask(task, [pair for pair, asked in questions.items() if _unanswered(asked, known)], known)
    task.test.record = _all_records(known, questions)
    return [_tested(*edge, known) for edge in questions.items()]


def _unanswered(asked: Sequence[Question], known: _Answers) -> bool:
    return all(np.isnan(known.least(question)) for question in asked)


def _tested(pair: VariablePair, asked: Sequence[Question], known: _Answers) -> TestedEdge:
    """An edge with its largest p-value."""
    answered = [one for one in asked if not np.isnan(known.least(one))] or [pair]
    largest = max(answered, key=known.least)
    return TestedEdge(pair, largest[2:], known.least(largest))


def _unconfirmed(task: GraphTask, dag: IntArray, known: _Answers) -> list[Triple]:
    """The colliders `(x, z, y)` that tests do not confirm, if the graph has few.

    At a collider, x and y depend on each other more given z than without it. Colliders of counted variables
    are left to the score, whose model of them is exact.
    """
    if _FEW * n_shared_parents(dag) > dag.sum():
        return []
    contrasts, forbidden = Contrasts(dag), task.knowledge.forbidden
    counted = np.zeros(len(dag), dtype=bool) if task.categories is None else task.categories.n_levels > 0
    asked = {
        (x, z, y): contrasts.at(x, z, y)
        for x, z, y in unshielded_colliders(dag)
        if not (forbidden[z, x] or forbidden[z, y] or counted[[x, z, y]].all())
    }
    _ask(task, list(dict.fromkeys(one for ask in asked.values() for one in (ask.without, ask.within))), known)
    return [triple for triple, ask in asked.items() if known[ask.without][0] - known[ask.within][0] < _MORE]


def _confirmed_arrows(task: GraphTask, dag: IntArray, known: _Answers) -> BoolArray:
    """The arrows of the graph that tests or knowledge confirm; the record keeps the tests of edges only."""
    of_edges = task.test.record

    def ask(questions: Sequence[Question]) -> dict[Question, float]:
        _ask(task, questions, known, "arrows")
        return {question: known[question][0] for question in questions}

    confirmed = confirmed_arrows(dag, oriented(task), ask)
    task.test.record = of_edges
    return confirmed


def _ask(task: GraphTask, questions: Sequence[Question], known: _Answers, what: str = "edges") -> None:
    """Run the tests whose results are not known yet, and add their results."""
    fresh = [question for question in questions if question not in known]
    known.update(zip(fresh, _answers(task, "edges", _answer, fresh, known, what), strict=True))


def _ask_first(task: GraphTask, questions: Sequence[Question], known: _Answers) -> None:
    """Run the first parts of tests, unless more is known, and add their results."""
    fresh = [question for question in questions if question not in known and question not in known.bounds]
    answers = _answers(task, "first", _first_answer, fresh, known, "edges")
    for question, (log_pvalue, record) in zip(fresh, answers, strict=True):
        if record is None:
            known.bounds[question] = log_pvalue
        else:
            known[question] = log_pvalue, record


def _answers(
    task: GraphTask,
    stage: str,
    answer: Callable[[SearchTest, Question], Any],
    questions: Sequence[Question],
    known: _Answers,
    what: str,
) -> Sequence[Any]:
    """The results of tests, from the checkpoint if they are there."""

    def compute(pending: list[int]) -> Generator[tuple[int, Any], None, None]:
        return as_done(answer, [questions[at] for at in pending], shared=known.test, n_jobs=task.n_jobs)

    return task.run.gather(stage, questions, compute, label=f"tests of {what}") if questions else ()


def _all_records(known: _Answers, questions: Mapping[VariablePair, Sequence[Question]]) -> Record:
    """The records of all tests of the edges of the graph and of pairs that only other graphs joined."""
    whole = Record()
    for question, (_, record) in sorted(known.items()):
        pair = (question[0], question[1])
        if pair not in questions or question in questions[pair]:
            whole.add(record)
    return whole


def _answer(test: SearchTest, question: Question) -> tuple[float, Record]:
    test.record = Record()
    x, y, *given = question
    with one_blas_thread():
        log_pvalue = test.log_pvalue(x, y, given)
    return log_pvalue, test.record


def _first_answer(test: SearchTest, question: Question) -> tuple[float, Record | None]:
    """A log p-value and its record; None if the rest of the test may raise it."""
    test.record = Record()
    x, y, *given = question
    with one_blas_thread():
        log_pvalue, final = test.first_log_pvalue(x, y, given)
    return log_pvalue, test.record if final else None
