from itertools import combinations, pairwise

import numpy as np
import pytest
from support.known_graphs import random_dag

from dcd import CPDAG, InputError
from dcd.evaluation import simulate
from dcd.graph.adjacency import skeleton_of
from dcd.graph.drawing.layout import layered_layout, smooth


def graph_of(dag):
    return CPDAG.from_dag([f"v{i}" for i in range(len(dag))], dag)


def segments(layout):
    for start, end in layout.routes:
        yield from pairwise(layout.path(start, end).tolist())


def crossings(layout):
    """Pairs of drawn pieces of edges that cross, by orientation of triangles."""

    def side(a, b, c):
        return np.sign(round((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]), 9))

    return sum(
        side(a, b, c) * side(a, b, d) < 0 and side(c, d, a) * side(c, d, b) < 0
        for (a, b), (c, d) in combinations(list(segments(layout)), 2)
    )


@pytest.mark.parametrize("n_variables", [2, 5, 11, 30])
def test_arrows_point_down_and_nodes_have_room(n_variables):
    rng = np.random.default_rng(n_variables)
    for _ in range(8):
        cpdag = graph_of(random_dag(n_variables, rng) * (rng.random((n_variables, n_variables)) < 0.4))
        layout = layered_layout(cpdag.adjacency)
        places = layout.positions
        for (x, y), (u, v) in combinations(places, 2):
            assert abs(x - u) > 1 - 1e-6 or abs(y - v) > 1 - 1e-6
        for cause, effect in cpdag.directed_edges:
            assert places[cpdag.index(cause)][1] > places[cpdag.index(effect)][1]
        assert {frozenset(edge) for edge in layout.routes} == {
            frozenset(pair) for pair in np.argwhere(skeleton_of(cpdag.adjacency)).tolist()
        }


def test_edges_pass_between_the_nodes_of_other_layers():
    rng = np.random.default_rng(1)
    for _ in range(10):
        layout = layered_layout(graph_of(random_dag(9, rng)).adjacency)
        for (start, end), bends in layout.routes.items():
            top, bottom = layout.positions[[start, end], 1]
            assert [y for _, y in bends] == pytest.approx(np.arange(top - 1, bottom, -1))
            for x, y in bends:
                same_layer = layout.positions[np.abs(layout.positions[:, 1] - y) < 1e-6]
                assert (np.abs(same_layer[:, 0] - x) > 0.7).all()


def test_trees_are_drawn_without_crossings():
    for seed in range(15):
        tree = simulate.random_dag(25, degree=2, graph="erdos-renyi", random_state=seed)
        undirected = CPDAG.from_dag([f"v{i}" for i in range(25)], _rooted(tree))
        assert crossings(layered_layout(undirected.adjacency)) == 0


def _rooted(tree):
    """The tree with all edges away from node 0."""
    rooted, pending, seen = np.zeros_like(tree), [0], {0}
    while pending:
        node = pending.pop()
        for other in set(np.flatnonzero(skeleton_of(tree)[node]).tolist()) - seen:
            rooted[node, other] = 1
            seen.add(other)
            pending.append(other)
    return rooted


def test_exchanges_reach_the_fewest_crossings_of_small_graphs():
    """Two layers of a bipartite graph: against all orders of both."""
    from itertools import permutations

    rng = np.random.default_rng(3)
    for _ in range(8):
        links = rng.random((4, 4)) < 0.6
        links[0] |= ~links.any(axis=0)
        links[:, 0] |= ~links.any(axis=1)
        dag = np.zeros((8, 8), dtype=int)
        dag[:4, 4:] = links
        cpdag = graph_of(dag)
        layout = layered_layout(cpdag.adjacency)
        if set(layout.positions[:, 1]) != {0.0, -1.0}:
            continue  # another DAG of the class has more layers
        edges = [tuple(edge) for edge in np.argwhere(links)]
        fewest = min(
            sum((up[a] - up[c]) * (down[b] - down[d]) < 0 for (a, b), (c, d) in combinations(edges, 2))
            for up in permutations(range(4))
            for down in permutations(range(4))
        )
        assert crossings(layout) == fewest


def test_a_second_graph_is_laid_out_too():
    rng = np.random.default_rng(2)
    for _ in range(10):
        cpdag, other = graph_of(random_dag(7, rng)), graph_of(random_dag(7, rng)).adjacency
        layout = layered_layout(cpdag.adjacency, other)
        drawn = {frozenset(edge) for edge in layout.routes}
        assert {frozenset(pair) for pair in np.argwhere(other).tolist()} <= drawn
        for cause, effect in cpdag.directed_edges:
            assert layout.positions[cpdag.index(cause), 1] > layout.positions[cpdag.index(effect), 1]
    with pytest.raises(InputError, match="'also'"):
        layered_layout(cpdag.adjacency, np.eye(7))


def test_unconnected_nodes_and_parts_fill_rows():
    empty = layered_layout(np.zeros((30, 30))).positions
    assert np.ptp(empty[:, 0]) < 10
    pairs = np.zeros((30, 30))
    pairs[np.arange(0, 30, 2), np.arange(1, 30, 2)] = 1
    places = layered_layout(graph_of(pairs).adjacency).positions
    assert np.ptp(places[:, 0]) < 12
    assert len({tuple(place) for place in places.tolist()}) == 30


def test_graphs_with_a_directed_cycle_are_not_laid_out():
    with pytest.raises(InputError, match="has a directed cycle"):
        layered_layout([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


def test_lines_that_no_dag_of_the_class_has_are_laid_out_by_the_arrows():
    square = np.zeros((4, 4), dtype=int)  # a cycle of four lines: each of its DAGs has a collider
    for a, b in ((0, 1), (1, 2), (2, 3), (3, 0)):
        square[a, b] = square[b, a] = 1
    assert layered_layout(square).positions.shape == (4, 2)


def test_layers_are_not_too_wide():
    star = np.zeros((46, 46))
    star[0, 1:] = 1
    assert np.ptp(layered_layout(graph_of(star).adjacency).positions[:, 0]) < 25


def test_curves_pass_their_points_and_never_swing_out():
    points = np.array([[0.0, 0.0], [3.0, -1.0], [3.0, -2.0], [-1.0, -3.0]])
    curve = smooth(points)
    assert np.allclose(curve[::3], points)
    assert curve[:, 0].max() <= 3 + 4 / 3  # a third of the last, straight piece, before it
    assert curve[:, 0].min() >= -1.0
    last = curve[-4:]
    away, along = last[1:] - last[0], last[3] - last[0]
    assert np.allclose(away[:, 0] * along[1], away[:, 1] * along[0])
