r"""The score of a family: the log evidence of a variable given its parents, from a Gram matrix alone.

The child's columns y (its line, or the indicators of its categories) are Gaussian given a regression on
columns of its parents, whose coefficients have independent Gaussian priors relative to the noise. With
:math:`A = I + \Lambda G \Lambda = L L^\top`, :math:`W = L^{-1} \Lambda G_{\cdot y}` and r columns y,

.. math:: \ell = -\tfrac n2 \log |I - W^\top W / n| - r \log |L| ,

relative to no parents. A parent enters as a line or as a curve; the products of two of the parents' lines, or
those of two and of three, enter together or not at all, whichever has most evidence. A numeric child may also
be regressed on its own scale with normal noise: then its evidence includes that its marginal distribution is
not normal. The scales of the prior belong to the child and are chosen by evidence too. Each parent has a
price (`edge_price`), and each beyond the first a further one (`collider_price`).

A child of few levels is counted: its evidence given parents of few levels is BDeu, that of the counts under
Dirichlet priors. Other parents add what they add to the evidence of the regression.

This module is compiled by Numba; import it where it is used. A family is in arrays: `parents[:m]`,
`curved[:m]` (whether each enters as a curve) and `crossed` (0 without products, 1 with those of two, 2 with
those of two and of three).
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
from numba import njit

from dcd.runtime.array_types import BoolArray, FloatArray, Positions

ABSENT = 1e7  # price of a required parent that a family lacks
UNWANTED = 1e5  # price of an unwanted pair of parents
_MOST_CONFIGURATIONS = 1_000_000  # of the parents of a category


class ScoreModel(NamedTuple):
    """What families are scored by; arrays, as compiled code takes them.

    Attributes
    ----------
    gram, n_samples, starts, n_line, raw, raw_offset, product, cubic : see `FamilyGram`.
    sd_line, sd_curve : (d,) prior standard deviations of coefficients in the family of each child.
    may_curve, may_cross : (d,) whether curves are tried in the family of each child, and which products.
    allowed, required : (d, d) `[u, v]`: whether u may, must be a parent of v.
    any_required : whether there are required parents at all.
    pairs : (d, q, 2) pairs of parents to try together, for their product; -1 where there are fewer.
    promising : (p, d) whether each product may matter for each child.
    unwanted : (d, u, 2) pairs that may not both be parents of a child; -1 where there are fewer.
    edge_price, collider_price : of each parent; of each parent beyond the first.
    codes, n_levels, weights : see `Categories`.
    """

    gram: FloatArray
    n_samples: float
    starts: Positions
    n_line: Positions
    raw: Positions
    raw_offset: FloatArray
    product: Positions
    cubic: Positions
    sd_line: FloatArray
    sd_curve: FloatArray
    may_curve: BoolArray
    may_cross: Positions
    allowed: BoolArray
    required: BoolArray
    any_required: bool
    pairs: Positions
    promising: BoolArray
    unwanted: Positions
    edge_price: float
    collider_price: float
    codes: Positions
    n_levels: Positions
    weights: FloatArray


DECAY = 0.7**0.5  # of the prior standard deviation from one column of a curve to the next


# Sums may be reordered, which lets the compiler use vector instructions.
@njit(cache=True, fastmath={"reassoc", "contract"})
def append(model, child, column, sd, factor, solved, scales, columns, size):  # type: ignore[no-untyped-def]
    """Take one more column into the regression; the new number of columns."""
    gram = model.gram
    scales[size], columns[size] = sd, column
    total = 1.0
    for j in range(size + 1):
        value = sd * scales[j] * gram[column, columns[j]]
        for t in range(j):
            value -= factor[size, t] * factor[j, t]
        if j < size:
            factor[size, j] = value / factor[j, j]
        else:
            total += value
    diagonal = np.sqrt(total)
    factor[size, size] = diagonal
    first = model.starts[child]
    for r in range(solved.shape[1]):
        value = sd * gram[column, model.raw[child] if r == model.n_line[child] else first + r]
        for t in range(size):
            value -= factor[size, t] * solved[t, r]
        solved[size, r] = value / diagonal
    return size + 1


@njit(cache=True)
def evidence(model, child, factor, solved, size):  # type: ignore[no-untyped-def]
    """The log evidence of a regression on the columns taken in so far."""
    n_responses = model.n_line[child]
    log_factor = 0.0
    for t in range(size):
        log_factor += np.log(factor[t, t])
    left = np.eye(n_responses)
    for t in range(size):
        for a in range(n_responses):
            for b in range(a + 1):
                left[a, b] -= solved[t, a] * solved[t, b] / model.n_samples
    log_left = 0.0
    for a in range(n_responses):
        for b in range(a + 1):
            for t in range(b):
                left[a, b] -= left[a, t] * left[b, t]
            if b < a:
                left[a, b] /= left[b, b]
        left[a, a] = np.sqrt(max(left[a, a], 1e-12))
        log_left += np.log(left[a, a])
    best = -model.n_samples * log_left - n_responses * log_factor
    if model.raw[child] >= 0 and size > 0:
        explained = 0.0
        for t in range(size):
            explained += solved[t, n_responses] ** 2
        left_raw = max(1.0 - explained / model.n_samples, 1e-12)
        best = max(best, -0.5 * model.n_samples * np.log(left_raw) - log_factor + model.raw_offset[child])
    return best


@njit(cache=True)
def append_parent(model, child, parent, start, stop, work, size):  # type: ignore[no-untyped-def]
    """Take in some columns of a parent, the first of which is the line."""
    factor, solved, scales, columns = work
    for index in range(start, stop):
        sd = model.sd_line[child]
        if index >= model.n_line[parent]:
            sd = model.sd_curve[child] * DECAY ** (index - model.n_line[parent])
        column = model.starts[parent] + index
        size = append(model, child, column, sd, factor, solved, scales, columns, size)
    return size


@njit(cache=True)
def append_product(model, child, column, sd, work, size):  # type: ignore[no-untyped-def]
    """Take in a product, if it is there and may matter."""
    if column < 0 or not model.promising[column - model.starts[-1], child]:
        return size
    factor, solved, scales, columns = work
    return append(model, child, column, sd, factor, solved, scales, columns, size)


@njit(cache=True)
def append_products(model, child, parents, first, n_parents, crossed, work, size):  # type: ignore[no-untyped-def]
    """Take in the products of the parents from the `first` on with all before them."""
    sd, sd_cubic = model.sd_curve[child], model.sd_curve[child] * DECAY**2
    for a in range(first, n_parents):
        for b in range(a):
            i, j = parents[a], parents[b]
            size = append_product(model, child, model.product[i, j], sd, work, size)
            if crossed == 2:
                size = append_product(model, child, model.cubic[i, i, j], sd_cubic, work, size)
                size = append_product(model, child, model.cubic[i, j, j], sd_cubic, work, size)
                for c in range(b):
                    column = model.cubic[i, j, parents[c]]
                    size = append_product(model, child, column, sd_cubic, work, size)
    return size


@njit(cache=True)
def workspace(model, child, n_parents, crossed):  # type: ignore[no-untyped-def]
    """Arrays for the regression on so many parents."""
    widest = 1
    for v in range(model.n_line.size):
        widest = max(widest, model.starts[v + 1] - model.starts[v])
    most = n_parents * widest + 1
    if crossed >= 1:
        most += n_parents * (n_parents - 1) // 2
    if crossed == 2:
        most += n_parents * (n_parents - 1) * (n_parents + 4) // 6
    return (
        np.empty((most, most)),
        np.empty((most, model.n_line[child] + (model.raw[child] >= 0))),
        np.empty(most),
        np.empty(most, np.int64),
    )


@njit(cache=True)
def n_columns(model, parent, curved):  # type: ignore[no-untyped-def]
    """How many columns of a parent enter."""
    return model.starts[parent + 1] - model.starts[parent] if curved else model.n_line[parent]


@njit(cache=True)
def regression(model, child, parents, curved, n_parents, crossed, work):  # type: ignore[no-untyped-def]
    """Take in all columns of a family; their number."""
    size = np.int64(0)  # a literal 0 would have its own compiled version, as everywhere below
    for at in range(n_parents):
        size = append_parent(
            model, child, parents[at], np.int64(0), n_columns(model, parents[at], curved[at]), work, size
        )
    if crossed:
        size = append_products(model, child, parents, np.int64(1), n_parents, crossed, work, size)
    return size


@njit(cache=True)
def prices(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The prior of a family, as what is taken off its evidence."""
    price = n_parents * model.edge_price + max(n_parents - 1, 0) * model.collider_price
    # Dirichlet priors cost more than those of coefficients; half the price was best on discrete networks.
    for at in range(n_parents if model.n_levels[child] else 0):
        if model.n_levels[parents[at]]:
            price -= 0.5 * model.edge_price
    for u in range(model.unwanted.shape[1]):
        if model.unwanted[child, u, 0] < 0:
            break
        together = 0
        for at in range(n_parents):
            together += (
                parents[at] == model.unwanted[child, u, 0] or parents[at] == model.unwanted[child, u, 1]
            )
        if together == 2:
            price += UNWANTED
    for v in range(model.n_line.size if model.any_required else 0):
        if model.required[v, child]:
            price += ABSENT
    for at in range(n_parents if model.any_required else 0):
        if model.required[parents[at], child]:
            price -= ABSENT
    return price


