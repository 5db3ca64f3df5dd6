r"""A few smooth functions of the ranks of a variable, the features of the robust test.

With ranks :math:`r_k` and :math:`u_k = (r_k - 1/2) / n`, the columns of a variable are, in this order,

* its normal scores :math:`z = \Phi^{-1}(u)`: linear relations, as efficient as Pearson on Gaussian data;
* the Hermite polynomials :math:`z^2 - 1` and :math:`z^3 - 3z`: the tails;
* the Legendre polynomials of :math:`2u - 1` from degree 2 on: the bulk.

Ranks make the columns independent of the units and of the marginal distribution of a variable. A nominal
variable has no ranks; its columns are indicators of its categories. Every column has mean 0 and variance 1;
columns that ties make linearly dependent (a binary variable has one function of its ranks, not twenty) are
not among `adjusters`.

Only z and u of each variable are kept. Its columns are computed from them on request, a block of rows at a
time, unless all columns together are small. With many rows both are in single precision: an error of 1e-7,
far below 1 / sqrt(n).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.memory import BLOCK_ROWS, Memory
from dcd.runtime.rows import MANY_ROWS, BlockMatrix, Part, effective_sample_size
from dcd.table.columns import Kind, merge_rare
from dcd.table.dataset import Dataset
from dcd.table.row_groups import design_effect, intraclass_correlation

LINEAR, SQUARE, CUBE, BULK_SQUARE, BULK_CUBE = range(5)
_N_HERMITE = 3
N_TESTED, _MOST = 8, 20
_DEPENDENT = 1e-8  # share of its variance that a column must have beyond the columns before it
_KEPT_BYTES = 2**28  # of all columns, up to which they are kept rather than recomputed

Codes = npt.NDArray[np.intp]
MakeColumns = Callable[[slice | Positions, int], FloatArray]


@dataclass(frozen=True)
class VariableScores:
    """Columns of one variable.

    Attributes
    ----------
    kind : of the variable.
    adjusters : its linearly independent columns.
    codes : if it has few values, the value of each sample.
    make : a function that computes some rows of its first columns, before they are standardised.
    mean, scale : (k,) of these columns; a column that ties make constant has an infinite scale.
    kept : (n, k) all columns, if they are kept.
    """

    kind: Kind
    adjusters: tuple[int, ...]
    codes: Codes | None = field(repr=False)
    make: MakeColumns = field(repr=False)
    mean: FloatArray = field(repr=False)
    scale: FloatArray = field(repr=False)
    kept: FloatArray | None = field(repr=False, default=None)

    def part(self, rows: slice | Positions, columns: Sequence[int]) -> FloatArray:
        """Some rows of some columns, mean 0 and variance 1 over all rows."""
        chosen = list(columns)
        if self.kept is not None:
            return self.kept[rows][:, chosen]
        made = self.make(rows, max(chosen, default=-1) + 1)[:, chosen]
        return (made - self.mean[chosen].astype(made.dtype)) / self.scale[chosen].astype(made.dtype)


@dataclass(frozen=True)
class Scores:
    """Columns of all variables.

    Attributes
    ----------
    values : (n, d) the table itself.
    variables : the columns of each variable.
    probabilities : (n,) the share of each sample in all means.
    blocks : the rows, in blocks that are processed one after another.
    dtype : precision of the columns: single if there are many rows.
    memory : allocates large arrays, within the memory limit.
    shown : see `Dataset.shown_positions`.
    groups : (n,) the group of each sample, numbered from 0; None without groups.
    alike : (d,) the intraclass correlation of each variable in these groups.
    """

    values: FloatArray = field(repr=False)
    variables: tuple[VariableScores, ...]
    probabilities: FloatArray = field(repr=False)
    blocks: tuple[slice, ...] = field(repr=False)
    dtype: np.dtype[Any] = field(repr=False)
    memory: Memory = field(default_factory=Memory, repr=False)
    shown: Positions = field(default_factory=lambda: np.empty(0, dtype=np.intp), repr=False)
    groups: Positions | None = field(default=None, repr=False)
    alike: FloatArray = field(default_factory=lambda: np.empty(0), repr=False)

    @property
    def n_variables(self) -> int:
        """Number of variables, d."""
        return len(self.variables)

    @property
    def n_samples(self) -> int:
        """Number of samples, n."""
        return len(self.probabilities)

    @property
    def ess(self) -> float:
        """Effective sample size: n, unless samples have weights or belong to groups."""
        return effective_sample_size(self.probabilities) / self.design_effect

    @cached_property
    def design_effect(self) -> float:
        """How many samples of the table carry as much information as one independent sample."""
        return design_effect(self.alike, self.probabilities, self.groups)

    @property
    def surveyed(self) -> bool:
        """Whether samples have weights."""
        return bool(np.ptp(self.probabilities) > 1e-12 * self.probabilities.max())

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """The kinds of the variables."""
        return tuple(variable.kind for variable in self.variables)

    def part(self, rows: slice, columns: Sequence[tuple[int, Sequence[int]]]) -> FloatArray:
        """Some rows (b, c) of chosen columns of chosen variables, side by side."""
        if not columns:
            return np.empty((rows.stop - rows.start, 0), dtype=self.dtype)
        return np.hstack([self.variables[variable].part(rows, chosen) for variable, chosen in columns])

    def matrix(self, make: Part, n_columns: int) -> BlockMatrix:
        """A matrix of as many rows as there are samples."""
        return BlockMatrix(make, n_columns, self.n_samples * n_columns * self.dtype.itemsize, self.memory)

    def weighted(self, probabilities: FloatArray) -> Iterator[tuple[slice, FloatArray]]:
        """Every block of rows with its shares, (b, 1)."""
        for rows in self.blocks:
            yield rows, probabilities[rows, None].astype(self.dtype)


def owners(columns: Sequence[tuple[int, Sequence[int]]]) -> list[list[int]]:
    """For each variable, the positions of its columns when all are side by side."""
    ends = np.cumsum([0, *(len(chosen) for _, chosen in columns)])
    return [list(range(start, stop)) for start, stop in pairwise(ends)]


def make_scores(values: FloatArray) -> Scores:
    """Scores of measurements (n, d), with as many columns for each as n allows."""
    return _scores(values, ("continuous",) * values.shape[1], None, Memory())


def scores_of(dataset: Dataset) -> Scores:
    """Scores of a table without missing values, by the kinds of its variables and the weights of its rows."""
    shares = dataset.probabilities if dataset.surveyed else None
    scores = _scores(dataset.values, dataset.kinds, shares, dataset.memory)
    groups = dataset.groups
    alike = np.array([] if groups is None else [_alike(scores, v, groups) for v in range(scores.n_variables)])
    return replace(scores, shown=dataset.shown_positions, groups=groups, alike=alike)


def _alike(scores: Scores, v: int, groups: Positions) -> float:
    """The intraclass correlation of a variable: of its normal score, or the mean over its categories."""
    variable = scores.variables[v]
    line = variable.adjusters if variable.kind == "nominal" else (LINEAR,)
    parts = (
        (rows, shares, variable.part(rows, line)) for rows, shares in scores.weighted(scores.probabilities)
    )
    return intraclass_correlation(parts, groups, len(line))


def _scores(values: FloatArray, kinds: tuple[Kind, ...], shares: FloatArray | None, memory: Memory) -> Scores:
    n_samples, n_variables = values.shape
    probabilities = np.full(n_samples, 1.0 / n_samples) if shares is None else shares
    blocks = _row_blocks(n_samples, n_variables, memory)
    size = 8 * n_samples * n_variables * default_n_columns(n_samples)
    keep = size <= _KEPT_BYTES and n_samples <= MANY_ROWS and memory.fits(size)
    dtype = np.dtype(np.float32 if n_samples > MANY_ROWS else np.float64)
    store = memory.array((n_samples, 2 * n_variables), dtype)
    variables = []
    for v, kind in enumerate(kinds):
        codes = _few_values(values[:, v], kind)
        scores = store[:, 2 * v : 2 * v + 2]
        if codes is None or kind != "nominal":
            scores[:] = normal_scores(values[:, v], shares)
        made = _variable(scores, kind, codes, probabilities, blocks)
        variables.append(_with_columns_kept(made) if keep else made)
    return Scores(values, tuple(variables), probabilities, blocks, dtype, memory)


def _row_blocks(n_samples: int, n_variables: int, memory: Memory) -> tuple[slice, ...]:
    """All rows at once if they are few, otherwise blocks; a memory limit has no effect unless exceeded."""
    most = n_samples if n_samples <= MANY_ROWS else BLOCK_ROWS
    # A test holds the columns that are adjusted for, and a few copies of those of all variables.
    return tuple(memory.blocks(n_samples, 8 * (4 * _MOST + 8 * n_variables), most))


def normal_scores(values: FloatArray, shares: FloatArray | None = None) -> FloatArray:
    """The scores z and u (n, 2) of one variable; equal values share the mean of their ranks.

    u is the share of the samples below plus half the share of those that are equal; `shares` (n,) are equal
    by default.
    """
    n_samples = len(values)
    order = np.argsort(values)
    ordered = values[order]
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    ends = np.append(starts[1:], n_samples)
    if shares is None:
        middles = 0.5 * (starts + ends) / n_samples
    else:
        below = np.concatenate([[0.0], np.cumsum(shares[order])])
        middles = 0.5 * (below[starts] + below[ends]) / below[-1]
    scores = np.empty((n_samples, 2), order="F")
    counts = ends - starts
    scores[order, 0], scores[order, 1] = np.repeat(ndtri(middles), counts), np.repeat(middles, counts)
    return scores


def _variable(
    scores: FloatArray, kind: Kind, codes: Codes | None, probabilities: FloatArray, blocks: Sequence[slice]
) -> VariableScores:
    make: SmoothColumns | CodeColumns = SmoothColumns(scores)
    width = default_n_columns(len(scores))
    if codes is not None:
        linear = scores[:, 0] if kind == "ordinal" else None
        shown = _shown(codes)
        make = CodeColumns(codes, shown, linear, scores.dtype)
        width = len(shown) + (linear is not None)
    mean, scale, gram = _moments(make, width, probabilities, blocks)
    return VariableScores(kind, tuple(independent(gram, _DEPENDENT)), codes, make, mean, scale)


def _with_columns_kept(variable: VariableScores) -> VariableScores:
    made = variable.make(slice(None), len(variable.mean))
    return replace(variable, kept=np.ascontiguousarray((made - variable.mean) / variable.scale))


def _moments(
    make: MakeColumns, width: int, probabilities: FloatArray, blocks: Sequence[slice]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Means and scales of columns, and the Gram matrix of the standardised ones, all in double precision."""
    mean = np.zeros(width)
    for rows in blocks:
        mean += probabilities[rows] @ make(rows, width).astype(np.float64)
    products = np.zeros((width, width))
    for rows in blocks:
        made = make(rows, width)
        centred = made.astype(np.float64) - mean
        products += centred.T @ (probabilities[rows, None] * centred)
    scale = np.sqrt(np.diag(products))
    scale = np.where(scale > (1e-6 if made.dtype == np.float32 else 1e-8), scale, np.inf)
    return mean, scale, products / np.outer(scale, scale)


