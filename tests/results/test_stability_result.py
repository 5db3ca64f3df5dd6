"""The result of resampling: frequencies, the consensus graph, files."""

import json
from itertools import combinations

import numpy as np
import pytest
from support.known_graphs import random_dag
from support.resampling import rare_event_table

import dcd
from dcd import CPDAG, InputError, RobustDCD
from dcd.graph.adjacency import skeleton_of
from dcd.results import Stability
from dcd.runtime.errors import FailedResamplesWarning


def stability_of(graphs):
    """The stability of resamples with these graphs."""
    names = graphs[0].names
    directed = np.mean([g.adjacency & ~g.adjacency.T & 1 for g in graphs], axis=0)
    undirected = np.mean([g.adjacency & g.adjacency.T for g in graphs], axis=0)
    return Stability(names, directed, undirected, len(graphs), "subsample", 0.5)


def random_graphs(rng, n_graphs, n_variables=6):
    names = [f"v{i}" for i in range(n_variables)]
    return [CPDAG.from_dag(names, random_dag(n_variables, rng)) for _ in range(n_graphs)]


def test_frequencies_count_the_graphs():
    rng = np.random.default_rng(0)
    graphs = random_graphs(rng, 7)
    result = stability_of(graphs)
    for a, b in combinations(result.names, 2):
        roles = [graph.role(a, b) for graph in graphs]
        counted = [roles.count(role) / 7 for role in ("parent", "child", "neighbour", None)]
        assert list(result.frequencies(a, b).values()) == pytest.approx(counted)
        assert sum(result.frequencies(a, b).values()) == pytest.approx(1)
        swapped = result.frequencies(b, a)
        assert swapped["->"] == result.frequencies(a, b)["<-"]
    with pytest.raises(InputError, match="'v9'"):
        result.frequencies("v0", "v9")


def test_the_frame_has_the_pairs_that_ever_had_an_edge():
    graphs = random_graphs(np.random.default_rng(1), 5)
    result = stability_of(graphs)
    frame = result.to_frame()
    assert len(frame) == np.triu(sum(skeleton_of(g.adjacency).astype(int) for g in graphs)).astype(bool).sum()
    assert frame["edge"].is_monotonic_decreasing
    assert np.allclose(frame[["->", "<-", "-"]].sum(axis=1), frame["edge"])
    assert (frame["->"] >= frame["<-"]).all()


def test_consensus_of_equal_graphs_is_that_graph():
    rng = np.random.default_rng(2)
    for graph in random_graphs(rng, 40, 7):
        assert stability_of([graph] * 3).consensus(0.9) == graph


def test_consensus_of_any_graphs_is_a_graph_with_the_frequent_edges():
    rng = np.random.default_rng(3)
    for _ in range(60):
        result = stability_of(random_graphs(rng, 5, 6))
        for threshold in (0.0, 0.3, 0.5, 0.7):
            graph = result.consensus(threshold)  # CPDAG refuses to be made of anything else
            assert np.array_equal(skeleton_of(graph.adjacency), result.edge > threshold + 1e-9)


def test_consensus_of_a_ring_has_a_collider_though_none_was_frequent():
    ring = np.zeros((4, 4))
    for i, j in ((0, 1), (1, 2), (2, 3), (3, 0)):
        ring[i, j] = ring[j, i] = 1
    graph = Stability(tuple("abcd"), np.zeros((4, 4)), ring, 10, "subsample").consensus()
    assert len(graph.directed_edges) + len(graph.undirected_edges) == 4
    assert graph.directed_edges


def test_consensus_keeps_the_stronger_of_two_colliders():
    """b is a collider in most resamples, c in fewer: no valid graph has both."""
    names, b_collides = "abcd", [[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]]
    c_collides = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]]
    graphs = [CPDAG.from_dag(names, b_collides)] * 6 + [CPDAG.from_dag(names, c_collides)] * 4
    assert stability_of(graphs).consensus() == graphs[0]


def test_consensus_does_not_depend_on_the_order_of_the_columns():
    rng = np.random.default_rng(4)
    for _ in range(20):
        graphs = random_graphs(rng, 5, 6)
        order = [graphs[0].names[i] for i in rng.permutation(6)]
        turned = stability_of([graph.reorder(order) for graph in graphs])
        one, other = stability_of(graphs).consensus(0.4), turned.consensus(0.4)
        assert np.array_equal(skeleton_of(one.reorder(order).adjacency), skeleton_of(other.adjacency))


def test_round_trip_through_json():
    with pytest.warns(FailedResamplesWarning):
        result = dcd.stability(RobustDCD(), rare_event_table(), n_resamples=12)
    again = Stability.from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    assert again.to_dict() == result.to_dict()
    with pytest.raises(InputError, match="format 99"):
        Stability.from_dict({**result.to_dict(), "format": 99})
    assert again.seed == 0
    names = list(result.names)
    ones = np.ones((len(names), len(names)))
    half = np.triu(ones, 1)
    for change, problem in [
        ({"names": ["a"]}, "shape"),
        ({"names": [names[0]] * len(names)}, "'names'"),
        ({"n_resamples": -3}, "has -3 for 'n_resamples'"),
        ({"n_resamples": 2.5}, "'n_resamples'"),
        ({"scheme": "guess"}, "'scheme'"),
        ({"fraction": 7.0}, "'fraction'"),
        ({"failures": {"why": -1}}, "'failures'"),
        ({"failures": 3}, "'failures'"),
        ({"seed": "text"}, "'seed'"),
        ({"directed": ones.tolist()}, "itself"),
        ({"directed": (-half).tolist()}, "outside 0 to 1"),
        ({"directed": (half * np.nan).tolist()}, "outside 0 to 1"),
        ({"directed": "text"}, "no matrix"),
        ({"directed": (7 * half).tolist()}, "outside 0 to 1"),
        ({"directed": (0.6 * (half + half.T)).tolist()}, "sum to more than 1 or are not symmetric"),
        ({"undirected": (0.1 * half).tolist()}, "sum to more than 1 or are not symmetric"),
    ]:
        with pytest.raises(InputError, match=problem):
            Stability.from_dict({**result.to_dict(), **change})
    for lacking in result.to_dict():
        with pytest.raises(InputError, match=lacking):
            Stability.from_dict({key: v for key, v in result.to_dict().items() if key != lacking})
    with pytest.raises(InputError, match="format None"):
        Stability.from_dict([])
