"""Search over orders of the variables for the graph with the highest sum of family scores.

In an order, each variable takes its parents among those before it, by growing and shrinking. A variable is
moved to its best place by exchanging it with its neighbours in the order, one after another; an exchange
concerns the families of these two alone. When no move improves the score, a few variables are exchanged at
random and the search starts again from there, as FLOP does (Wienöbst et al. 2025).

This module is compiled by Numba; import it where it is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
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

_SAMPLES_A_PARENT = 5  # with fewer, a family takes no more parents
_LEAST = 1e-9  # improvement of a family
_LEAST_MOVE = 1e-7  # of an order
_MEMO_SIZE, _MEMO_PARENTS = 2**16, 24


class Families(NamedTuple):
    """The families of all variables, in the form of `family_score`."""

    parents: Positions
    n_parents: Positions
    curved: BoolArray
    crossed: BoolArray
    scores: FloatArray


class Memo(NamedTuple):
    """The best families found so far, by child and predecessors; a later one takes the place of an earlier.

    Attributes
    ----------
    signs : (2, d) random numbers: those of the predecessors and the child together are the key.
    keys, scores, lines : (m,), (m,) and (m, p + 2): number of parents, products, parents and their forms.
    """

    signs: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    scores: FloatArray
    lines: npt.NDArray[np.int32]


def empty_memo(n_variables: int) -> Memo:
    """A memo without families."""
    signs = np.random.default_rng(0).integers(1, 2**63, size=(2, n_variables), dtype=np.uint64)
    return Memo(
        signs,
        np.zeros(_MEMO_SIZE, np.uint64),
        np.zeros(_MEMO_SIZE),
        np.zeros((_MEMO_SIZE, _MEMO_PARENTS + 2), np.int32),
    )


def no_families(n_variables: int) -> Families:
    """Families without parents."""
    return Families(
        np.zeros((n_variables, n_variables + 2), np.int64),
        np.zeros(n_variables, np.int64),
        np.zeros((n_variables, n_variables + 2), np.bool_),
        np.zeros(n_variables, np.bool_),
        np.zeros(n_variables),
    )


# --- one family ------------------------------------------------------------------------------------------


@njit(cache=True)
def with_parent(model, child, parents, curved, n_parents, crossed, work, base):  # type: ignore[no-untyped-def]
    """The best score with one more parent, `parents[n_parents]`, and its form `(score, curve, products)`.

    `work` holds the regression on the others, of `base` columns.
    """
    price = prices(model, child, parents, n_parents + 1)
    new = parents[n_parents]
    n_line, width = model.n_line[new], model.starts[new + 1] - model.starts[new]
    may_cross = model.may_cross[child] and n_parents > 0
    best, best_curve, best_cross = -np.inf, False, crossed
    for curve in (False, True):
        if curve and (n_line == width or not model.may_curve[child]):
            break
        if model.n_levels[child]:
            curved[n_parents] = curve
            score = counted_score(model, child, parents, curved, n_parents + 1)
            if score > best:
                best, best_curve, best_cross = score, curve, False
            continue
        size = append_parent(model, child, new, 0, width if curve else n_line, work, base)
        if not crossed:
            score = evidence(model, child, work[0], work[1], size)
            if score > best:
                best, best_curve, best_cross = score, curve, False
        if crossed or may_cross:
            first = n_parents if crossed else 1
            size = append_products(model, child, parents, first, n_parents + 1, work, size)
            score = evidence(model, child, work[0], work[1], size)
            if score > best:
                best, best_curve, best_cross = score, curve, True
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
        work = workspace(model, child, n_parents + 1)
        base = 0
        if not model.n_levels[child]:
            base = regression(model, child, parents, curved, n_parents, crossed, work)
        best, new, new_curve, new_cross = score + _LEAST, -1, False, False
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
    """Leave parents out, and change lines to curves and back, while that improves the score."""
    while n_parents > 0:
        best, what, where, cross = score + _LEAST, 0, -1, crossed
        for at in range(n_parents):
            fewer, forms = parents.copy(), curved.copy()
            left = without_parent(fewer, forms, n_parents, at)
            for products in (False, True):
                if products and (not crossed or left < 2):
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
        if n_parents > 1 and model.may_cross[child]:
            s = family_score(model, child, parents, curved, n_parents, not crossed)
            if s > best:
                best, what, cross = s, 3, not crossed
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
    best, first, second = score + _LEAST, -1, -1
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
        s = family_score(model, child, parents, curved, n_parents + 2, True)
        if s > best:
            best, first, second = s, a, b
    if first < 0:
        return n_parents, crossed, score
    parents[n_parents], parents[n_parents + 1] = first, second
    return n_parents + 2, True, best


@njit(cache=True)
def improve_family(model, child, before, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Grow and shrink a family, in place; `(number of parents, products, score)`."""
    while True:
        old = score
        n_parents, crossed, score = add_parents(
            model, child, before, parents, curved, n_parents, crossed, score
        )
        n_parents, crossed, score = simplify(model, child, parents, curved, n_parents, crossed, score)
        if score <= old + _LEAST and model.may_cross[child]:
            n_parents, crossed, score = add_pair(
                model, child, before, parents, curved, n_parents, crossed, score
            )
        if score <= old + _LEAST:
            return n_parents, crossed, score


