r"""Sample weights under which a set of variables is pairwise independent (Section 3.3).

With probabilities :math:`p = \mathrm{softmax}(\theta)` (weights :math:`w = n p`), kernels :math:`K_i` and
the weighted mean embedding removed, the weighted HSIC of two variables is

.. math:: \mathrm{HSIC}_w(i, j) = p^\top (K_i \circ K_j) p + (p^\top K_i p)(p^\top K_j p)
          - 2 \sum_k p_k (K_i p)_k (K_j p)_k ,

which for equal weights is the usual biased estimate :math:`\mathrm{tr}(K_i H K_j H) / n^2`. The loss is its
sum over the ordered pairs :math:`i \neq j`; Adam minimises it over :math:`\theta`, and stops when Kish's
effective sample size :math:`(\sum w)^2 / \sum w^2` falls below a floor.

The pair sum never becomes a pair loop. Two forms of the same loss, chosen by cost:

* `DenseObjective`, O(n² + nR) a step, R the total number of feature columns: the first term over all pairs
  is one matrix, made once.
* `LowRankObjective`, O(nR²) a step and O(nR) memory: the loss is the squared Frobenius norm of the weighted
  covariance between the features of different variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
from scipy.linalg.blas import dsymv

from dcd.arrays import FloatArray
from dcd.columns import Kind
from dcd.data import Dataset, TableOptions
from dcd.kernels import kernel_features
from dcd.reading import read_table
from dcd.threads import one_blas_thread
from dcd.validation import check_number, make_generator

_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
_CONVERGENCE_WINDOW = 10
# Nanoseconds a step, measured on one core: an entry of the (n, n) matrix, its set-up shared over a hundred
# steps, with and without the matrix in the cache; and an entry of the (R, R) covariance for each sample.
_DENSE_IN_CACHE, _DENSE_OUT_OF_CACHE, _LOW_RANK = 0.12, 0.45, 0.1
_CACHE_BYTES = 24 * 2**20
_LARGEST_DENSE = 8000  # the (n, n) array then takes 0.5 GB
_BAND = 64

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


def pairwise_hsic(features: Sequence[FloatArray], probabilities: FloatArray) -> FloatArray:
    """Weighted HSIC of every two variables, shape (m, m); the diagonal is each with itself."""
    stacked = np.hstack(features)
    covariance = _weighted_covariance(stacked, probabilities)
    starts = _block_starts(features)
    by_row = np.add.reduceat(np.square(covariance), starts, axis=0)
    return np.add.reduceat(by_row, starts, axis=1)


def chance_loss(features: Sequence[FloatArray], probabilities: FloatArray) -> float:
    """The loss that is to be expected if the variables are independent, to first order in 1 / ESS.

    The weighted HSIC of two independent variables has mean v_i v_j / ESS, v the total variance of features.
    """
    spreads = np.array(
        [probabilities @ np.square(block - probabilities @ block).sum(axis=1) for block in features]
    )
    return float((spreads.sum() ** 2 - spreads @ spreads) * (probabilities @ probabilities))


def _off_diagonal(matrix: FloatArray) -> float:
    return float(matrix.sum() - np.trace(matrix))


# --- the loss, twice -------------------------------------------------------------------------------------


class Objective(Protocol):
    """The decoupling loss of one set of variables as a function of the probabilities."""

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """Loss, and its gradient up to a constant vector (which the softmax makes vanish)."""
        ...


class LowRankObjective:
    """The loss through the (R, R) weighted covariance of the stacked features."""

    def __init__(self, features: Sequence[FloatArray]) -> None:
        stacked = np.hstack(features)
        # Centring changes nothing in exact arithmetic; it keeps the means that are subtracted below small.
        self._stacked = stacked - stacked.mean(axis=0)
        owner = np.repeat(np.arange(len(features)), [block.shape[1] for block in features])
        self._across = (owner[:, None] != owner[None, :]).astype(np.float64)

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `Objective`."""
        means = probabilities @ self._stacked
        scaled = np.sqrt(probabilities)[:, None] * self._stacked
        covariance = scaled.T @ scaled - np.outer(means, means)
        covariance *= self._across
        value = float(np.square(covariance).sum())
        products = self._stacked @ covariance
        gradient = np.einsum("kr,kr->k", products, self._stacked) - 2.0 * (products @ means)
        return value, 2.0 * gradient