def default_n_columns(n_samples: int) -> int:
    """The square root of n, between 8 and 20."""
    return int(np.clip(np.sqrt(n_samples), N_TESTED, _MOST))


@dataclass(frozen=True)
class SmoothColumns:
    """Functions of z and u, `scores` (n, 2), of theoretical variance 1."""

    scores: FloatArray

    def __call__(self, rows: slice | Positions, n_columns: int) -> FloatArray:
        """Some rows of the first columns."""
        z, u = self.scores[rows, 0], self.scores[rows, 1]
        root_2, root_6 = np.sqrt(np.array([2.0, 6.0], dtype=z.dtype))
        columns = np.empty((n_columns, len(z)), dtype=z.dtype)
        hermite = (z, (z * z - 1) / root_2, (z * z - 3) * z / root_6)
        for index, column in enumerate(hermite[:n_columns]):
            columns[index] = column
        x = 2 * u - 1
        before, last = np.ones_like(x), x
        for index in range(_N_HERMITE, n_columns):
            degree = index - _N_HERMITE + 2
            before, last = last, ((2 * degree - 1) * x * last - (degree - 1) * before) / degree
            np.multiply(last, np.sqrt(2.0 * degree + 1.0, dtype=z.dtype), out=columns[index])
        return columns.T


@dataclass(frozen=True)
class CodeColumns:
    """Indicators of all values but one of a variable with few values, after a `linear` column if ordinal."""

    codes: Codes
    shown: Codes
    linear: FloatArray | None
    dtype: npt.DTypeLike

    def __call__(self, rows: slice | Positions, n_columns: int) -> FloatArray:
        """Some rows of the first columns."""
        first = [] if self.linear is None else [self.linear[rows, None]]
        indicators = (self.codes[rows, None] == self.shown).astype(self.dtype)
        return np.hstack([*first, indicators])[:, :n_columns]


