"""The Markov boundary of a target within any set of variables (Theorem 1).

Decouple the variables other than the target; those that still depend on the target under the weights form
its boundary. The weights do not involve the target, so each set is decoupled once for all targets.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dcd.features.kernel_blocks import FeatureBlocks
from dcd.features.kernels import indicators, memberships
from dcd.independence.weighted_correlation import weighted_association
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError, make_generator
from dcd.runtime.memory import Memory
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.runs import Run
from dcd.runtime.threads import one_blas_thread
from dcd.table.checks import MIN_ROWS
from dcd.table.columns import column_list, merge_rare
from dcd.table.dataset import Dataset, TableOptions
from dcd.weights.hsic_descent import (
    DecouplingResult,
    Status,
    WeightOptions,
    features_among,
    features_of,
    learn_weights,
    threads_to_use,
)
from dcd.weights.objective import LARGEST_DENSE, Features


@dataclass(frozen=True)
class DecoupledSet:
    """One decoupled set of m variables, and their association with all d variables.

    Attributes
    ----------
    variables : the m decoupled variables.
    ess : effective sample size under the weights.
    status, n_steps : why learning stopped, and after how many steps.
    dependence_before, dependence : of all pairs, relative to chance; see `DecouplingResult`.
    hsic_before, hsic_after : (m, m) pairwise weighted HSIC under equal and under the learned weights.
    correlations, pvalues : (m, d) weighted correlation with every variable as target, and its p-value.
    """

    variables: tuple[str, ...]
    ess: float
    status: Status
    n_steps: int
    dependence_before: float
    dependence: float
    hsic_before: FloatArray = field(repr=False)
    hsic_after: FloatArray = field(repr=False)
    correlations: FloatArray = field(repr=False)
    pvalues: FloatArray = field(repr=False)


@dataclass(frozen=True)
class Prepared:
    """A table and how to decouple sets of its columns.

    Attributes
    ----------
    features : of every column; None computes them for each set, from the rows that are complete in it.
    seed : of random starts.
    """

    dataset: Dataset
    features: Features | None
    options: WeightOptions
    seed: int


class BoundaryIdentifier:
    """`identifier(target, others) -> set` from data, each set of variables decoupled once.

    Sets are decoupled on first use; `prepare` decouples many in parallel, as parts of the `run`.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        alpha: float,
        options: WeightOptions,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        run: Run | None = None,
    ) -> None:
        self._run = run or Run()
        rng = make_generator(random_state)
        seed = int(rng.integers(2**63))
        self._dataset, self._alpha = dataset, alpha
        self._position = {name: index for index, name in enumerate(dataset.names)}
        threads = threads_to_use(n_jobs)
        with one_blas_thread():
            features = None if dataset.has_gaps else features_of(dataset, threads)
        self._shared = Shared(Prepared(dataset, features, options, seed))
        # Sets of a long table are decoupled sequentially; each uses threads over blocks of rows.
        self._one_by_one = isinstance(features, FeatureBlocks)
        self._decoupled: dict[tuple[int, ...], DecoupledSet] = {}

    @property
    def decoupled_sets(self) -> tuple[DecoupledSet, ...]:
        """All sets decoupled so far, in order."""
        return tuple(self._decoupled.values())

    def __call__(self, target: str, others: Collection[str]) -> set[str]:
        """The boundary of `target` within `others`."""
        if not others:
            return set()
        members, decoupled = self._lookup(others)
        rejected = decoupled.pvalues[:, self._position[target]] < self._alpha
        return {self._dataset.names[member] for member, is_in in zip(members, rejected, strict=True) if is_in}

    def pvalue(self, target: str, member: str, others: Collection[str]) -> float:
        """p-value of `member` against `target` with all of `others` decoupled."""
        members, decoupled = self._lookup(others)
        return float(decoupled.pvalues[members.index(self._position[member]), self._position[target]])

    def prepare(
        self,
        sets: Iterable[Collection[str]],
        *,
        n_jobs: int | None = None,
        label: str = "sets",
        then: str | None = None,
    ) -> None:
        """Decouple the sets not done yet, over `n_jobs` processes.

        `label` names this stage and `then` the next one, for the progress bar.
        """
        requested = dict.fromkeys(self._members(names) for names in sets if names)
        missing = [members for members in requested if members not in self._decoupled]
        n_jobs = 1 if self._one_by_one else n_jobs

        def compute(pending: list[int]) -> Generator[tuple[int, DecoupledSet]]:
            return as_done(
                decouple_set, [missing[at] for at in pending], shared=self._shared, n_jobs=n_jobs, effort=len
            )

        efforts = [float(len(members)) for members in missing]
        decoupled = self._run.gather("sets", missing, compute, label=label, then=then, efforts=efforts)
        self._decoupled |= dict(zip(missing, decoupled, strict=True))

    def _members(self, names: Collection[str]) -> tuple[int, ...]:
        return tuple(sorted(self._position[name] for name in names))

    def _lookup(self, others: Collection[str]) -> tuple[tuple[int, ...], DecoupledSet]:
        members = self._members(others)
        if members not in self._decoupled:
            self.prepare([others])
        return members, self._decoupled[members]


