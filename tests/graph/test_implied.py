"""The statements of a graph against d-separation by enumeration of paths."""

from itertools import combinations

import numpy as np
import pytest
from support.brute_force import all_dags, random_dag

from dcd import InputError
from dcd.graph import d_separated
from dcd.graph.implied import Statement, edge_statements, implied_independences


def paths(dag, x, y):
    """Every path from x to y, edges in either direction, by trying all."""
    pending = [[x]]
    while pending:
        path = pending.pop()
        if path[-1] == y:
            yield path
            continue
        for node in range(len(dag)):
            if node not in path and (dag[path[-1], node] or dag[node, path[-1]]):
                pending.append([*path, node])


def blocked(dag, path, given):
    """By the definition: a collider without a descendant in the set, or another node in it."""
    reaches = np.linalg.matrix_power(np.eye(len(dag)) + dag, len(dag)) > 0
    for before, node, after in zip(path, path[1:], path[2:], strict=False):
        if dag[before, node] and dag[after, node]:
            if not any(reaches[node, one] for one in given):
                return True
        elif node in given:
            return True
    return False


def separated(dag, one):
    return all(blocked(dag, path, one.given) for path in paths(dag, one.x, one.y))


def assert_separated(dag):
    statements = implied_independences(dag)
    assert len(set(statements)) == len(statements)
    for one in statements:
        assert one.x < one.y
        assert list(one.given) == sorted(one.given)
        assert not {one.x, one.y} & set(one.given)
        assert separated(dag, one)
        assert d_separated(dag, *one)
    apart = {(i, j) for i, j in combinations(range(len(dag)), 2) if not dag[i, j] and not dag[j, i]}
    assert {(one.x, one.y) for one in statements} == apart
    edges = edge_statements(dag)
    assert set(edges) == {(int(i), int(j)) for i, j in np.argwhere(dag)}
    for (cause, effect), one in edges.items():
        assert {one.x, one.y} == {cause, effect}
        assert not separated(dag, one)
        without = dag.copy()
        without[cause, effect] = False
        assert separated(without, one)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_every_statement_of_every_small_dag_is_a_d_separation(n):
    for dag in all_dags(n):
        assert_separated(dag)


@pytest.mark.parametrize("seed", range(8))
def test_every_statement_of_larger_dags_is_a_d_separation(seed):
    assert_separated(random_dag(7, np.random.default_rng(seed), share=0.4))


def test_a_chain_a_fork_and_a_collider():
    chain = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
    assert implied_independences(chain) == [Statement(0, 2, (1,))]
    assert edge_statements(chain) == {(0, 1): Statement(0, 1, ()), (1, 2): Statement(1, 2, ())}
    collider = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    assert implied_independences(collider) == [Statement(0, 1, ())]
    assert edge_statements(collider)[0, 2] == Statement(0, 2, (1,))


def test_both_ends_of_a_pair_have_their_statement():
    """b and d, not adjacent and neither an ancestor of the other, given the parents of each."""
    dag = np.zeros((4, 4), dtype=int)  # a -> b, c -> d
    dag[0, 1] = dag[2, 3] = 1
    assert {one for one in implied_independences(dag) if (one.x, one.y) == (1, 3)} == {
        Statement(1, 3, (0,)),
        Statement(1, 3, (2,)),
    }


def test_relabelling_is_that_of_the_graph():
    rng = np.random.default_rng(3)
    for _ in range(20):
        dag, order = random_dag(6, rng), rng.permutation(6)
        moved = np.zeros_like(dag)
        moved[np.ix_(order, order)] = dag
        relabelled = sorted(one.relabelled(order) for one in implied_independences(dag))
        assert relabelled == implied_independences(moved)


def test_cycles_and_other_matrices_are_refused():
    with pytest.raises(InputError, match="directed cycle"):
        implied_independences([[0, 1], [1, 0]])
    with pytest.raises(InputError, match="square matrix"):
        edge_statements([[0, 1, 0]])
