"""Algorithm 1 and the class of a DAG under background knowledge, against brute force."""

from itertools import combinations, islice

import numpy as np
import pandas as pd
import pytest
from support.brute_force import (
    NAMES,
    any_knowledge,
    assert_valid_and_respectful,
    members_of_class,
    respects,
    shared_arrows,
    true_knowledge,
)
from support.known_graphs import all_dags, random_dag
from support.searches import erring_identifier

import dcd
from dcd import Knowledge, graph
from dcd.graph.equivalence import dag_to_cpdag
from dcd.search.assemble import assemble_dag
from dcd.search.base import GraphOutcome, TestedEdge


def assert_exact(dag, knowledge):
    """Algorithm 1 with an oracle has the arrows that the DAGs of the class with the knowledge share."""
    names = NAMES[: len(dag)]
    result = dcd.search.construct_cpdag(names, graph.oracle(dag, names), knowledge=knowledge)
    dags = [one for one in members_of_class(dag_to_cpdag(dag)) if respects(one, knowledge)]
    np.testing.assert_array_equal(result.cpdag.adjacency, shared_arrows(dags))
    np.testing.assert_array_equal(result.cpdag.without_background().adjacency, dag_to_cpdag(dag))
    assert result.conflicts == ()
    return result.cpdag


def rules_1_to_3(adjacency):
    """Meek's rules without the fourth, written out again."""
    g = np.array(adjacency, dtype=bool)
    nodes = range(len(g))
    changed = True
    while changed:
        changed = False
        to, line, near = g & ~g.T, g & g.T, g | g.T
        for a, b in np.argwhere(line):
            first = any(to[c, a] and not near[c, b] for c in nodes if c != b)
            second = any(to[a, c] and to[c, b] for c in nodes)
            third = any(
                line[a, c] and line[a, d] and to[c, b] and to[d, b] and not near[c, d]
                for c, d in combinations(nodes, 2)
            )
            if first or second or third:
                g[b, a], changed = False, True
                break
    return g.astype(np.int8)


# --- exact with a perfect identifier ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("n", "draws", "every"), [(3, 6, 1), (4, 1, 6), pytest.param(4, 1, 1, marks=pytest.mark.slow)]
)
def test_exact_on_all_small_dags(n, draws, every):
    rng = np.random.default_rng(n)
    with_background = 0
    for dag in islice(all_dags(n), 0, None, every):
        for _ in range(draws):
            with_background += bool(assert_exact(dag, true_knowledge(dag, rng)).background)
    assert with_background > 40 / every


@pytest.mark.parametrize("seed", range(5))
def test_exact_on_dags_of_five_and_six_nodes(seed):
    rng = np.random.default_rng(seed)
    for n in (5, 5, 5, 6):
        for _ in range(15):
            dag = random_dag(n, rng)
            assert_exact(dag, true_knowledge(dag, rng))


def test_rule_4_is_needed():
    """d -> c -> b known, a next to all: if b -> a, then a -> d closes a cycle and d -> a makes a collider."""
    #                a  b  c  d
    dag = np.array([[0, 1, 1, 1], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]], dtype=np.int8)
    known = assert_exact(dag, Knowledge(required=[("d", "c"), ("c", "b")]))
    assert ("a", "b") in known.directed_edges
    assert known.background == (("c", "b"), ("d", "c"))
    assert ("a", "d") in known.undirected_edges
    three = dag_to_cpdag(dag)
    three[2, 3] = three[1, 2] = 0
    three = rules_1_to_3(three)
    assert three[0, 1] == three[1, 0] == 1
    assert (three != known.adjacency).sum() == 1


@pytest.mark.parametrize("seed", range(3))
def test_the_class_of_a_dag_given_what_is_known(seed):
    """Of the true DAG, the arrows that all DAGs of its class with the knowledge share."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(4, 7))
        dag = random_dag(n, rng)
        names, knowledge = NAMES[:n], true_knowledge(dag, rng)
        edges = tuple(
            TestedEdge((i, j), (), -9.0) for i, j in combinations(range(n), 2) if (dag | dag.T)[i, j]
        )
        result = assemble_dag(names, GraphOutcome(dag, edges, 0.05, unconstrained=dag), knowledge.bind(names))
        dags = [one for one in members_of_class(dag_to_cpdag(dag)) if respects(one, knowledge)]
        np.testing.assert_array_equal(result.cpdag.adjacency, shared_arrows(dags))
        assert result.conflicts == ()
        truth = graph.oracle(dag, names)
        boundaries = {a: set(truth(a, [b for b in names if b != a])) for a in names}
        assert {a: set(members) for a, members in result.markov_boundaries.items()} == boundaries


@pytest.mark.parametrize("seed", range(4))
def test_always_valid_and_always_for_the_knowledge(seed):
    rng = np.random.default_rng(seed)
    kinds = set()
    for _ in range(25):
        dag, knowledge, noise = random_dag(6, rng), any_knowledge(6, rng), {}
        identify = erring_identifier(
            pd.DataFrame(dag, columns=list("abcdef"), index=list("abcdef")), 0.1, rng
        )

        def pvalue(*key, noise=noise):
            return noise.setdefault(str(key), rng.random())

        result = dcd.search.construct_cpdag("abcdef", identify, pvalue=pvalue, knowledge=knowledge)
        assert_valid_and_respectful(result.cpdag, knowledge)
        kinds |= {conflict.kind for conflict in result.conflicts}
    assert {"required_edge", "forbidden_edge", "refused_collider", "known_collider"} <= kinds


def test_one_way_statements_that_would_close_a_ring():
    """Each pair has one direction left, in a circle; the weakest edge is removed, never a required one."""
    pvalues = {frozenset("ab"): 1e-9, frozenset("bc"): 0.04, frozenset("ac"): 1e-7}
    circle = {"forbidden": [("b", "a"), ("c", "b"), ("a", "c")]}
    for required, edges in (([], "a -> b\nc -> a"), ([("b", "c"), ("c", "a")], "b -> c\nc -> a")):
        result = dcd.search.construct_cpdag(
            "abc",
            lambda target, others: set(others),
            pvalue=lambda target, member, others: pvalues[frozenset((target, member))],
            knowledge=Knowledge(**circle, required=required),
        )
        assert str(result.cpdag) == edges
        (conflict,) = result.conflicts
        assert "would close a cycle" in str(conflict)
