"""Search over orders of the variables for the graph with the highest sum of family scores.

In an order, the parents of each variable are chosen among those before it, by growing and shrinking. A
variable is moved to its best position by exchanging it with its neighbours in the order, one after another;
an exchange affects only the families of these two. When no move improves the score, a few variables are
exchanged at random and the search starts again from there, as in FLOP (Wienöbst et al. 2025).

This module is compiled by Numba; import it where it is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.runtime.digest import digest
from dcd.search.family_regression import inlined, inner, leaf, outer, outer_leaf
from dcd.search.family_score import regression, workspace
from dcd.search.family_search import IMPROVEMENT, add_pair, improve_family, one_more, without_parent

_LEAST_MOVE = 1e-7  # of an order
_MEMO_SIZE, _MEMO_PARENTS = 2**16, 24


class Families(NamedTuple):
    """The families of all variables, in the form of `family_score`, and their keys in the `Memo`."""

    parents: Positions
    n_parents: Positions
    curved: BoolArray
    crossed: Positions
    scores: FloatArray
    keys: npt.NDArray[np.uint64]


class Memo(NamedTuple):
    """The best families found so far, by child and candidates; a later one replaces an earlier one.

    Attributes
    ----------
    signs : (2, d) random numbers of each variable as a candidate, and as a child with its prices. The number
        of a child and those of its allowed predecessors together form the key of its family.
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
        np.empty((_MEMO_SIZE, _MEMO_PARENTS + 2), np.int32),
    )


def no_families(n_variables: int) -> Families:
    """Families without parents."""
    return Families(
        np.zeros((n_variables, n_variables + 2), np.int64),
        np.zeros(n_variables, np.int64),
        np.zeros((n_variables, n_variables + 2), np.bool_),
        np.zeros(n_variables, np.int64),
        np.zeros(n_variables),
        np.zeros(n_variables, np.uint64),
    )


# --- orders ----------------------------------------------------------------------------------------------


@outer_leaf
def total_of(scores):  # type: ignore[no-untyped-def]
    """The score of a graph."""
    total = 0.0
    for score in scores:
        total += score
    return total


@inner
def predecessors(order, position):  # type: ignore[no-untyped-def]
    """Which variables come before a position."""
    before = np.zeros(order.size, np.bool_)
    for at in range(position):
        before[order[at]] = True
    return before


@inlined
def refresh(model, families, child, before):  # type: ignore[no-untyped-def]
    """Improve the family of a child from its present state."""
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


@leaf
def recall(memo, child, families):  # type: ignore[no-untyped-def]
    """Copy a family from the memo; returns whether there is one."""
    key = families.keys[child]
    slot = np.int64(key % np.uint64(_MEMO_SIZE))
    if memo.keys[slot] != key:
        return False
    count = memo.lines[slot, 0]
    families.n_parents[child], families.crossed[child] = count, memo.lines[slot, 1]
    families.scores[child] = memo.scores[slot]
    for at in range(count):
        families.parents[child, at] = memo.lines[slot, at + 2] // 2
        families.curved[child, at] = memo.lines[slot, at + 2] % 2 == 1
    return True


@leaf
def remember(memo, child, families):  # type: ignore[no-untyped-def]
    """Store a family in the memo."""
    key = families.keys[child]
    count = families.n_parents[child]
    if count > _MEMO_PARENTS:
        return
    slot = np.int64(key % np.uint64(_MEMO_SIZE))
    memo.keys[slot], memo.scores[slot] = key, families.scores[child]
    memo.lines[slot, 0], memo.lines[slot, 1] = count, families.crossed[child]
    for at in range(count):
        memo.lines[slot, at + 2] = 2 * families.parents[child, at] + families.curved[child, at]


@inlined
def grow_all(model, order, families, memo):  # type: ignore[no-untyped-def]
    """Families of all variables in an order, from scratch."""
    for position in range(order.size):
        child = order[position]
        key = memo.signs[1, child]
        for at in range(position):
            if model.allowed[order[at], child]:
                key ^= memo.signs[0, order[at]]
        families.keys[child] = key
        if not recall(memo, child, families):
            families.n_parents[child], families.crossed[child] = 0, 0
            families.scores[child] = np.nan
            refresh(model, families, child, predecessors(order, position))
            remember(memo, child, families)


@inlined
def exchange(model, order, at, families, memo):  # type: ignore[no-untyped-def]
    """Exchange two neighbours in the order and update their families; returns the change of the score."""
    earlier, later = order[at], order[at + 1]
    order[at], order[at + 1] = later, earlier
    before = families.scores[earlier] + families.scores[later]
    if model.allowed[earlier, later]:
        families.keys[later] ^= memo.signs[0, earlier]
        lose_parent(model, families, later, earlier, order, at, memo)
    if model.allowed[later, earlier]:
        families.keys[earlier] ^= memo.signs[0, later]
        if not recall(memo, earlier, families):
            gain_parent(model, families, earlier, later, order, at + 1)
            remember(memo, earlier, families)
    return families.scores[earlier] + families.scores[later] - before


@inlined
def lose_parent(model, families, child, lost, order, position, memo):  # type: ignore[no-untyped-def]
    """Remove a variable that now comes after the child, if it is a parent."""
    parents, curved, n_parents = families.parents[child], families.curved[child], families.n_parents[child]
    for index in range(n_parents):
        if parents[index] == lost:
            if recall(memo, child, families):
                return
            left = without_parent(parents, curved, n_parents, index)
            crossed = families.crossed[child] if left > 1 else 0
            families.n_parents[child], families.crossed[child] = left, crossed
            families.scores[child] = np.nan
            refresh(model, families, child, predecessors(order, position))
            remember(memo, child, families)
            return


