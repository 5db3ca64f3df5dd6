r"""The Gram matrix of a table: all that a search over whole graphs needs from its rows.

Its columns are those of `gram_columns`: a line and a curve of each numeric variable, indicators of the
categories of a nominal one, products of lines. All columns are centred, those of one variable are
orthonormal, and a product has variance 1. Products of three are Wick's,

.. math:: z_i z_j z_k - \rho_{ij} z_k - \rho_{ik} z_j - \rho_{jk} z_i ,

so that linear relations among normal variables give them no moment with a line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import permutations

import numpy as np

from dcd.features.rank_scores import independent, owners
from dcd.runtime.array_types import FloatArray, Positions

Product = tuple[int, ...]  # two or three variables that have a line, in ascending order

_NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class FamilyGram:
    """Sums of products of the columns of all variables, over `n_samples` (effective) samples.

    Attributes
    ----------
    gram : (c, c); each column has a sum of squares of `n_samples`.
    starts : (d + 1,) where the columns of each variable start; products follow them.
    n_line : (d,) how many columns of each variable are its line: one, or all for a nominal variable.
    product : (d, d) the column of each product of two, -1 if there is none.
    cubic : (d, d, d) the column of each product of three, -1 if there is none; empty without any.
    raw : (d,) the column of each variable on its own scale, -1 if it has none.
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
    """The variables of a table that are counted rather than regressed, by combination of their levels.

    Attributes
    ----------
    codes : (d, m) the level of each variable in each of the m combinations; 0 if it is not counted.
    n_levels : (d,) levels of each variable; 0 if it is not counted.
    weights : (m,) how many (effective) samples have each combination.
    combination : (n,) the combination of each row.
    """

    codes: Positions = field(repr=False)
    n_levels: Positions
    weights: FloatArray = field(repr=False)
    combination: Positions = field(repr=False)


@dataclass(frozen=True)
class Layout:
    """The columns of the Gram matrix of a table: those of variables, then products, then own scales.

    Attributes
    ----------
    columns : for each variable, its columns in `rank_scores`.
    products : the products that are kept, those of two variables first.
    n_line, raw_offset : see `FamilyGram`.
    """

    columns: tuple[tuple[int, tuple[int, ...]], ...]
    products: tuple[Product, ...]
    n_line: Positions
    raw_offset: FloatArray


def normalised(sums: FloatArray, layout: Layout, n_samples: float) -> FamilyGram:
    """The Gram matrix from the mean products of a constant and all columns.

    Columns are centred, those of a variable made orthonormal, and products scaled, by algebra on the sums.
    """
    own, raw_offset = owners(layout.columns), layout.raw_offset
    gram = sums[1:, 1:] - np.outer(sums[0, 1:], sums[0, 1:])
    starts = np.array([block[0] for block in own] + [own[-1][-1] + 1], dtype=np.intp)
    _take_wick_terms(gram, starts, layout.products)
    for block in own:
        columns = slice(block[0], block[-1] + 1)
        transform = _orthonormal(gram[columns, columns])
        gram[columns] = transform @ gram[columns]
        gram[:, columns] = gram[:, columns] @ transform.T
    scale = np.ones(len(gram))
    scale[starts[-1] :] = 1.0 / np.sqrt(np.maximum(np.diag(gram)[starts[-1] :], _NEGLIGIBLE))
    gram *= n_samples * np.outer(scale, scale)
    raw = np.where(np.isfinite(raw_offset), np.arange(len(own)) + len(gram) - len(own), -1)
    product, cubic = _product_positions(layout.products, len(own), starts[-1])
    return FamilyGram(
        gram=gram,
        starts=starts,
        n_line=layout.n_line,
        product=product,
        cubic=cubic,
        raw=raw,
        raw_offset=raw_offset,
        n_samples=n_samples,
    )


def _orthonormal(gram: FloatArray) -> FloatArray:
    """The matrix that makes columns orthonormal; columns that depend on earlier ones become zero.

    Columns that are independent over all rows may depend on each other in a subsample.
    """
    kept = independent(gram, _NEGLIGIBLE)
    transform = np.zeros_like(gram)
    transform[np.ix_(kept, kept)] = np.linalg.inv(np.linalg.cholesky(gram[np.ix_(kept, kept)]))
    return transform


def _take_wick_terms(gram: FloatArray, starts: Positions, products: Sequence[Product]) -> None:
    """Subtract, in place, the terms that make products of three Wick products; lines have variance 1."""
    lines, columns = starts[:-1], slice(starts[-1], starts[-1] + len(products))
    if not any(len(product) == 3 for product in products):
        return
    terms = wick_terms(gram[np.ix_(lines, lines)], products)
    gram[columns] -= terms.T @ gram[lines]
    gram[:, columns] -= gram[:, lines] @ terms


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


def wick_terms(correlations: FloatArray, products: Sequence[Product]) -> FloatArray:
    """The terms subtracted from products (m) of one degree, as coefficients (l, m) of the lines."""
    terms = np.zeros((len(correlations), len(products)))
    for at, product in enumerate(products):
        if len(product) == 3:
            for i, j, k in (product, product[1:] + product[:1], product[2:] + product[:2]):
                terms[i, at] += correlations[j, k]
    return terms
