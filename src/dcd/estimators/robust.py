"""`RobustDCD`: a search over whole graphs, with edges confirmed by tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from dcd.estimators.base import Diagnostics, Discovery, statuses
from dcd.estimators.checkpoints import robust_codecs
from dcd.features.gram_columns import categories, columns_of, family_gram
from dcd.features.rank_scores import Scores, scores_of
from dcd.graph.knowledge import bind_knowledge
from dcd.graph.probabilities import edge_lines
from dcd.independence.association import PartialAssociation
from dcd.independence.base import CITest, Interaction, Record, SearchTest, check_test
from dcd.independence.binding import bind_test, row_sample
from dcd.runtime.checkpoint import Codec
from dcd.runtime.errors import check_contract, check_number
from dcd.runtime.rows import JUDGE_ROWS
from dcd.runtime.runs import Run
from dcd.runtime.text import counted
from dcd.runtime.threads import one_blas_thread
from dcd.search.assemble import DrawnArrows, assemble_dag
from dcd.search.base import Construction, GraphSearch, GraphTask, Posterior, TargetSearch
from dcd.search.whole_graph import WholeGraph
from dcd.table.dataset import Dataset
from dcd.weights.base import SampleWeights

_CHAINS_A_RESAMPLE = 8  # a fit takes a third of the time


@dataclass(frozen=True, kw_only=True)
class BalancedSet(SampleWeights):
    """A set of variables that was decoupled, or that a variable was decoupled from, and how well."""

    variables: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RobustDiagnostics(Diagnostics):
    """What happened during a fit of `RobustDCD`; see `Diagnostics`.

    Attributes
    ----------
    names : the variables, in the order of the positions in `interactions`.
    interactions : the associations that were tested again under decoupling weights, with both p-values.
    n_samples : rows of the table.
    n_chains : Markov chains over graphs behind `probabilities_`; 0 without probabilities.
    drift : the largest difference in any probability between the first and the second halves of the chains;
        None without probabilities. Above 0.1 the chains have not converged.
    subsampled : whether each chain ran on a random subset of the rows.
    """

    names: tuple[str, ...]
    sets: tuple[BalancedSet, ...] = field(repr=False)
    interactions: tuple[Interaction, ...] = field(repr=False)
    n_samples: int
    n_chains: int = 0
    drift: float | None = None
    subsampled: bool = False

    @property
    def explained_away(self) -> int:
        """How many associations disappeared under decoupling weights."""
        log_level = np.log(self.level)
        return sum(interaction.log_pvalue_decoupled >= log_level for interaction in self.interactions)

    def __str__(self) -> str:
        pvalues = [p for search in self.searches for p in search.neighbours.values()]  # of each edge twice
        n_confirmed = sum(p < self.level for p in pvalues) // 2
        lines = [f"{counted(len(pvalues) // 2, 'edge')}, {n_confirmed} of them confirmed by a test."]
        if n_others := len(self.separated):
            others, them = counted(n_others, "other edge"), "it" if n_others == 1 else "them"
            lines.append(f"{others} improved the score, but a test did not confirm {them}.")
        if self.interactions:
            repeated = counted(len(self.interactions), "association")
            gone = f"{self.explained_away} of them disappeared."
            lines.append(f"{repeated} tested again under decoupling weights, {gone}")
        if self.sets:
            frame = self.to_frame()
            after, before = frame["dependence"].median(), frame["dependence_before"].median()
            lines.append(
                f"{counted(len(frame), 'set')} decoupled: {statuses(frame)}; effective sample size "
                f"{frame['ess'].min():.0f} to {frame['ess'].max():.0f} of {self.n_samples}; dependence "
                f"{after:.1f} times the chance level, {before:.1f} before (medians)."
            )
        if self.drift is not None:
            rows = "each on a random part of the rows" if self.subsampled else "each on all rows"
            lines.append(
                f"{self.n_chains} chains over graphs, {rows}; probabilities differ by up to {self.drift:.2f} "
                "between the halves of the chains."
            )
        return "\n".join(lines)


@dataclass(kw_only=True, eq=False, repr=False)
class RobustDCD(Discovery):
    """Causal discovery that compares whole graphs, tests every edge, and gives probabilities.

    A search over orders of the variables finds the graph with the best score. Relations may be linear or
    curved, products, or functions of categories, whichever the data favour. Each edge is then tested given
    the other parents of its two variables, under decoupling weights where needed; edges that fail are left
    out, and the search continues. Markov chains over graphs give every edge and arrow a probability. The
    meaning of the arrows and the assumptions are those of `DCD`.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of the test of each edge.
    test : PartialAssociation, WeightedAssociation, a test of your own or None
        The conditional independence test, by default `PartialAssociation()`.
    search : WholeGraph, a GraphSearch of your own or None
        The search for the graph, by default `WholeGraph()`.
    arrow_probability : float, default=0.75
        Arrows with a lower posterior probability are listed in `cpdag_.uncertain` and drawn as lines, unless
        knowledge forbids the opposite direction. In a table with categories, so are arrows that tests do
        not confirm.
    knowledge : Knowledge or None, default=None
        As for `DCD`. The search considers only graphs that agree with it.
    kinds, missing, drop_degenerate : as for `DCD`
        How to read the table: columns of categories, missing values, degenerate columns.
    n_jobs : int or None, default=None
        Number of processes, -1 for all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory that the fit may use, as for `DCD`.
    progress : bool, default=True
        Show a progress bar in a terminal or notebook.
    random_state : int, Generator or None, default=0
        Seed of the search, which starts from random orders.

    Attributes
    ----------
    cpdag_, adjacency_matrix_, markov_boundaries_, conflicts_ : as for `DCD`.
    probabilities_ : DataFrame
        For each pair of variables, `first` and `second`, the posterior probabilities that the CPDAG has the
        arrow first -> second (`forward`), the arrow second -> first (`backward`), an `undirected` edge or
        none (`absent`). None with `WholeGraph(chains=0)` or a search that returns no posterior.
    posterior_ : Posterior
        The basis of the probabilities: how often sampled graphs have each type of edge, the properties of
        the table used to calibrate them, and some of the sampled graphs, which `effect` uses. None without
        probabilities.
    diagnostics_ : RobustDiagnostics
        Which edges the tests left out, which sets were decoupled and how well, which associations this
        explained away, and whether the chains behind the probabilities have converged.
    account_, table_ : as for `DCD`.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import dcd
    >>> data = dcd.datasets.load_sachs()
    >>> model = dcd.RobustDCD().fit(data.frame)
    >>> dcd.metrics.compare(data.cpdag, model.cpdag_).shd_c < 13
    True
    """

    test: CITest | None = None
    search: GraphSearch | None = None
    arrow_probability: float = 0.75
    random_state: int | np.random.Generator | None = 0

    def _strategies(self) -> tuple[CITest, GraphSearch]:
        return (
            PartialAssociation() if self.test is None else self.test,
            WholeGraph() if self.search is None else self.search,
        )

    def _check_parameters(self) -> None:
        super()._check_parameters()
        test, search = self._strategies()
        check_test("test", test)
        check_number("arrow_probability", self.arrow_probability, at_least=0, at_most=1, suggestion=0.75)
        check_contract("search", search, methods=("find",), example="dcd.WholeGraph()")

    def _edge_lines(self) -> list[tuple[str, str]]:
        return edge_lines(self.cpdag_, self.probabilities_, float(self.arrow_probability))

    def _for_resamples(self) -> Self:
        """See `Discovery`; with fewer chains, since each resample gives only one of many graphs."""
        search = self._strategies()[1]
        if not isinstance(search, WholeGraph) or search.chains <= _CHAINS_A_RESAMPLE:
            return self
        fewer: Self = clone(self).set_params(search=replace(search, chains=_CHAINS_A_RESAMPLE))
        return fewer

    def _codecs(self, dataset: Dataset) -> dict[str, Codec]:
        return robust_codecs(len(dataset.names), len(dataset.shown))

    def _discover(
        self, dataset: Dataset, rng: np.random.Generator, run: Run
    ) -> tuple[Construction, RobustDiagnostics]:
        test, search = self._strategies()
        names = dataset.names
        known = bind_knowledge(self.knowledge, names)
        with one_blas_thread():
            scores = None if dataset.has_gaps else scores_of(dataset)
            columns = columns_of(dataset, scores)
            task = GraphTask(
                names=names,
                gram=family_gram(columns, self.n_jobs),
                categories=None if scores is None else categories(scores),
                test=_judge(test, dataset, scores, self.alpha),
                level=self.alpha,
                knowledge=known,
                rng=rng,
                n_jobs=self.n_jobs,
                run=run,
                columns=columns,
            )
        outcome = search.find(task)
        has_categories = task.categories is not None or "nominal" in dataset.kinds
        shown = DrawnArrows(self.arrow_probability, only_confirmed=has_categories)
        construction = assemble_dag(names, outcome, known, shown)
        record = task.test.record
        searches = tuple(_with_weights(one, record, names) for one in construction.searches)
        diagnostics = RobustDiagnostics(
            searches=searches,
            level=self.alpha,
            sets=_balanced_sets(record, names),
            names=names,
            interactions=tuple(answer for _, answer in sorted(record.interactions.items())),
            n_samples=len(dataset.values),
            separated=tuple((names[x], names[y]) for x, y in outcome.separated),
            **_of_chains(outcome.posterior),
        )
        return replace(construction, searches=searches), diagnostics


def _of_chains(posterior: Posterior | None) -> dict[str, Any]:
    if posterior is None:
        return {}
    return {"n_chains": posterior.n_chains, "drift": posterior.drift, "subsampled": posterior.subsampled}


def _judge(test: CITest, dataset: Dataset, scores: Scores | None, level: float) -> SearchTest:
    """The test that confirms edges; a large table is reduced to a sample of its rows."""
    if len(dataset.values) <= 2 * JUDGE_ROWS:
        return bind_test(test, dataset, level, scores)
    return bind_test(test, row_sample(dataset, JUDGE_ROWS), level)


def _with_weights(search: TargetSearch, record: Record, names: Sequence[str]) -> TargetSearch:
    """The search of a target, with the weights of the largest set that was decoupled around it."""
    target = names.index(search.target)
    within = {target, *(names.index(member) for member in search.boundary)}
    around = [members for members in record.balances if target in members and set(members) <= within]
    if not around:
        return search
    largest = min(around, key=lambda members: (-len(members), record.balances[members].ess, members))
    decoupled = tuple(names[v] for v in largest)
    return replace(search, decoupled=decoupled, weights=record.balances[largest].sketch)


def _balanced_sets(record: Record, names: Sequence[str]) -> tuple[BalancedSet, ...]:
    return tuple(
        BalancedSet(variables=tuple(names[v] for v in members), **vars(summary))
        for members, summary in sorted(record.balances.items())
        if len(members) > 1
    )
