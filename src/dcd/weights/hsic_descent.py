r"""Sample weights under which a set of variables is independent, by descent on HSIC.

As published (Section 3.3), the loss of `dcd.weights.objective`, the weighted HSIC of all pairs, is minimised
over the logarithms of the weights by accelerated gradient descent (`descent`), which stops early if Kish's
effective sample size :math:`(\sum w)^2 / \sum w^2` falls below a floor. The joint objectives are in
`dcd.weights.joint`.

For tables of more than `DENSE_ROWS` rows, features are in blocks of rows (`kernel_blocks`), and no larger
array is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from dcd.features.kernel_blocks import FeatureBlocks, Features, features_of
from dcd.features.rank_scores import Scores
from dcd.runtime.array_types import FloatArray
from dcd.runtime.errors import InputError, check_choice, check_number, make_generator
from dcd.runtime.parallel import n_processes
from dcd.runtime.rows import remaining_share
from dcd.runtime.threads import allowed_threads, one_blas_thread
from dcd.table.columns import Kind
from dcd.table.dataset import Dataset, TableOptions
from dcd.table.reading import read_table
from dcd.table.row_weights import repeated
from dcd.weights.base import SampleWeights, weights_of_table
from dcd.weights.descent import BlockDescent, DirectDescent, softmax
from dcd.weights.joint import PRICE, learn_joint_weights
from dcd.weights.objective import choose_objective, dependence

ObjectiveName = Literal["pairwise", "joint", "from-set"]
OBJECTIVES = get_args(ObjectiveName)


@dataclass(frozen=True)
class HSICDescent:
    """Weights by descent on HSIC: of all pairs as published, of all variables jointly, or of one and a set.

    Attributes
    ----------
    objective : "pairwise", as published, removes dependence between pairs; "joint" also that among three or
        more variables (dHSIC). "from-set" makes one variable independent of the others jointly, which is all
        that a test of this variable needs; each variable then has its own weights, and a set without such a
        variable is decoupled as with "joint".
    price : joint objectives only, which minimise the dependence relative to chance plus `price` / ESS: a
        higher price keeps more of the sample, a lower one removes more dependence.
    max_rows : joint objectives only: if there are more rows, this many evenly spaced ones get weights and the
        others none; None for all.
    learning_rate : step size on the mean of the weighted HSIC over the ordered pairs. Pairwise only, like
        the parameters below except `min_ess`.
    max_steps : number of steps, unless the floor is reached first.
    min_ess : floor on the effective sample size, relative to its initial value; the last weights above it are
        kept. A lower floor removes more dependence but leaves less to test with.
    init_scale : standard deviation of a random start of the log weights. 0 starts at equal weights. A start
        below the floor of the effective sample size is moved towards equal weights until it is above.
    random_state : seed of the random start; the start depends on it and on the set of variables.
    """

    learning_rate: float = 10.0
    max_steps: int = 50
    min_ess: float = 0.1
    init_scale: float = 0.0
    random_state: int = 0
    objective: ObjectiveName = "pairwise"
    price: float = PRICE
    max_rows: int | None = None

    def check(self) -> None:
        """Raise `InputError` for a value out of range."""
        check_choice("objective", self.objective, OBJECTIVES)
        check_number("price", self.price, above=0, suggestion=PRICE)
        if self.max_rows is not None:
            check_number("max_rows", self.max_rows, at_least=100, whole=True, suggestion=5_000)
        check_number("learning_rate", self.learning_rate, above=0, suggestion=10.0)
        check_number("max_steps", self.max_steps, at_least=1, at_most=100_000, whole=True, suggestion=50)
        check_number("min_ess", self.min_ess, at_least=0, below=1, suggestion=0.1)
        check_number("init_scale", self.init_scale, at_least=0, at_most=1e6, suggestion=0.0)
        check_number("random_state", self.random_state, at_least=0, whole=True, suggestion=0)

    def learn(
        self, scores: Scores | Dataset, variables: Sequence[int], *, n_jobs: int | None = None
    ) -> SampleWeights:
        """See `Weighting`; only the values of the table are used. `n_jobs` threads share a long table."""
        if self.objective != "pairwise":
            return self._learn_jointly(scores, variables)
        rng = np.random.default_rng([self.random_state, *variables])
        threads = threads_to_use(n_jobs)
        with one_blas_thread():
            features = features_of(scores, variables, threads=threads)
            return learn_weights(features, self, rng, scores.probabilities)

    @property
    def from_set(self) -> bool:
        """See `FromSetWeighting`."""
        return self.objective == "from-set"

    def learn_apart(self, scores: Scores | Dataset, variable: int, others: Sequence[int]) -> SampleWeights:
        """See `FromSetWeighting`."""
        return self._learn_jointly(scores, sorted({variable, *others}), variable)

    def _learn_jointly(
        self, scores: Scores | Dataset, variables: Sequence[int], apart: int | None = None
    ) -> SampleWeights:
        options = {"price": self.price, "min_ess": self.min_ess}
        with one_blas_thread():
            return learn_joint_weights(scores, variables, apart=apart, max_rows=self.max_rows, **options)


def decoupling_weights(
    X: Any,
    *,
    objective: ObjectiveName = HSICDescent.objective,
    apart: str | int | None = None,
    price: float = HSICDescent.price,
    learning_rate: float = HSICDescent.learning_rate,
    max_steps: int = HSICDescent.max_steps,
    min_ess: float = HSICDescent.min_ess,
    init_scale: float = HSICDescent.init_scale,
    kinds: Mapping[str, Kind] | None = None,
    sample_weight: Any = None,
    counts: Any = None,
    random_state: int | np.random.Generator | None = None,
) -> SampleWeights:
    """Sample weights under which the columns of a table are nearly independent of each other.

    Parameters are those of `HSICDescent`; `X` is any table that the estimators accept, `apart` the column, by
    name or position, that `objective="from-set"` makes independent of the others, and `kinds` gives the kinds
    of columns for which the default is wrong. `sample_weight` has the initial weight of each row, `counts`
    the number of identical observations that it stands for.

    Examples
    --------
    >>> import dcd
    >>> frame = dcd.datasets.load_sachs().frame[["Raf", "Mek", "PKA"]]
    >>> result = dcd.weights.decoupling_weights(frame[["Raf", "Mek"]])
    >>> round(float(result.weights.sum())), result.status
    (853, 'max_steps')
    >>> apart = dcd.weights.decoupling_weights(frame, objective="from-set", apart="Mek")
    >>> apart.dependence_before > 1 > apart.dependence
    True
    """
    seed = int(make_generator(random_state).integers(2**63))
    strategy = HSICDescent(learning_rate, max_steps, min_ess, init_scale, seed, objective, price)
    strategy.check()
    options = TableOptions(kinds=kinds)
    options.check()
    if strategy.from_set != (apart is not None):
        raise InputError(
            "parameter 'apart'",
            f"must name a column if and only if objective is 'from-set', got {apart!r} with {objective!r}",
            "Try objective='from-set', apart=0.",
        )

    def learn(dataset: Dataset) -> SampleWeights:
        variables = range(len(dataset.names))
        if dataset.target is None:
            return strategy.learn(dataset, variables)
        return strategy.learn_apart(dataset, dataset.names.index(dataset.target), variables)

    X, _ = repeated(X, counts, sample_weight)
    return weights_of_table(read_table(X, about=apart, options=options, sample_weight=sample_weight), learn)


def threads_to_use(n_jobs: int | None) -> int:
    """The number of threads for the blocks of a long table: by default as many as linear algebra may use."""
    return allowed_threads() if n_jobs is None else n_processes(n_jobs)


def learn_weights(
    features: Features,
    strategy: HSICDescent,
    rng: np.random.Generator | None = None,
    shares: FloatArray | None = None,
) -> SampleWeights:
    """Weights that decouple the variables behind `features`, one (n, r) array for each, or blocks.

    `shares` are the initial probabilities of the samples, equal by default.
    """
    n_samples = features.n_samples if isinstance(features, FeatureBlocks) else features[0].shape[0]
    start = np.full(n_samples, 1.0 / n_samples) if shares is None else shares
    before, dependence_before = dependence(features, start)
    probabilities, loss_path, status = start, [0.0], "nothing_to_decouple"
    if len(before) > 1:
        theta = _start(start, strategy, rng)
        step_size = strategy.learning_rate / (len(before) * (len(before) - 1))
        descent: DirectDescent | BlockDescent
        if isinstance(features, FeatureBlocks):
            descent = BlockDescent(features, theta, step_size, start)
        else:
            descent = DirectDescent(choose_objective(features), theta, step_size, start)
        probabilities, loss_path, status = descend(descent, strategy.max_steps, strategy.min_ess)
    after, dependence_after = dependence(features, probabilities)
    return SampleWeights.of(
        probabilities,
        dependence_before,
        dependence_after,
        status=status,
        loss_path=np.array(loss_path),
        hsic_before=before,
        hsic_after=after,
    )


def _start(shares: FloatArray, strategy: HSICDescent, rng: np.random.Generator | None) -> FloatArray:
    """Initial log weights: those of the shares, plus noise for a random start."""
    theta: FloatArray = np.log(shares * len(shares))
    if not strategy.init_scale or rng is None:
        return theta
    noise = strategy.init_scale * rng.standard_normal(shares.shape)
    while remaining_share(softmax(theta + noise), shares) < strategy.min_ess:
        noise = noise / 2.0
    return theta + noise


def descend(
    descent: DirectDescent | BlockDescent, max_steps: int, min_ess: float
) -> tuple[FloatArray, list[float], str]:
    """The probabilities, the loss before each step and at the end, and why it stopped.

    It stops before the effective sample size falls below the share `min_ess`.
    """
    loss_path = [descent.loss]
    for _ in range(max_steps):
        if descent.propose() < min_ess:
            return descent.probabilities, loss_path, "ess_floor"
        descent.accept()
        loss_path.append(descent.loss)
    return descent.probabilities, loss_path, "max_steps"
