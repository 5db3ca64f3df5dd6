r"""Sample weights under which a set of variables is pairwise independent (Section 3.3).

Adam minimises the loss of `dcd.weights.objective`, the weighted HSIC of all pairs, over the logarithms of the
weights, and stops when Kish's effective sample size :math:`(\sum w)^2 / \sum w^2` falls below a floor.

Tables of more than `LARGEST_DENSE` rows have their features in blocks of rows (`kernel_blocks`), and no
array larger than that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from dcd.features.kernel_blocks import NEGLIGIBLE, FeatureBlocks, in_order
from dcd.features.kernels import feature_map, kernel_features
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import check_number, make_generator
from dcd.runtime.parallel import n_processes
from dcd.runtime.threads import allowed_threads, one_blas_thread
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, TableOptions
from dcd.table.reading import read_table
from dcd.weights.descent import BlockDescent, Descent, DirectDescent, softmax
from dcd.weights.objective import LARGEST_DENSE, Features, Objective, choose_objective, dependence

_CONVERGENCE_WINDOW = 10
_LARGEST_VARIANCE = 0.5  # of a principal component of a kernel: two clusters far apart

Status = Literal["converged", "ess_floor", "max_steps", "nothing_to_decouple"]


@dataclass(frozen=True)
class DecouplingResult:
    """Learned weights and how they came about.

    Attributes
    ----------
    weights : (n,) array, non-negative, summing to n.
    ess : Kish's effective sample size of the weights.
    loss_path : the loss before each step, and the loss of the returned weights last.
    status : why the learning stopped: "converged" (the loss no longer falls), "ess_floor" (another step
        would have cost too much of the sample), "max_steps", or "nothing_to_decouple" (one variable).
    dependence_before, dependence : the loss under equal and under the learned weights, in units of what
        chance alone leaves in a sample of independent variables of that (effective) size: about 1 is as good
        as independent. 0 for one variable.
    hsic_before, hsic_after : (m, m) pairwise weighted HSIC under equal and under the learned weights.
    """

    weights: FloatArray = field(repr=False)
    ess: float
    loss_path: FloatArray = field(repr=False)
    status: Status
    dependence_before: float
    dependence: float
    hsic_before: FloatArray = field(repr=False)
    hsic_after: FloatArray = field(repr=False)

    @property
    def n_steps(self) -> int:
        """Number of Adam steps behind the returned weights."""
        return len(self.loss_path) - 1

    def reordered(self, order: Sequence[int]) -> DecouplingResult:
        """The same result with the variables of the HSIC matrices in another order."""
        index = np.ix_(order, order)
        return replace(self, hsic_before=self.hsic_before[index], hsic_after=self.hsic_after[index])


def effective_sample_size(weights: FloatArray) -> float:
    """Kish's effective sample size, (sum w)² / sum w²."""
    return float(weights.sum() ** 2 / np.square(weights).sum())


@dataclass(frozen=True)
class WeightOptions:
    """How to learn weights.

    Attributes
    ----------
    learning_rate : Adam's step size on theta.
    max_steps : most Adam steps.
    min_ess : floor under the effective sample size, as a share of what it is before. The last weights above
        it are kept.
    tolerance : stop as converged when ten steps together lower the loss by less than this share of its
        first value. 0 never stops for it.
    init_scale : standard deviation of a random start of theta. 0 starts at equal weights. A start below the
        floor of the effective sample size is drawn towards equal weights until it is above.
    """

    learning_rate: float = 0.05
    max_steps: int = 300
    min_ess: float = 0.2
    tolerance: float = 2e-3
    init_scale: float = 0.0

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_number("learning_rate", self.learning_rate, above=0, suggestion=0.05)
        check_number("max_steps", self.max_steps, at_least=1, whole=True, suggestion=300)
        check_number("min_ess", self.min_ess, at_least=0, below=1, suggestion=0.2)
        check_number("tolerance", self.tolerance, at_least=0, below=1, suggestion=2e-3)
        check_number("init_scale", self.init_scale, at_least=0, suggestion=0.0)