@njit(cache=True)
def bdeu(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The BDeu evidence (equivalent sample size 1) of a category, relative to that without parents."""
    codes, n_levels = model.codes, model.n_levels
    n_rows = codes.shape[1]
    configurations = 1
    for at in range(n_parents):
        configurations *= n_levels[parents[at]]
        if configurations > _MOST_CONFIGURATIONS:
            return -ABSENT
    levels = n_levels[child]
    counts = np.zeros((configurations, levels))
    for row in range(n_rows):
        configuration = 0
        for at in range(n_parents):
            configuration = configuration * n_levels[parents[at]] + codes[parents[at], row]
        counts[configuration, codes[child, row]] += model.weights[row]
    total = 0.0
    share = 1.0 / configurations
    cell = share / levels
    log_cell, log_share = lgamma(cell), lgamma(share)
    for configuration in range(configurations):
        together = 0.0
        for level in range(levels):
            count = counts[configuration, level]
            if count > 0.0:
                together += count
                total += lgamma(cell + count) - log_cell
        if together > 0.0:
            total += log_share - lgamma(share + together)
    return total


@njit(cache=True)
def counted_score(model, child, parents, curved, n_parents):  # type: ignore[no-untyped-def]
    """The evidence of a child of few levels: of counts, and what parents that are not counted add."""
    counted = np.empty_like(parents)
    size = np.int64(0)
    for at in range(n_parents):
        if model.n_levels[parents[at]]:
            counted[size] = parents[at]
            size += 1
    score = bdeu(model, child, counted, size) - bdeu(model, child, counted, np.int64(0))
    if size == n_parents:
        return score
    lines = np.zeros_like(curved)
    work = workspace(model, child, n_parents, np.int64(0))
    base = regression(model, child, counted, lines, size, np.int64(0), work)
    before = evidence(model, child, work[0], work[1], base)
    for at in range(n_parents):
        if not model.n_levels[parents[at]]:
            stop = n_columns(model, parents[at], curved[at])
            base = append_parent(model, child, parents[at], np.int64(0), stop, work, base)
    return score + evidence(model, child, work[0], work[1], base) - before


@njit(cache=True)
def family_score(model, child, parents, curved, n_parents, crossed):  # type: ignore[no-untyped-def]
    """The score of a family in a given form."""
    price = prices(model, child, parents, n_parents)
    if n_parents == 0:
        return -price
    if model.n_levels[child]:
        return counted_score(model, child, parents, curved, n_parents) - price
    work = workspace(model, child, n_parents, crossed)
    size = regression(model, child, parents, curved, n_parents, crossed, work)
    return evidence(model, child, work[0], work[1], size) - price
