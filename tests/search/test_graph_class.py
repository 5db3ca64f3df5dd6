"""Types of pairs in the class of a DAG, against brute force and Meek's rules; the graph of least loss."""

from collections import defaultdict

import numpy as np
import pytest
from support.brute_force import all_dags, random_dag

from dcd.graph.adjacency import directed_part, skeleton_of, undirected_part, unshielded_colliders
from dcd.graph.equivalence import dag_to_cpdag, with_arrows
from dcd.graph.probabilities import ABSENT, BACKWARD, FORWARD, UNDIRECTED
from dcd.search.graph_class import class_types, improve_loss, loss_of
from dcd.search.native import library, pointer


def nothing(n):
    return np.zeros((n, n), dtype=bool)


def types_of(cpdag):
    """The types of all pairs of a partially directed graph."""
    types = np.full(cpdag.shape, ABSENT, dtype=np.int8)
    types[directed_part(cpdag)] = FORWARD
    types[directed_part(cpdag).T] = BACKWARD
    types[undirected_part(cpdag)] = UNDIRECTED
    return types


def some_arrows(dag, rng):
    """A random share of the arrows of a DAG."""
    return dag & (rng.random(dag.shape) < rng.random())


# --- types -----------------------------------------------------------------------------------------------


def test_the_number_of_dags_is_known():
    assert [len(all_dags(n)) for n in (1, 2, 3, 4)] == [1, 3, 25, 543]  # OEIS A003024


@pytest.mark.parametrize("n", [2, 3, 4])
def test_every_dag_has_the_types_that_the_members_of_its_class_share(n):
    classes = defaultdict(list)
    for dag in all_dags(n):
        key = (skeleton_of(dag).tobytes(), frozenset(unshielded_colliders(dag.astype(np.int8))))
        classes[key].append(dag)
    assert len(classes) == {2: 2, 3: 11, 4: 185}[n]  # OEIS A007984
    for members in classes.values():
        shared = types_of(np.any(members, axis=0).astype(np.int8))
        for dag in members:
            np.testing.assert_array_equal(class_types(dag, nothing(n)), shared)


@pytest.mark.parametrize("seed", range(3))
def test_with_arrows_of_knowledge_the_types_are_those_of_the_members_that_have_them(seed):
    rng = np.random.default_rng(seed)
    dags = np.array(all_dags(4))
    colliders = [frozenset(unshielded_colliders(dag.astype(np.int8))) for dag in dags]
    skeletons = dags | dags.transpose(0, 2, 1)
    for at, dag in enumerate(dags):
        oriented = some_arrows(dag, rng)
        members = [
            other
            for other, key, skeleton in zip(dags, colliders, skeletons, strict=True)
            if (skeleton == skeletons[at]).all() and key == colliders[at] and (other >= oriented).all()
        ]
        shared = types_of(np.any(members, axis=0).astype(np.int8))
        np.testing.assert_array_equal(class_types(dag, oriented), shared)


@pytest.mark.parametrize("n", [5, 6, 7, 8])
def test_of_more_nodes_they_are_those_of_the_cpdag(n):
    rng = np.random.default_rng(n)
    for _ in range(40):
        dag = random_dag(n, rng)
        cpdag = dag_to_cpdag(dag.astype(np.int8))
        np.testing.assert_array_equal(class_types(dag, nothing(n)), types_of(cpdag))
        oriented = some_arrows(dag, rng)
        closed = with_arrows(cpdag, [(int(i), int(j)) for i, j in np.argwhere(oriented)])
        np.testing.assert_array_equal(class_types(dag, oriented), types_of(closed))


def test_directions_of_pairs_that_are_not_joined_mean_nothing():
    everything = ~np.eye(4, dtype=bool)
    empty = class_types(nothing(4), everything)
    assert (empty == ABSENT).all()


def has_path(dag, start, end):
    seen, stack = np.zeros(len(dag), dtype=bool), np.zeros(len(dag), dtype=np.int64)
    workspace = pointer(seen, np.bool_), pointer(stack, np.int64)
    return library().has_path(pointer(dag, np.bool_), len(dag), start, end, *workspace)


