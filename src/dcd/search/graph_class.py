"""The equivalence class of a DAG as types of pairs, and the graph whose class has the least loss.

This module is compiled by Numba; import it where it is used.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dcd.graph.probabilities import ABSENT, BACKWARD, FORWARD, UNDIRECTED

_LEAST_GAIN = 1e-9


@njit(cache=True)
def class_types(dag, oriented):  # type: ignore[no-untyped-def]
    """(d, d) the type of each pair `[i, j]` in the class of a DAG: i -> j, j -> i, undirected or absent.

    Unshielded colliders, and edges for which knowledge allows only one direction, are arrows; Meek's four
    rules add the arrows that these imply.
    """
    n = dag.shape[0]
    arrows, lines = np.zeros((n, n), np.bool_), np.zeros((n, n), np.bool_)
    for a in range(n):
        for b in range(n):
            if dag[a, b]:
                arrows[a, b] = oriented[a, b] or in_collider(dag, a, b)
                lines[a, b] = lines[b, a] = not arrows[a, b]
    changed = True
    while changed:
        changed = False
        for a in range(n):
            for b in range(n):
                if lines[a, b] and dag[a, b] and is_implied(a, b, arrows, lines):
                    arrows[a, b] = changed = True
                    lines[a, b] = lines[b, a] = False
    types = np.full((n, n), ABSENT, np.int8)
    for a in range(n):
        for b in range(n):
            if arrows[a, b]:
                types[a, b], types[b, a] = FORWARD, BACKWARD
            elif lines[a, b]:
                types[a, b] = UNDIRECTED
    return types


@njit(cache=True)
def in_collider(dag, a, b):  # type: ignore[no-untyped-def]
    """Whether b has a parent that is not adjacent to its parent a."""
    found = False
    for c in range(dag.shape[0]):
        found |= c != a and dag[c, b] and not (dag[a, c] or dag[c, a])
    return found


@njit(cache=True)
def is_implied(a, b, arrows, lines):  # type: ignore[no-untyped-def]
    """Whether one of Meek's rules directs `a - b` as `a -> b`."""
    n = arrows.shape[0]
    for c in range(n):
        if arrows[c, a] and c != b and not beside(c, b, arrows, lines):  # rule 1
            return True
        if arrows[a, c] and arrows[c, b]:  # rule 2
            return True
        if not (arrows[c, b] and beside(a, c, arrows, lines)):
            continue
        for d in range(n):
            third = lines[a, c] and lines[a, d] and arrows[d, b] and d != c
            if third and not beside(c, d, arrows, lines):
                return True
            fourth = lines[a, d] and arrows[d, c] and d != b
            if fourth and not beside(d, b, arrows, lines):
                return True
    return False


@njit(cache=True)
def beside(a, b, arrows, lines):  # type: ignore[no-untyped-def]
    """Whether two variables are adjacent."""
    return arrows[a, b] or arrows[b, a] or lines[a, b]


# --- graphs of least loss --------------------------------------------------------------------------------


@njit(cache=True)
def loss_of(dag, loss, oriented):  # type: ignore[no-untyped-def]
    """The loss of the class of a DAG; `loss` (4, d, d) is that of each type of each pair."""
    types = class_types(dag, oriented)
    total = 0.0
    for a in range(dag.shape[0]):
        for b in range(a):
            total += loss[types[a, b], a, b]
    return total


@njit(cache=True)
def has_path(dag, start, end, seen, stack):  # type: ignore[no-untyped-def]
    """Whether there is a directed path between two variables; `seen` and `stack` (d,) are workspace."""
    n = dag.shape[0]
    for v in range(n):
        seen[v] = False
    size = 1
    stack[0] = start
    while size > 0:
        size -= 1
        node = stack[size]
        if node == end:
            return True
        for child in range(n):
            if dag[node, child] and not seen[child]:
                seen[child] = True
                stack[size] = child
                size += 1
    return False


@njit(cache=True)
def improve_loss(dag, loss, possible, allowed, oriented):  # type: ignore[no-untyped-def]
    """Change one relation after another, in place, while this lowers the loss; returns the graph."""
    best = loss_of(dag, loss, oriented)
    room = np.zeros(dag.shape[0], np.bool_), np.zeros(dag.shape[0], np.int64)
    improved = True
    while improved:
        improved = False
        for a in range(dag.shape[0]):
            for b in range(a):
                if not possible[a, b]:
                    continue
                for relation in range(3):
                    forward, backward = dag[a, b], dag[b, a]
                    arrow, opposite = relation == 0, relation == 1
                    if (arrow and not allowed[a, b]) or (opposite and not allowed[b, a]):
                        continue
                    if arrow == forward and opposite == backward:
                        continue
                    dag[a, b] = dag[b, a] = False
                    if not (
                        (arrow and has_path(dag, b, a, *room)) or (opposite and has_path(dag, a, b, *room))
                    ):
                        dag[a, b], dag[b, a] = arrow, opposite
                        total = loss_of(dag, loss, oriented)
                        if total < best - _LEAST_GAIN:
                            best, improved = total, True
                            continue
                    dag[a, b], dag[b, a] = forward, backward
    return dag
