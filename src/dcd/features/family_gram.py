r"""The Gram matrix of a table: all that a search over whole graphs needs to know of its rows.

A numeric variable has a line (its normal score) and a curve (polynomials of its ranks and of its normal score
beside the line); a nominal one has indicators of its categories. Variables that have a line have products, of
two lines and of three, of which two may be the same. All columns are centred, those of one variable are
orthonormal, and a product has variance 1. Products of three are Wick's,

.. math:: z_i z_j z_k - \rho_{ij} z_k - \rho_{ik} z_j - \rho_{jk} z_i ,

so that linear relations among normal variables give them no moment with a line.

The matrix is a sum over blocks of rows, which any number of threads, processes or machines can share; after
it, nothing depends on the number of rows. Of three lines, and with many variables of two, only products that
are associated with another variable are kept, by their moments on a sample of the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import combinations, permutations

import numpy as np
from scipy.special import digamma

from dcd.features.rank_scores import (
    BULK_CUBE,
    BULK_SQUARE,
    CUBE,
    LINEAR,
    SQUARE,
    Scores,
    VariableScores,
    owners,
    scores_of,
)
from dcd.runtime.array_types import FloatArray, Positions
from dcd.runtime.parallel import n_processes
from dcd.runtime.rows import SAMPLE_ROWS, effective_sample_size
from dcd.runtime.threads import one_blas_thread
from dcd.table.dataset import Dataset

Product = tuple[int, ...]  # two or three variables that have a line, in ascending order

# The curve of a numeric variable, of the columns of `rank_scores`, by falling weight in the prior: bulk,
# tails (without which the effect of a cube or an exponential is better fitted backwards), finer bulk.
_CURVE = (BULK_SQUARE, BULK_CUBE, SQUARE, CUBE, 5, 6, 7)
_FEW_LEVELS = 5  # up to so many, the levels of an ordinal variable are counted
_FEW_VARIABLES = 30  # up to so many, the products of all pairs are kept
_CLEAR = 4.5  # standard errors of a moment from which on a product is kept, with more variables
_MOST_A_VARIABLE = 3  # products kept for each variable, with more variables
# The same of products of three, which are kept up to fewer variables.
_FEW_FOR_CUBIC, _CLEAR_CUBIC, _MOST_CUBIC_A_VARIABLE = 20, 3.0, 20
_NEGLIGIBLE = 1e-9
_AT_ONCE = 500  # products whose moments are computed together
_NOT_NORMAL, _RAW_PRICE = 25.0, 15.0  # nats: of negentropy for the own scale to matter; of using it


@dataclass(frozen=True)
class FamilyGram:
    """Sums of products of the columns of all variables, over `n_samples` (effective) samples.

    Attributes
    ----------
    gram : (c, c); each column has a sum of squares of `n_samples`.
    starts : (d + 1,) where the columns of each variable start; products come after them.
    n_line : (d,) how many of its columns are its line: one, or all of them for a nominal variable.
    product : (d, d) the column of each product of two, -1 where there is none.
    cubic : (d, d, d) the column of each product of three, -1 where there is none; empty without any.
    raw : (d,) the column of each variable on its own scale, -1 where it has none.
    raw_offset : (d,) the log density of the variable on its own scale under a normal distribution, relative
        to that of its line: minus n times its negentropy.
    """

    gram: FloatArray = field(repr=False)
    starts: Positions
    n_line: Positions
    product: Positions = field(repr=False)
    cubic: Positions = field(repr=False)
    raw: Positions
    raw_offset: FloatArray
    n_samples: float


@dataclass(frozen=True)
class Categories:
    """The variables of a table that are counted rather than regressed: each combination of them once.

    Attributes
    ----------
    codes : (d, m) the level of each variable in each of the m combinations; 0 if it is not counted.
    n_levels : (d,) levels of each variable; 0 if it is not counted.
    weights : (m,) how many (effective) samples have each combination.
    """

    codes: Positions = field(repr=False)
    n_levels: Positions
    weights: FloatArray = field(repr=False)


def categories(scores: Scores) -> Categories | None:
    """The nominal variables of a table, and the ordinal ones of few levels; None if there are none."""
    counted = [v for v, variable in enumerate(scores.variables) if _is_counted(variable)]
    if not counted:
        return None
    present = np.column_stack([np.asarray(scores.variables[v].codes) for v in counted])
    distinct, row = np.unique(present, axis=0, return_inverse=True)
    codes = np.zeros((scores.n_variables, len(distinct)), dtype=np.intp)
    codes[counted] = distinct.T
    n_levels = np.zeros(scores.n_variables, dtype=np.intp)
    n_levels[counted] = distinct.max(axis=0) + 1
    weights = scores.ess * np.bincount(row.reshape(-1), weights=scores.probabilities)
    return Categories(codes, n_levels, weights.astype(np.float64))


def _is_counted(variable: VariableScores) -> bool:
    """Whether a variable has levels that are too few to be numbers."""
    if variable.codes is None:
        return False
    return variable.kind == "nominal" or int(variable.codes.max()) < _FEW_LEVELS


def family_gram(dataset: Dataset, scores: Scores | None = None, n_jobs: int | None = None) -> FamilyGram:
    """The Gram matrix of a table; `scores` are those of the table, if they are known."""
    if dataset.has_gaps:
        return _with_gaps(dataset)
    return gram_of(scores_of(dataset) if scores is None else scores, n_jobs)


def gram_of(scores: Scores, n_jobs: int | None = None) -> FamilyGram:
    """The Gram matrix of a table without missing values, from the scores of its variables."""
    columns = [(v, chosen_columns(variable)) for v, variable in enumerate(scores.variables)]
    products = _products(scores)
    by_degree = [[product for product in products if len(product) == degree] for degree in (2, 3)]
    with one_blas_thread():
        sums = _sums(scores, columns, by_degree, n_jobs)
    own = owners(columns)
    return _normalised(sums, own, products, _n_line(scores), scores.ess, _raw_offsets(scores))


def chosen_columns(variable: VariableScores) -> tuple[int, ...]:
    """The columns of a variable: line and curve, or all there are if it has few values."""
    if variable.codes is not None:
        return variable.adjusters
    curve = _CURVE if set(_CURVE) <= set(variable.adjusters) else variable.adjusters[1 : len(_CURVE) + 1]
    return (LINEAR, *curve)


def _n_line(scores: Scores) -> Positions:
    return np.array([len(v.adjusters) if v.kind == "nominal" else 1 for v in scores.variables], dtype=np.intp)


# --- products --------------------------------------------------------------------------------------------


def _products(scores: Scores) -> list[Product]:
    """The products that are kept: those of two variables, then those of three."""
    lines = [v for v, n_columns in enumerate(_n_line(scores)) if n_columns == 1]
    pairs = list(combinations(range(len(lines)), 2))
    if not pairs:
        return []
    chosen: list[Product] = [*pairs]
    if len(lines) > _FEW_VARIABLES:
        chosen = _associated(scores, lines, pairs, _CLEAR, _MOST_A_VARIABLE)
    elif len(lines) <= _FEW_FOR_CUBIC:
        triples = [(i, *pair) for pair in pairs for i in range(pair[0] + 1)] + [(i, j, j) for i, j in pairs]
        chosen += _associated(scores, lines, triples, _CLEAR_CUBIC, _MOST_CUBIC_A_VARIABLE)
    return [tuple(lines[at] for at in product) for product in chosen]


def _some_lines(scores: Scores, lines: Sequence[int]) -> tuple[FloatArray, FloatArray]:
    """The lines (m, l) and the shares (m, 1) of at most `SAMPLE_ROWS` rows, evenly spaced."""
    step = -(-scores.n_samples // SAMPLE_ROWS)
    whole = slice(0, scores.n_samples)
    some = np.column_stack([scores.variables[v].part(whole, (LINEAR,))[::step, 0] for v in lines])
    shares = scores.probabilities[::step, None]
    return some, shares / shares.sum()


def _associated(
    scores: Scores, lines: Sequence[int], products: Sequence[Product], clear: float, most_a_line: int
) -> list[Product]:
    """The products with the largest moments with a line that is not among their own."""
    z, shares = _some_lines(scores, lines)
    weighted = shares * z
    correlations, root = z.T @ weighted, np.sqrt(effective_sample_size(shares))
    largest: list[float] = []
    for start in range(0, len(products), _AT_ONCE):
        some = products[start : start + _AT_ONCE]
        columns = _product_columns(z, some) - z @ _wick_terms(correlations, some)
        columns -= (shares * columns).sum(axis=0)
        scale = np.sqrt((shares * np.square(columns)).sum(axis=0))
        moments = root * np.abs(columns.T @ weighted) / np.maximum(scale, _NEGLIGIBLE)[:, None]
        for row, product in zip(moments, some, strict=True):
            row[list(product)] = 0.0
        largest += moments.max(axis=1).tolist()
    by_moment = sorted(range(len(products)), key=lambda at: (-largest[at], products[at]))
    return sorted(products[at] for at in by_moment[: most_a_line * len(lines)] if largest[at] > clear)


def _product_columns(lines: FloatArray, products: Sequence[Product]) -> FloatArray:
    """Columns (b, m) of products, of one degree, of lines (b, l)."""
    members = np.array(products, dtype=np.intp).T
    columns = lines[:, members[0]] * lines[:, members[1]]
    return columns * lines[:, members[2]] if len(members) == 3 else columns


def _wick_terms(correlations: FloatArray, products: Sequence[Product]) -> FloatArray:
    """What is taken off products (m) of one degree, as coefficients (l, m) of the lines."""
    terms = np.zeros((len(correlations), len(products)))
    for at, product in enumerate(products):
        if len(product) == 3:
            for i, j, k in (product, product[1:] + product[:1], product[2:] + product[:2]):
                terms[i, at] += correlations[j, k]
    return terms


# --- the pass over the rows ------------------------------------------------------------------------------


def _sums(
    scores: Scores,
    columns: Sequence[tuple[int, Sequence[int]]],
    products: Sequence[Sequence[Product]],
    n_jobs: int | None,
) -> FloatArray:
    """Mean products of a constant, all columns and all products; blocks are added up in their order."""
    centre = scores.probabilities @ scores.values
    scale = np.sqrt(scores.probabilities @ np.square(scores.values - centre))

    def of_block(rows: slice) -> FloatArray:
        part = scores.part(rows, columns)
        lines = scores.part(rows, [(v, (LINEAR,)) for v in range(scores.n_variables)])
        raw = ((scores.values[rows] - centre) / scale).astype(part.dtype)
        whole = np.hstack(
            [
                np.ones((len(part), 1), part.dtype),
                part,
                *(_product_columns(lines, of_degree) for of_degree in products if of_degree),
                raw,
            ]
        )
        shares = scores.probabilities[rows, None].astype(part.dtype)
        return (whole.T @ (shares * whole)).astype(np.float64)

    with ThreadPoolExecutor(max_workers=n_processes(n_jobs)) as pool:
        return np.asarray(sum(pool.map(of_block, scores.blocks)))


def _normalised(
    sums: FloatArray,
    own: Sequence[Sequence[int]],
    products: Sequence[Product],
    n_line: Positions,
    ess: float,
    raw_offset: FloatArray,
) -> FamilyGram:
    """Centre all columns, make those of a variable orthonormal and scale products, by algebra on the sums."""
    gram = sums[1:, 1:] - np.outer(sums[0, 1:], sums[0, 1:])
    starts = np.array([block[0] for block in own] + [own[-1][-1] + 1], dtype=np.intp)
    gram = _by(_wick_transform(gram, starts, products), gram)
    transform = np.zeros_like(gram)
    for block in own:
        part = np.ix_(block, block)
        transform[part] = np.linalg.inv(np.linalg.cholesky(gram[part])).T
    rest = np.arange(starts[-1], len(gram))
    transform[rest, rest] = 1.0 / np.sqrt(np.maximum(gram[rest, rest], _NEGLIGIBLE))
    raw = np.where(np.isfinite(raw_offset), np.arange(len(own)) + len(gram) - len(own), -1)
    product, cubic = _product_positions(products, len(own), starts[-1])
    return FamilyGram(
        gram=ess * _by(transform, gram),
        starts=starts,
        n_line=n_line,
        product=product,
        cubic=cubic,
        raw=raw,
        raw_offset=raw_offset,
        n_samples=ess,
    )


def _by(transform: FloatArray, gram: FloatArray) -> FloatArray:
    return transform.T @ gram @ transform


def _wick_transform(gram: FloatArray, starts: Positions, products: Sequence[Product]) -> FloatArray:
    """The matrix that takes off products of three what Wick's have less; lines have variance 1."""
    transform = np.eye(len(gram))
    lines = starts[:-1]
    columns = starts[-1] + np.arange(len(products))
    transform[np.ix_(lines, columns)] = -_wick_terms(gram[np.ix_(lines, lines)], products)
    return transform


