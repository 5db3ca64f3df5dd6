"""The Markov boundary of a target within any set of variables (Theorem 1).

Decouple the variables other than the target; those that still depend on the target under the weights are its
boundary. The weights do not depend on the target, so those learned for a set serve all targets.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from dcd.features.kernel_blocks import FeatureBlocks, Features, features_among, features_of
from dcd.features.kernels import memberships
from dcd.independence.weighted_correlation import weighted_association
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.runtime.errors import InputError, make_generator
from dcd.runtime.parallel import Shared, as_done
from dcd.runtime.rows import DENSE_ROWS
from dcd.runtime.runs import Run
from dcd.runtime.threads import one_blas_thread
from dcd.table.checks import MIN_ROWS
from dcd.table.columns import column_list, merge_rare
from dcd.table.dataset import Dataset
from dcd.weights.base import SampleWeights
from dcd.weights.hsic_descent import HSICDescent, learn_weights, threads_to_use

SETS = "sets"  # the stage of a run


@dataclass(frozen=True, kw_only=True)
class DecoupledSet(SampleWeights):
    """One decoupled set of m variables, and the association of each with all d variables.

    The weights themselves are not kept, only a sketch of them for a set of all variables but one.

    Attributes
    ----------
    variables : the m decoupled variables.
    correlations, pvalues : (m, d) weighted correlation with every variable as target, and its p-value.
    """

    variables: tuple[str, ...]
    correlations: FloatArray = field(repr=False, compare=False)
    pvalues: FloatArray = field(repr=False, compare=False)


@dataclass(frozen=True)
class Prepared:
    """A table and how to decouple sets of its columns.

    Attributes
    ----------
    features : of every column, for pairwise objectives; if None, they are computed for each set, from the
        rows that are complete in it.
    seed : of random starts.
    """

    dataset: Dataset
    features: Features | None
    options: HSICDescent
    seed: int


def effort(n_members: int) -> float:
    """Relative time to decouple a set: 10, 11 and 31 ms for 2, 8 and 29 variables of 200 rows."""
    return n_members + 4.0


class BoundaryIdentifier:
    """Markov boundaries from data, `identifier(target, others) -> set`; each set is decoupled once.

    Sets are decoupled when first needed; `prepare` does many at once, in parallel, as tasks of the `run`.
    `n_identified` counts the Markov boundaries that were identified.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        alpha: float,
        options: HSICDescent,
        random_state: int | np.random.Generator | None = None,
        n_jobs: int | None = None,
        run: Run | None = None,
    ) -> None:
        self._run = run or Run()
        seed = int(make_generator(random_state).integers(2**63))
        self._dataset, self._alpha = dataset, alpha
        self._position = {name: index for index, name in enumerate(dataset.names)}
        threads = threads_to_use(n_jobs)
        shared = not dataset.has_gaps and options.objective == "pairwise"
        with one_blas_thread():
            features = features_of(dataset, threads=threads) if shared else None
        self._shared = Shared(Prepared(dataset, features, options, seed))
        # Sets of a long table are decoupled one after another: threads share the rows of each.
        self._n_jobs = 1 if isinstance(features, FeatureBlocks) else n_jobs
        self._decoupled: dict[tuple[int, ...], DecoupledSet] = {}
        self.n_identified = 0

    @property
    def decoupled_sets(self) -> tuple[DecoupledSet, ...]:
        """All sets decoupled so far, in order."""
        return tuple(self._decoupled.values())

    def __call__(self, target: str, others: Collection[str]) -> set[str]:
        """The boundary of `target` within `others`."""
        self.n_identified += 1
        if not others:
            return set()
        members, decoupled = self._lookup(others)
        rejected = decoupled.pvalues[:, self._position[target]] < self._alpha
        return {self._dataset.names[member] for member, is_in in zip(members, rejected, strict=True) if is_in}

    def pvalue(self, target: str, member: str, others: Collection[str]) -> float:
        """p-value of `member` against `target` with all of `others` decoupled."""
        members, decoupled = self._lookup(others)
        return float(decoupled.pvalues[members.index(self._position[member]), self._position[target]])

    def prepare(self, sets: Iterable[Collection[str]], label: str = "sets", then: str | None = None) -> None:
        """Decouple those of several sets that have not been decoupled yet, on `n_jobs` processes.

        `label` and `then` name the sets and the next stage in the progress bar.
        """
        asked = dict.fromkeys(self._members(names) for names in sets if names)
        missing = [members for members in asked if members not in self._decoupled]

        def compute(pending: list[int]) -> Generator[tuple[int, DecoupledSet]]:
            wanted = [missing[at] for at in pending]
            return as_done(decouple_set, wanted, shared=self._shared, n_jobs=self._n_jobs, effort=len)

        efforts = [effort(len(members)) for members in missing]
        found = self._run.gather(SETS, missing, compute, label=label, then=then, efforts=efforts)
        self._decoupled |= dict(zip(missing, found, strict=True))

    def _members(self, names: Collection[str]) -> tuple[int, ...]:
        return tuple(sorted(self._position[name] for name in names))

    def _lookup(self, others: Collection[str]) -> tuple[tuple[int, ...], DecoupledSet]:
        members = self._members(others)
        if members not in self._decoupled:
            self.prepare([others])
        return members, self._decoupled[members]