# --- orders ----------------------------------------------------------------------------------------------


@njit(cache=True)
def total_of(scores):  # type: ignore[no-untyped-def]
    """The score of a graph."""
    total = 0.0
    for score in scores:
        total += score
    return total


@njit(cache=True)
def predecessors(order, position):  # type: ignore[no-untyped-def]
    """Which variables come before a position."""
    before = np.zeros(order.size, np.bool_)
    for at in range(position):
        before[order[at]] = True
    return before


@njit(cache=True)
def refresh(model, families, child, before):  # type: ignore[no-untyped-def]
    """Improve the family of a child from what it is."""
    families.n_parents[child], families.crossed[child], families.scores[child] = improve_family(
        model,
        child,
        before,
        families.parents[child],
        families.curved[child],
        families.n_parents[child],
        families.crossed[child],
        families.scores[child],
    )


@njit(cache=True)
def grow_all(model, order, families):  # type: ignore[no-untyped-def]
    """Families of all variables in an order, from nothing."""
    for position in range(order.size):
        child = order[position]
        families.n_parents[child], families.crossed[child] = 0, False
        families.scores[child] = -prices(model, child, families.parents[child], 0)
        refresh(model, families, child, predecessors(order, position))


@njit(cache=True)
def recall(memo, key, child, families):  # type: ignore[no-untyped-def]
    """Take a family from the memo; whether there is one."""
    slot = np.int64(key % np.uint64(_MEMO_SIZE))
    if memo.keys[slot] != key:
        return False
    count = memo.lines[slot, 0]
    families.n_parents[child], families.crossed[child] = count, memo.lines[slot, 1] == 1
    families.scores[child] = memo.scores[slot]
    for at in range(count):
        families.parents[child, at] = memo.lines[slot, at + 2] // 2
        families.curved[child, at] = memo.lines[slot, at + 2] % 2 == 1
    return True


@njit(cache=True)
def remember(memo, key, child, families):  # type: ignore[no-untyped-def]
    """Keep a family in the memo."""
    count = families.n_parents[child]
    if count > _MEMO_PARENTS:
        return
    slot = np.int64(key % np.uint64(_MEMO_SIZE))
    memo.keys[slot], memo.scores[slot] = key, families.scores[child]
    memo.lines[slot, 0], memo.lines[slot, 1] = count, families.crossed[child]
    for at in range(count):
        memo.lines[slot, at + 2] = 2 * families.parents[child, at] + families.curved[child, at]


@njit(cache=True)
def exchange(model, order, at, families, memo):  # type: ignore[no-untyped-def]
    """Exchange two neighbours in the order and update their families."""
    earlier, later = order[at], order[at + 1]
    order[at], order[at + 1] = later, earlier
    key = np.uint64(0)
    for position in range(at):
        key ^= memo.signs[0, order[position]]
    lose_parent(model, families, later, earlier, order, at, memo, key ^ memo.signs[1, later])
    if model.allowed[later, earlier]:
        key ^= memo.signs[0, later] ^ memo.signs[1, earlier]
        if not recall(memo, key, earlier, families):
            gain_parent(model, families, earlier, later, order, at + 1)
            remember(memo, key, earlier, families)


@njit(cache=True)
def lose_parent(model, families, child, lost, order, position, memo, key):  # type: ignore[no-untyped-def]
    """Do without a variable that now comes after the child, if it is a parent."""
    parents, curved, n_parents = families.parents[child], families.curved[child], families.n_parents[child]
    for index in range(n_parents):
        if parents[index] == lost:
            if recall(memo, key, child, families):
                return
            left = without_parent(parents, curved, n_parents, index)
            crossed = families.crossed[child] and left > 1
            families.n_parents[child], families.crossed[child] = left, crossed
            families.scores[child] = family_score(model, child, parents, curved, left, crossed)
            refresh(model, families, child, predecessors(order, position))
            remember(memo, key, child, families)
            return