def decoupling_weights(
    X: Any,
    *,
    learning_rate: float = WeightOptions.learning_rate,
    max_steps: int = WeightOptions.max_steps,
    min_ess: float = WeightOptions.min_ess,
    tolerance: float = WeightOptions.tolerance,
    init_scale: float = WeightOptions.init_scale,
    kinds: Mapping[str, Kind] | None = None,
    sample_weight: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> DecouplingResult:
    """Sample weights under which the columns of a table are as good as independent of each other.

    Parameters are those of `WeightOptions`; `X` is any table that the estimators take, `kinds` the kinds of
    its columns where the rule errs, and `sample_weight` what each row counts for to begin with.

    Examples
    --------
    >>> import dcd
    >>> result = dcd.weights.decoupling_weights(dcd.datasets.load_sachs().frame[["Raf", "Mek"]])
    >>> round(float(result.weights.sum())), result.status
    (853, 'converged')
    """
    rng = make_generator(random_state)
    options = WeightOptions(learning_rate, max_steps, min_ess, tolerance, init_scale)
    options.check()
    reading = TableOptions(kinds=kinds)
    reading.check()
    given = read_table(X, options=reading, sample_weight=sample_weight)
    dataset = given.in_canonical_order()
    threads = threads_to_use(None)
    with one_blas_thread():
        result = learn_weights(features_of(dataset, threads), options, rng, dataset.probabilities)
    result = replace(result, weights=given.in_all_rows(result.weights))
    return result.reordered([dataset.names.index(name) for name in given.names])


def features_of(dataset: Dataset, threads: int = 1) -> Features:
    """Kernel features of every column of a table without gaps, in blocks of rows if there are many."""
    columns = list(zip(dataset.values.T, dataset.kinds, strict=True))
    if len(dataset.values) <= LARGEST_DENSE:
        return [kernel_features(column, kind) for column, kind in columns]
    least = NEGLIGIBLE / _LARGEST_VARIANCE
    maps = in_order(lambda column: feature_map(*column, least), columns, threads)
    return FeatureBlocks.of(dataset.values, list(maps), threads=threads, memory=dataset.memory)


def features_among(features: Features, members: Sequence[int]) -> Features:
    """The features of some variables."""
    if isinstance(features, FeatureBlocks):
        return features.select(members)
    return [features[member] for member in members]


def threads_to_use(n_jobs: int | None) -> int:
    """Threads for the blocks of a long table: as many as linear algebra is allowed here, if not told."""
    if n_jobs is not None:
        return n_processes(n_jobs)
    return allowed_threads()


def learn_weights(
    features: Features,
    options: WeightOptions,
    rng: np.random.Generator | None = None,
    shares: FloatArray | None = None,
) -> DecouplingResult:
    """Weights that decouple the variables behind `features`, one (n, r) array for each, or blocks.

    `shares` are what the samples count for to begin with; all the same without them.
    """
    n_samples = features.n_samples if isinstance(features, FeatureBlocks) else features[0].shape[0]
    start = np.full(n_samples, 1.0 / n_samples) if shares is None else shares
    ess = effective_sample_size(start)
    before, dependence_before = dependence(features, start)
    if len(before) == 1:
        no_path = np.zeros(1)
        return DecouplingResult(
            n_samples * start, ess, no_path, "nothing_to_decouple", 0.0, 0.0, before, before
        )
    theta: FloatArray = np.zeros(n_samples) if shares is None else np.log(start * n_samples)
    noise: FloatArray = np.zeros_like(start)
    if options.init_scale and rng is not None:
        noise = options.init_scale * rng.standard_normal(start.shape)
    while effective_sample_size(softmax(theta + noise)) < options.min_ess * ess:
        noise = noise / 2.0
    descent = _descent(features, theta + noise, options.learning_rate)
    probabilities, loss_path, status = descend(descent, options, options.min_ess * ess)
    weights = n_samples * probabilities
    after, dependence_after = dependence(features, probabilities)
    return DecouplingResult(
        weights=weights,
        ess=effective_sample_size(weights),
        loss_path=np.array(loss_path),
        status=status,
        dependence_before=dependence_before,
        dependence=dependence_after,
        hsic_before=before,
        hsic_after=after,
    )


def _descent(features: Features, theta: FloatArray, learning_rate: float) -> Descent:
    if isinstance(features, FeatureBlocks):
        return BlockDescent(features, theta, learning_rate)
    return DirectDescent(choose_objective(features), theta, learning_rate)


def minimise(
    objective: Objective, theta: FloatArray, options: WeightOptions, floor: float = 0.0
) -> tuple[FloatArray, list[float], Status]:
    """Adam on theta; see `descend`."""
    return descend(DirectDescent(objective, theta, options.learning_rate), options, floor)


def descend(
    descent: Descent, options: WeightOptions, floor: float = 0.0
) -> tuple[FloatArray, list[float], Status]:
    """The probabilities, the loss before each step and at the end, and why it stopped.

    It stops before the effective sample size falls below `floor`.
    """
    loss_path = [descent.loss]
    while len(loss_path) <= options.max_steps:
        if descent.propose() * floor > 1.0:
            return descent.probabilities, loss_path, "ess_floor"
        descent.accept()
        loss_path.append(descent.loss)
        if options.tolerance > 0 and len(loss_path) > _CONVERGENCE_WINDOW:
            gain = loss_path[-1 - _CONVERGENCE_WINDOW] - loss_path[-1]
            if gain < options.tolerance * loss_path[0]:
                return descent.probabilities, loss_path, "converged"
    return descent.probabilities, loss_path, "max_steps"
