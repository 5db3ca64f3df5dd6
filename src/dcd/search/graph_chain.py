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

from dcd.graph.probabilities import ABSENT
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray, Positions
from dcd.search.family_regression import inlined, inverse_of, leaf, outer
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
from dcd.search.family_search import evidence_without
from dcd.search.graph_class import class_types, has_path
from dcd.search.order_search import total_of

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
    signs, families : random numbers of parents and children, (2, d), which together form the keys (d,).
    keys, known : keys and scores of families that have been scored.
    moved, before : the one or two arrows `(u, v)` that a step changes, and the scores without the change.
    sampled : (k, d, d) graphs along the chain, evenly spaced.
    parents, curved, seen, stack : workspace.
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
    )


# --- families --------------------------------------------------------------------------------------------


@outer
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


@leaf
def has_curve(model, child, parent):  # type: ignore[no-untyped-def]
    """Whether a parent may enter as a curve."""
    return model.may_curve[child] and n_columns(model, parent, np.bool_(True)) > model.n_line[parent]


@inlined
def best_form(model, child, parents, curved, n_parents):  # type: ignore[no-untyped-def]
    """The score of a family in the best form found from the one in `curved`.

    It depends on the family alone, never on the graph around it, so that all chains have the same target.
    """
    price = prices(model, child, parents, n_parents)
    if n_parents == 0:
        return -price
    if model.n_levels[child]:
        return counted_score(model, child, parents, n_parents)
    work = workspace(model, child, n_parents, model.may_cross[child])
    size = regression(model, child, parents, curved, n_parents, np.int64(0), work)
    best, crossed, end = evidence(model, child, work.sums[size]), np.int64(0), size
    if n_parents == 1:
        return best - price
    for products in range(model.may_cross[child]):
        end = append_products(
            model, child, parents, np.int64(1), n_parents, np.int64(products), products + 1, work, end
        )
        score = evidence(model, child, work.sums[end])
        if score > best:
            best, crossed, size = score, np.int64(products + 1), end
    inverse, inverted = inverse_of(work, np.int64(0)), False
    for at in range(n_parents):
        if not has_curve(model, child, parents[at]):
            continue
        if not curved[at]:
            n_line = model.n_line[parents[at]]
            stop = n_columns(model, parents[at], np.bool_(True))
            end = append_parent(model, child, parents[at], n_line, stop, work, size)
            score = evidence(model, child, work.sums[end])
            if score > best:
                best, size, inverted, curved[at] = score, end, False, True
            continue
        if not inverted:
            inverse, inverted = inverse_of(work, size), True
        score = evidence_without(model, child, parents[at], np.bool_(True), crossed, work, size, inverse)
        if score > best:
            curved[at], inverted = False, False
            size = regression(model, child, parents, curved, n_parents, crossed, work)
            best = evidence(model, child, work.sums[size])
    return best - price


@outer
def score_family(model, state, curves, child):  # type: ignore[no-untyped-def]
    """Score the family that a child has in the graph, and remember it."""
    count = np.int64(0)
    for parent in range(state.scores.size):
        if state.dag[parent, child]:
            state.parents[count], state.curved[count] = parent, curves[parent, child]
            count += 1
    state.scores[child] = best_form(model, child, state.parents, state.curved, count)
    slot = np.int64(state.families[child] % np.uint64(_MEMO_SIZE))
    state.keys[slot], state.known[slot] = state.families[child], state.scores[child]


@outer
def partner_scores(model, dag, curves):  # type: ignore[no-untyped-def]
    """(2, d, d) `[., u, v]`: the gain of v from u as an additional parent, and from u as its only one."""
    n = dag.shape[0]
    gains = np.full((2, n, n), -np.inf)
    parents, curved = np.zeros(n + 2, np.int64), np.zeros(n + 2, np.bool_)
    for child in range(n):
        count = np.int64(0)
        for parent in range(n):
            if dag[parent, child]:
                parents[count], curved[count] = parent, curves[parent, child]
                count += 1
        for alone in range(2):
            gains_with(model, child, parents, curved, np.int64(0) if alone else count, curves, gains[alone])
    return gains