def _few_values(column: FloatArray, kind: Kind) -> Codes | None:
    """The value of each sample, if the variable has few values."""
    if kind == "continuous":
        return None
    if kind == "nominal":
        return merge_rare(column)
    codes: Codes = np.unique(column, return_inverse=True)[1].reshape(-1)
    return codes if codes.max() < _MOST else None


def _shown(codes: Codes) -> Codes:
    """Every value but the most frequent, in order of decreasing frequency.

    The order depends on the samples alone, not on the names of values. Of two values, the second is used, so
    that the sign of an association is that of the values.
    """
    by_count = by_frequency(codes)
    shown: Codes = np.sort(by_count)[1:] if len(by_count) == 2 else by_count[1:]
    return shown


def by_frequency(codes: Codes) -> Codes:
    """The values in order of decreasing frequency; equally frequent ones by first appearance."""
    values, first, counts = np.unique(codes, return_index=True, return_counts=True)
    ordered: Codes = values[np.lexsort((first, -counts))]
    return ordered


def independent(gram: FloatArray, smallest: float) -> list[int]:
    """Columns that are linearly independent of those before them, from their Gram matrix.

    Cholesky's method: the residual variance of each column has to be more than `smallest`.
    """
    residual = gram.copy()
    kept = []
    for column in range(len(gram)):
        if residual[column, column] > smallest:
            kept.append(column)
            row = residual[column, column + 1 :] / np.sqrt(residual[column, column])
            residual[column + 1 :, column + 1 :] -= row[:, None] * row
    return kept