@inlined
def gain_parent(model, families, child, new, order, position):  # type: ignore[no-untyped-def]
    """Add a variable that now comes before the child as a parent, if this improves its family.

    No other variable improved it before, so others are tried only if this one does, alone or in a pair.
    """
    parents, curved, n_parents = families.parents[child], families.curved[child], families.n_parents[child]
    crossed, before = families.crossed[child], predecessors(order, position)
    score, curve, cross = one_more(model, child, new, parents, curved, n_parents, crossed)
    if score > families.scores[child] + IMPROVEMENT:
        curved[n_parents] = curve
        n_parents, crossed = n_parents + 1, cross
    elif model.may_cross[child]:
        n_parents, crossed, score = add_pair_with(
            model, child, before, new, parents, curved, n_parents, crossed, families.scores[child]
        )
    if score > families.scores[child] + IMPROVEMENT:
        families.n_parents[child], families.crossed[child], families.scores[child] = n_parents, crossed, score
        refresh(model, families, child, before)


@inlined
def add_pair_with(model, child, before, one, parents, curved, n_parents, crossed, score):  # type: ignore[no-untyped-def]
    """Add a variable and another one that matter only through their product, if this improves the score."""
    paired = False
    for q in range(model.pairs.shape[1]):
        paired |= one in (model.pairs[child, q, 0], model.pairs[child, q, 1])
    if not paired:
        return n_parents, crossed, score
    work = workspace(model, child, n_parents + 2, max(crossed, 1))
    size = regression(model, child, parents, curved, n_parents, crossed, work)
    n_parents, crossed, score, work, size = add_pair(
        model, child, before, one, parents, curved, n_parents, crossed, score, work, size
    )
    return n_parents, crossed, score


@leaf
def copy_into(target, source):  # type: ignore[no-untyped-def]
    """Copy an order and its families; by loops, which compile in a fraction of the time of slices."""
    order, families = source
    for v in range(order.size):
        target[0][v] = order[v]
        target[1].n_parents[v] = families.n_parents[v]
        target[1].crossed[v] = families.crossed[v]
        target[1].scores[v], target[1].keys[v] = families.scores[v], families.keys[v]
        for at in range(families.n_parents[v]):
            target[1].parents[v, at] = families.parents[v, at]
            target[1].curved[v, at] = families.curved[v, at]


@inlined
def move_variable(model, variable, state, start, best, memo):  # type: ignore[no-untyped-def]
    """Move a variable to its best position; `start` and `best` are workspace like `state`."""
    order, families = state
    position = 0
    while order[position] != variable:
        position += 1
    copy_into(start, state)
    copy_into(best, state)
    total = highest = 0.0
    for step in range(order.size - 1):  # to the front, then to the end: exchanges are compiled once
        if step == position:
            copy_into(state, start)
            total = 0.0
        at = position - 1 - step if step < position else step
        total += exchange(model, order, at, families, memo)
        if total > highest + _LEAST_MOVE:
            highest = total
            copy_into(best, state)
    copy_into(state, best)


@outer
def climb(model, state, start, best, sequence, memo):  # type: ignore[no-untyped-def]
    """Grow the families of an order; move all variables, in this sequence, until nothing changes."""
    grow_all(model, state[0], state[1], memo)
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
        self._fixed: tuple[object, ...] = ()

    def run(self, model, restarts: int) -> float:  # type: ignore[no-untyped-def]
        """Search from the best order so far, then from random neighbours of it; the best total score."""
        self._use_memo(model)
        best = self._climb(model, self.order)
        for _ in range(restarts):
            best = max(best, self._climb(model, self._shaken(), best))
        return best

    def _climb(self, model, order: Positions, least: float = -np.inf) -> float:  # type: ignore[no-untyped-def]
        self._state[0][:] = order
        total = climb(
            model, self._state, self._start, self._best, self._rng.permutation(len(order)), self._memo
        )
        if total > least + _LEAST_MOVE:
            self.order = self._state[0].copy()
            self.families = Families._make(part.copy() for part in self._state[1])
        return float(total)

    def _use_memo(self, model) -> None:  # type: ignore[no-untyped-def]
        """Keep the families of earlier runs if the model differs only in what their keys contain."""
        fixed = model._replace(allowed=None, unwanted=None, collider_price=None)
        if len(self._fixed) != len(fixed) or any(a is not b for a, b in zip(self._fixed, fixed, strict=True)):
            self._memo.keys[:] = 0
        self._fixed = fixed
        for child, pairs in enumerate(model.unwanted):
            sign = digest([f"{child} {float(model.collider_price)!r}", pairs[pairs[:, 0] >= 0]])
            self._memo.signs[1, child] = int(sign[:16], 16)

    def _shaken(self) -> Positions:
        order = self.order.copy()
        for _ in range(2 + max(2, int(np.log(len(order))))):
            i, j = self._rng.integers(len(order), size=2)
            order[i], order[j] = order[j], order[i]
        return _consistent(order, self._required)


def _consistent(order: Positions, required: BoolArray) -> Positions:
    """The same order if required causes come before their effects, otherwise a similar one."""
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
