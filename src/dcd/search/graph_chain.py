r"""A Markov chain over DAGs: Metropolis-Hastings on family scores and a prior of the whole graph.

The target distribution is :math:`p(G) \propto \exp(\sum_v s_v / T + \log \pi(N, V))`, with the family scores
s, a temper T, and a prior of the number of edges N and of parents beyond the first V. A step changes the
relation of a pair (none, an arrow, the opposite arrow), or exchanges one parent of a variable for another;
both proposals are symmetric. Family scores are cached by child and parents, so a step scores a family only
if the chain has not met it before.

The types of all pairs in the equivalence classes of the graphs are counted along the way. This module is
compiled by Numba; import it where it is used.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from dcd.graph.probabilities import ABSENT
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.search.family_score import family_score, n_columns, prices
from dcd.search.graph_class import class_types, has_path

_MEMO_SIZE = 2**16
_SWAPS = 0.3  # share of the steps that exchange a parent


class ChainState(NamedTuple):
    """A graph with its scores, and the families that were scored so far.

    Attributes
    ----------
    dag : (d, d) `[u, v]`: whether u is a parent of v.
    scores, n_parents : (d,) of the families.
    totals : log probability of the graph.
    counts : edges, and parents beyond the first.
    signs, keys, known : random numbers of parents and children; keys and scores of families.
    sampled : (k, d, d) graphs along the chain, evenly spaced.
    parents, curved, seen, stack : workspace.
    """

    dag: BoolArray
    scores: FloatArray
    n_parents: Positions
    totals: FloatArray
    counts: Positions
    signs: npt.NDArray[np.uint64]
    keys: npt.NDArray[np.uint64]
    known: FloatArray
    sampled: BoolArray
    parents: Positions
    curved: BoolArray
    seen: BoolArray
    stack: Positions


def chain_state(dag: IntArray, n_sampled: int = 0) -> ChainState:
    """The state of a chain at a graph, before anything is scored, with space for some sampled graphs."""
    n_variables = len(dag)
    signs = np.random.default_rng(0).integers(1, 2**63, size=(2, n_variables), dtype=np.uint64)
    return ChainState(
        dag=dag.astype(np.bool_),
        scores=np.zeros(n_variables),
        n_parents=dag.sum(axis=0).astype(np.int64),
        totals=np.zeros(1),
        counts=np.zeros(2, np.int64),
        signs=signs,
        keys=np.zeros(_MEMO_SIZE, np.uint64),
        known=np.zeros(_MEMO_SIZE),
        sampled=np.repeat(dag[None].astype(np.bool_), n_sampled, axis=0),
        parents=np.zeros(n_variables + 2, np.int64),
        curved=np.zeros(n_variables + 2, np.bool_),
        seen=np.zeros(n_variables, np.bool_),
        stack=np.zeros(n_variables, np.int64),
    )


# --- families --------------------------------------------------------------------------------------------


@njit(cache=True)
def preferred_curves(model):  # type: ignore[no-untyped-def]
    """(d, d) `[u, v]`: whether u alone explains v better as a curve than as a line."""
    n_variables = model.n_line.size
    curves = np.zeros((n_variables, n_variables), np.bool_)
    parents, curved = np.zeros(2, np.int64), np.zeros(2, np.bool_)
    for child in range(n_variables):
        for parent in range(n_variables):
            if parent == child or not has_curve(model, child, parent):
                continue
            parents[0] = parent
            curved[0] = False
            line = family_score(model, child, parents, curved, np.int64(1), np.int64(0))
            curved[0] = True
            curve = family_score(model, child, parents, curved, np.int64(1), np.int64(0))
            curves[parent, child] = curve > line
    return curves


@njit(cache=True)
def has_curve(model, child, parent):  # type: ignore[no-untyped-def]
    """Whether a parent may enter as a curve."""
    return model.may_curve[child] and n_columns(model, parent, True) > model.n_line[parent]


@njit(cache=True)
def best_form(model, child, parents, curved, n_parents):  # type: ignore[no-untyped-def]
    """The score of a family in the best form found from the one in `curved`.

    It depends on the family alone, never on the graph around it, so that all chains have the same target.
    """
    if n_parents == 0:
        return -prices(model, child, parents, n_parents)
    best, crossed = -np.inf, np.int64(0)
    for products in range((model.may_cross[child] if n_parents > 1 else 0) + 1):
        score = family_score(model, child, parents, curved, n_parents, np.int64(products))
        if score > best:
            best, crossed = score, np.int64(products)
    for at in range(n_parents if n_parents > 1 else 0):
        if has_curve(model, child, parents[at]):
            curved[at] = not curved[at]
            score = family_score(model, child, parents, curved, n_parents, crossed)
            if score > best:
                best = score
            else:
                curved[at] = not curved[at]
    return best


@njit(cache=True)
def scored(model, state, curves, child):  # type: ignore[no-untyped-def]
    """The score of the family that a child has in the graph."""
    key = state.signs[1, child]
    count = np.int64(0)
    for parent in range(state.scores.size):
        if state.dag[parent, child]:
            key ^= state.signs[0, parent]
            state.parents[count], state.curved[count] = parent, curves[parent, child]
            count += 1
    slot = np.int64(key % np.uint64(state.keys.size))
    if state.keys[slot] != key:
        state.keys[slot] = key
        state.known[slot] = best_form(model, child, state.parents, state.curved, count)
    return state.known[slot]


@njit(cache=True)
def partner_scores(model, dag, curves):  # type: ignore[no-untyped-def]
    """(2, d, d) `[., u, v]`: what v gains from u as an additional parent, and from u as its only one."""
    n = dag.shape[0]
    gains = np.full((2, n, n), -np.inf)
    parents, curved = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.bool_)
    for child in range(n):
        count = np.int64(0)
        for parent in range(n):
            if dag[parent, child]:
                parents[count], curved[count] = parent, curves[parent, child]
                count += 1
        for other in range(n):
            if other != child and model.allowed[other, child] and not dag[other, child]:
                parents[count], curved[count] = other, curves[other, child]
                gains[0, other, child] = family_score(model, child, parents, curved, count + 1, np.int64(0))
        for other in range(n):
            if other != child and model.allowed[other, child]:
                parents[0], curved[0] = other, curves[other, child]
                gains[1, other, child] = family_score(model, child, parents, curved, np.int64(1), np.int64(0))
    return gains


# --- steps -----------------------------------------------------------------------------------------------


@njit(cache=True)
def reached(state, start, end):  # type: ignore[no-untyped-def]
    """Whether the graph has a directed path between two variables."""
    return has_path(state.dag, start, end, state.seen, state.stack)


@njit(cache=True)
def start_chain(model, state, curves, log_prior, temper):  # type: ignore[no-untyped-def]
    """Score the graph of a new chain."""
    for child in range(state.scores.size):
        state.scores[child] = scored(model, state, curves, child)
        state.counts[0] += state.n_parents[child]
        state.counts[1] += max(state.n_parents[child] - 1, 0)
    state.totals[0] = state.scores.sum() / temper + log_prior[state.counts[0], state.counts[1]]


@njit(cache=True)
def accept(model, state, curves, log_prior, temper, children, changes, rng):  # type: ignore[no-untyped-def]
    """Whether the graph is kept after two families have changed their numbers of parents by `changes`."""
    n_edges, n_shared = state.counts
    old = np.empty(2)
    for at in range(2):
        child = children[at]
        old[at] = state.scores[child]
        count = state.n_parents[child]
        n_edges += changes[at]
        n_shared += max(count + changes[at] - 1, 0) - max(count - 1, 0)
    if n_edges >= log_prior.shape[0]:
        return False
    for at in range(2):
        state.scores[children[at]] = scored(model, state, curves, children[at])
    total = state.scores.sum() / temper + log_prior[n_edges, n_shared]
    if np.log(rng.random()) >= total - state.totals[0]:
        state.scores[children[1]], state.scores[children[0]] = old[1], old[0]
        return False
    state.totals[0], state.counts[0], state.counts[1] = total, n_edges, n_shared
    for at in range(2):
        state.n_parents[children[at]] += changes[at]
    return True


@njit(cache=True)
def change_relation(model, state, curves, log_prior, temper, u, v, rng):  # type: ignore[no-untyped-def]
    """Propose a different relation between two variables."""
    forward, backward = state.dag[u, v], state.dag[v, u]
    if (forward and model.required[u, v]) or (backward and model.required[v, u]):
        return
    first = rng.random() < 0.5
    arrow = first if not (forward or backward) else backward and first  # u -> v is proposed
    opposite = not first if not (forward or backward) else forward and first  # v -> u is proposed
    if (arrow and not model.allowed[u, v]) or (opposite and not model.allowed[v, u]):
        return
    state.dag[u, v] = state.dag[v, u] = False
    if not ((arrow and reached(state, v, u)) or (opposite and reached(state, u, v))):
        state.dag[u, v], state.dag[v, u] = arrow, opposite
        children = np.array([u, v])
        changes = np.array([np.int64(opposite) - np.int64(backward), np.int64(arrow) - np.int64(forward)])
        if accept(model, state, curves, log_prior, temper, children, changes, rng):
            return
    state.dag[u, v], state.dag[v, u] = forward, backward


@njit(cache=True)
def exchange_parent(model, state, curves, log_prior, temper, new, child, rng):  # type: ignore[no-untyped-def]
    """Propose a new parent of a child in place of an existing one."""
    count = state.n_parents[child]
    if count == 0 or state.dag[new, child] or state.dag[child, new] or not model.allowed[new, child]:
        return
    nth = int(rng.random() * count)
    old = -1
    for parent in range(state.scores.size):
        if state.dag[parent, child]:
            if nth == 0:
                old = parent
                break
            nth -= 1
    if model.required[old, child]:
        return
    state.dag[old, child] = False
    if not reached(state, child, new):
        state.dag[new, child] = True
        children, changes = np.array([child, child]), np.zeros(2, np.int64)
        if accept(model, state, curves, log_prior, temper, children, changes, rng):
            return
        state.dag[new, child] = False
    state.dag[old, child] = True


@njit(cache=True)
def run_chain(model, state, curves, pairs, log_prior, temper, n_steps, n_kept, oriented, rng):  # type: ignore[no-untyped-def]
    """Run a chain and count the types of all pairs, (2, 4, d, d): in its first half and in its second.

    `pairs` (p, 2) are those that steps change; `oriented` (d, d) is true where only u -> v is possible. The
    first fifth of the steps is discarded.
    """
    n_variables = state.scores.size
    counts = np.zeros((2, 4, n_variables, n_variables))
    start_chain(model, state, curves, log_prior, temper)
    every = max(n_steps // n_kept, 1)
    for step in range(n_steps + n_steps // 5 if len(pairs) > 0 else 0):
        which = int(rng.random() * len(pairs))
        u, v = pairs[which, 0], pairs[which, 1]
        if rng.random() < 0.5:
            u, v = v, u
        if rng.random() < _SWAPS:
            exchange_parent(model, state, curves, log_prior, temper, u, v, rng)
        else:
            change_relation(model, state, curves, log_prior, temper, u, v, rng)
        counted = step - n_steps // 5
        if counted >= 0 and counted % every == 0:
            nth = counted * state.sampled.shape[0] // n_steps
            if nth < state.sampled.shape[0]:
                state.sampled[nth] = state.dag  # the last graph of each stretch of the chain
            types = class_types(state.dag, oriented)
            half = 2 * counted // n_steps
            for a in range(n_variables):
                for b in range(n_variables):
                    counts[half, types[a, b], a, b] += 1.0
    if len(pairs) == 0:
        counts[:, ABSENT] = 1.0
    return counts