def _product_positions(
    products: Sequence[Product], n_variables: int, first: int
) -> tuple[Positions, Positions]:
    """The columns of products of two (d, d) and of three (d, d, d), which start at the `first`."""
    product = np.full((n_variables,) * 2, -1)
    has_cubic = any(len(members) == 3 for members in products)
    cubic = np.full((n_variables if has_cubic else 0,) * 3, -1)
    for column, members in enumerate(products, first):
        positions = product if len(members) == 2 else cubic
        for order in permutations(members):
            positions[order] = column
    return product, cubic


def _raw_offsets(scores: Scores) -> FloatArray:
    """Minus infinity where the scale of a variable tells nothing: nearly normal, or of few values."""
    negentropies = np.array(
        [
            scores.ess * negentropy(scores.values[:, v]) if variable.codes is None else np.inf
            for v, variable in enumerate(scores.variables)
        ]
    )
    return np.where(negentropies > _NOT_NORMAL, -negentropies - _RAW_PRICE, -np.inf)


def negentropy(values: FloatArray) -> float:
    """How far a sample is from normal, in nats a sample, by spacings (Vasicek 1976); infinite with ties."""
    ordered = np.sort(values)
    n_samples = len(ordered)
    reach = max(int(np.sqrt(n_samples)), 1)
    at = np.arange(n_samples)
    high, low = np.minimum(at + reach, n_samples - 1), np.maximum(at - reach, 0)
    gaps = (ordered[high] - ordered[low]) / (high - low) * n_samples
    if (gaps <= 0).any():
        return float("inf")
    entropy = np.log(gaps).mean() - np.log(2 * reach) + digamma(2 * reach)
    return float(0.5 * np.log(2 * np.pi * np.e * ordered.var()) - entropy)


