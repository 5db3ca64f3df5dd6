r"""A Markov chain over DAGs: Metropolis-Hastings on family scores and a prior of the whole graph.

The target distribution is :math:`p(G) \propto \exp(\sum_v s_v / T + \log \pi(N, V))`, with the family scores
s, a temperature T, and a prior of the number of edges N and of parents beyond the first V. A step changes the
relation of a pair (none, an arrow, the opposite arrow), or exchanges one parent of a variable for another;
both proposals are symmetric. Family scores are cached by child and parents, so a step scores a family only
if the chain has not visited it before.

The types of all pairs in the equivalence classes of the graphs are counted along the way. The chain is run by
compiled code (`native/graph_chain.c`).
"""

from __future__ import annotations

import ctypes
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from dcd.graph.probabilities import ABSENT
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.search.family_score import ScoreModel, native_model
from dcd.search.native import Layout, check, library, pointer

_MEMO_SIZE = 2**16


class ChainState(NamedTuple):
    """A graph with its scores, and the families that were scored so far.

    Attributes
    ----------
    dag : (d, d) `[u, v]`: whether u is a parent of v.
    scores, n_parents : (d,) of the families.
    totals : log probability of the graph.
    counts : edges, and parents beyond the first.
    signs, families : random numbers of parents and children, (2, d), which together form the keys (d,).
    keys, known : keys and scores of families that have been scored.
    moved, before : the one or two arrows `(u, v)` that a step changes, and the scores without the change.
    sampled : (k, d, d) graphs of the chain at evenly spaced steps.
    parents, curved, seen, stack, arrows, lines, types : workspace.
    """

    dag: BoolArray
    scores: FloatArray
    n_parents: Positions
    totals: FloatArray
    counts: Positions
    signs: npt.NDArray[np.uint64]
    families: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    known: FloatArray
    moved: Positions
    before: FloatArray
    sampled: BoolArray
    parents: Positions
    curved: BoolArray
    seen: BoolArray
    stack: Positions
    arrows: BoolArray
    lines: BoolArray
    types: IntArray


def chain_state(dag: IntArray, n_sampled: int = 0) -> ChainState:
    """The state of a chain at a graph, before anything is scored, with space for some sampled graphs."""
    n_variables = len(dag)
    signs = np.random.default_rng(0).integers(1, 2**63, size=(2, n_variables), dtype=np.uint64)
    return ChainState(
        dag=dag.astype(np.bool_, order="C"),
        scores=np.zeros(n_variables),
        n_parents=dag.sum(axis=0).astype(np.int64),
        totals=np.zeros(1),
        counts=np.zeros(2, np.int64),
        signs=signs,
        families=np.zeros(n_variables, np.uint64),
        keys=np.zeros(_MEMO_SIZE, np.uint64),
        known=np.zeros(_MEMO_SIZE),
        moved=np.zeros((2, 2), np.int64),
        before=np.zeros(2),
        sampled=np.repeat(dag[None].astype(np.bool_), n_sampled, axis=0),
        parents=np.zeros(n_variables + 2, np.int64),
        curved=np.zeros(n_variables + 2, np.bool_),
        seen=np.zeros(n_variables, np.bool_),
        stack=np.zeros(n_variables, np.int64),
        arrows=np.zeros(dag.shape, np.bool_),
        lines=np.zeros(dag.shape, np.bool_),
        types=np.zeros(dag.shape, np.int8),
    )


_CHAIN = Layout(
    "Chain",
    {
        "dag": np.bool_,
        "scores": np.float64,
        "n_parents": np.int64,
        "totals": np.float64,
        "counts": np.int64,
        "signs": np.uint64,
        "families": np.uint64,
        "keys": np.uint64,
        "known": np.float64,
        "moved": np.int64,
        "before": np.float64,
        "sampled": np.bool_,
        "parents": np.int64,
        "curved": np.bool_,
        "seen": np.bool_,
        "stack": np.int64,
        "arrows": np.bool_,
        "lines": np.bool_,
        "types": np.int8,
    },
    sizes=("n_variables", "n_keys", "n_sampled"),
    written=[field for field in ChainState._fields if field != "signs"],
)


class Plan(NamedTuple):
    """The settings of a chain.

    Attributes
    ----------
    curves : (d, d) see `preferred_curves`.
    pairs : (p, 2) the pairs whose relation a step may change.
    log_prior : (q, q) log prior of a graph, by its number of edges and of parents beyond the first.
    oriented : (d, d) `[u, v]`: whether only u -> v is possible.
    temper : the temperature, by which scores are divided.
    """

    curves: BoolArray
    pairs: Positions
    log_prior: FloatArray
    oriented: BoolArray
    temper: float


_PLAN = Layout(
    "Plan",
    {
        "curves": np.bool_,
        "pairs": np.int64,
        "log_prior": np.float64,
        "oriented": np.bool_,
        "temper": ctypes.c_double,
    },
    sizes=("n_pairs", "n_prior", "n_steps", "n_kept"),
)


def preferred_curves(model: ScoreModel) -> BoolArray:
    """(d, d) `[u, v]`: whether u alone explains v better as a curve than as a line."""
    curves = np.zeros(model.allowed.shape, np.bool_)
    check(library().preferred_curves(ctypes.byref(native_model(model)), pointer(curves, np.bool_)))
    return curves


def partner_scores(model: ScoreModel, dag: BoolArray, curves: BoolArray) -> FloatArray:
    """(2, d, d) `[., u, v]`: the score of v with u as an additional parent, and with u as its only one."""
    scores = np.full((2, *dag.shape), -np.inf)
    parents, curved = np.zeros(len(dag) + 2, np.int64), np.zeros(len(dag) + 2, np.bool_)
    check(
        library().partner_scores(
            ctypes.byref(native_model(model)),
            pointer(dag, np.bool_),
            pointer(curves, np.bool_),
            pointer(parents, np.int64),
            pointer(curved, np.bool_),
            pointer(scores, np.float64),
        )
    )
    return scores


def run_chain(
    model: ScoreModel, state: ChainState, plan: Plan, n_steps: int, n_kept: int, rng: np.random.Generator
) -> FloatArray:
    """Run a chain and count the types of all pairs, (2, 4, d, d): in its first half and in its second.

    The first fifth of the steps is discarded; of the others, `n_kept` are counted.
    """
    counts = np.zeros((2, 4, *state.dag.shape))
    chain = _CHAIN.fill(
        state, n_variables=len(state.dag), n_keys=len(state.keys), n_sampled=len(state.sampled)
    )
    steps = _PLAN.fill(
        plan, n_pairs=len(plan.pairs), n_prior=len(plan.log_prior), n_steps=n_steps, n_kept=n_kept
    )
    check(
        library().run_chain(
            ctypes.byref(native_model(model)),
            ctypes.byref(chain),
            ctypes.byref(steps),
            pointer(counts, np.float64),
            rng.bit_generator.ctypes.bit_generator,
        )
    )
    if len(plan.pairs) == 0:
        counts[:, ABSENT] = 1.0
    return counts
