"""The best family of a child among its predecessors: grow, shrink, and change the form of parents.

This module is compiled by Numba; import it where it is used.
"""

from __future__ import annotations

import numpy as np

from dcd.search.family_regression import (
    Candidates,
    append,
    extend,
    inlined,
    inner,
    inverse_of,
    leaf,
    outer,
    outer_leaf,
    sums_with,
    sums_without,
    with_room,
)
from dcd.search.family_score import (
    append_parent,
    append_products,
    counted_score,
    evidence,
    most_columns,
    n_columns,
    prices,
    prior_sd,
    regression,
    workspace,
)

IMPROVEMENT = 1e-7  # the least that counts
_SAMPLES_A_PARENT = 5  # with fewer, a family takes no more parents


@inlined
def no_candidates(model, child, members):  # type: ignore[no-untyped-def]
    """The columns of some variables, as lines or also as curves, before any column is added."""
    count = 0
    for v in members:
        count += n_columns(model, v, model.may_curve[child])
    n_responses = model.n_line[child] + (model.raw[child] >= 0)
    columns, scales = np.empty(count, np.int64), np.empty(count)
    at = 0
    for v in members:
        for index in range(n_columns(model, v, model.may_curve[child])):
            columns[at], scales[at] = model.starts[v] + index, prior_sd(model, child, v, index)
            at += 1
    return Candidates(np.empty((0, count)), np.zeros(count), np.zeros((n_responses, count)), scales, columns)


