"""From edges, known arrows and colliders that may contradict each other to a pattern with a DAG extension.

Known arrows take precedence, then the strongest evidence; whatever does not fit is left out and reported. Dor
and Tarsi's algorithm (`consistent_extension`) decides this.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import combinations

import numpy as np
from scipy.sparse.csgraph import connected_components

from dcd.graph.adjacency import directed_part, is_acyclic, undirected_part, with_directions
from dcd.graph.bound_knowledge import BoundKnowledge
from dcd.graph.equivalence import contradictory_core
from dcd.runtime.array_types import BoolArray, IntArray

VariablePair = tuple[int, int]
Triple = tuple[int, int, int]


def draw_skeleton(n_variables: int, edges: Mapping[VariablePair, float]) -> IntArray:
    """The symmetric matrix of these edges."""
    skeleton = np.zeros((n_variables, n_variables), dtype=np.int8)
    for i, j in edges:
        skeleton[i, j] = skeleton[j, i] = 1
    return skeleton


def drop_circular(edges: dict[VariablePair, float], known: BoundKnowledge) -> list[VariablePair]:
    """Remove edges that knowledge would direct into a cycle, the weakest first, and return them.

    Required arrows are acyclic, but forbidden arrows can leave only the directions of a cycle.
    """
    arrows = known.required.copy()
    if is_acyclic(arrows | known.arrows(draw_skeleton(len(arrows), edges).astype(bool))):
        return []
    dropped = []
    for i, j in sorted(edges, key=lambda pair: (edges[pair], pair)):
        cause, effect = (i, j) if known.forbidden[j, i] else (j, i)
        if known.forbidden[effect, cause] and not arrows[cause, effect]:
            arrows[cause, effect] = True
            if not is_acyclic(arrows):
                arrows[cause, effect] = False
                dropped.append((i, j))
    for pair in dropped:
        del edges[pair]
    return dropped


def fit_pattern(
    skeleton: IntArray,
    edges: Mapping[VariablePair, float],
    colliders: Mapping[Triple, float],
    arrows: BoolArray | None = None,
) -> tuple[IntArray, list[tuple[Triple, str]], list[VariablePair]]:
    """A pattern that some DAG extends: `(pattern, refused colliders, edges left out)`.

    The `arrows` are edges of the skeleton, acyclic, and always kept. Connected components are treated one by
    one: a contradiction in one does not affect the others.
    """
    if arrows is None:
        arrows = np.zeros(skeleton.shape, dtype=bool)
    _, part_of = connected_components(skeleton, directed=False)
    pattern, refused, left_out = np.zeros_like(skeleton), [], []
    for part in np.unique(part_of):
        part_pattern, part_refused, part_left_out = _fit_connected(
            skeleton * np.outer(part_of == part, part_of == part),
            edges,
            {triple: p for triple, p in colliders.items() if part_of[triple[1]] == part},
            arrows,
        )
        pattern |= part_pattern
        refused += part_refused
        left_out += part_left_out
    return pattern, refused, left_out


def _fit_connected(
    skeleton: IntArray,
    edges: Mapping[VariablePair, float],
    colliders: Mapping[Triple, float],
    arrows: BoolArray,
) -> tuple[IntArray, list[tuple[Triple, str]], list[VariablePair]]:
    """`fit_pattern` for one connected component.

    Some skeletons need a collider for which there may be no evidence, such as a ring of four variables. Then
    the weakest undirected edge of the contradiction is left out.
    """
    left_out: list[VariablePair] = []
    pattern, refused = _orient_colliders(skeleton, colliders, arrows)
    while core := contradictory_core(pattern):
        undirected = undirected_part(pattern)
        candidates = [pair for pair in combinations(core, 2) if undirected[pair]]
        left_out.append(max(candidates, key=lambda pair: (edges[pair], pair)))
        skeleton[left_out[-1]] = skeleton[left_out[-1][::-1]] = 0
        pattern, refused = _orient_colliders(skeleton, colliders, arrows)
    # The core also contains edges between two contradictions; edges that were part of neither are restored.
    for pair in sorted(left_out, key=lambda pair: (edges[pair], pair)):
        trial = skeleton.copy()
        trial[pair] = trial[pair[::-1]] = 1
        trial_pattern, trial_refused = _orient_colliders(trial, colliders, arrows)
        if not contradictory_core(trial_pattern) and len(trial_refused) <= len(refused):
            skeleton, pattern, refused = trial, trial_pattern, trial_refused
            left_out.remove(pair)
    return pattern, refused, left_out


def _orient_colliders(
    skeleton: IntArray, colliders: Mapping[Triple, float], arrows: BoolArray
) -> tuple[IntArray, list[tuple[Triple, str]]]:
    """Orient the candidates that this skeleton leaves unshielded: `(pattern, [(refused one, reason)])`."""
    unshielded = [
        (x, z, y) for x, z, y in colliders if skeleton[x, z] and skeleton[y, z] and not skeleton[x, y]
    ]
    unshielded.sort(key=lambda triple: (-colliders[triple], triple))
    pattern, refused = orient(skeleton, [((x, z), (y, z)) for x, z, y in unshielded], arrows)
    return pattern, [(unshielded[index], reason) for index, reason in refused.items()]


def orient(
    skeleton: IntArray, proposals: Sequence[Collection[VariablePair]], arrows: BoolArray | None = None
) -> tuple[IntArray, dict[int, str]]:
    """Direct edges as proposed, keeping a DAG extension: `(graph, {position of a refused one: reason})`.

    A proposal is one or more arrows that belong together. If all fit together with the known `arrows`, which
    are acyclic, that is the result. Otherwise they are added one by one, the strongest first, and those that
    do not fit are refused.
    """
    graph = skeleton.copy() if arrows is None else skeleton & ~arrows.T
    everything = with_directions(graph, (arrow for proposal in proposals for arrow in proposal))
    if np.array_equal(everything | everything.T, skeleton) and not contradictory_core(everything):
        return everything, {}  # an edge directed both ways would be lost

    refused = {}
    core = set(contradictory_core(graph))
    for index, proposal in enumerate(proposals):
        trial = with_directions(graph, proposal)
        trial_core = set(contradictory_core(trial))
        if not all(graph[arrow] for arrow in proposal):
            refused[index] = "one of these edges already points away from the middle"
        elif not is_acyclic(directed_part(trial)):
            refused[index] = "that would close a directed cycle"
        elif trial_core - core:
            refused[index] = "no directed acyclic graph contains it together with the others"
        else:
            graph, core = trial, trial_core
    return graph, refused
