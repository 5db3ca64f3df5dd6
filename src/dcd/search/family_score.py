r"""The score of a family: the log evidence of a variable given its parents, from a Gram matrix alone.

The child's columns y (its line, or the indicators of its categories) are Gaussian given a regression on
columns of its parents, whose coefficients have independent Gaussian priors relative to the noise. With
:math:`A = I + \Lambda G \Lambda = L L^\top`, :math:`W = L^{-1} \Lambda G_{\cdot y}` and r columns y,

.. math:: \ell = -\tfrac n2 \log |I - W^\top W / n| - r \log |L| ,

relative to no parents. A parent enters as a line or as a curve; the products of two of the parents' lines, or
those of two and of three, enter together or not at all, whichever has the most evidence. A numeric child may
also be regressed on its own scale with normal noise; its evidence then accounts for its non-normal marginal
distribution. The scales of the prior belong to the child and are chosen by evidence too. Each parent has a
price (`edge_price`), and each beyond the first an additional one (`collider_price`).

A child with few levels is counted: its evidence given parents with few levels is BDeu, that of the counts
under Dirichlet priors. Other parents contribute their gain in the evidence of the regression.

This module is compiled by Numba; import it where it is used. A family is in arrays: `parents[:m]`,
`curved[:m]` (whether each enters as a curve) and `crossed` (0 without products, 1 with those of two, 2 with
those of two and of three).
"""

from __future__ import annotations

from math import lgamma
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.runtime.array_types import BoolArray, FloatArray, Positions
from dcd.search.family_regression import (
    Regression,
    append,
    inlined,
    inner,
    leaf,
    outer,
    outer_leaf,
    with_room,
)

ABSENT = 1e7  # price of a required parent that a family lacks
UNWANTED = 1e5  # price of an unwanted pair of parents
_MOST_CONFIGURATIONS = 1_000_000  # of the parents of a category


class ScoreModel(NamedTuple):
    """The model that scores families, in arrays for compiled code.

    Attributes
    ----------
    gram, n_samples, starts, n_line, raw, raw_offset, product, cubic : see `FamilyGram`.
    members : (c, 4) for each column its form (0 for a line, 1 for a curve, 2 and 3 for products) and its
        variables; -1 if it has fewer.
    sd_line, sd_curve : (d,) prior standard deviations of coefficients in the family of each child.
    may_curve, may_cross : (d,) whether curves are tried in the family of each child, and which products.
    allowed, required : (d, d) `[u, v]`: whether u may or must be a parent of v.
    any_required : whether there are required parents at all.
    pairs : (d, q, 2) pairs of parents to try together, for their product; -1 if there are fewer.
    promising : (p, d) whether each product may matter for each child.
    unwanted : (d, u, 2) pairs that may not both be parents of a child; -1 if there are fewer.
    edge_price, collider_price : of each parent; of each parent beyond the first.
    codes, n_levels, weights : see `Categories`.
    signs, keys, known : (2, d), (m,) and (m,) random numbers of parents and children, which together form
        keys, and the evidence of counts by key; a later one replaces an earlier one.
    """

    gram: FloatArray
    n_samples: float
    starts: Positions
    n_line: Positions
    raw: Positions
    raw_offset: FloatArray
    product: Positions
    cubic: Positions
    members: Positions
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
    signs: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    known: FloatArray


DECAY = 0.7**0.5  # of the prior standard deviation from one column of a curve to the next


@leaf
def log_left(sums, n_line, n_responses, n_samples):  # type: ignore[no-untyped-def]
    """Half the log determinant of the remaining share of the variance of several responses.

    Its factor is written into the unused upper half of W'W and the space after it.
    """
    log_determinant, end = 0.0, 1 + n_responses * n_responses
    for a in range(n_line):
        for b in range(a + 1):
            value = (a == b) - sums[1 + a * n_responses + b] / n_samples
            for t in range(b):
                value -= sums[1 + t * n_responses + a] * sums[1 + t * n_responses + b]
            if b < a:
                sums[1 + b * n_responses + a] = value / sums[end + b]
            else:
                sums[end + a] = np.sqrt(max(value, 1e-12))
        log_determinant += np.log(sums[end + a])
    return log_determinant


