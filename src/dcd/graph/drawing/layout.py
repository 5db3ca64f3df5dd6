"""Layered graph layout (Sugiyama, Tagawa and Toda 1981): causes above effects, few crossings.

Each connected component is laid out separately: nodes are assigned to layers, long edges get a bend point in
each layer they pass, the order within layers is improved until no exchange of neighbours removes a crossing,
and x is the least-squares solution with minimum distances. The components are then packed in rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from scipy.sparse.csgraph import connected_components, shortest_path
from sklearn.isotonic import isotonic_regression

from dcd.graph.adjacency import (
    check_adjacency,
    directed_part,
    skeleton_of,
    topological_order,
    undirected_part,
)
from dcd.graph.equivalence import consistent_extension
from dcd.runtime.array_types import BoolArray, FloatArray, IntArray

_SWEEPS = 12  # down and up; enough for graphs of readable size
_STALE = 6  # sweeps without an improvement after which to stop
_STARTS, _MOST_FOR_STARTS = 6, 150  # nodes and bend points; larger graphs get one start
_MOST_FOR_EXCHANGES = 600  # likewise; larger graphs use barycentres alone
_PLACEMENTS = 16
_BEND_TO_NODE, _BEND_TO_BEND = 0.75, 0.35  # space beside a bend point; two nodes are 1 apart
_STRAIGHT = 8.0  # weight of straight long edges relative to short ones


@dataclass(frozen=True)
class Layout:
    """Coordinates of a graph, in units of the width of one node.

    Attributes
    ----------
    positions : (d, 2) array of x and y of the nodes; neighbours in a layer are at least 1 apart, layers
        exactly 1, and y decreases from causes to effects.
    routes : for each edge `(upper, lower)` a (k, 2) array of its bend points from top to bottom.
    """

    positions: FloatArray
    routes: Mapping[tuple[int, int], FloatArray] = field(repr=False)

    @property
    def points(self) -> FloatArray:
        """(k, 2) array of all nodes and bend points."""
        return np.vstack([self.positions, *self.routes.values()])

    def path(self, start: int, end: int) -> FloatArray:
        """(k, 2) points of an edge from node `start` to node `end`."""
        bends = self.routes[start, end] if (start, end) in self.routes else self.routes[end, start][::-1]
        return np.array([self.positions[start], *bends, self.positions[end]])


def _some_dag(graph: IntArray) -> BoolArray:
    """A DAG with the arrows of a graph, if possible of its class; else lines follow a topological order."""
    extension = consistent_extension(graph)
    if extension is not None:
        return extension.astype(bool)
    arrows = directed_part(graph)
    position = np.argsort(topological_order(arrows))
    return np.asarray(arrows | (undirected_part(graph) & (position[:, None] < position)))


def layered_layout(adjacency: npt.ArrayLike, also: npt.ArrayLike | None = None) -> Layout:
    """Coordinates for the nodes of a graph and routes for its edges.

    Parameters
    ----------
    adjacency : of a CPDAG. Its arrows point down.
    also : adjacency matrix of a second graph on the same variables, such as the truth. Its arrows point down
        unless that contradicts the first graph.
    """
    dag = _some_dag(check_adjacency(adjacency))
    if also is not None:
        dag = _united(dag, check_adjacency(also, "also").astype(bool))
    n_parts, part_of = connected_components(dag, directed=False)
    parts = [np.flatnonzero(part_of == part) for part in range(n_parts)]
    layouts = [_lay_out(dag[np.ix_(nodes, nodes)]) for nodes in parts]
    positions = np.zeros((len(dag), 2))
    routes = {}
    for nodes, layout, corner in zip(parts, layouts, _packed(layouts), strict=True):
        positions[nodes] = layout.positions + corner
        for (upper, lower), bends in layout.routes.items():
            routes[int(nodes[upper]), int(nodes[lower])] = bends + corner
    return Layout(positions, routes)


def _united(dag: BoolArray, also: BoolArray) -> BoolArray:
    """The DAG with the edges of another graph added, reversed where they would close a cycle."""
    united = dag.copy()
    reaches = np.isfinite(shortest_path(dag, unweighted=True))  # each node reaches itself
    for i, j in np.argwhere(also & ~skeleton_of(dag)):
        if united[i, j] or united[j, i]:
            continue
        cause, effect = (j, i) if reaches[j, i] else (i, j)
        united[cause, effect] = True
        reaches |= np.outer(reaches[:, cause], reaches[effect])
    return united


# --- one component ---------------------------------------------------------------------------------------


def _lay_out(dag: BoolArray) -> Layout:
    """Coordinates of a connected DAG, with its upper-left corner at (0, 0)."""
    layer = _layers(dag, widest=max(5, int(np.ceil(1.3 * np.sqrt(len(dag))))))
    proper = _Proper(dag, layer)
    proper.order()
    x = proper.x_coordinates()
    x -= x.min()
    points = np.column_stack([x, -np.array(proper.layer, dtype=float)])
    return Layout(points[: len(dag)], {edge: points[bends] for edge, bends in proper.bends.items()})


def _layers(dag: BoolArray, widest: int) -> npt.NDArray[np.intp]:
    """A layer for each node, below all its parents, with at most `widest` nodes in one."""
    order = topological_order(dag)
    height = np.zeros(len(dag), dtype=int)  # number of edges on the longest path down
    for node in reversed(order):
        height[node] = (height[dag[node]] + 1).max(initial=0)
    layer = np.zeros(len(dag), dtype=np.intp)
    taken = np.zeros(len(dag) + 1, dtype=int)
    pending = set(order)
    while pending:
        ready = [node for node in pending if not pending & set(np.flatnonzero(dag[:, node]).tolist())]
        node = max(ready, key=lambda node: (height[node], -node))
        layer[node] = (layer[dag[:, node]] + 1).max(initial=0)
        while taken[layer[node]] >= widest:
            layer[node] += 1
        taken[layer[node]] += 1
        pending.remove(node)
    for node in reversed(order):  # a node with more children than parents moves down to the children
        lowest = layer[dag[node]].min(initial=len(dag)) - 1
        if dag[node].sum() > dag[:, node].sum() and layer[node] < lowest and taken[lowest] < widest:
            taken[layer[node]] -= 1
            taken[lowest] += 1
            layer[node] = lowest
    return np.unique(layer, return_inverse=True)[1]


class _Proper:
    """A proper layered DAG: with bend points, every edge connects adjacent layers."""

    def __init__(self, dag: BoolArray, layer: Sequence[int] | npt.NDArray[np.intp]) -> None:
        self.n_nodes = len(dag)
        self.layer = [int(level) for level in layer]
        self.above: list[list[int]] = [[] for _ in self.layer]
        self.below: list[list[int]] = [[] for _ in self.layer]
        self.bends: dict[tuple[int, int], list[int]] = {}
        for upper, lower in np.argwhere(dag).tolist():
            levels = range(self.layer[upper] + 1, self.layer[lower])
            bends = list(range(len(self.layer), len(self.layer) + len(levels)))
            self.layer += levels
            self.above += [[] for _ in levels]
            self.below += [[] for _ in levels]
            self.bends[upper, lower] = bends
            for one, next_one in pairwise([upper, *bends, lower]):
                self.below[one].append(next_one)
                self.above[next_one].append(one)
        self.rows: list[list[int]] = [[] for _ in range(max(self.layer) + 1)]
        for node in self._depth_first():
            self.rows[self.layer[node]].append(node)

    def _depth_first(self) -> list[int]:
        """All nodes in depth-first order: a start with few crossings."""
        seen: dict[int, None] = {}
        pending = list(range(len(self.layer) - 1, -1, -1))
        while pending:
            node = pending.pop()
            if node not in seen:
                seen[node] = None
                pending += [*self.above[node], *self.below[node]]
        return list(seen)

    def order(self) -> None:
        """Order the rows for few crossings: the best of a few local searches."""
        rng = np.random.default_rng(0)  # fixed, so that the same graph is always drawn the same way
        best, fewest = deepcopy(self.rows), self.crossings()
        for start in range(_STARTS if len(self.layer) <= _MOST_FOR_STARTS else 1):
            if start > 0:
                self.rows = [rng.permutation(row).tolist() for row in best]
            stale = 0
            for sweep in range(2 * _SWEEPS):
                if fewest == 0 or stale == _STALE:
                    break
                self._sort_by_barycentre(downwards=sweep % 2 == 0)
                if len(self.layer) <= _MOST_FOR_EXCHANGES:
                    self._exchange_neighbours()
                stale += 1
                if (crossings := self.crossings()) < fewest:
                    best, fewest, stale = deepcopy(self.rows), crossings, 0
        self.rows = best

    def _ranks(self) -> FloatArray:
        rank = np.zeros(len(self.layer))
        for row in self.rows:
            rank[row] = np.arange(len(row))
        return rank

    def _sort_by_barycentre(self, downwards: bool) -> None:
        rank = self._ranks()
        related = self.above if downwards else self.below
        for row in self.rows if downwards else reversed(self.rows):
            centre = {node: rank[related[node]].mean() if related[node] else rank[node] for node in row}
            row.sort(key=lambda node: centre[node])
            rank[row] = np.arange(len(row))

    def _exchange_neighbours(self) -> None:
        """Exchange neighbours in a row while that removes crossings."""
        rank = self._ranks().tolist()
        improved = True
        while improved:
            improved = False
            for row in self.rows:
                for index in range(len(row) - 1):
                    first, second = row[index : index + 2]
                    if self._crossings_of(first, second, rank) > self._crossings_of(second, first, rank):
                        row[index : index + 2] = second, first
                        rank[first], rank[second] = index + 1, index
                        improved = True

    def _crossings_of(self, first: int, second: int, rank: Sequence[float]) -> int:
        """How many edges of two neighbours cross if `first` is to the left of `second`."""
        both_ways = (self.above, self.below)
        return sum(rank[a] > rank[b] for ends in both_ways for a in ends[first] for b in ends[second])

    def crossings(self) -> int:
        """How many pairs of edges cross."""
        rank = self._ranks()
        count = 0
        for row in self.rows:
            ends = np.array([(rank[upper], rank[node]) for node in row for upper in self.above[node]])
            if len(ends):
                crossed = (ends[:, None] - ends[None]).prod(axis=2) < 0
                count += int(crossed.sum()) // 2
        return count

    def x_coordinates(self) -> FloatArray:
        """Place every node and bend point close to its neighbours, with minimum distances within rows."""
        x = np.zeros(len(self.layer))
        rooms = [self._room(row) for row in self.rows]
        for row, room in zip(self.rows, rooms, strict=True):
            x[row] = room - room[-1] / 2
        for sweep in range(_PLACEMENTS):
            for row, room in list(zip(self.rows, rooms, strict=True))[:: 1 if sweep % 2 == 0 else -1]:
                desired = np.array([self._desired_x(node, x) for node in row])
                weight = [_STRAIGHT if node >= self.n_nodes else 1.0 for node in row]
                x[row] = isotonic_regression(desired - room, sample_weight=weight) + room
        return x

    def _room(self, row: Sequence[int]) -> FloatArray:
        """The minimum distance of each node in a row from the first."""
        gaps = {0: 1.0, 1: _BEND_TO_NODE, 2: _BEND_TO_BEND}
        is_bend = [node >= self.n_nodes for node in row]
        return np.cumsum([0.0, *(gaps[int(a) + int(b)] for a, b in pairwise(is_bend))])

    def _desired_x(self, node: int, x: FloatArray) -> float:
        related = [*self.above[node], *self.below[node]]
        if not related:
            return float(x[node])
        both_bends = [node >= self.n_nodes and other >= self.n_nodes for other in related]
        return float(np.average(x[related], weights=np.where(both_bends, _STRAIGHT, 1.0)))


# --- all components --------------------------------------------------------------------------------------


def _packed(layouts: Sequence[Layout]) -> list[FloatArray]:
    """The upper-left corner of each component: the tallest first, each in the first row with enough space."""
    sizes = [np.ptp(layout.points, axis=0) + 1.0 for layout in layouts]
    widest = max(size[0] for size in sizes)
    area = sum(float(size.prod()) for size in sizes)
    row_width = max(widest, 6.0, 1.2 * np.sqrt(area))
    corners = [np.zeros(2)] * len(layouts)
    ends: list[FloatArray] = []  # of the rows, where the next component of each would begin
    bottom = 0.0
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index][1], -sizes[index][0], index)):
        width, height = sizes[index]
        row = next((end for end in ends if end[0] + width <= row_width + 1e-9), None)
        if row is None:
            row = np.array([0.0, bottom])
            ends.append(row)
            bottom -= height
        corners[index] = row.copy()
        row[0] += width
    return corners


# --- curves ----------------------------------------------------------------------------------------------


def smooth(points: FloatArray) -> FloatArray:
    """(3k + 1, 2) control points of cubic Bézier curves through the k + 1 points of a path.

    x is a monotone function of y between the points (Fritsch and Carlson 1980), so that curves do not
    overshoot. The last segment is straight, for the arrowhead.
    """
    steps = np.diff(points, axis=0)
    slopes = steps[:, 0] / steps[:, 1]
    at_points = [slopes[0], *(_harmonic_mean(a, b) for a, b in pairwise(slopes)), slopes[-1]]
    if len(points) > 2:
        at_points[-2] = slopes[-1]
    curve = [points[0]]
    for (start, end), (slope, next_slope), dy in zip(
        pairwise(points), pairwise(at_points), steps[:, 1], strict=True
    ):
        curve += [start + np.array([slope, 1.0]) * dy / 3, end - np.array([next_slope, 1.0]) * dy / 3, end]
    return np.array(curve)


def _harmonic_mean(a: float, b: float) -> float:
    """The harmonic mean of two slopes; 0 if they have opposite signs."""
    return 2 * a * b / (a + b) if a * b > 0 else 0.0