@inlined
def gains_with(model, child, parents, curved, n_parents, curves, gains):  # type: ignore[no-untyped-def]
    """Write the scores of a family with each of the other variables as one more parent."""
    work, size = workspace(model, child, n_parents + 1, np.int64(0)), np.int64(0)
    if not model.n_levels[child]:
        size = regression(model, child, parents, curved, n_parents, np.int64(0), work)
    for other in range(gains.shape[0]):
        if other == child or not model.allowed[other, child] or other in parents[:n_parents]:
            continue
        parents[n_parents], curved[n_parents] = other, curves[other, child]
        if model.n_levels[child]:
            gains[other, child] = counted_score(model, child, parents, n_parents + 1)
        else:
            price = prices(model, child, parents, n_parents + 1)
            stop = n_columns(model, other, curved[n_parents])
            end = append_parent(model, child, other, np.int64(0), stop, work, size)
            gains[other, child] = evidence(model, child, work.sums[end]) - price


# --- steps -----------------------------------------------------------------------------------------------


@inlined
def start_chain(model, state, curves, log_prior, temper):  # type: ignore[no-untyped-def]
    """Score the graph of a new chain."""
    for child in range(state.scores.size):
        state.families[child] = state.signs[1, child]
        for parent in range(state.scores.size):
            if state.dag[parent, child]:
                state.families[child] ^= state.signs[0, parent]
        score_family(model, state, curves, child)
        state.counts[0] += state.n_parents[child]
        state.counts[1] += max(state.n_parents[child] - 1, 0)
    state.totals[0] = total_of(state.scores) / temper + log_prior[state.counts[0], state.counts[1]]


@leaf
def toggle(state, parent, child):  # type: ignore[no-untyped-def]
    """Add an arrow or remove it."""
    present, before = state.dag[parent, child], state.n_parents[child]
    after = before - 1 if present else before + 1
    state.dag[parent, child], state.n_parents[child] = not present, after
    state.families[child] ^= state.signs[0, parent]
    state.counts[0] += after - before
    state.counts[1] += max(after - 1, 0) - max(before - 1, 0)


@leaf
def move(state, parent, child, count):  # type: ignore[no-untyped-def]
    """Add an arrow or remove it, as a part of a step after `count` others; returns how many there are now."""
    state.moved[count, 0], state.moved[count, 1] = parent, child
    state.before[count] = state.scores[child]
    toggle(state, parent, child)
    return count + 1


@leaf
def take_back(state, count):  # type: ignore[no-untyped-def]
    """Undo a step."""
    for at in range(count):
        toggle(state, state.moved[at, 0], state.moved[at, 1])
        state.scores[state.moved[at, 1]] = state.before[at]


@leaf
def change_relation(state, allowed, required, u, v, rng):  # type: ignore[no-untyped-def]
    """Propose a different relation between two variables; returns how many arrows change."""
    forward, backward = state.dag[u, v], state.dag[v, u]
    if (forward and required[u, v]) or (backward and required[v, u]):
        return np.int64(0)
    first = rng.random() < 0.5
    arrow = first if not (forward or backward) else backward and first  # u -> v is proposed
    opposite = not first if not (forward or backward) else forward and first  # v -> u is proposed
    if (arrow and not allowed[u, v]) or (opposite and not allowed[v, u]):
        return np.int64(0)
    state.dag[u, v] = state.dag[v, u] = False
    start, end = (v, u) if arrow else (u, v)
    cyclic = (arrow or opposite) and has_path(state.dag, start, end, state.seen, state.stack)
    state.dag[u, v], state.dag[v, u] = forward, backward
    count = np.int64(0)
    if opposite != backward and not cyclic:
        count = move(state, v, u, count)
    if arrow != forward and not cyclic:
        count = move(state, u, v, count)
    return count


