"""The columns of a table in its Gram matrix, and the pass over the rows that computes it.

A numeric variable has a line (its normal score) and a curve (polynomials of its ranks and higher ones of its
normal score); a nominal one, or an ordinal one with few levels, has indicators of its categories. (With a
line and a curve, it would have more columns to explain numbers than numbers have to explain it.) Variables
with a line also have products of two lines and of three, two of which may be the same. Products of three, and
with many variables those of two, are kept only if their moments on a sample of the rows show an association
with another variable.

The matrix is a sum over blocks of rows, which any number of threads, processes or machines can share. Once it
is computed, nothing depends on the number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import combinations

import numpy as np
from scipy.special import digamma

from dcd.features.family_gram import Categories, FamilyGram, Layout, Product, normalised, wick_terms
from dcd.features.rank_scores import (
    BULK_CUBE,
    BULK_SQUARE,
    CUBE,
    LINEAR,
    SQUARE,
    Scores,
    VariableScores,
    scores_of,
)
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.parallel import n_processes
from dcd.runtime.rows import SAMPLE_ROWS, effective_sample_size
from dcd.runtime.threads import one_blas_thread
from dcd.table.dataset import Dataset
from dcd.table.row_groups import design_effect

# The curve of a numeric variable: columns of `rank_scores` in the order of their weight in the prior: bulk,
# tails (without them the effect of a cube or an exponential fits better in reverse), finer bulk.
_CURVE = (BULK_SQUARE, BULK_CUBE, SQUARE, CUBE, 5, 6, 7)
_FEW_LEVELS = 5  # up to this many, the levels of an ordinal variable are counted
_FEW_VARIABLES = 30  # up to this many, the products of all pairs are kept
_CLEAR = 4.5  # standard errors of a moment from which a product is kept, with more variables
_MOST_A_VARIABLE = 3  # products kept for each variable, with more variables
# The same for products of three, which are kept up to fewer variables.
_FEW_FOR_CUBIC, _CLEAR_CUBIC, _MOST_CUBIC_A_VARIABLE = 20, 3.0, 20
_NEGLIGIBLE = 1e-9
_AT_ONCE = 500  # products whose moments are computed together
_NOT_NORMAL, _RAW_PRICE = 25.0, 15.0  # nats: negentropy from which the own scale matters; price of using it


class TableColumns:
    """All columns of a table without missing values, after a constant."""

    def __init__(self, scores: Scores) -> None:
        columns = tuple((v, chosen_columns(variable)) for v, variable in enumerate(scores.variables))
        self._scores = scores
        self._layout = Layout(columns, tuple(_products(scores)), _n_line(scores), _raw_offsets(scores))
        self._centre = scores.probabilities @ scores.values
        squares = (
            scores.probabilities[rows] @ np.square(scores.values[rows] - self._centre)
            for rows in scores.blocks
        )
        self._scale = np.sqrt(sum(squares))
        self.values, self.probabilities, self.blocks = scores.values, scores.probabilities, scores.blocks
        self.groups, self.n_samples, self.memory = scores.groups, scores.ess, scores.memory
        self.nominal = [v for v, variable in enumerate(scores.variables) if variable.kind == "nominal"]
        own = sum(len(chosen) for _, chosen in columns)
        self.width = 1 + own + len(self._layout.products) + len(columns)
        self.gram = partial(_gram_of_whole, layout=self._layout, n_samples=self.n_samples)

    def rows(self, rows: slice | Positions) -> FloatArray:
        """The matrix (b, c) of b rows, with the values of a column side by side in memory."""
        scores, layout = self._scores, self._layout
        lines = [variable.part(rows, (LINEAR,))[:, 0] for variable in scores.variables]
        raw = (scores.values[rows] - self._centre) / self._scale
        whole = np.empty((self.width, len(raw)), dtype=scores.dtype)
        whole[0] = 1.0
        end = 1
        for v, chosen in layout.columns:
            start, end = end, end + len(chosen)
            whole[start:end] = scores.variables[v].part(rows, chosen).T
        for column, (first, *others) in zip(whole[end:], layout.products, strict=False):
            np.multiply(lines[first], lines[others[0]], out=column)
            for other in others[1:]:
                column *= lines[other]
        whole[-raw.shape[1] :] = raw.T
        return whole.T


class GapColumns:
    """Indicators of which values are present, then all columns of the table, 0 where values are missing.

    Every entry of the Gram matrix comes from the rows that have both variables. Such a matrix need not be the
    Gram matrix of any sample, so eigenvalues are raised to at least 1e-6. The effective sample size is the
    mean over all pairs of variables, divided by the design effect of groups of rows. There are no products.
    """

    def __init__(self, dataset: Dataset) -> None:
        parts = [_present_columns(dataset, v) for v in range(len(dataset.names))]
        self._parts = [block for block, *_ in parts]
        widths = tuple((v, tuple(range(block.shape[1]))) for v, block in enumerate(self._parts))
        n_line = np.array([line for _, line, _ in parts], dtype=np.intp)
        layout = Layout(widths, (), n_line, np.full(len(parts), -np.inf))
        self.values, self.probabilities, self.memory = dataset.values, dataset.probabilities, dataset.memory
        self.nominal = [v for v, kind in enumerate(dataset.kinds) if kind == "nominal"]
        self.blocks = tuple(dataset.memory.blocks(len(dataset.values), 8 * 5 * len(parts)))
        self.width = len(parts) + sum(block.shape[1] for block in self._parts)
        self.groups, alike = dataset.groups, np.array([alike for *_, alike in parts])
        self.n_samples = self._mean_effective_size() / design_effect(alike, self.probabilities, self.groups)
        self.gram = partial(_gram_of_present, layout=layout, n_samples=self.n_samples)

    def rows(self, rows: slice | Positions) -> FloatArray:
        """The matrix (b, d + c) of b rows."""
        return np.hstack([self._present(rows), *(block[rows] for block in self._parts)])

    def _present(self, rows: slice | Positions) -> FloatArray:
        return np.isfinite(self.values[rows]).astype(self._parts[0].dtype)

    def _mean_effective_size(self) -> float:
        together, squares = np.zeros((2, len(self._parts), len(self._parts)))
        for rows in self.blocks:
            present = np.isfinite(self.values[rows])
            shares = self.probabilities[rows, None] * present
            together += present.T @ shares
            squares += present.T @ np.square(shares)
        return float(np.mean(np.square(together) / np.maximum(squares, 1e-300)))


def columns_of(dataset: Dataset, scores: Scores | None = None) -> TableColumns | GapColumns:
    """The columns of a table; `scores` are those of the table, if they are known."""
    if dataset.has_gaps:
        return GapColumns(dataset)
    return TableColumns(scores_of(dataset) if scores is None else scores)


# The Gram matrix from sums of products of columns over any rows. These are functions so that a task that
# needs the matrix does not keep the rows in memory.


def _gram_of_whole(sums: FloatArray, *, layout: Layout, n_samples: float) -> FamilyGram:
    return normalised(sums / sums[0, 0], layout, n_samples)


def _gram_of_present(sums: FloatArray, *, layout: Layout, n_samples: float) -> FamilyGram:
    counts = [len(chosen) for _, chosen in layout.columns]
    n_variables = len(counts)
    together = np.maximum(sums[:n_variables, :n_variables], 1e-12)
    means = sums[n_variables:, n_variables:] / np.repeat(np.repeat(together, counts, 0), counts, 1)
    values, vectors = np.linalg.eigh(means)
    centred = np.zeros((len(means) + 1,) * 2)
    centred[1:, 1:] = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    return normalised(centred, layout, n_samples)


def products_in(rows: slice | Positions, columns: TableColumns | GapColumns) -> FloatArray:
    """The products (c, c) of all pairs of columns, summed over some rows."""
    whole = columns.rows(rows)
    whole *= np.sqrt(columns.probabilities[rows, None]).astype(whole.dtype)
    return (whole.T @ whole).astype(np.float64)  # half the work of a product of two different matrices


def family_gram(columns: TableColumns | GapColumns, n_jobs: int | None = None) -> FamilyGram:
    """The Gram matrix of a table; blocks of rows are added up in their order."""
    with one_blas_thread(), ThreadPoolExecutor(max_workers=n_processes(n_jobs)) as pool:
        return columns.gram(np.asarray(sum(pool.map(partial(products_in, columns=columns), columns.blocks))))


def chosen_columns(variable: VariableScores) -> tuple[int, ...]:
    """The columns of a variable: line and curve, or all of them if it has few values."""
    if variable.codes is not None:
        return variable.adjusters
    curve = _CURVE if set(_CURVE) <= set(variable.adjusters) else variable.adjusters[1 : len(_CURVE) + 1]
    return (LINEAR, *curve)


def _n_line(scores: Scores) -> Positions:
    return np.array([len(v.adjusters) if _is_counted(v) else 1 for v in scores.variables], dtype=np.intp)


def categories(scores: Scores) -> Categories | None:
    """The nominal variables of a table, and the ordinal ones with few levels; None if there are none."""
    counted = [v for v, variable in enumerate(scores.variables) if _is_counted(variable)]
    if not counted:
        return None
    present = np.column_stack([np.asarray(scores.variables[v].codes) for v in counted])
    distinct, row = np.unique(present, axis=0, return_inverse=True)
    codes = np.zeros((scores.n_variables, len(distinct)), dtype=np.intp)
    codes[counted] = distinct.T
    n_levels = np.zeros(scores.n_variables, dtype=np.intp)
    n_levels[counted] = distinct.max(axis=0) + 1
    combination = row.reshape(-1)
    weights = scores.ess * np.bincount(combination, weights=scores.probabilities)
    return Categories(codes, n_levels, weights.astype(np.float64), combination)


def _is_counted(variable: VariableScores) -> bool:
    """Whether a variable has too few levels to be treated as numeric."""
    if variable.codes is None:
        return False
    return variable.kind == "nominal" or int(variable.codes.max()) < _FEW_LEVELS


# --- products --------------------------------------------------------------------------------------------


def _products(scores: Scores) -> list[Product]:
    """The products that are kept: those of two variables, then those of three numeric ones.

    Hundreds of products of categories, of which few matter, would take most of the time of a search.
    """
    lines = [v for v, n_columns in enumerate(_n_line(scores)) if n_columns == 1]
    pairs = list(combinations(range(len(lines)), 2))
    if not pairs:
        return []
    chosen: list[Product] = [*pairs]
    if len(lines) > _FEW_VARIABLES:
        chosen = _associated(scores, lines, pairs, _CLEAR, _MOST_A_VARIABLE)
    elif len(lines) <= _FEW_FOR_CUBIC:
        numbers = [at for at, v in enumerate(lines) if not _is_counted(scores.variables[v])]
        triples = [*combinations(numbers, 3), *_with_a_square(numbers)]
        chosen += _associated(scores, lines, triples, _CLEAR_CUBIC, _MOST_CUBIC_A_VARIABLE)
    return [tuple(lines[at] for at in product) for product in chosen]


def _with_a_square(lines: Sequence[int]) -> list[Product]:
    """Products of three in which one of two variables occurs twice."""
    return [product for i, j in combinations(lines, 2) for product in ((i, i, j), (i, j, j))]


def _some_lines(scores: Scores, lines: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """The lines (l, m) and the shares (m,) of at most `SAMPLE_ROWS` rows, evenly spaced."""
    step = -(-scores.n_samples // SAMPLE_ROWS)
    spaced = slice(0, scores.n_samples, step)
    some = np.stack([scores.variables[v].part(spaced, (LINEAR,))[:, 0] for v in lines])
    shares = scores.probabilities[::step]
    return some, shares / shares.sum()


def _associated(
    scores: Scores, lines: Sequence[int], products: Sequence[Product], clear: float, most_a_line: int
) -> list[Product]:
    """The products with the largest moments with a line that is not among their own."""
    z, shares = _some_lines(scores, lines)
    weighted = shares * z
    correlations, root = z @ weighted.T, np.sqrt(effective_sample_size(shares) / scores.design_effect)
    largest: list[float] = []
    for at in scores.memory.blocks(len(products), 4 * z.nbytes // len(lines), _AT_ONCE):
        some = products[at]
        columns = _product_columns(z, some)
        columns -= wick_terms(correlations, some).T @ z
        columns -= (columns @ shares)[:, None]
        moments = root * np.abs(columns @ weighted.T)
        moments /= np.maximum(np.sqrt(np.square(columns) @ shares), _NEGLIGIBLE)[:, None]
        for row, product in zip(moments, some, strict=True):
            row[list(product)] = 0.0
        largest += moments.max(axis=1).tolist()
    by_moment = sorted(range(len(products)), key=lambda at: (-largest[at], products[at]))
    return sorted(products[at] for at in by_moment[: most_a_line * len(lines)] if largest[at] > clear)


def _product_columns(lines: FloatArray, products: Sequence[Product]) -> FloatArray:
    """Products (p, m), of one degree, of lines (l, m); those of a product side by side in memory."""
    members = np.array(products, dtype=np.intp).T
    columns: FloatArray = lines[members[0]]
    for others in members[1:]:
        columns *= lines[others]
    return columns


# --- the scale of a variable -----------------------------------------------------------------------------


def _raw_offsets(scores: Scores) -> FloatArray:
    """Minus infinity if the scale of a variable is uninformative: nearly normal, or few values."""
    negentropies = np.array(
        [
            scores.ess * negentropy(scores.values[:, v]) if variable.codes is None else np.inf
            for v, variable in enumerate(scores.variables)
        ]
    )
    return np.where(negentropies > _NOT_NORMAL, -negentropies - _RAW_PRICE, -np.inf)


def negentropy(values: FloatArray) -> float:
    """How far a sample is from normal, in nats per sample, by spacings (Vasicek 1976); infinite with ties."""
    ordered = np.sort(values)
    n_samples = len(ordered)
    reach = max(int(np.sqrt(n_samples)), 1)
    at = np.arange(n_samples)
    high, low = np.minimum(at + reach, n_samples - 1), np.maximum(at - reach, 0)
    gaps = (ordered[high] - ordered[low]) / (high - low) * n_samples
    if (gaps <= 0).any():
        return float("inf")
    entropy = np.log(gaps).mean() - np.log(2 * reach) + digamma(2 * reach)
    return float(0.5 * (np.log(2 * np.pi * ordered.var()) + 1.0) - entropy)


# --- missing values --------------------------------------------------------------------------------------


def _present_columns(dataset: Dataset, v: int) -> tuple[FloatArray, int, float]:
    """Columns (n, c) of one variable, 0 where it is missing, how many are its line, and its `alike`."""
    scores = scores_of(dataset.complete_in([v]))
    chosen = chosen_columns(scores.variables[0])
    positions = np.flatnonzero(dataset.present_in([v]))
    columns = dataset.memory.array((len(dataset.values), len(chosen)), scores.dtype)
    columns[:] = 0.0
    for rows in scores.blocks:
        columns[positions[rows]] = scores.variables[0].part(rows, chosen)
    return columns, int(_n_line(scores)[0]), float(scores.alike[0]) if len(scores.alike) else 0.0