@pytest.mark.parametrize("seed", range(3))
def test_paths_are_those_of_powers_of_the_matrix(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(7, rng)
    reached = np.linalg.matrix_power(np.eye(7) + dag, 7) > 0
    found = [[has_path(dag, i, j) for j in range(7)] for i in range(7)]
    np.testing.assert_array_equal(found, reached)


# --- the graph of least loss -----------------------------------------------------------------------------


def random_loss(n, rng, concentration=0.5):
    """One minus the probabilities of the types, which agree in both orders of a pair."""
    probabilities = rng.dirichlet([concentration] * 4, size=(n, n)).transpose(2, 0, 1)
    below = np.tril(np.ones((n, n), dtype=bool), k=-1)
    mirrored = probabilities[[BACKWARD, FORWARD, UNDIRECTED, ABSENT]].transpose(0, 2, 1)
    return 1.0 - np.where(below, probabilities, mirrored)


def posterior_loss(n, rng):
    """The same where the probabilities are those of a few graphs, as of a posterior."""
    classes = [class_types(random_dag(n, rng, 0.4), nothing(n)) for _ in range(3)]
    weights = rng.dirichlet([1.0, 1.0, 1.0])
    return 1.0 - sum(
        weight * np.array([types == of_type for of_type in range(4)])
        for weight, types in zip(weights, classes, strict=True)
    )


def loss_by_hand(dag, loss):
    types = types_of(dag_to_cpdag(dag.astype(np.int8)))
    return sum(loss[types[i, j], i, j] for i in range(len(dag)) for j in range(i))


@pytest.mark.parametrize("seed", range(3))
def test_the_loss_is_the_sum_over_pairs_in_either_order(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        dag, loss = random_dag(6, rng), random_loss(6, rng)
        swapped = loss[[BACKWARD, FORWARD, UNDIRECTED, ABSENT]].transpose(0, 2, 1)
        assert loss_of(dag, loss, nothing(6)) == pytest.approx(loss_by_hand(dag, loss))
        assert loss_of(dag, swapped, nothing(6)) == pytest.approx(loss_by_hand(dag, loss))


def changed_by_one(dag, possible, allowed):
    """All DAGs that differ from one in the relation of one possible pair."""
    for a, b in np.argwhere(np.triu(possible, k=1)):
        for arrow in ((a, b), (b, a), None):
            other = dag.copy()
            other[a, b] = other[b, a] = False
            if arrow is not None:
                other[arrow] = True
            acyclic = np.linalg.matrix_power(np.eye(len(dag)) + other, len(dag)).diagonal().max() == 1
            if acyclic and (arrow is None or allowed[arrow]):
                yield other


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("make_loss", [random_loss, posterior_loss])
def test_no_single_change_improves_the_graph_further(seed, make_loss):
    """The guarantees of a local search: a DAG, not worse than the start, and no neighbour is better."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        n = int(rng.integers(2, 7))
        loss, start = make_loss(n, rng), random_dag(n, rng)
        possible = np.tril(rng.random((n, n)) < 0.8, k=-1)
        possible |= possible.T
        allowed = start | (rng.random((n, n)) < 0.8)
        before = loss_of(start, loss, nothing(n))
        given = start.copy()
        found = improve_loss(start, loss, possible, allowed, nothing(n))
        np.testing.assert_array_equal(start, given)
        after = loss_of(found, loss, nothing(n))
        assert np.linalg.matrix_power(np.eye(n) + found, n).diagonal().max() == 1
        assert after <= before
        assert (found <= allowed).all()
        np.testing.assert_array_equal(found[~possible], start[~possible])
        others = changed_by_one(found, possible, allowed)
        assert all(loss_of(other, loss, nothing(n)) > after - 1e-8 for other in others)


@pytest.mark.parametrize("seed", range(4))
def test_of_four_variables_it_is_nearly_always_the_best_graph_of_all(seed):
    """From the best of three graphs of the posterior; never below the exhaustive minimum."""
    rng = np.random.default_rng(seed)
    free = ~np.eye(4, dtype=bool)
    best = 0
    for _ in range(20):
        loss = posterior_loss(4, rng)
        least = min(loss_of(dag, loss, nothing(4)) for dag in all_dags(4))
        starts = [random_dag(4, rng, 0.4) for _ in range(3)]
        start = min(starts, key=lambda dag: loss_of(dag, loss, nothing(4)))
        found = loss_of(improve_loss(start, loss, free, free, nothing(4)), loss, nothing(4))
        assert found > least - 1e-9
        best += found < least + 1e-8
    assert best >= 12