@leaf
def exchange_parent(state, allowed, required, new, child, rng):  # type: ignore[no-untyped-def]
    """Propose a new parent of a child in place of an existing one; returns how many arrows change."""
    n_parents = state.n_parents[child]
    if n_parents == 0 or state.dag[new, child] or state.dag[child, new] or not allowed[new, child]:
        return np.int64(0)
    nth = np.int64(rng.random() * n_parents)
    old = np.int64(-1)
    while nth >= 0:
        old += 1
        nth -= state.dag[old, child]
    if required[old, child]:
        return np.int64(0)
    state.dag[old, child] = False
    cyclic = has_path(state.dag, child, new, state.seen, state.stack)
    state.dag[old, child] = True
    return np.int64(0) if cyclic else move(state, new, child, move(state, old, child, np.int64(0)))


@leaf
def propose(state, allowed, required, pairs, n_most, rng):  # type: ignore[no-untyped-def]
    """Change the graph by a step, up to `n_most` edges; returns how many arrows change."""
    which = np.int64(rng.random() * pairs.shape[0])
    u, v = pairs[which, 0], pairs[which, 1]
    if rng.random() < 0.5:
        u, v = v, u
    if rng.random() < _SWAPS:
        return exchange_parent(state, allowed, required, u, v, rng)
    count = change_relation(state, allowed, required, u, v, rng)
    if state.counts[0] <= n_most:
        return count
    take_back(state, count)
    return np.int64(0)


@leaf
def unknown(state, at):  # type: ignore[no-untyped-def]
    """Look up the score of a family that a step changes; returns its child if it is unknown, otherwise -1."""
    child = state.moved[at, 1]
    slot = np.int64(state.families[child] % np.uint64(_MEMO_SIZE))
    if state.keys[slot] != state.families[child]:
        return child
    state.scores[child] = state.known[slot]
    return np.int64(-1)


@leaf
def decide(state, log_prior, temper, count, rng):  # type: ignore[no-untyped-def]
    """Keep a step or undo it."""
    total = total_of(state.scores) / temper + log_prior[state.counts[0], state.counts[1]]
    if np.log(rng.random()) >= total - state.totals[0]:
        take_back(state, count)
    else:
        state.totals[0] = total


@outer
def run_chain(model, state, curves, pairs, log_prior, temper, n_steps, n_kept, oriented, rng):  # type: ignore[no-untyped-def]
    """Run a chain and count the types of all pairs, (2, 4, d, d): in its first half and in its second.

    `pairs` (p, 2) are those that steps change; `oriented` (d, d) is true where only u -> v is possible. The
    first fifth of the steps is discarded.
    """
    n_variables, n_sampled = state.scores.size, state.sampled.shape[0]
    allowed, required, n_most = model.allowed, model.required, log_prior.shape[0] - 1
    counts = np.zeros((2, 4, n_variables, n_variables))
    start_chain(model, state, curves, log_prior, temper)
    every = max(n_steps // n_kept, 1)
    for step in range(n_steps + n_steps // 5 if len(pairs) > 0 else 0):
        n_moved = propose(state, allowed, required, pairs, n_most, rng)
        for at in range(n_moved):
            child = unknown(state, at)
            if child >= 0:
                score_family(model, state, curves, child)
        if n_moved > 0:
            decide(state, log_prior, temper, n_moved, rng)
        counted = step - n_steps // 5
        if counted >= 0 and counted % every == 0:
            nth = counted * n_sampled // n_steps
            if nth < n_sampled:
                state.sampled[nth] = state.dag  # the last graph of each stretch of the chain
            types = class_types(state.dag, oriented)
            half = 2 * counted // n_steps
            for a in range(n_variables):
                for b in range(n_variables):
                    counts[half, types[a, b], a, b] += 1.0
    if len(pairs) == 0:
        counts[:, ABSENT] = 1.0
    return counts