@leaf
def evidence(model, child, sums):  # type: ignore[no-untyped-def]
    """The log evidence of a regression with such sums; see `Regression`."""
    n_samples, n_line = model.n_samples, model.n_line[child]
    n_responses = n_line + (model.raw[child] >= 0)
    if n_line == 1:
        best = -0.5 * n_samples * np.log(max(1.0 - sums[1] / n_samples, 1e-12)) - sums[0]
    else:
        best = -n_samples * log_left(sums, n_line, n_responses, n_samples) - n_line * sums[0]
    if model.raw[child] >= 0:
        left_raw = max(1.0 - sums[n_responses * n_responses] / n_samples, 1e-12)
        best = max(best, -0.5 * n_samples * np.log(left_raw) - sums[0] + model.raw_offset[child])
    return best


@leaf
def append_parent(model, child, parent, start, stop, work, size):  # type: ignore[no-untyped-def]
    """Add some columns of a parent, the first of which is the line."""
    for index in range(start, stop):
        sd = prior_sd(model, child, parent, index)
        size = append(model.gram, work, model.starts[parent] + index, sd, size, np.int64(0))
    return size


@leaf
def prior_sd(model, child, parent, index):  # type: ignore[no-untyped-def]
    """The prior standard deviation of a column of a parent."""
    beyond = index - model.n_line[parent]
    return model.sd_line[child] if beyond < 0 else model.sd_curve[child] * DECAY**beyond


@leaf
def append_products(model, child, parents, first, n_parents, above, crossed, work, size):  # type: ignore[no-untyped-def]
    """Add the promising products of the parents from the `first` on with all before them.

    Only forms `above` the one already included, up to `crossed`. Functions in the inner loops do not get the
    whole model, which takes longer to pass than to look up.
    """
    gram, product, cubic, promising = model.gram, model.product, model.cubic, model.promising
    offset, zero = model.starts[-1], np.int64(0)
    sd, sd_cubic = model.sd_curve[child], model.sd_curve[child] * DECAY**2
    for a in range(first, n_parents):
        for b in range(a):
            i, j = parents[a], parents[b]
            column = product[i, j]
            if above < 1 and column >= 0 and promising[column - offset, child]:
                size = append(gram, work, column, sd, size, zero)
            for c in range(-2, b if crossed == 2 else -2):
                k = i if c == -2 else (j if c == -1 else parents[c])
                column = cubic[i, j, k]
                if column >= 0 and promising[column - offset, child]:
                    size = append(gram, work, column, sd_cubic, size, zero)
    return size


@leaf
def most_columns(model, n_parents, crossed):  # type: ignore[no-untyped-def]
    """How many columns a family can have."""
    widest = 1
    for v in range(model.n_line.size):
        widest = max(widest, model.starts[v + 1] - model.starts[v])
    most = n_parents * widest + 1
    if crossed >= 1:
        most += n_parents * (n_parents - 1) // 2
    if crossed == 2:
        most += n_parents * (n_parents - 1) * (n_parents + 4) // 6
    return most


@outer
def workspace(model, child, n_parents, crossed):  # type: ignore[no-untyped-def]
    """An empty regression, with space for this many parents."""
    n_line = model.n_line[child]
    responses = np.empty(n_line + (model.raw[child] >= 0), np.int64)
    for r in range(responses.size):
        responses[r] = model.starts[child] + r if r < n_line else model.raw[child]
    empty = Regression(
        np.empty((0, 0)), np.empty((0, 0)), np.empty((0, 0)), np.empty(0), np.empty(0, np.int64), responses
    )
    return with_room(empty, most_columns(model, n_parents, crossed), np.int64(0))


@leaf
def n_columns(model, parent, curved):  # type: ignore[no-untyped-def]
    """How many columns of a parent enter."""
    return model.starts[parent + 1] - model.starts[parent] if curved else model.n_line[parent]


@outer_leaf
def regression(model, child, parents, curved, n_parents, crossed, work):  # type: ignore[no-untyped-def]
    """Add all columns of a family; returns their number."""
    size = np.int64(0)  # a literal 0 would have its own compiled version, as everywhere below
    for at in range(n_parents):
        size = append_parent(
            model, child, parents[at], np.int64(0), n_columns(model, parents[at], curved[at]), work, size
        )
    if crossed:
        size = append_products(
            model, child, parents, np.int64(1), n_parents, np.int64(0), crossed, work, size
        )
    return size


