"""Graphs without a DAG extension are refused, with their edges."""

import itertools
import re

import networkx as nx
import numpy as np
import pytest

from dcd import InputError, interop


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        (
            [("a", "b"), ("b", "c"), ("c", "a"), ("a", "d")],
            "'a' -> 'b', 'b' -> 'c', 'c' -> 'a': form a directed cycle",
        ),
        ([("a", "a")], "edge 'a' -> 'a': is a loop"),
        (
            [(x, y) for pair in ("ab", "bc", "cd", "da") for x, y in (pair, pair[::-1])] + [("a", "e")],
            "'a' - 'b', 'a' - 'd', 'b' - 'c', 'c' - 'd': fit no DAG",
        ),
    ],
    ids=["cycle", "loop", "ring"],
)
def test_a_graph_that_no_dag_fits_is_refused_by_its_edges(edges, message):
    graph = nx.DiGraph(edges)
    for refused in (
        lambda: interop.from_networkx(graph),
        lambda: interop.from_graphml("\n".join(nx.generate_graphml(graph))),
        lambda: interop.from_dot(nx.nx_pydot.to_pydot(graph).to_string()),
        lambda: interop.from_gcastle(nx.to_pandas_adjacency(graph)),
        lambda: interop.from_lingam(nx.to_pandas_adjacency(graph).T),
    ):
        with pytest.raises(InputError, match=re.escape(message)):
            refused()


@pytest.mark.parametrize("seed", range(10))
def test_a_cycle_in_a_large_graph_is_named_quickly(seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(60)
    graph = nx.DiGraph(
        (int(order[i]), int(order[j])) for i in range(60) for j in range(i + 1, 60) if rng.random() < 0.1
    )
    inside = [int(order[i]) for i in (10, 20, 30, 40)]
    nx.add_cycle(graph, inside)
    with pytest.raises(InputError, match="form a directed cycle") as caught:
        interop.from_networkx(graph)
    named = re.findall(r"'(\d+)' -> '(\d+)'", caught.value.subject)
    assert all(graph.has_edge(int(a), int(b)) for a, b in named)
    assert all(one[1] == two[0] for one, two in itertools.pairwise(named))
    assert "..." in caught.value.subject or named[-1][1] == named[0][0]


@pytest.mark.parametrize("size", [5, 100])
def test_a_ring_of_any_size_is_refused_by_its_edges(size):
    ring = nx.relabel_nodes(nx.cycle_graph(size), str)
    with pytest.raises(InputError, match="fit no DAG") as caught:
        interop.from_networkx(ring)
    named = re.findall(r"'(\d+)' - '(\d+)'", caught.value.subject)
    assert len(named) == min(size, 8)
    assert all(ring.has_edge(a, b) for a, b in named)