class DenseObjective:
    """The loss through one (n, n) matrix that holds the first term of all pairs."""

    def __init__(self, features: Sequence[FloatArray]) -> None:
        # Features as rows: both products of `_apply_kernels` then run along contiguous memory.
        self._rows = [np.ascontiguousarray(block.T) for block in features]
        self._pairs = _sum_of_kernel_products(features)

    def _apply_kernels(self, vectors: Iterable[FloatArray]) -> FloatArray:
        """K_i v_i for every variable, shape (m, n)."""
        return np.stack([(rows @ vector) @ rows for rows, vector in zip(self._rows, vectors, strict=True)])

    def value_and_gradient(self, probabilities: FloatArray) -> tuple[float, FloatArray]:
        """See `Objective`."""
        embeddings = self._apply_kernels([probabilities] * len(self._rows))
        norms = embeddings @ probabilities
        total, total_norm = embeddings.sum(axis=0), norms.sum()
        others = total - embeddings
        pairs: FloatArray = dsymv(1.0, self._pairs.T, probabilities)  # reads half of the matrix
        cross = np.einsum("mk,mk->k", embeddings, others)
        value = probabilities @ (pairs - 2.0 * cross) + total_norm**2 - norms @ norms
        gradient = (
            2.0 * (pairs - cross)
            + 4.0 * ((total_norm - norms) @ embeddings)
            - 4.0 * self._apply_kernels(probabilities * others).sum(axis=0)
        )
        return float(value), gradient


def _sum_of_kernel_products(features: Sequence[FloatArray]) -> FloatArray:
    """Sum of K_i ∘ K_j over ordered pairs i != j, as (sum K_i)² - sum K_i², shape (n, n).

    A band of rows at a time, so that the sums stay in the cache, and only the part right of the diagonal:
    three times as fast as whole matrices at n = 800.
    """
    n_samples = features[0].shape[0]
    pairs = np.empty((n_samples, n_samples))
    for start in range(0, n_samples, _BAND):
        stop = min(start + _BAND, n_samples)
        total, squares = np.zeros((2, stop - start, n_samples - start))
        for block in features:
            kernel = block[start:stop] @ block[start:].T
            total += kernel
            squares += np.square(kernel, out=kernel)
        band = np.square(total, out=total)
        band -= squares
        pairs[start:stop, start:] = band
        pairs[stop:, start:stop] = band[:, stop - start :].T
    return pairs


def choose_objective(features: Sequence[FloatArray]) -> Objective:
    """The cheaper of the two forms, by what a hundred steps and the set-up take."""
    n_samples = features[0].shape[0]
    n_columns = sum(block.shape[1] for block in features)
    fits_in_cache = 8 * n_samples**2 <= _CACHE_BYTES
    dense_cost = n_samples**2 * (_DENSE_IN_CACHE if fits_in_cache else _DENSE_OUT_OF_CACHE)
    low_rank_cost = n_samples * n_columns**2 * _LOW_RANK
    if n_samples > _LARGEST_DENSE or low_rank_cost < dense_cost:
        return LowRankObjective(features)
    return DenseObjective(features)


# --- the solver ------------------------------------------------------------------------------------------


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
    >>> result = dcd.decoupling_weights(dcd.datasets.load_sachs().frame[["Raf", "Mek"]])
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
    with one_blas_thread():
        result = learn_weights(features_of(dataset), options, rng, dataset.probabilities)
    result = replace(result, weights=given.in_all_rows(result.weights))
    return result.reordered([dataset.names.index(name) for name in given.names])


