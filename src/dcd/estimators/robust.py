"""`RobustDCD`: the same stages as `DCD`, with strategies that lift the limits of the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from dcd.estimators.base import Diagnostics, Discovery, WeighedCollider, check_n_jobs, statuses
from dcd.estimators.codecs import robust_codecs
from dcd.features.pairwise_gram import PairwiseGram
from dcd.features.rank_scores import scores_of
from dcd.graph.knowledge import Knowledge, bind_knowledge
from dcd.independence.association import PartialAssociation
from dcd.independence.base import CITest, Interaction, Record, check_test
from dcd.independence.binding import bind_test
from dcd.runtime.checkpoint import Codec
from dcd.runtime.errors import check_number, check_strategy
from dcd.runtime.runs import Run
from dcd.runtime.threads import one_blas_thread
from dcd.search.assemble import assemble
from dcd.search.base import BoundarySearch, Construction, SearchTask, check_search
from dcd.search.colliders import ColliderEvidence
from dcd.search.grow_shrink import GrowShrink
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, Missing
from dcd.weights.base import SampleWeights


@dataclass(frozen=True, kw_only=True)
class BalancedSet(SampleWeights):
    """A set of variables that was decoupled, or that a variable was decoupled from, and how far."""

    variables: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class RobustDiagnostics(Diagnostics):
    """What happened during a fit of `RobustDCD`; see `Diagnostics`.

    Attributes
    ----------
    names : the variables, in the order of the positions in `interactions`.
    interactions : the associations that were tested again under decoupling weights, with both p-values.
    n_samples : rows of the table.
    all_linear : all relations are linear, and neighbours were found by a search over orders.
    """

    names: tuple[str, ...]
    sets: tuple[BalancedSet, ...] = field(repr=False)
    interactions: tuple[Interaction, ...] = field(repr=False)
    n_samples: int
    all_linear: bool = False

    @property
    def explained_away(self) -> int:
        """How many associations disappeared under decoupling weights."""
        log_level = np.log(self.level)
        return sum(interaction.log_pvalue_decoupled >= log_level for interaction in self.interactions)

    def __str__(self) -> str:
        lines = [
            f"{len(self.interactions)} associations tested again under decoupling weights, "
            f"{self.explained_away} of them gone."
        ]
        if self.all_linear:
            lines = ["All relations are linear: neighbours by a search over orders."]
        if self.sets:
            frame = self.to_frame()
            after, before = frame["dependence"].median(), frame["dependence_before"].median()
            lines.append(
                f"{len(frame)} sets decoupled: {statuses(frame)}; effective sample size "
                f"{frame['ess'].min():.0f} to {frame['ess'].max():.0f} of {self.n_samples}; dependence "
                f"{after:.1f} times that of chance, {before:.1f} before (medians)."
            )
        if self.cut_boundaries:
            cut = ", ".join(self.cut_boundaries)
            lines.append(f"Boundaries that reached the largest size and may lack members: {cut}.")
        return "\n".join([*lines, *map(str, self.colliders)])


class RobustDCD(Discovery):
    """Decoupled causal discovery that copes with low noise, curved relations and many variables.

    The same stages as `DCD`, each with another strategy. Boundaries grow and shrink, so that only their own
    variables are ever decoupled. Associations are tested by functions of ranks, adjusted for the boundary
    jointly, and must persist under decoupling weights where adjustment has left structure. Colliders are
    decided for the whole skeleton at once, each with its evidence. The meaning of the arrows and the
    assumptions are those of `DCD`.

    Parameters
    ----------
    alpha : float, default=0.05
        Level of the tests of one boundary together; each of the d - 1 is at alpha / (d - 1). About this
        share of boundaries has a false member. A parent in a search over orders must pass the same level.
    test : PartialAssociation, WeightedAssociation, a test of your own or None
        The conditional independence test. None is `PartialAssociation()`.
    search : GrowShrink, your own BoundarySearch or None
        How boundaries and neighbours are searched. None is `GrowShrink()`.
    orientation : ColliderEvidence or None
        Which triples are colliders. None is `ColliderEvidence()`.
    knowledge : Knowledge or None, default=None
        As of `DCD`. It also guides the search for boundaries and for colliders.
    kinds, missing, drop_degenerate : as of `DCD`
        How to read the table: columns of categories, missing values, degenerate columns.
    n_jobs : int or None, default=None
        Number of processes, -1 for all cores. The result does not depend on it.
    memory_limit : int, str or None, default=None
        Memory that the fit may use, as of `DCD`.
    progress : bool, default=True
        Show a progress bar in a terminal or notebook.
    random_state : int, Generator or None, default=0
        Seed of the search for the best orientation, which starts at random orders.

    Attributes
    ----------
    cpdag_, adjacency_matrix_, markov_boundaries_, conflicts_ : as of `DCD`.
    colliders_ : tuple of WeighedCollider
        The colliders with their evidence, except those that knowledge puts into every graph.
    diagnostics_ : RobustDiagnostics
        Which sets were decoupled, how far, and which associations that explained away.
    account_, table_ : as of `DCD`.
    n_features_in_, feature_names_in_ : as in scikit-learn.

    Examples
    --------
    >>> import dcd
    >>> data = dcd.datasets.load_sachs()
    >>> model = dcd.RobustDCD().fit(data.frame)
    >>> dcd.metrics.compare(data.cpdag, model.cpdag_).shd_c < 13
    True
    """

    def __init__(
        self,
        *,
        alpha: float = 0.05,
        test: CITest | None = None,
        search: BoundarySearch | None = None,
        orientation: ColliderEvidence | None = None,
        knowledge: Knowledge | None = None,
        kinds: Mapping[str, Kind] | None = None,
        missing: Missing = "refuse",
        drop_degenerate: bool = False,
        n_jobs: int | None = None,
        memory_limit: int | str | None = None,
        progress: bool = True,
        random_state: int | np.random.Generator | None = 0,
    ) -> None:
        self.alpha = alpha
        self.test = test
        self.search = search
        self.orientation = orientation
        self.knowledge = knowledge
        self.kinds = kinds
        self.missing = missing
        self.drop_degenerate = drop_degenerate
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.progress = progress
        self.random_state = random_state

    def _strategies(self) -> tuple[CITest, BoundarySearch, ColliderEvidence]:
        return (
            PartialAssociation() if self.test is None else self.test,
            GrowShrink() if self.search is None else self.search,
            ColliderEvidence() if self.orientation is None else self.orientation,
        )

    def _check_parameters(self) -> None:
        check_number("alpha", self.alpha, above=0, below=1, suggestion=0.05)
        test, search, orientation = self._strategies()
        check_test("test", test)
        check_search(search)
        check_strategy("orientation", orientation, (ColliderEvidence,))
        check_n_jobs(self.n_jobs)

    def _codecs(self, dataset: Dataset) -> dict[str, Codec]:
        return robust_codecs(len(dataset.names), len(dataset.shown))

    def _discover(
        self, dataset: Dataset, rng: np.random.Generator, run: Run
    ) -> tuple[Construction, RobustDiagnostics]:
        test, search, orientation = self._strategies()
        names = dataset.names
        level = self.alpha / (len(names) - 1)
        with one_blas_thread():
            scores = None if dataset.has_gaps else scores_of(dataset)
            bound = bind_test(test, dataset, level, scores)
            grams = PairwiseGram(dataset) if scores is None else scores
        known = bind_knowledge(self.knowledge, names)
        # Where decoupling weights are asked for in any case, regressions must not replace the test.
        may_regress = isinstance(test, PartialAssociation) and test.decouple != "always"
        task = SearchTask(
            names=names,
            test=bound,
            level=level,
            knowledge=known,
            scores=scores if may_regress else None,
            rng=rng,
            n_jobs=self.n_jobs,
            run=run,
        )
        outcome = search.find(task)
        orient = partial(orientation.colliders, grams, random_state=rng, order=outcome.order)
        construction = assemble(names, outcome.searches, orient, knowledge=known)
        diagnostics = RobustDiagnostics(
            searches=construction.searches,
            level=level,
            sets=_balanced_sets(bound.record, names),
            colliders=_weighed(construction.colliders),
            cut_boundaries=outcome.cut_boundaries,
            names=names,
            interactions=tuple(answer for _, answer in sorted(bound.record.interactions.items())),
            n_samples=len(dataset.values),
            all_linear=outcome.order is not None,
        )
        return construction, diagnostics


def _balanced_sets(record: Record, names: Sequence[str]) -> tuple[BalancedSet, ...]:
    return tuple(
        BalancedSet(variables=tuple(names[v] for v in members), **vars(summary))
        for members, summary in sorted(record.balances.items())
        if len(members) > 1
    )


def _weighed(colliders: Mapping[tuple[str, str, str], float]) -> tuple[WeighedCollider, ...]:
    """Colliders with the most evidence first; without those that every graph has."""
    return tuple(
        WeighedCollider(min(x, y), max(x, y), z, evidence)
        for (x, z, y), evidence in sorted(colliders.items(), key=lambda item: -item[1])
        if np.isfinite(evidence)
    )
