"""Arrows that tests confirm: against d-separation on every small graph, and on wrong graphs."""

import numpy as np
import pytest
from support.brute_force import all_dags, random_dag

from dcd.graph.adjacency import directed_part, unshielded_colliders
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.probabilities import FORWARD
from dcd.graph.separation import d_separated
from dcd.search.arrow_tests import confirmed_arrows
from dcd.search.graph_class import class_types


def free(n):
    return np.zeros((n, n), dtype=bool)


def oracle_of(truth):
    """Perfect tests on data from a graph, and the statements that were tested."""
    asked = []

    def ask(questions):
        asked.extend(questions)
        return {(x, y, *s): 0.0 if d_separated(truth, x, y, s) else -99.0 for x, y, *s in questions}

    return ask, asked


def graph(n, *arrows):
    dag = np.zeros((n, n), dtype=np.int8)
    dag[tuple(np.transpose(arrows))] = 1
    return dag


@pytest.mark.parametrize("n", [3, 4])
def test_in_the_true_graph_the_arrows_of_its_colliders_are_confirmed(n):
    for dag in all_dags(n):
        truth = np.asarray(dag, dtype=np.int8)
        of_colliders = free(n)
        for x, z, y in unshielded_colliders(truth):
            of_colliders[[x, y], z] = True
        found = confirmed_arrows(truth, free(n), oracle_of(dag)[0])
        np.testing.assert_array_equal(found, of_colliders)


@pytest.mark.parametrize("n", [3, 4])
def test_in_a_wrong_graph_with_true_adjacencies_no_false_collider_is_confirmed(n):
    """Every DAG with the adjacencies of the truth: at most arrows of the true class are confirmed."""
    by_skeleton = {}
    for dag in all_dags(n):
        by_skeleton.setdefault((dag | dag.T).tobytes(), []).append(np.asarray(dag, dtype=np.int8))
    for alike in by_skeleton.values():
        for truth in alike[:: max(len(alike) // 6, 1)]:
            arrows = directed_part(dag_to_cpdag(truth)).astype(bool)
            for wrong in alike[:: max(len(alike) // 6, 1)]:
                found = confirmed_arrows(wrong, free(n), oracle_of(truth)[0])
                assert not (found & ~arrows).any(), (truth, wrong, found)


def test_a_chain_drawn_as_a_collider():
    chain, collider = graph(3, (0, 1), (1, 2)), graph(3, (0, 1), (2, 1))
    assert not confirmed_arrows(collider, free(3), oracle_of(chain)[0]).any()
    assert not confirmed_arrows(chain, free(3), oracle_of(collider)[0]).any()


def test_arrows_that_follow_from_a_collider_are_not_confirmed():
    """x0 -> x2 <- x1 and x2 -> x3: the last one is directed, but it has no collider of its own."""
    dag = graph(4, (0, 2), (1, 2), (2, 3))
    assert directed_part(dag_to_cpdag(dag))[2, 3]
    found = confirmed_arrows(dag, free(4), oracle_of(dag)[0])
    np.testing.assert_array_equal(found, graph(4, (0, 2), (1, 2)))


def test_arrows_that_knowledge_gives_are_confirmed():
    chain, known = graph(3, (0, 1), (1, 2)), free(3)
    known[0, 1] = True
    found = confirmed_arrows(chain, known, oracle_of(chain)[0])
    np.testing.assert_array_equal(found, known)


@pytest.mark.parametrize("seed", range(60))
def test_an_arrow_that_knowledge_contradicts_is_never_confirmed(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(5, rng).astype(np.int8)
    known = (dag > 0) & (rng.random(dag.shape) < 0.4)
    found = confirmed_arrows(dag, known, oracle_of(dag)[0])
    assert not (found & (class_types(dag > 0, known) != FORWARD)).any()
    assert found[known].all()


def test_undecided_tests_confirm_nothing():
    collider = graph(3, (0, 1), (2, 1))
    assert not confirmed_arrows(collider, free(3), lambda asked: dict.fromkeys(asked, np.nan)).any()


@pytest.mark.parametrize(
    ("p_without", "p_given", "confirms"),
    [(0.5, 1e-4, True), (0.06, 9e-4, True), (0.04, 1e-9, False), (0.5, 0.01, False), (0.5, 0.0011, False)],
)
def test_a_collider_needs_independence_at_5_percent_and_dependence_at_a_tenth_percent(
    p_without, p_given, confirms
):
    collider = graph(3, (0, 1), (2, 1))
    log_pvalues = {(0, 2): np.log(p_without), (0, 2, 1): np.log(p_given)}
    found = confirmed_arrows(collider, free(3), lambda asked: {one: log_pvalues[one] for one in asked})
    np.testing.assert_array_equal(found, collider if confirms else np.zeros((3, 3)))


def test_few_triples_are_tried_for_an_arrow():
    """Twenty causes of one effect have 190 colliders."""
    star = graph(21, *((v, 20) for v in range(20)))
    ask, asked = oracle_of(star)
    np.testing.assert_array_equal(confirmed_arrows(star, free(21), ask), star)
    assert len(asked) <= 2 * 20
    nothing_shown = []
    confirmed_arrows(star, free(21), lambda some: nothing_shown.extend(some) or dict.fromkeys(some, 0.0))
    assert len(nothing_shown) <= 2 * 4 * 20
    useless = []
    confirmed_arrows(star, free(21), lambda some: useless.extend(some) or dict.fromkeys(some, -99.0))
    assert 20 not in {
        v for question in useless for v in question[2:]
    }  # dependent without it: no further tests
