r"""`falsify`: test every independence that a graph implies, and compare with the graph under shuffled names.

The p-values :math:`p_{(1)} \le \dots \le p_{(m)}` of the m statements are adjusted by Holm's method,

.. math:: \tilde p_{(k)} = \max_{j \le k} \min(1, (m - j + 1)\, p_{(j)}),

so that the probability of any violated statement of a true graph is at most alpha, however the tests depend
on each other. For graphs whose variables are relabelled at random, the same number of statements is tested in
the same way; how many of these graphs do no worse shows whether a table can distinguish the graph from chance
(Eulig et al. 2023, *Toward Falsifying Causal Graphs Using a Permutation-Based Test*).
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from dcd.estimators.base import check_n_jobs
from dcd.evaluation.falsification.account import EdgeTest, Independence, Picture
from dcd.evaluation.falsification.pictures import adjust_for, rows_behind, strength
from dcd.evaluation.falsification.result import Falsification
from dcd.graph.adjacency import check_adjacency
from dcd.graph.cpdag import CPDAG, ChosenDAG
from dcd.graph.equivalence import consistent_extension, dag_to_cpdag
from dcd.graph.implied import Statement, edge_statements, implied_independences
from dcd.independence.association import PartialAssociation
from dcd.independence.base import CITest, SearchTest, check_test
from dcd.independence.binding import bind_test, row_sample
from dcd.interop.common import class_of_frame
from dcd.interop.networkx import read_networkx
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.runtime.errors import InputError, check_flag, check_number, check_type, make_generator, suggest
from dcd.runtime.memory import Memory
from dcd.runtime.parallel import Shared, as_done, n_processes
from dcd.runtime.rows import JUDGE_ROWS
from dcd.runtime.runs import Run
from dcd.runtime.threads import one_blas_thread
from dcd.table.checks import MIN_ROWS
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing, TableOptions
from dcd.table.reading import read_table
from dcd.table.row_weights import repeated
from dcd.table.sources import SomeColumns, readable_again, source_of

_GRAPHS = "Pass a CPDAG, a labelled adjacency matrix or a networkx.DiGraph; dcd.interop reads others."
_MOST_STRENGTHS, _MOST_PICTURES = 200, 24  # violated statements with a correlation, and with a picture


def falsify(
    graph: Any,
    table: Any,
    *,
    alpha: float = 0.05,
    n_permutations: int = 100,
    test: CITest | None = None,
    max_rows: int = JUDGE_ROWS,
    kinds: Mapping[str, Kind] | None = None,
    missing: Missing = "refuse",
    sample_weight: Any = None,
    counts: Any = None,
    groups: Any = None,
    memory_limit: int | str | None = None,
    rows: bool = True,
    title: str | None = None,
    n_jobs: int | None = None,
    progress: bool = True,
    random_state: int | np.random.Generator | None = 0,
) -> Falsification:
    """Test a graph: find the independences that it implies but the data contradict.

    Each variable is tested against each of its non-descendants given its parents, and each edge given the
    other parents of its effect. For a CPDAG, one DAG of the class is tested; all of them imply the same
    independences. A graph that passes is not proven: other graphs may pass as well.

    Parameters
    ----------
    graph : CPDAG, ChosenDAG, adjacency matrix (`[i, j] = 1` for `i -> j`, both for `i - j`) or
        networkx.DiGraph
        The graph, from an expert, a paper or another tool. Its variables are columns of the table; a matrix
        without names has all of them, in their order.
    table : any table that the estimators accept. Columns that are not in the graph are ignored.
    alpha : float, default=0.05
        Upper bound on the probability that any statement of a true graph is found violated, over all of them
        together. An edge counts as needed if its own p-value is at most this.
    n_permutations : int, default=100
        Number of random relabellings of the graph to compare with. Those that imply the same independences as
        the graph itself are left out.
    test : PartialAssociation, WeightedAssociation, a test of your own or None
        By default `PartialAssociation()`.
    max_rows : int, default=5000
        Tests use at most this many rows, drawn with a fixed seed. With more rows, a test would detect every
        small misfit of its own model.
    kinds, missing, sample_weight, counts, groups, memory_limit : as for `RobustDCD` and its `fit`. With
        missing="testwise", each statement is tested on the rows that are complete in its variables.
    rows : bool, default=True
        Keep up to 300 rows for the picture of each of the clearest violations.
    title : a heading.
    n_jobs : int or None, default=None
        Processes to use, -1 for all cores. The result does not depend on it.
    progress : bool, default=True
        Show a progress bar in a terminal or notebook.
    random_state : int, Generator or None, default=0
        Seed of the relabellings.

    Returns
    -------
    Falsification

    Examples
    --------
    >>> import dcd
    >>> data = dcd.datasets.load_sachs()
    >>> checked = dcd.falsify(data.cpdag, data.frame, n_permutations=0)
    >>> len(checked.independences), len(checked.violated) > 0
    (67, True)
    """
    strategy = PartialAssociation() if test is None else test
    _check_parameters(strategy, alpha, n_permutations, max_rows, n_jobs)
    _check_words(rows, progress, title)
    rng = make_generator(random_state)
    options = TableOptions(kinds, missing, memory=Memory.of(memory_limit))
    options.check()
    table, _ = repeated(readable_again(table), counts, sample_weight, groups)
    given, dag = _read_graph(graph, source_of(table, options.memory).names)
    whole, ignored = _read_table(table, list(given.columns), options, sample_weight, groups)
    dataset = whole if len(whole.values) <= max_rows else row_sample(whole, max_rows)
    questions = _Questions(strategy, dataset.in_canonical_order(), tuple(dag.columns), alpha)
    statements, edges = implied_independences(dag), edge_statements(dag)
    orders = _informative(dag.to_numpy(), [rng.permutation(len(dag)) for _ in range(n_permutations)])
    relabelled = [[one.relabelled(order) for one in statements] for order in orders]
    questions.ask([*statements, *edges.values(), *chain(*relabelled)], n_jobs=n_jobs, progress=progress)
    independences, pictures = questions.judged(statements, rows=rows)
    return Falsification(
        names=tuple(given.columns),
        adjacency=given.to_numpy(),
        dag=dag.loc[given.index, given.columns].to_numpy(),
        independences=independences,
        edges=questions.judged_edges(edges, given),
        alpha=float(alpha),
        permuted=tuple(int(questions.violated(one).sum()) for one in relabelled),
        n_equivalent=n_permutations - len(orders),
        n_rows=whole.summary.n_rows,
        n_rows_tested=len(dataset.values),
        ignored=ignored,
        pictures=pictures,
        title=title or "",
    )


def holm(pvalues: FloatArray) -> FloatArray:
    """p-values (m,) adjusted by Holm's method; NaN stays NaN and does not count."""
    adjusted = np.full(len(pvalues), np.nan)
    known = np.flatnonzero(~np.isnan(pvalues))
    order = known[np.argsort(pvalues[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(factors * pvalues[order]), 1.0)
    return adjusted


# --- input -----------------------------------------------------------------------------------------------


def _check_parameters(
    strategy: CITest, alpha: float, n_permutations: int, max_rows: int, n_jobs: int | None
) -> None:
    check_test("test", strategy)
    check_number("alpha", alpha, above=0, below=1, suggestion=0.05)
    check_number("n_permutations", n_permutations, at_least=0, at_most=100_000, whole=True, suggestion=100)
    check_number("max_rows", max_rows, at_least=MIN_ROWS, whole=True, suggestion=JUDGE_ROWS)
    check_n_jobs(n_jobs)


def _check_words(rows: bool, progress: bool, title: str | None) -> None:
    check_flag("rows", rows)
    check_flag("progress", progress)
    check_type("title", title, (str, type(None)), "Pass a heading.")


def _read_graph(graph: Any, columns: Sequence[str]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The graph as given, and a DAG of its class over its names in alphabetical order.

    A DAG is used unchanged. The order makes the choice among the DAGs of a class independent of the order of
    the columns.
    """
    given = _labelled(graph, columns)
    class_of_frame(given)  # rejects cycles, loops and graphs that fit no DAG, with the edges in the message
    names = sorted(given.columns)
    if len(names) < 2:
        problem = f"has {len(names)} variables"
        raise InputError("parameter 'graph'", problem, "At least two are needed.")
    ordered = given.loc[names, names]
    return given, pd.DataFrame(consistent_extension(ordered), index=names, columns=names)


def _labelled(graph: Any, columns: Sequence[str]) -> pd.DataFrame:
    """The labelled adjacency matrix of a graph of any type; without names it has all columns."""
    if isinstance(graph, CPDAG):
        return pd.DataFrame(graph.adjacency, index=list(graph.names), columns=list(graph.names))
    if isinstance(graph, ChosenDAG):
        return graph.adjacency
    if isinstance(graph, (pd.DataFrame, np.ndarray, list)):
        matrix = check_adjacency(graph, "graph")
        names = [str(name) for name in getattr(graph, "columns", columns)]
        if len(names) != len(matrix):
            problem = f"has {len(matrix)} variables without names, but the table has {len(names)} columns"
            raise InputError("parameter 'graph'", problem, "Pass a labelled frame.")
        return pd.DataFrame(matrix, index=names, columns=names)
    if any(kind.__module__.startswith("networkx.") for kind in type(graph).__mro__):
        for hidden in sorted(map(str, getattr(graph, "latents", ()))):  # of pgmpy
            raise InputError(f"variable {hidden!r}", "is hidden", "Leave it out of the graph.")
        return read_networkx(graph)
    problem = f"must be a graph over named variables, got {type(graph).__name__}"
    raise InputError("parameter 'graph'", problem, _GRAPHS)


def _read_table(
    table: Any, names: Sequence[str], options: TableOptions, sample_weight: Any, groups: Any
) -> tuple[Dataset, tuple[str, ...]]:
    """The columns of the graph, and the names of the others."""
    columns = source_of(table, options.memory).names
    for name in names:
        if name not in columns:
            problem = "is in the graph, but not in the table"
            raise InputError(f"variable {name!r}", problem, suggest(name, columns))
    ignored = tuple(name for name in columns if name not in set(names))
    kinds = {name: kind for name, kind in (options.kinds or {}).items() if str(name) not in ignored}
    chosen = SomeColumns(table, tuple(names))
    options = replace(options, kinds=kinds)
    return read_table(chosen, options=options, sample_weight=sample_weight, groups=groups), ignored


def _informative(dag: IntArray, orders: Iterable[Positions]) -> list[Positions]:
    """The relabellings that change the class of a graph; the others imply the same independences."""
    cpdag = dag_to_cpdag(dag)
    places = [(order, np.argsort(order)) for order in orders]  # node i of the DAG is at order[i]
    return [order for order, place in places if not np.array_equal(cpdag[np.ix_(place, place)], cpdag)]


# --- tests -----------------------------------------------------------------------------------------------


class _Questions:
    """Statements about variables in the order of `names`, and their test results on a table."""

    def __init__(self, strategy: CITest, dataset: Dataset, names: tuple[str, ...], alpha: float) -> None:
        self._strategy, self._dataset, self._names, self._alpha = strategy, dataset, names, alpha
        self._positions = np.array([dataset.names.index(name) for name in names])
        self._pvalues: dict[Statement, float] = {}

    def ask(self, statements: Iterable[Statement], *, n_jobs: int | None, progress: bool) -> None:
        """Test statements; those with the same conditioning set form one task."""
        by_set: dict[tuple[int, ...], dict[Statement, Statement]] = {}
        for one in statements:
            located = one.relabelled(self._positions)
            by_set.setdefault(located.given, {})[located] = one
        pieces = [by_set[given] for given in sorted(by_set)]
        with one_blas_thread():
            test = bind_test(self._strategy, self._dataset, self._alpha, sample_first=False)
        shared = Shared(test)
        run = Run(progress=progress, at_once=n_processes(n_jobs))

        def compute(pending: list[int]) -> Generator[tuple[int, list[float]]]:
            return as_done(_log_pvalues, [list(pieces[at]) for at in pending], shared=shared, n_jobs=n_jobs)

        efforts = [float(1 + len(piece)) for piece in pieces]
        keys = range(len(pieces))
        found = run.gather("statements", keys, compute, label="sets of variables", efforts=efforts)
        for piece, log_pvalues in zip(pieces, found, strict=True):
            self._pvalues |= dict(zip(piece.values(), np.exp(log_pvalues).tolist(), strict=True))

    def pvalues(self, statements: Sequence[Statement]) -> FloatArray:
        """(m,) p-values, NaN if there are too few rows."""
        return np.array([self._pvalues[one] for one in statements], dtype=np.float64)

    def violated(self, statements: Sequence[Statement]) -> BoolArray:
        """(m,) which of the statements of one graph are violated."""
        return np.asarray(holm(self.pvalues(statements)) <= self._alpha)

    def judged(
        self, statements: Sequence[Statement], *, rows: bool
    ) -> tuple[tuple[Independence, ...], tuple[Picture, ...]]:
        """The results for the statements of the graph, and the rows behind the clearest violations."""
        pvalues, violated = self.pvalues(statements), self.violated(statements)
        clearest = np.flatnonzero(violated)[np.argsort(pvalues[violated], kind="stable")].tolist()
        strengths: dict[int, float] = {}
        pictures = []
        for rank, at in enumerate(clearest[:_MOST_STRENGTHS]):
            columns = self._columns(statements[at])
            adjustment = adjust_for(self._dataset, columns)
            strengths[at] = strength(adjustment)
            if rows and rank < _MOST_PICTURES:
                pictures.append(Picture(at, *rows_behind(self._dataset, columns, adjustment)))
        independences = tuple(
            Independence(
                *self._named(one),
                pvalue=_number(pvalue),
                adjusted=_number(adjusted),
                violated=bool(violated[at]),
                correlation=strengths.get(at),
                n_rows=self._n_rows(one),
            )
            for at, (one, pvalue, adjusted) in enumerate(zip(statements, pvalues, holm(pvalues), strict=True))
        )
        return independences, tuple(pictures)

    def judged_edges(
        self, edges: Mapping[tuple[int, int], Statement], graph: pd.DataFrame
    ) -> tuple[EdgeTest, ...]:
        """The results for the edges of the graph as given."""
        judged = []
        for (cause, effect), one in edges.items():
            first, second = self._names[cause], self._names[effect]
            pvalue = _number(self._pvalues[one])
            judged.append(
                EdgeTest(
                    first,
                    second,
                    type="-" if graph.at[second, first] else "->",
                    given=self._named(one)[2],
                    pvalue=pvalue,
                    needed=None if pvalue is None else pvalue <= self._alpha,
                    n_rows=self._n_rows(one),
                )
            )
        return tuple(judged)

    def _columns(self, one: Statement) -> tuple[int, ...]:
        """The columns of the table that a statement is about: x, y, and those in the set."""
        return tuple(self._positions[[one.x, one.y, *one.given]].tolist())

    def _named(self, one: Statement) -> tuple[str, str, tuple[str, ...]]:
        return self._names[one.x], self._names[one.y], tuple(self._names[node] for node in one.given)

    def _n_rows(self, one: Statement) -> int:
        if not self._dataset.has_gaps:
            return len(self._dataset.values)
        return int(self._dataset.present_in(self._columns(one)).sum())


def _log_pvalues(test: SearchTest, statements: Sequence[Statement]) -> list[float]:
    with one_blas_thread():
        return [test.log_pvalue(*one) for one in statements]


def _number(pvalue: float) -> float | None:
    return None if np.isnan(pvalue) else float(pvalue)