@inlined
def updated(model, work, some, done, size):  # type: ignore[no-untyped-def]
    """Candidates updated to a regression, in a larger array if needed."""
    if some.rows.shape[0] < size:
        rows = np.empty((size + size // 2 + 8, some.columns.size))
        for t in range(done):
            for c in range(some.columns.size):
                rows[t, c] = some.rows[t, c]
        some = Candidates(rows, some.squares, some.products, some.scales, some.columns)
    extend(model.gram, work, some, done, size)
    return some


@leaf
def append_candidate(model, work, some, at, stop, base, size):  # type: ignore[no-untyped-def]
    """Add candidates from a position on; `base` columns have rows in `some`."""
    for c in range(at, stop):
        for t in range(base):
            work.factor[size, t] = some.rows[t, c]
        size = append(model.gram, work, some.columns[c], some.scales[c], size, base)
    return size


@leaf
def with_parent(model, child, parents, n_parents, crossed, work, base, some, at):  # type: ignore[no-untyped-def]
    """The best score with one more parent, `parents[n_parents]`, and its form `(score, curve, products)`.

    `work` holds the regression on the others, of `base` columns; the columns of the new one are those of
    `some` from a position `at` on.
    """
    price = prices(model, child, parents, n_parents + 1)
    new = parents[n_parents]
    n_line, width = model.n_line[new], n_columns(model, new, model.may_curve[child])
    with_products = max(crossed, 1) if model.may_cross[child] and n_parents > 0 else crossed
    best, best_curve, best_cross = -np.inf, False, crossed
    for products in (np.int64(0), with_products):
        if (crossed or best > -np.inf) and not products:
            continue
        size = append_candidate(model, work, some, at, at + n_line, base, base)
        if products:
            first = n_parents if crossed else np.int64(1)
            size = append_products(
                model, child, parents, first, n_parents + 1, np.int64(0), products, work, size
            )
        for curve in (False, True):
            if curve and n_line == width:
                break
            if curve:
                size = append_candidate(model, work, some, at + n_line, at + width, base, size)
            score = evidence(model, child, work.sums[size])
            if score > best:
                best, best_curve, best_cross = score, curve, products
    return best - price, best_curve, best_cross


@inlined
def one_more(model, child, new, parents, curved, n_parents, crossed):  # type: ignore[no-untyped-def]
    """The best score of a family with one more parent, and its form."""
    parents[n_parents] = new
    if model.n_levels[child]:
        return counted_score(model, child, parents, n_parents + 1), False, crossed
    some = no_candidates(model, child, parents[n_parents : n_parents + 1])
    work = workspace(model, child, n_parents + 1, max(crossed, 1))
    base = regression(model, child, parents, curved, n_parents, crossed, work)
    some = updated(model, work, some, np.int64(0), base)
    return with_parent(model, child, parents, n_parents, crossed, work, base, some, np.int64(0))


@inlined
def add_parents(model, child, members, parents, curved, n_parents, crossed, score, work, size):  # type: ignore[no-untyped-def]
    """Add the best parent among the `members` until none improves the score."""
    some, done, sums = no_candidates(model, child, members), np.int64(0), np.empty(work.sums.shape[1])
    simple = not (model.may_curve[child] or model.may_cross[child] or crossed)
    while n_parents <= model.n_samples / _SAMPLES_A_PARENT:
        work = with_room(work, most_columns(model, n_parents + 1, max(crossed, 1)), size)
        some = updated(model, work, some, done, size)
        done = size
        best, new, new_curve, new_cross = score + IMPROVEMENT, np.int64(-1), False, crossed
        at = np.int64(0)
        for v in members:
            width = n_columns(model, v, model.may_curve[child])
            inside = False
            for index in range(n_parents):
                inside |= parents[index] == v
            if not inside:
                parents[n_parents] = v
                if simple and width == 1:
                    sums_with(model.gram, work, some, at, size, sums)
                    s = evidence(model, child, sums) - prices(model, child, parents, n_parents + 1)
                    curve, cross = False, crossed
                else:
                    s, curve, cross = with_parent(
                        model, child, parents, n_parents, crossed, work, size, some, at
                    )
                if s > best:
                    best, new, new_curve, new_cross = s, v, curve, cross
            at += width
        if new < 0:
            break
        parents[n_parents], curved[n_parents] = new, new_curve
        stop = n_columns(model, new, new_curve)
        size = append_parent(model, child, new, np.int64(0), stop, work, size)
        if new_cross:
            first = n_parents if crossed else np.int64(1)
            size = append_products(
                model, child, parents, first, n_parents + 1, np.int64(0), new_cross, work, size
            )
        n_parents, crossed, score = n_parents + 1, new_cross, best
    return n_parents, crossed, score, work, size


@leaf
def without_parent(parents, curved, n_parents, at):  # type: ignore[no-untyped-def]
    """Remove a parent, in place; returns the number of those that remain."""
    for index in range(at, n_parents - 1):
        parents[index], curved[index] = parents[index + 1], curved[index + 1]
    return n_parents - 1


@leaf
def evidence_without(model, child, variable, line_stays, crossed, work, size, inverse):  # type: ignore[no-untyped-def]
    """The evidence without a variable, or without its curve, and without products beyond `crossed`."""
    sums, dropped, n_dropped = inverse.sums, inverse.dropped, np.int64(0)
    for at in range(size):
        form, i, j, k = model.members[work.columns[at]]
        out = i == variable or j == variable or k == variable
        if line_stays:
            out = out and form == 1
        if out or form > crossed + 1:
            dropped[n_dropped] = at
            n_dropped += 1
    sums_without(work, size, inverse, dropped, n_dropped, sums)
    return evidence(model, child, sums)


@inlined
def best_removal(model, child, parents, curved, n_parents, crossed, work, size, inverse):  # type: ignore[no-untyped-def]
    """The best score without one parent, which one, and the products: `(score, position, products)`."""
    best, where, cross = -np.inf, 0, 0
    fewer, forms = parents.copy(), curved.copy()
    for at in range(n_parents):
        for index in range(n_parents):
            fewer[index], forms[index] = parents[index], curved[index]
        left = without_parent(fewer, forms, n_parents, at)
        price = prices(model, child, fewer, left)
        for products in range(crossed + 1):
            if products and left < 2:
                break
            s = evidence_without(model, child, parents[at], np.bool_(False), products, work, size, inverse)
            s -= price
            if s > best:
                best, where, cross = s, at, products
    return best, where, cross


@outer_leaf
def best_form(model, child, parents, curved, n_parents, crossed, work, size, inverse):  # type: ignore[no-untyped-def]
    """The best evidence of the same parents in another form: `(evidence, changed curve or -1, products)`."""
    best, where, cross = -np.inf, -1, crossed
    for at in range(n_parents if model.may_curve[child] else 0):
        n_line, width = model.n_line[parents[at]], n_columns(model, parents[at], np.bool_(True))
        if n_line == width:
            continue
        if curved[at]:
            s = evidence_without(model, child, parents[at], np.bool_(True), crossed, work, size, inverse)
        else:
            end = append_parent(model, child, parents[at], n_line, width, work, size)
            s = evidence(model, child, work.sums[end])
        if s > best:
            best, where, cross = s, at, crossed
    for products in range(model.may_cross[child] + 1 if n_parents > 1 else 0):
        if products < crossed:
            s = evidence_without(model, child, np.int64(-2), np.bool_(False), products, work, size, inverse)
        elif products > crossed:
            end = append_products(
                model, child, parents, np.int64(1), n_parents, crossed, products, work, size
            )
            s = evidence(model, child, work.sums[end])
        if products != crossed and s > best:
            best, where, cross = s, -1, products
    return best, where, cross


@inlined
def simplify(model, child, parents, curved, n_parents, crossed, score, work, size):  # type: ignore[no-untyped-def]
    """Remove parents, and change lines, curves and products, while this improves the score."""
    while n_parents > 0:
        work = with_room(work, most_columns(model, n_parents + 1, model.may_cross[child]), size)
        inverse = inverse_of(work, size)
        fewer, out, cross = best_removal(
            model, child, parents, curved, n_parents, crossed, work, size, inverse
        )
        other, changed, products = best_form(
            model, child, parents, curved, n_parents, crossed, work, size, inverse
        )
        other -= prices(model, child, parents, n_parents)
        if max(fewer, other) <= score + IMPROVEMENT:
            break
        if fewer >= other:
            n_parents, crossed = without_parent(parents, curved, n_parents, out), cross
        elif changed >= 0:
            curved[changed] = not curved[changed]
        else:
            crossed = products
        before, score = score, max(fewer, other)
        size = regression(model, child, parents, curved, n_parents, crossed, work)
        score = evidence(model, child, work.sums[size]) - prices(model, child, parents, n_parents)
        if score <= before:  # the improvement was rounding
            break
    return n_parents, crossed, score, work, size


@leaf
def is_free(model, child, before, v, parents, n_parents):  # type: ignore[no-untyped-def]
    """Whether a variable may become a parent of a child."""
    free = before[v] and model.allowed[v, child]
    for at in range(n_parents):
        free = free and parents[at] != v
    return free


@inner
def add_pair(model, child, before, one, parents, curved, n_parents, crossed, score, work, size):  # type: ignore[no-untyped-def]
    """Add the best two parents that matter only through their product, if there are any.

    If `one` is not -1, it is one of the two.
    """
    best, first, second, products = score + IMPROVEMENT, -1, -1, max(crossed, 1)
    base = np.int64(-1)
    for q in range(model.pairs.shape[1]):
        a, b = model.pairs[child, q, 0], model.pairs[child, q, 1]
        if a < 0:
            break
        if one >= 0 and one not in (a, b):
            continue
        if not is_free(model, child, before, a, parents, n_parents):
            continue
        if not is_free(model, child, before, b, parents, n_parents):
            continue
        if base < 0:
            work = with_room(work, most_columns(model, n_parents + 2, products), size)
            base = size
            if not crossed:
                base = append_products(
                    model, child, parents, np.int64(1), n_parents, np.int64(0), products, work, size
                )
        parents[n_parents], parents[n_parents + 1] = a, b
        curved[n_parents] = curved[n_parents + 1] = False
        end = append_parent(model, child, a, np.int64(0), model.n_line[a], work, base)
        end = append_parent(model, child, b, np.int64(0), model.n_line[b], work, end)
        end = append_products(
            model, child, parents, n_parents, n_parents + 2, np.int64(0), products, work, end
        )
        s = evidence(model, child, work.sums[end]) - prices(model, child, parents, n_parents + 2)
        if s > best:
            best, first, second = s, a, b
    if first < 0:
        return n_parents, crossed, score, work, size
    parents[n_parents], parents[n_parents + 1] = first, second
    size = regression(model, child, parents, curved, n_parents + 2, products, work)
    return n_parents + 2, products, best, work, size


@inlined
def improve_counted(model, child, members, parents, n_parents):  # type: ignore[no-untyped-def]
    """The same for a child that is counted; returns `(number of parents, score)`."""
    score = counted_score(model, child, parents, n_parents)
    fewer = parents.copy()
    grown = -np.inf
    while score > grown:
        adding = True
        while adding and n_parents <= model.n_samples / _SAMPLES_A_PARENT:
            best, new = score + IMPROVEMENT, -1
            for v in members:
                if v not in parents[:n_parents]:
                    parents[n_parents] = v
                    s = counted_score(model, child, parents, n_parents + 1)
                    if s > best:
                        best, new = s, v
            adding = new >= 0
            if adding:
                parents[n_parents] = new
                n_parents, score = n_parents + 1, best
        grown = score
        removing = True
        while removing and n_parents > 0:
            best, out = score + IMPROVEMENT, -1
            for at in range(n_parents):
                for index in range(n_parents - 1):
                    fewer[index] = parents[index + (index >= at)]
                s = counted_score(model, child, fewer, n_parents - 1)
                if s > best:
                    best, out = s, at
            removing = out >= 0
            if removing:
                for index in range(out, n_parents - 1):
                    parents[index] = parents[index + 1]
                n_parents, score = n_parents - 1, best
    return n_parents, score


@outer
def improve_family(model, child, before, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Grow and shrink a family, in place; returns `(number of parents, products, score)`.

    A score of NaN is unknown.
    """
    members, count = np.empty(before.size, np.int64), 0
    for v in range(before.size):
        if before[v] and model.allowed[v, child]:
            members[count] = v
            count += 1
    members = members[:count]
    if model.n_levels[child]:
        n_parents, score = improve_counted(model, child, members, parents, n_parents)
        return n_parents, crossed, score
    work = workspace(model, child, n_parents + 2, max(crossed, 1))
    size = regression(model, child, parents, curved, n_parents, crossed, work)
    if np.isnan(score):
        score = evidence(model, child, work.sums[size]) - prices(model, child, parents, n_parents)
    while True:
        n_parents, crossed, score, work, size = add_parents(
            model, child, members, parents, curved, n_parents, crossed, score, work, size
        )
        grown = score
        n_parents, crossed, score, work, size = simplify(
            model, child, parents, curved, n_parents, crossed, score, work, size
        )
        if score <= grown and model.may_cross[child]:
            n_parents, crossed, score, work, size = add_pair(
                model, child, before, np.int64(-1), parents, curved, n_parents, crossed, score, work, size
            )
        if score <= grown:
            return n_parents, crossed, score