@njit(cache=True)
def gain_parent(model, families, child, new, order, position):  # type: ignore[no-untyped-def]
    """Take a variable that now comes before the child as a parent, if that improves its family."""
    parents, curved, n_parents = families.parents[child], families.curved[child], families.n_parents[child]
    crossed = families.crossed[child]
    parents[n_parents] = new
    work = workspace(model, child, n_parents + 1)
    base = 0
    if not model.n_levels[child]:
        base = regression(model, child, parents, curved, n_parents, crossed, work)
    score, curve, cross = with_parent(model, child, parents, curved, n_parents, crossed, work, base)
    if score > families.scores[child] + _LEAST:
        curved[n_parents] = curve
        families.n_parents[child], families.crossed[child] = n_parents + 1, cross
        families.scores[child] = score
        refresh(model, families, child, predecessors(order, position))
    elif model.may_cross[child]:
        before = predecessors(order, position)
        for q in range(model.pairs.shape[1]):
            a, b = model.pairs[child, q, 0], model.pairs[child, q, 1]
            if (a == new and before[b]) or (b == new and before[a]):
                refresh(model, families, child, before)
                break


@njit(cache=True)
def copy_into(target, source):  # type: ignore[no-untyped-def]
    """Copy an order and its families; by loops, which compile in a fraction of the time of slices."""
    order, families = source
    for v in range(order.size):
        target[0][v] = order[v]
        target[1].n_parents[v] = families.n_parents[v]
        target[1].crossed[v] = families.crossed[v]
        target[1].scores[v] = families.scores[v]
        for at in range(families.n_parents[v]):
            target[1].parents[v, at] = families.parents[v, at]
            target[1].curved[v, at] = families.curved[v, at]


@njit(cache=True)
def move_variable(model, variable, state, start, best, memo):  # type: ignore[no-untyped-def]
    """Move a variable to its best place; `start` and `best` are of the kind of `state`, to work with."""
    order, families = state
    position = 0
    while order[position] != variable:
        position += 1
    copy_into(start, state)
    copy_into(best, state)
    highest = total_of(families.scores) + _LEAST_MOVE
    for at in range(position - 1, -1, -1):
        exchange(model, order, at, families, memo)
        if total_of(families.scores) > highest:
            highest = total_of(families.scores) + _LEAST_MOVE
            copy_into(best, state)
    copy_into(state, start)
    for at in range(position, order.size - 1):
        exchange(model, order, at, families, memo)
        if total_of(families.scores) > highest:
            highest = total_of(families.scores) + _LEAST_MOVE
            copy_into(best, state)
    copy_into(state, best)


@njit(cache=True)
def climb(model, state, start, best, sequence, memo):  # type: ignore[no-untyped-def]
    """Move all variables, in this sequence, to their best places until that changes nothing."""
    total = -np.inf
    while total_of(state[1].scores) > total + _LEAST_MOVE:
        total = total_of(state[1].scores)
        for variable in sequence:
            move_variable(model, variable, state, start, best, memo)
    return total


class OrderSearch:
    """Iterated local search from one best order to the next.

    Attributes
    ----------
    order, families : the best found so far.
    """

    def __init__(self, n_variables: int, required: BoolArray, rng: np.random.Generator) -> None:
        self._rng, self._required = rng, required
        self._state, self._start, self._best = (
            (np.zeros(n_variables, np.int64), no_families(n_variables)) for _ in range(3)
        )
        self.order = _consistent(rng.permutation(n_variables), required)
        self.families = no_families(n_variables)
        self._memo = empty_memo(n_variables)

    def run(self, model, restarts: int) -> float:  # type: ignore[no-untyped-def]
        """Search from the best order so far, then from random neighbours of it; the best total score."""
        self._memo.keys[:] = 0  # families of another model are not the same
        best = self._climb(model, self.order)
        for _ in range(restarts):
            best = max(best, self._climb(model, self._shaken(), best))
        return best

    def _climb(self, model, order: Positions, least: float = -np.inf) -> float:  # type: ignore[no-untyped-def]
        self._state[0][:] = order
        grow_all(model, self._state[0], self._state[1])
        total = climb(
            model, self._state, self._start, self._best, self._rng.permutation(len(order)), self._memo
        )
        if total > least + _LEAST_MOVE:
            self.order = self._state[0].copy()
            self.families = Families._make(part.copy() for part in self._state[1])
        return float(total)

    def _shaken(self) -> Positions:
        order = self.order.copy()
        for _ in range(2 + max(2, int(np.log(len(order))))):
            i, j = self._rng.integers(len(order), size=2)
            order[i], order[j] = order[j], order[i]
        return _consistent(order, self._required)


def _consistent(order: Positions, required: BoolArray) -> Positions:
    """The same order if required causes come before their effects in it, else a similar one."""
    within = required[np.ix_(order, order)]
    if not np.tril(within).any():
        return order
    return order[np.array(topological_order(within.astype(np.int8)), dtype=np.intp)]


def dag_of(families: Families) -> IntArray:
    """The adjacency matrix of a DAG with these families."""
    n_variables = len(families.n_parents)
    dag = np.zeros((n_variables, n_variables), dtype=np.int8)
    for child, count in enumerate(families.n_parents):
        dag[families.parents[child, :count], child] = 1
    return dag
