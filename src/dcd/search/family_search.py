"""The best family of a child among its predecessors: grow, shrink, and change the form of parents.

This module is compiled by Numba; import it where it is used.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dcd.search.family_score import (
    append_parent,
    append_products,
    counted_score,
    evidence,
    family_score,
    n_columns,
    prices,
    regression,
    workspace,
)

IMPROVEMENT = 1e-9  # the least of a score
_SAMPLES_A_PARENT = 5  # with fewer, a family takes no more parents


@njit(cache=True)
def with_parent(model, child, parents, curved, n_parents, crossed, work, base):  # type: ignore[no-untyped-def]
    """The best score with one more parent, `parents[n_parents]`, and its form `(score, curve, products)`.

    `work` holds the regression on the others, of `base` columns.
    """
    price = prices(model, child, parents, n_parents + 1)
    new = parents[n_parents]
    n_line, width = model.n_line[new], model.starts[new + 1] - model.starts[new]
    with_products = max(crossed, 1) if model.may_cross[child] and n_parents > 0 else crossed
    best, best_curve, best_cross = -np.inf, False, crossed
    for curve in (False, True):
        if curve and (n_line == width or not model.may_curve[child]):
            break
        if model.n_levels[child]:
            curved[n_parents] = curve
            score = counted_score(model, child, parents, curved, n_parents + 1)
            if score > best:
                best, best_curve, best_cross = score, curve, 0
            continue
        size = append_parent(model, child, new, np.int64(0), width if curve else n_line, work, base)
        if not crossed:
            score = evidence(model, child, work[0], work[1], size)
            if score > best:
                best, best_curve, best_cross = score, curve, 0
        if with_products:
            first = n_parents if crossed else np.int64(1)
            size = append_products(model, child, parents, first, n_parents + 1, with_products, work, size)
            score = evidence(model, child, work[0], work[1], size)
            if score > best:
                best, best_curve, best_cross = score, curve, with_products
    return best - price, best_curve, best_cross


@njit(cache=True)
def add_parents(model, child, before, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Add the best parent among those `before` the child until none improves the score."""
    n_variables = before.size
    inside = np.zeros(n_variables, np.bool_)
    for at in range(n_parents):
        inside[parents[at]] = True
    while True:
        if n_parents > model.n_samples / _SAMPLES_A_PARENT:
            return n_parents, crossed, score
        work = workspace(model, child, n_parents + 1, max(crossed, 1))
        base = np.int64(0)
        if not model.n_levels[child]:
            base = regression(model, child, parents, curved, n_parents, crossed, work)
        best, new, new_curve, new_cross = score + IMPROVEMENT, -1, False, 0
        for v in range(n_variables):
            if before[v] and model.allowed[v, child] and not inside[v]:
                parents[n_parents] = v
                s, curve, cross = with_parent(model, child, parents, curved, n_parents, crossed, work, base)
                if s > best:
                    best, new, new_curve, new_cross = s, v, curve, cross
        if new < 0:
            return n_parents, crossed, score
        parents[n_parents], curved[n_parents] = new, new_curve
        inside[new] = True
        n_parents, crossed, score = n_parents + 1, new_cross, best


@njit(cache=True)
def without_parent(parents, curved, n_parents, at):  # type: ignore[no-untyped-def]
    """Leave out a parent, in place; the number of those left."""
    for index in range(at, n_parents - 1):
        parents[index], curved[index] = parents[index + 1], curved[index + 1]
    return n_parents - 1


@njit(cache=True)
def simplify(model, child, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Leave parents out, and change lines, curves and products, while that improves the score."""
    while n_parents > 0:
        best, what, where, cross = score + IMPROVEMENT, 0, -1, crossed
        for at in range(n_parents):
            fewer, forms = parents.copy(), curved.copy()
            left = without_parent(fewer, forms, n_parents, at)
            for products in range(crossed + 1):
                if products and left < 2:
                    break
                s = family_score(model, child, fewer, forms, left, products)
                if s > best:
                    best, what, where, cross = s, 1, at, products
            one_form = n_columns(model, parents[at], True) == model.n_line[parents[at]]
            if not one_form and model.may_curve[child]:
                curved[at] = not curved[at]
                s = family_score(model, child, parents, curved, n_parents, crossed)
                curved[at] = not curved[at]
                if s > best:
                    best, what, where, cross = s, 2, at, crossed
        if n_parents > 1:
            for products in range(model.may_cross[child] + 1):
                if products != crossed:
                    s = family_score(model, child, parents, curved, n_parents, products)
                    if s > best:
                        best, what, cross = s, 3, products
        if what == 0:
            break
        if what == 1:
            n_parents = without_parent(parents, curved, n_parents, where)
        elif what == 2:
            curved[where] = not curved[where]
        crossed, score = cross, best
    return n_parents, crossed, score


@njit(cache=True)
def add_pair(model, child, before, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Add the best two parents that matter by their product alone."""
    best, first, second, products = score + IMPROVEMENT, -1, -1, max(crossed, 1)
    for q in range(model.pairs.shape[1]):
        a, b = model.pairs[child, q, 0], model.pairs[child, q, 1]
        if a < 0:
            break
        if not (before[a] and before[b] and model.allowed[a, child] and model.allowed[b, child]):
            continue
        known = False
        for at in range(n_parents):
            known |= parents[at] == a or parents[at] == b
        if known:
            continue
        parents[n_parents], parents[n_parents + 1] = a, b
        curved[n_parents] = curved[n_parents + 1] = False
        s = family_score(model, child, parents, curved, n_parents + 2, products)
        if s > best:
            best, first, second = s, a, b
    if first < 0:
        return n_parents, crossed, score
    parents[n_parents], parents[n_parents + 1] = first, second
    return n_parents + 2, products, best


@njit(cache=True)
def improve_family(model, child, before, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Grow and shrink a family, in place; `(number of parents, products, score)`."""
    while True:
        old = score
        n_parents, crossed, score = add_parents(
            model, child, before, parents, curved, n_parents, crossed, score
        )
        n_parents, crossed, score = simplify(model, child, parents, curved, n_parents, crossed, score)
        if score <= old + IMPROVEMENT and model.may_cross[child]:
            n_parents, crossed, score = add_pair(
                model, child, before, parents, curved, n_parents, crossed, score
            )
        if score <= old + IMPROVEMENT:
            return n_parents, crossed, score