def decouple_set(table: Prepared, members: Sequence[int]) -> DecoupledSet:
    """Learn weights for one set and test every variable against its members."""
    dataset = table.dataset
    features = None if table.features is None else features_among(table.features, members)
    learned, correlations, pvalues = learn_and_test(
        members, features, range(len(dataset.names)), dataset, table.options, table.seed
    )
    return DecoupledSet(
        variables=tuple(dataset.names[member] for member in members),
        ess=learned.ess,
        status=learned.status,
        n_steps=learned.n_steps,
        dependence_before=learned.dependence_before,
        dependence=learned.dependence,
        hsic_before=learned.hsic_before,
        hsic_after=learned.hsic_after,
        correlations=correlations,
        pvalues=pvalues,
    )


def learn_and_test(
    members: Sequence[int],
    features: Features | None,
    targets: Sequence[int],
    dataset: Dataset,
    options: WeightOptions,
    seed: int,
    threads: int = 1,
) -> tuple[DecouplingResult, FloatArray, FloatArray]:
    """Weights of one set, and its correlations with the targets and their p-values.

    Random starts depend only on the seed and the set. With missing values, the weights are of the rows that
    are complete in the set, and a target is tested on those of them that have it. `threads`, for computing
    features, do not change the result.
    """
    used = dataset.take(dataset.present_in(members))
    surveyed = dataset.weights is not None
    if len(used.values) < MIN_ROWS:
        raise InputError(
            column_list([dataset.names[member] for member in members]),
            f"only {len(used.values)} rows are complete in all of them",
            "Drop the column with most missing values, or use RobustDCD.",
        )
    with one_blas_thread():
        features = features_of(used.select(members), threads) if features is None else features
        rng = np.random.default_rng([seed, *members])
        learned = learn_weights(features, options, rng, used.probabilities)
        blocks = [_block(used, member) for member in members]
        if not used.has_gaps:
            target_blocks = [_block(used, target) for target in targets]
            return learned, *weighted_association(blocks, target_blocks, learned.weights, surveyed=surveyed)
        tested = [_tested_on_present(used, blocks, target, learned.weights) for target in targets]
    correlations, pvalues = (np.hstack(parts) for parts in zip(*tested, strict=True))
    return learned, correlations, pvalues


def _tested_on_present(
    dataset: Dataset, blocks: Sequence[FloatArray | BoolArray], target: int, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    present = dataset.present_in([target])
    if present.sum() < MIN_ROWS:
        return np.zeros((len(blocks), 1)), np.ones((len(blocks), 1))
    target_block = _block(dataset.take(present), target)
    surveyed = dataset.weights is not None
    kept = [block[present] for block in blocks]
    return weighted_association(kept, [target_block], weights[present], surveyed=surveyed)


def _block(dataset: Dataset, column: int) -> FloatArray | BoolArray:
    """The columns by which a variable is tested: its values, or indicators of all categories but one."""
    values = dataset.values[:, column]
    if dataset.kinds[column] != "nominal":
        return values[:, None]
    codes = merge_rare(values).astype(np.float64)
    # Memberships take an eighth of the memory.
    columns = memberships(codes) if len(codes) > LARGEST_DENSE else indicators(codes)
    return columns[:, 1:] if columns.shape[1] > 1 else columns


def record_features(estimator: Any, dataset: Dataset) -> None:
    """Set scikit-learn's `n_features_in_` and, if the table had names, `feature_names_in_`."""
    columns = dataset.summary.columns
    estimator.n_features_in_ = len(columns)
    if dataset.named:
        estimator.feature_names_in_ = np.array(columns, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_  # of an earlier fit


def table_options(estimator: Any) -> TableOptions:
    """The table options of an estimator, checked."""
    memory = Memory.of(estimator.memory_limit)
    options = TableOptions(estimator.kinds, estimator.missing, estimator.drop_degenerate, memory)
    options.check()
    return options


def weight_options(estimator: Any) -> WeightOptions:
    """The weight-learning parameters of an estimator, checked."""
    options = WeightOptions(
        learning_rate=estimator.learning_rate,
        max_steps=estimator.max_steps,
        min_ess=estimator.min_ess,
        tolerance=estimator.tolerance,
        init_scale=estimator.init_scale,
    )
    options.check()
    return options
