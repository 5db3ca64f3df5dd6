"""Search over orders of the variables for the graph with the highest sum of family scores.

In an order, the parents of each variable are chosen among those before it, by growing and shrinking. A
variable is moved to its best position by exchanging it with its neighbours in the order, one after another;
an exchange affects only the families of these two. When no move improves the score, a few variables are
exchanged at random and the search starts again from there, as in FLOP (Wienöbst et al. 2025).

The orders are searched by compiled code (`native/order_search.c`).
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.runtime.digest import digest
from dcd.search.family_score import ScoreModel, native_model
from dcd.search.native import Layout, check, library, pointer

_LEAST_MOVE = 1e-7  # improvement of the total score from which an order replaces the best one
_MEMO_SIZE, _MEMO_PARENTS = 2**16, 24
_IN_KEYS = ("allowed", "unwanted", "collider_price")  # parts of a model that the keys of a memo contain


class State(NamedTuple):
    """An order, the families of all variables in it (as in `family_score`), and their keys in the `Memo`."""

    order: Positions
    parents: Positions
    n_parents: Positions
    curved: BoolArray
    crossed: Positions
    scores: FloatArray
    keys: npt.NDArray[np.uint64]


def state_of(order: Positions) -> State:
    """An order with families without parents."""
    d = len(order)
    return State(
        order.astype(np.int64),
        np.zeros((d, d + 2), np.int64),
        np.zeros(d, np.int64),
        np.zeros((d, d + 2), np.bool_),
        np.zeros(d, np.int64),
        np.zeros(d),
        np.zeros(d, np.uint64),
    )


class Memo(NamedTuple):
    """The best families found so far, by child and candidates; a later one replaces an earlier one.

    Attributes
    ----------
    signs : (2, d) random numbers of each variable as a candidate, and as a child with its prices. The number
        of a child and those of its allowed predecessors together form the key of its family.
    keys, scores, lines : (m,), (m,) and (m, p + 2); a line holds the number of parents, the products, and the
        parents with their forms.
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


_STATE = Layout(
    "State",
    {
        "order": np.int64,
        "parents": np.int64,
        "n_parents": np.int64,
        "curved": np.bool_,
        "crossed": np.int64,
        "scores": np.float64,
        "keys": np.uint64,
    },
    written=State._fields,
)
_MEMO = Layout(
    "Memo",
    {"signs": np.uint64, "keys": np.uint64, "scores": np.float64, "lines": np.int32},
    sizes=("size", "most_parents"),
    written=("keys", "scores", "lines"),
)


def native_states(states: Sequence[State]) -> Any:
    """States for compiled code, one after another; the states have to be kept alive."""
    return (_STATE.structure * len(states))(*(_STATE.fill(state) for state in states))


def native_memo(memo: Memo) -> Any:
    """A memo for compiled code."""
    return _MEMO.fill(memo, size=_MEMO_SIZE, most_parents=_MEMO_PARENTS)


class OrderSearch:
    """Iterated local search from one best order to the next.

    Attributes
    ----------
    order, families : the best found so far.
    """

    def __init__(self, n_variables: int, required: BoolArray, rng: np.random.Generator) -> None:
        self._rng, self._required = rng, required
        self.order = _consistent(rng.permutation(n_variables), required)
        self._states = [state_of(self.order) for _ in range(3)]  # the current one, and two as workspace
        self.families = state_of(self.order)
        self._memo = empty_memo(n_variables)
        self._fixed: list[object] = []

    def run(self, model: ScoreModel, restarts: int) -> float:
        """Search from the best order so far, then from random changes of it; return the best total score."""
        self._use_memo(model)
        native = native_model(model)
        best = self._climb(native, self.order)
        for _ in range(restarts):
            best = max(best, self._climb(native, self._shaken(), best))
        return best

    def _climb(self, model: Any, order: Positions, least: float = -np.inf) -> float:
        state, total = self._states[0], ctypes.c_double()
        state.order[:] = order
        sequence = self._rng.permutation(len(order)).astype(np.int64, copy=False)
        check(
            library().climb(
                ctypes.byref(model),
                native_states(self._states),
                ctypes.byref(native_memo(self._memo)),
                pointer(sequence, np.int64),
                len(sequence),
                ctypes.byref(total),
            )
        )
        if total.value > least + _LEAST_MOVE:
            self.order = state.order.copy()
            self.families = State._make(part.copy() for part in state)
        return total.value

    def _use_memo(self, model: ScoreModel) -> None:
        """Keep the families of earlier runs if the model differs only in parts that their keys contain."""
        parts = model._asdict()
        fixed = [parts[name] for name in parts if name not in _IN_KEYS]
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


def dag_of(families: State) -> IntArray:
    """The adjacency matrix of a DAG with these families."""
    n_variables = len(families.n_parents)
    dag = np.zeros((n_variables, n_variables), dtype=np.int8)
    for child, count in enumerate(families.n_parents):
        dag[families.parents[child, :count], child] = 1
    return dag