@leaf
def prices(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The prior of a family, as the amount subtracted from its evidence."""
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


@leaf
def renumber(configuration, position, n_present):  # type: ignore[no-untyped-def]
    """Number the configurations of rows that occur, in place and in their order; returns how many there are.

    `position` is workspace, zero up to `n_present`.
    """
    for row in range(configuration.size):
        position[configuration[row]] = 1
    count = np.int64(0)
    for at in range(n_present):
        if position[at]:
            position[at] = count
            count += 1
    for row in range(configuration.size):
        configuration[row] = position[configuration[row]]
    return count


@inner
def bdeu(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The BDeu evidence (equivalent sample size 1) of a category, relative to that without parents.

    Only parents with few levels count, whatever their order. The time depends on how many of their
    configurations occur, not on how many are possible.
    """
    codes, n_levels = model.codes, model.n_levels
    configuration = np.zeros(codes.shape[1], np.int64)
    n_possible, n_present = 1, np.int64(1)
    for parent in np.sort(parents[:n_parents]):
        if not n_levels[parent]:
            continue
        n_possible *= n_levels[parent]
        if n_possible > _MOST_CONFIGURATIONS:
            return -ABSENT
        n_present *= n_levels[parent]
        for row in range(configuration.size):
            configuration[row] = configuration[row] * n_levels[parent] + codes[parent, row]
        if n_present > configuration.size:
            n_present = renumber(configuration, np.zeros(n_present, np.int64), n_present)
    counts = np.zeros((n_present, n_levels[child]))
    for row in range(configuration.size):
        counts[configuration[row], codes[child, row]] += model.weights[row]
    together = counts.sum(axis=0).reshape(1, -1)
    return log_evidence_of_counts(counts, 1.0 / n_possible) - log_evidence_of_counts(together, 1.0)


@leaf
def log_evidence_of_counts(counts, share):  # type: ignore[no-untyped-def]
    """Of counts by configuration and level, under Dirichlet priors that count as a share of a sample each."""
    cell = share / counts.shape[1]
    total, log_cell, log_share = 0.0, lgamma(cell), lgamma(share)
    for at in range(counts.shape[0]):
        together = 0.0
        for level in range(counts.shape[1]):
            count = counts[at, level]
            if count > 0.0:
                together += count
                total += lgamma(cell + count) - log_cell
        if together > 0.0:
            total += log_share - lgamma(share + together)
    return total


@leaf
def known_counts(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The key of parents with few levels, their evidence if known (else NaN), and how many there are."""
    key, n_counted = model.signs[1, child], 0
    for at in range(n_parents):
        if model.n_levels[parents[at]]:
            key ^= model.signs[0, parents[at]]
            n_counted += 1
    slot = np.int64(key % np.uint64(model.keys.size))
    return key, model.known[slot] if model.keys[slot] == key else np.nan, n_counted


@inner
def counted_evidence(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The evidence of a child with few levels: that of counts, and what parents that are not counted add."""
    key, score, n_counted = known_counts(model, child, parents, n_parents)
    if np.isnan(score):
        score = bdeu(model, child, parents, n_parents)
        slot = np.int64(key % np.uint64(model.keys.size))
        model.keys[slot], model.known[slot] = key, score
    if n_counted == n_parents:
        return score
    work = workspace(model, child, n_parents, np.int64(0))
    base, before = np.int64(0), 0.0
    for few in (True, False):
        for at in range(n_parents):
            if (model.n_levels[parents[at]] > 0) == few:
                stop = model.n_line[parents[at]]
                base = append_parent(model, child, parents[at], np.int64(0), stop, work, base)
        if few:
            before = evidence(model, child, work.sums[base])
    return score + evidence(model, child, work.sums[base]) - before


@inlined
def counted_score(model, child, parents, n_parents):  # type: ignore[no-untyped-def]
    """The score of a child with few levels; that of a family met before takes a fraction of the time."""
    _, score, n_counted = known_counts(model, child, parents, n_parents)
    if np.isnan(score) or n_counted < n_parents:
        score = counted_evidence(model, child, parents, n_parents)
    return score - prices(model, child, parents, n_parents)


@outer
def family_score(model, child, parents, curved, n_parents, crossed):  # type: ignore[no-untyped-def]
    """The score of a family in a given form."""
    price = prices(model, child, parents, n_parents)
    if n_parents == 0:
        return -price
    if model.n_levels[child]:
        return counted_score(model, child, parents, n_parents)
    work = workspace(model, child, n_parents, crossed)
    size = regression(model, child, parents, curved, n_parents, crossed, work)
    return evidence(model, child, work.sums[size]) - price