def features_of(dataset: Dataset) -> list[FloatArray]:
    """Kernel features of every column of a table without gaps."""
    return [
        kernel_features(column, kind) for column, kind in zip(dataset.values.T, dataset.kinds, strict=True)
    ]


def learn_weights(
    features: Sequence[FloatArray],
    options: WeightOptions,
    rng: np.random.Generator | None = None,
    shares: FloatArray | None = None,
) -> DecouplingResult:
    """Weights that decouple the variables behind `features`, one (n, r) array for each.

    `shares` are what the samples count for to begin with; all the same without them.
    """
    n_samples = features[0].shape[0]
    start = np.full(n_samples, 1.0 / n_samples) if shares is None else shares
    ess = effective_sample_size(start)
    before = pairwise_hsic(features, start)
    if len(features) == 1:
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
    objective = choose_objective(features)
    probabilities, loss_path, status = minimise(objective, theta + noise, options, options.min_ess * ess)
    weights = n_samples * probabilities
    after = pairwise_hsic(features, probabilities)
    return DecouplingResult(
        weights=weights,
        ess=effective_sample_size(weights),
        loss_path=np.array(loss_path),
        status=status,
        dependence_before=_off_diagonal(before) / chance_loss(features, start),
        dependence=_off_diagonal(after) / chance_loss(features, probabilities),
        hsic_before=before,
        hsic_after=after,
    )


def minimise(
    objective: Objective, theta: FloatArray, options: WeightOptions, floor: float = 0.0
) -> tuple[FloatArray, list[float], Status]:
    """Adam on theta; the probabilities, the loss before each step and at the end, and why it stopped.

    It stops before the effective sample size falls below `floor`.
    """
    adam = Adam(options.learning_rate, theta.size)
    probabilities = softmax(theta)
    value, gradient = objective.value_and_gradient(probabilities)
    loss_path = [value]
    while len(loss_path) <= options.max_steps:
        # The derivative of the softmax; it projects out the constant that the objectives leave open.
        theta = theta - adam.step(probabilities * (gradient - probabilities @ gradient))
        proposal = softmax(theta)
        if proposal @ proposal * floor > 1.0:
            return probabilities, loss_path, "ess_floor"
        probabilities = proposal
        value, gradient = objective.value_and_gradient(probabilities)
        loss_path.append(value)
        if options.tolerance > 0 and len(loss_path) > _CONVERGENCE_WINDOW:
            gain = loss_path[-1 - _CONVERGENCE_WINDOW] - value
            if gain < options.tolerance * loss_path[0]:
                return probabilities, loss_path, "converged"
    return probabilities, loss_path, "max_steps"


class Adam:
    """Kingma and Ba (2015) with the usual decay rates."""

    def __init__(self, learning_rate: float, size: int) -> None:
        self._learning_rate = learning_rate
        self._mean, self._square, self._count = np.zeros(size), np.zeros(size), 0

    def step(self, gradient: FloatArray) -> FloatArray:
        """What to subtract from the parameters."""
        self._count += 1
        self._mean += (1 - _BETA_1) * (gradient - self._mean)
        self._square += (1 - _BETA_2) * (np.square(gradient) - self._square)
        mean = self._mean / (1 - _BETA_1**self._count)
        square = self._square / (1 - _BETA_2**self._count)
        return self._learning_rate * mean / (np.sqrt(square) + _EPSILON)


def softmax(theta: FloatArray) -> FloatArray:
    """Probabilities in proportion to exp(theta)."""
    unscaled = np.exp(theta - theta.max())
    probabilities: FloatArray = unscaled / unscaled.sum()
    return probabilities


def _weighted_covariance(stacked: FloatArray, probabilities: FloatArray) -> FloatArray:
    centred = stacked - probabilities @ stacked
    covariance: FloatArray = centred.T @ (probabilities[:, None] * centred)
    return covariance


def _block_starts(features: Sequence[FloatArray]) -> list[int]:
    widths = [block.shape[1] for block in features]
    return [int(start) for start in np.cumsum([0, *widths[:-1]])]
