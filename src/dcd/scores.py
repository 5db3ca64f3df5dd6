r"""One variable to a few smooth functions of its ranks, the features of the robust test.

With ranks :math:`r_k` and :math:`u_k = (r_k - 1/2) / n`, the columns of a variable are, in this order,

* its normal scores :math:`z = \Phi^{-1}(u)`: straight lines, as efficient as Pearson on Gaussian data;
* the Hermite polynomials :math:`z^2 - 1` and :math:`z^3 - 3z`: what happens in the tails;
* the Legendre polynomials of :math:`2u - 1` from degree 2 on: what happens in the bulk.

Ranks make the columns free of the units and of the marginal distribution of a variable. A nominal variable
has no ranks; its columns tell which category a sample is in. Every column has mean 0 and variance 1; columns
that ties make superfluous (a binary variable has one function of its ranks, not twenty) are left out of
`adjusters`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from numpy.polynomial import hermite_e, legendre
from scipy.special import ndtri
from scipy.stats import rankdata

from dcd.arrays import FloatArray
from dcd.columns import Kind, merge_rare
from dcd.data import Dataset

LINEAR, SQUARE, CUBE, BULK_SQUARE, BULK_CUBE = range(5)
_N_HERMITE = 3
N_TESTED, _MOST = 5, 20
_DEPENDENT = 1e-8  # share of its variance that a column must have beyond the columns before it

Codes = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Scores:
    """Columns of all variables.

    Attributes
    ----------
    columns : (n, d, k) array, mean 0 and variance 1 along n; a column that ties make constant is 0.
    gram : (d k, d k) array of the means of products of columns.
    adjusters : for each variable its linearly independent columns.
    kinds : of the variables.
    codes : for each variable of few values, which one each sample has; None for the others.
    probabilities : (n,) the share of each sample in all means.
    ess : effective sample size: n, unless samples have weights of their own or values are missing.
    """

    columns: FloatArray = field(repr=False)
    gram: FloatArray = field(repr=False)
    adjusters: tuple[tuple[int, ...], ...] = field(repr=False)
    kinds: tuple[Kind, ...]
    codes: tuple[Codes | None, ...] = field(repr=False)
    probabilities: FloatArray = field(repr=False)
    ess: float

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return self.columns.shape[1]

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return self.columns.shape[0]

    @property
    def surveyed(self) -> bool:
        """Whether samples have weights of their own."""
        return bool(np.ptp(self.probabilities) > 1e-12 * self.probabilities.max())

    @property
    def flat(self) -> FloatArray:
        """All columns side by side, (n, d k), in the order of the rows of `gram`."""
        return self.columns.reshape(self.n_samples, -1)

    def positions(self, variables: Sequence[int], columns: Sequence[int]) -> list[int]:
        """Rows of `gram` that hold the given columns of the given variables, variable by variable."""
        width = self.columns.shape[2]
        return [variable * width + column for variable in variables for column in columns]

    def block(self, variable: int, smooth: Sequence[int]) -> tuple[int, ...]:
        """Columns that stand for a variable: the `smooth` ones, or all there are if it has few values."""
        return tuple(smooth) if self.codes[variable] is None else self.adjusters[variable]


def make_scores(values: FloatArray) -> Scores:
    """Scores of measurements (n, d), as many of each as n affords."""
    n_samples, n_variables = values.shape
    return _scores(values, ("continuous",) * n_variables, np.full(n_samples, 1.0 / n_samples))


def scores_of(dataset: Dataset) -> Scores:
    """Scores of a table without gaps, by the kinds of its variables and the weights of its rows."""
    return _scores(dataset.values, dataset.kinds, dataset.probabilities)


def _scores(values: FloatArray, kinds: tuple[Kind, ...], probabilities: FloatArray) -> Scores:
    codes = [_few_values(column, kind) for column, kind in zip(values.T, kinds, strict=True)]
    n_smooth = default_n_columns(len(values))
    width = max([n_smooth, *(int(code.max()) + 1 for code in codes if code is not None)])
    columns = np.zeros((*values.shape, width))
    columns[:, :, :n_smooth] = score_columns(values, n_smooth)
    for variable, (kind, code) in enumerate(zip(kinds, codes, strict=True)):
        if code is not None:
            first = 0 if kind == "nominal" else 1  # an ordinal variable has a line, then any function
            columns[:, variable, first:] = _indicators(code, width - first)
    columns = standardised(columns, probabilities)
    flat = columns.reshape(len(values), -1)
    return Scores(
        columns=columns,
        gram=flat.T @ (probabilities[:, None] * flat),
        adjusters=tuple(tuple(_independent(columns[:, variable])) for variable in range(values.shape[1])),
        kinds=kinds,
        codes=tuple(codes),
        probabilities=probabilities,
        ess=float(1.0 / (probabilities @ probabilities)),
    )


def scores_with_gaps(dataset: Dataset) -> Scores:
    """Scores of a table with missing values: each mean is over the samples that have what it needs.

    The Gram matrix of such means need not be one of any sample, so its negative eigenvalues are set to zero.
    The columns are 0 where missing; the effective sample size is the mean of that of all pairs of variables.
    """
    singles = [scores_of(dataset.complete_in([v])) for v in range(len(dataset.names))]
    present = ~np.isnan(dataset.values)
    n_samples, n_variables = present.shape
    width = max(single.columns.shape[2] for single in singles)
    columns = np.zeros((n_samples, n_variables, width))
    codes: list[Codes | None] = []
    for v, single in enumerate(singles):
        columns[present[:, v], v, : single.columns.shape[2]] = single.columns[:, 0]
        code = single.codes[0]
        codes.append(None if code is None else np.zeros(n_samples, dtype=np.intp))
        if code is not None:
            codes[-1][present[:, v]] = code  # type: ignore[index]
    shares = dataset.probabilities[:, None] * present
    together = present.T @ shares
    products = columns.reshape(n_samples, -1)
    gram = products.T @ (dataset.probabilities[:, None] * products)
    gram /= np.kron(np.maximum(together, 1e-12), np.ones((width, width)))
    values, vectors = np.linalg.eigh(gram)
    squares = present.T @ np.square(shares)
    return Scores(
        columns=columns,
        gram=(vectors * np.maximum(values, 0.0)) @ vectors.T,
        adjusters=tuple(single.adjusters[0] for single in singles),
        kinds=dataset.kinds,
        codes=tuple(codes),
        probabilities=dataset.probabilities,
        ess=float(np.mean(np.square(together) / np.maximum(squares, 1e-300))),
    )


def default_n_columns(n_samples: int) -> int:
    """The square root of n, between 5 and 20."""
    return int(np.clip(np.sqrt(n_samples), N_TESTED, _MOST))


def score_columns(values: FloatArray, n_columns: int = N_TESTED) -> FloatArray:
    """The first columns of every variable, shape (n, d, n_columns)."""
    u = (rankdata(values, axis=0) - 0.5) / len(values)
    z = ndtri(u)
    hermite = [hermite_e.hermeval(z, _unit(degree)) for degree in range(1, _N_HERMITE + 1)]
    degrees = range(2, n_columns - _N_HERMITE + 2)
    polynomials = [legendre.legval(2.0 * u - 1.0, _unit(degree)) for degree in degrees]
    columns = np.stack([*hermite, *polynomials], axis=2)
    return standardised(columns, np.full(len(values), 1.0 / len(values)))


def standardised(columns: FloatArray, probabilities: FloatArray) -> FloatArray:
    """Columns (n, ...) with mean 0 and variance 1; what does not vary becomes 0."""
    columns = columns - np.tensordot(probabilities, columns, axes=1)
    scale = np.sqrt(np.tensordot(probabilities, np.square(columns), axes=1))
    return columns / np.where(scale > 1e-8, scale, np.inf)


def _unit(degree: int) -> list[float]:
    return [0.0] * degree + [1.0]


def _few_values(column: FloatArray, kind: Kind) -> Codes | None:
    """Which value each sample has, if the variable is one of few values."""
    if kind == "continuous":
        return None
    if kind == "nominal":
        return merge_rare(column)
    codes: Codes = np.unique(column, return_inverse=True)[1].reshape(-1)
    return codes if codes.max() < _MOST else None


def _indicators(codes: Codes, n_columns: int) -> FloatArray:
    """(n, n_columns): one column for every value but the most frequent, the frequent first; then zeros.

    The order depends on the samples alone, not on how values are called. Of two values, the second is shown,
    so that the sign of an association is that of the values.
    """
    values, first, counts = np.unique(codes, return_index=True, return_counts=True)
    by_count = values[np.lexsort((first, -counts))]
    shown = values[1:] if len(values) == 2 else by_count[1:]
    columns = np.zeros((len(codes), n_columns))
    columns[:, : len(shown)] = codes[:, None] == shown
    return columns


def _independent(columns: FloatArray) -> list[int]:
    """Columns that those before them do not make superfluous."""
    triangle = np.linalg.qr(columns, mode="r")
    return np.flatnonzero(np.square(np.diag(triangle)) > _DEPENDENT * len(columns)).tolist()