def decouple_set(table: Prepared, members: Sequence[int]) -> DecoupledSet:
    """Learn weights for one set and test every variable against its members.

    With the objective "from-set" each member has its own weights; the summary is that of the member with the
    smallest effective sample size, and row i of the HSIC matrices is under the weights of member i. With
    missing values the weights belong to the rows that are complete in the set, and a target is tested on
    those that also have the target.
    """
    dataset = table.dataset
    used = dataset.take(dataset.present_in(members))
    if len(used.values) < MIN_ROWS:
        raise InputError(
            column_list([dataset.names[member] for member in members]),
            f"only {len(used.values)} rows are complete in all of them",
            "Drop the column with the most missing values, or use RobustDCD.",
        )
    with one_blas_thread():
        learned, correlations, pvalues = _learn_and_test(table, members, used)
    all_but_one = len(members) == len(dataset.names) - 1
    sketch = learned.sketched(used.shown_positions) if all_but_one else None
    return DecoupledSet(
        **vars(replace(learned, weights=np.empty(0), sketch=sketch)),
        variables=tuple(dataset.names[member] for member in members),
        correlations=correlations,
        pvalues=pvalues,
    )


def _learn_and_test(
    table: Prepared, members: Sequence[int], used: Dataset
) -> tuple[SampleWeights, FloatArray, FloatArray]:
    """Weights of one set, and its correlations (m, d) with all variables and their p-values."""
    options = table.options
    if options.from_set:
        each = [options.learn_apart(used, member, members) for member in members]
        found = [_tested([m], used, one.weights) for m, one in zip(members, each, strict=True)]
        correlations, pvalues = (np.vstack(parts) for parts in zip(*found, strict=True))
        return least_sample(each), correlations, pvalues
    if options.objective == "joint":
        learned = options.learn(used, members)
    else:
        features = table.features
        features = features_of(used, members) if features is None else features_among(features, members)
        # A random start depends only on the seed and the set, not on what was decoupled before.
        rng = np.random.default_rng([table.seed, *members])
        learned = learn_weights(features, options, rng, used.probabilities)
    return learned, *_tested(members, used, learned.weights)


def least_sample(each: Sequence[SampleWeights]) -> SampleWeights:
    """The weights with the smallest ESS among those of several members; HSIC of member i in row i."""
    least = min(each, key=lambda one: one.ess)
    if not least.hsic_before.size:
        return least
    before, after = (
        np.array([getattr(one, name)[row] for row, one in enumerate(each)])
        for name in ("hsic_before", "hsic_after")
    )
    return replace(least, hsic_before=before, hsic_after=after)


def _tested(members: Sequence[int], used: Dataset, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Correlations (m, d) of members and all variables under weights, and their p-values."""
    left, targets = [tested_columns(used, member) for member in members], range(len(used.names))
    if not used.has_gaps:
        right = [tested_columns(used, target) for target in targets]
        return weighted_association(left, right, weights, surveyed=used.surveyed)
    found = [_tested_on_present(used, left, target, weights) for target in targets]
    correlations, pvalues = (np.hstack(parts) for parts in zip(*found, strict=True))
    return correlations, pvalues


def _tested_on_present(
    dataset: Dataset, left: Sequence[FloatArray | BoolArray], target: int, weights: FloatArray
) -> tuple[FloatArray, FloatArray]:
    present = dataset.present_in([target])
    if present.sum() < MIN_ROWS:
        return np.zeros((len(left), 1)), np.ones((len(left), 1))
    right = tested_columns(dataset.take(present), target)
    kept = [block[present] for block in left]
    return weighted_association(kept, [right], weights[present], surveyed=dataset.surveyed)


def tested_columns(dataset: Dataset, column: int) -> FloatArray | BoolArray:
    """The columns by which a variable is tested: its values, or an indicator of each category but one."""
    values = dataset.values[:, column]
    if dataset.kinds[column] != "nominal":
        return values[:, None]
    codes = merge_rare(values).astype(np.float64)
    found: FloatArray | BoolArray = memberships(codes)
    if len(codes) <= DENSE_ROWS:  # Booleans take an eighth of the memory, which matters with many rows
        found = found.astype(np.float64)
    return found[:, 1:] if found.shape[1] > 1 else found
