r"""Regression of a child on columns of a Gram matrix, adding one column or removing a few at a time.

With :math:`A = I + \Lambda G \Lambda = L L^\top` for the included columns and :math:`W = L^{-1} \Lambda
G_{\cdot y}`, the evidence needs only :math:`\log |L|` and :math:`W^\top W`. Another column adds a row to L
and to W. Columns R are removed without a new factor: with :math:`\beta = A^{-1} \Lambda G_{\cdot y}` and
:math:`K = (A^{-1})_{RR}`,

.. math:: \log |L| \leftarrow \log |L| + \tfrac 12 \log |K| , \qquad
          W^\top W \leftarrow W^\top W - \beta_R^\top K^{-1} \beta_R .

This module is compiled by Numba; import it where it is used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dcd.runtime.array_types import FloatArray, Positions

_FAST = {"reassoc", "contract"}  # sums may be reordered, which lets the compiler use vector instructions
# How functions are compiled. Code is optimised again in every function that calls it, directly or not, so a
# function with one caller becomes part of it (`inlined`); only functions called from Python get an interface.
_compile: Any = njit
_OUTER: dict[str, Any] = {"cache": True, "no_cfunc_wrapper": True}
_INNER: dict[str, Any] = {**_OUTER, "no_cpython_wrapper": True}
outer, inner = _compile(**_OUTER), _compile(**_INNER)
inlined = _compile(**_OUTER, inline="always")
# A leaf neither creates nor returns arrays, and need not count references to them. Counting those of a model
# at every call took most of the time of a search.
leaf, fast_leaf = _compile(**_INNER, _nrt=False), _compile(**_INNER, _nrt=False, fastmath=_FAST)
outer_leaf = _compile(**_OUTER, _nrt=False)


class Regression(NamedTuple):
    """The regression on some columns, with space for m of them.

    Attributes
    ----------
    factor : (m, m) L, of which the lower half is used.
    solved : (r, m) the transpose of W.
    sums : (m + 1, 1 + r r + r) after each number of columns: log|L|, then W'W, of which the lower half is
        used; the rest is workspace.
    scales, columns : (m,) prior standard deviations, and positions in the Gram matrix.
    responses : (r,) the columns of the child.
    """

    factor: FloatArray
    solved: FloatArray
    sums: FloatArray
    scales: FloatArray
    columns: Positions
    responses: Positions


@inner
def with_room(old, most, size):  # type: ignore[no-untyped-def]
    """The same regression, of `size` columns, with space for at least `most`."""
    if most <= old.scales.size:
        return old
    n_responses = old.responses.size
    new = Regression(
        np.empty((most, most)),
        np.empty((n_responses, most)),
        np.zeros((most + 1, 1 + n_responses * (n_responses + 1))),
        np.empty(most),
        np.empty(most, np.int64),
        old.responses,
    )
    for a in range(size):
        new.scales[a], new.columns[a] = old.scales[a], old.columns[a]
        for b in range(a + 1):
            new.factor[a, b] = old.factor[a, b]
        for r in range(n_responses):
            new.solved[r, a] = old.solved[r, a]
        for q in range(old.sums.shape[1]):
            new.sums[a + 1, q] = old.sums[a + 1, q]
    return new


@fast_leaf
def append(gram, work, column, sd, size, known):  # type: ignore[no-untyped-def]
    """Add a column to the regression; the first `known` entries of its row are already in place."""
    factor, solved, sums, scales, columns, responses = work
    scales[size], columns[size] = sd, column
    row, j = factor[size], known
    while j + 1 < size:  # two at a time, which takes little longer than one
        one, two = factor[j], factor[j + 1]
        first = sd * scales[j] * gram[column, columns[j]]
        second = sd * scales[j + 1] * gram[column, columns[j + 1]]
        for t in range(j):
            first -= row[t] * one[t]
            second -= row[t] * two[t]
        row[j] = first = first * (1.0 / one[j])
        row[j + 1] = (second - first * two[j]) * (1.0 / two[j + 1])
        j += 2
    if j < size:
        value = sd * scales[j] * gram[column, columns[j]]
        for t in range(j):
            value -= row[t] * factor[j, t]
        row[j] = value / factor[j, j]
    total = 1.0 + sd * sd * gram[column, column]
    for t in range(size):
        total -= factor[size, t] * factor[size, t]
    factor[size, size] = diagonal = np.sqrt(total)
    sums[size + 1, 0] = sums[size, 0] + np.log(diagonal)
    for r in range(responses.size):
        value = sd * gram[column, responses[r]]
        for t in range(size):
            value -= factor[size, t] * solved[r, t]
        solved[r, size] = value / diagonal
        for q in range(r + 1):
            at = 1 + r * responses.size + q
            sums[size + 1, at] = sums[size, at] + solved[r, size] * solved[q, size]
    return size + 1


class Candidates(NamedTuple):
    """Columns that may be added, with their rows of L and their separate contributions.

    Attributes
    ----------
    rows : (m, c) the entries of L for each, in the order of the columns included so far.
    squares : (c,) sums of squares of these.
    products : (r, c) their products with W.
    scales, columns : (c,) as in `Regression`.
    """

    rows: FloatArray
    squares: FloatArray
    products: FloatArray
    scales: FloatArray
    columns: Positions


@fast_leaf
def extend(gram, work, some, done, size):  # type: ignore[no-untyped-def]
    """Update candidates from `done` included columns to `size`."""
    n_columns = some.columns.size
    for t in range(done, size):
        row, of_gram, scale, own = some.rows[t], gram[work.columns[t]], work.scales[t], work.factor[t]
        for c in range(n_columns):
            row[c] = scale * some.scales[c] * of_gram[some.columns[c]]
        k = 0
        while k + 1 < t:  # two at a time, which saves half of the reading and writing
            one, two, first, second = own[k], own[k + 1], some.rows[k], some.rows[k + 1]
            for c in range(n_columns):
                row[c] -= one * first[c] + two * second[c]
            k += 2
        if k < t:
            one, first = own[k], some.rows[k]
            for c in range(n_columns):
                row[c] -= one * first[c]
        inverse = 1.0 / own[t]
        for c in range(n_columns):
            row[c] *= inverse
            some.squares[c] += row[c] * row[c]
        for r in range(work.responses.size):
            value = work.solved[r, t]
            for c in range(n_columns):
                some.products[r, c] += row[c] * value


@leaf
def sums_with(gram, work, some, at, size, sums):  # type: ignore[no-untyped-def]
    """Write the sums with one more column, the candidate at a position."""
    column, sd, n_responses = some.columns[at], some.scales[at], work.responses.size
    total = 1.0 + sd * sd * gram[column, column] - some.squares[at]
    sums[0] = work.sums[size, 0] + 0.5 * np.log(total)
    for r in range(n_responses):
        of_r = sd * gram[column, work.responses[r]] - some.products[r, at]
        for q in range(r + 1):
            of_q = sd * gram[column, work.responses[q]] - some.products[q, at]
            sums[1 + r * n_responses + q] = work.sums[size, 1 + r * n_responses + q] + of_r * of_q / total


class Inverse(NamedTuple):
    """The quantities needed to remove columns from a regression.

    Attributes
    ----------
    rows : (m, m) the transpose of the inverse of L.
    coefficients : (r, m) beta.
    block, solved : (m, m) and (r, m) workspace: the factor of K, and beta solved by it.
    sums, dropped : (1 + r r + r,) and (m,) workspace: the sums, and the removed columns.
    """

    rows: FloatArray
    coefficients: FloatArray
    block: FloatArray
    solved: FloatArray
    sums: FloatArray
    dropped: Positions


@_compile(**_OUTER, fastmath=_FAST)
def inverse_of(work, size):  # type: ignore[no-untyped-def]
    """The inverse of the factor of a regression."""
    n_responses = work.responses.size
    rows, coefficients = np.empty((size, size)), np.empty((n_responses, size))
    for i in range(0, size, 2):  # two at a time, as above; the last may be computed twice
        one, two = rows[i], rows[min(i + 1, size - 1)]
        two[i], one[i] = 0.0, 1.0 / work.factor[i, i]
        for t in range(i + 1, size):
            own, first, second = work.factor[t], 0.0, 0.0
            for k in range(i, t):
                first -= own[k] * one[k]
                second -= own[k] * two[k]
            inverse = 1.0 / own[t]
            one[t], two[t] = first * inverse, (second + (t == i + 1)) * inverse
    for i in range(size):
        for r in range(n_responses):
            value = 0.0
            for t in range(i, size):
                value += rows[i, t] * work.solved[r, t]
            coefficients[r, i] = value
    return Inverse(
        rows,
        coefficients,
        np.empty((size, size)),
        np.empty((n_responses, size)),
        np.empty(work.sums.shape[1]),
        np.empty(size, np.int64),
    )


@fast_leaf
def sums_without(work, size, inverse, dropped, n_dropped, sums):  # type: ignore[no-untyped-def]
    """Write the sums without some columns, by ascending position."""
    rows, coefficients, block, solved, _, _ = inverse
    n_responses = work.responses.size
    for q in range(sums.size):
        sums[q] = work.sums[size, q]
    for a in range(n_dropped):
        i = dropped[a]
        for b in range(a + 1):
            value, other = 0.0, rows[dropped[b]]
            for t in range(i, size):
                value += rows[i, t] * other[t]
            for t in range(b):
                value -= block[a, t] * block[b, t]
            block[a, b] = value / block[b, b] if b < a else np.sqrt(value)
        sums[0] += np.log(block[a, a])
        for r in range(n_responses):
            value = coefficients[r, i]
            for t in range(a):
                value -= block[a, t] * solved[r, t]
            solved[r, a] = value / block[a, a]
            for q in range(r + 1):
                sums[1 + r * n_responses + q] -= solved[r, a] * solved[q, a]
