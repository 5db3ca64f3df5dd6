"""Grow-shrink, with a perfect test on known graphs and with data."""

import numpy as np
import pytest
from support.known_graphs import all_dags, random_dag
from support.searches import Oracle

import dcd
from dcd.features.rank_scores import make_scores
from dcd.graph.separation import oracle
from dcd.independence.association import PartialAssociation, WeightedAssociation
from dcd.search.grow_shrink import GrowShrink


def assert_found_right(dag):
    n, truth = len(dag), oracle(dag)
    for target in range(n):
        others = [v for v in range(n) if v != target]
        found = GrowShrink(max_size=n).boundary(Oracle(dag), target, n, 0.01)
        assert found == sorted(truth(target, others))


@pytest.mark.parametrize("n", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_with_a_perfect_test_all_small_graphs_come_out_right(n):
    for dag in all_dags(n):
        assert_found_right(dag)


def test_with_a_perfect_test_random_graphs_come_out_right():
    rng = np.random.default_rng(0)
    for _ in range(60):
        assert_found_right(random_dag(7, rng))


def test_a_test_that_contradicts_itself_does_not_hold_the_search_up():
    class Moody(Oracle):
        def log_pvalue(self, x, y, given):
            rng = np.random.default_rng([x + y, x * y, *sorted(given)])
            return float(rng.choice([0.0, -20.0]))

    for seed in range(30):
        test = Moody(np.zeros((8, 8)))
        members = GrowShrink().boundary(test, seed % 8, 8, 0.01)
        assert len(set(members)) == len(members) <= 8
        assert seed % 8 not in members


def test_sizes_are_bounded():
    rng = np.random.default_rng(0)
    values = rng.standard_normal((500, 6))
    values[:, 0] += values[:, 1:].sum(axis=1)
    test = PartialAssociation().bind(make_scores(values), 0.01)
    assert len(GrowShrink(max_size=3).boundary(test, 0, 6, 0.01)) == 3


def test_weights_alone_find_who_is_near():
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a, b, e = rng.standard_normal((3, 800))
        test = WeightedAssociation().bind(make_scores(np.column_stack([a, b, a + 0.7 * e])), 0.001)
        assert GrowShrink().boundary(test, 0, 3, 0.001) == [2]
        assert GrowShrink().boundary(test, 1, 3, 0.001) == []


def test_finds_parents_children_and_spouses():
    strategy = PartialAssociation()
    for seed in range(5):
        rng = np.random.default_rng(seed)
        a, b, e, f, g = rng.standard_normal((5, 800))
        c = a + b + 0.7 * e
        values = np.column_stack([a, b, c, c + 0.7 * f, g])
        test = strategy.bind(make_scores(values), 0.001)
        assert GrowShrink().boundary(test, 0, 5, 0.001) == [1, 2]
        assert GrowShrink().boundary(test, 2, 5, 0.001) == [0, 1, 3]


@pytest.mark.parametrize("size", [0, 2.5, "many"])
def test_bad_parameters(size):
    with pytest.raises(dcd.InputError, match="max_size"):
        dcd.MarkovBoundary(0, search=GrowShrink(max_size=size)).fit(np.random.default_rng(0).random((200, 3)))


def test_required_members_stay_and_come_first():
    rng = np.random.default_rng(0)
    test = PartialAssociation().bind(make_scores(rng.standard_normal((300, 6))), 0.01)
    assert GrowShrink().boundary(test, 0, 6, 0.01, required=[3]) == [3]
    assert GrowShrink(max_size=1).boundary(test, 0, 6, 0.01, required=[2, 4]) == [2, 4]


def test_near_copies_do_not_cut_off_a_common_neighbour():
    """y is nearly a function of x, so each separates the other from w; w keeps one of the two."""
    for seed in range(5):
        rng = np.random.default_rng(seed)
        x, e, f = rng.standard_normal((3, 500))
        values = np.column_stack([x, np.tanh(x) + 0.01 * e, x + 1.5 * f])
        cpdag = dcd.RobustDCD().fit(values).cpdag_
        assert len(cpdag.directed_edges) + len(cpdag.undirected_edges) == 2