# --- missing values --------------------------------------------------------------------------------------


def _with_gaps(dataset: Dataset) -> FamilyGram:
    """Every entry from the rows that have both variables; without products.

    A matrix of such means need not be that of any sample, so its negative eigenvalues are set to zero. The
    effective sample size is the mean of that of all pairs of variables.
    """
    parts = [_present_columns(dataset, v) for v in range(len(dataset.names))]
    own = owners([(v, range(block.shape[1])) for v, (block, _) in enumerate(parts)])
    together, squares = np.zeros((2, len(parts), len(parts)))
    gram = np.zeros((own[-1][-1] + 1,) * 2)
    for rows in dataset.memory.blocks(len(dataset.values), 8 * 5 * len(parts)):
        present = np.isfinite(dataset.values[rows])
        shares = dataset.probabilities[rows, None] * present
        together += present.T @ shares
        squares += present.T @ np.square(shares)
        part = np.hstack([block[rows] for block, _ in parts])
        gram += part.T @ (dataset.probabilities[rows, None].astype(part.dtype) * part)
    counts = list(map(len, own))
    gram /= np.repeat(np.repeat(np.maximum(together, 1e-12), counts, axis=0), counts, axis=1)
    values, vectors = np.linalg.eigh(gram)
    gram = (vectors * np.maximum(values, 1e-6)) @ vectors.T
    ess = float(np.mean(np.square(together) / np.maximum(squares, 1e-300)))
    sums = np.zeros((len(gram) + 1,) * 2)
    sums[1:, 1:] = gram
    n_line = np.array([line for _, line in parts], dtype=np.intp)
    return _normalised(sums, own, [], n_line, ess, np.full(len(own), -np.inf))


def _present_columns(dataset: Dataset, v: int) -> tuple[FloatArray, int]:
    """Columns (n, c) of one variable, 0 where it is missing, and how many of them are its line."""
    scores = scores_of(dataset.complete_in([v]))
    chosen = chosen_columns(scores.variables[0])
    positions = np.flatnonzero(dataset.present_in([v]))
    columns = dataset.memory.array((len(dataset.values), len(chosen)), scores.dtype)
    columns[:] = 0.0
    for rows in scores.blocks:
        columns[positions[rows]] = scores.variables[0].part(rows, chosen)
    return columns, int(_n_line(scores)[0])
