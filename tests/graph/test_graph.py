from itertools import combinations

import ges.utils
import networkx as nx
import numpy as np
import pandas as pd
import pytest
from causallearn.graph.Edge import Edge
from causallearn.graph.Endpoint import Endpoint
from causallearn.graph.GraphClass import CausalGraph
from causallearn.utils.PCUtils.Meek import meek
from support.known_graphs import all_dags, random_dag

from dcd import CPDAG, InputError
from dcd.graph.adjacency import (
    directed_part,
    is_acyclic,
    skeleton_of,
    topological_order,
    undirected_part,
    unshielded_colliders,
)
from dcd.graph.equivalence import apply_meek_rules, consistent_extension, contradictory_core, dag_to_cpdag
from dcd.graph.separation import d_separated, oracle

RING = np.array([[0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0]])


def random_dags(seed, count, smallest=2, largest=9):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield random_dag(int(rng.integers(smallest, largest + 1)), rng)


# --- DAG -> CPDAG ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_dag_to_cpdag_agrees_with_ges(seed):
    for dag in random_dags(seed, 100):
        np.testing.assert_array_equal(dag_to_cpdag(dag), ges.utils.dag_to_cpdag(dag))


def test_cpdag_is_the_union_of_all_equivalent_dags():
    """By definition: same skeleton and colliders make a class, and the CPDAG joins its members."""
    classes = {}
    for dag in all_dags(4):
        key = (skeleton_of(dag).tobytes(), tuple(unshielded_colliders(dag)))
        classes.setdefault(key, []).append(dag)
    assert len(classes) == 185  # known number of equivalence classes on 4 nodes
    for members in classes.values():
        union = np.max(members, axis=0)
        for dag in members:
            np.testing.assert_array_equal(dag_to_cpdag(dag), union)


def test_dag_to_cpdag_refuses_a_cycle():
    with pytest.raises(InputError, match="directed cycle"):
        dag_to_cpdag([[0, 1, 0], [0, 0, 1], [1, 0, 0]])


# --- Meek's rules ----------------------------------------------------------------------------------------


def causal_learn_meek(pattern):
    graph = CausalGraph(len(pattern))
    for edge in list(graph.G.get_graph_edges()):
        graph.G.remove_edge(edge)
    nodes = graph.G.nodes
    for i, j in np.argwhere(directed_part(pattern)):
        graph.G.add_edge(Edge(nodes[i], nodes[j], Endpoint.TAIL, Endpoint.ARROW))
    for i, j in np.argwhere(np.triu(undirected_part(pattern))):
        graph.G.add_edge(Edge(nodes[i], nodes[j], Endpoint.TAIL, Endpoint.TAIL))
    marks = meek(graph).G.graph  # marks[i, j] is the mark at i; an edge i -> j has -1 at i and 1 at j
    return ((marks == -1) & (marks.T != 0)).astype(np.int8)


@pytest.mark.parametrize("seed", range(3))
def test_meek_rules_agree_with_causal_learn(seed):
    for dag in random_dags(seed, 40, largest=7):
        pattern = skeleton_of(dag).astype(np.int8)
        for x, z, y in unshielded_colliders(dag):
            pattern[z, x] = pattern[z, y] = 0
        np.testing.assert_array_equal(apply_meek_rules(pattern), causal_learn_meek(pattern))


@pytest.mark.parametrize("seed", range(3))
def test_meek_rules_orient_exactly_what_all_extensions_share(seed):
    """By enumeration of all DAGs. With some edges known beforehand, rule 4 is needed as well."""
    rng = np.random.default_rng(seed)
    dags = list(all_dags(4))
    for index in rng.choice(len(dags), size=60, replace=False):
        known = dag_to_cpdag(dags[index])
        loose = np.argwhere(np.triu(undirected_part(known)))
        for i, j in loose[rng.random(len(loose)) < 0.5]:
            known[(j, i) if dags[index][i, j] else (i, j)] = 0
        fitting = [
            dag
            for dag in dags
            if np.array_equal(skeleton_of(dag), skeleton_of(known))
            and not (directed_part(known) & ~dag.astype(bool)).any()
            and list(unshielded_colliders(dag)) == list(unshielded_colliders(dags[index]))
        ]
        expected = np.max(fitting, axis=0)
        np.testing.assert_array_equal(apply_meek_rules(known), expected)


def test_each_rule_by_itself():
    def graph(n, arrows, lines):
        matrix = np.zeros((n, n), dtype=np.int8)
        for i, j in arrows + lines + [(j, i) for i, j in lines]:
            matrix[i, j] = 1
        return matrix

    rule_1 = graph(3, [(0, 1)], [(1, 2)])
    rule_2 = graph(3, [(0, 1), (1, 2)], [(0, 2)])
    rule_3 = graph(4, [(1, 3), (2, 3)], [(0, 1), (0, 2), (0, 3)])
    rule_4 = graph(4, [(1, 2), (2, 3)], [(0, 1), (0, 2), (0, 3)])
    for pattern, (a, b) in ((rule_1, (1, 2)), (rule_2, (0, 2)), (rule_3, (0, 3)), (rule_4, (0, 3))):
        closed = apply_meek_rules(pattern)
        assert (closed[a, b], closed[b, a]) == (1, 0)
        assert undirected_part(closed).sum() == undirected_part(pattern).sum() - 2


# --- extensions ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_extension_of_a_cpdag_is_in_its_class(seed):
    for dag in random_dags(seed, 60):
        cpdag = dag_to_cpdag(dag)
        extension = consistent_extension(cpdag)
        assert ges.utils.is_consistent_extension(extension, cpdag)
        np.testing.assert_array_equal(dag_to_cpdag(extension), cpdag)


@pytest.mark.parametrize("seed", range(3))
def test_extension_exists_exactly_when_ges_finds_one(seed):
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(150):
        partial = (rng.random((5, 5)) < rng.uniform(0.2, 0.6)).astype(np.int8)
        np.fill_diagonal(partial, 0)
        try:
            expected = ges.utils.pdag_to_dag(partial) is not None
        except ValueError:
            expected = False
        assert (consistent_extension(partial) is not None) == expected
        assert (contradictory_core(partial) == []) == expected
        found += expected
    assert 0 < found < 150


def test_a_ring_of_four_contradicts_itself():
    tail = np.zeros((5, 5), dtype=np.int8)
    tail[:4, :4] = RING
    tail[3, 4] = 1
    assert consistent_extension(RING) is None
    assert contradictory_core(tail) == [0, 1, 2, 3]


# --- d-separation ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_d_separation_agrees_with_networkx(seed):
    rng = np.random.default_rng(seed)
    for dag in random_dags(seed + 100, 40, smallest=3, largest=7):
        reference = nx.from_numpy_array(dag, create_using=nx.DiGraph)
        for x, y in combinations(range(len(dag)), 2):
            given = {int(v) for v in range(len(dag)) if v not in (x, y) and rng.random() < 0.4}
            assert d_separated(dag, x, y, given) == nx.is_d_separator(reference, {x}, {y}, given)


@pytest.mark.parametrize("seed", range(3))
def test_oracle_boundary_meets_its_definition(seed):
    """The smallest subset of the others that d-separates the target from the rest, by trying all."""
    rng = np.random.default_rng(seed)
    for dag in random_dags(seed + 200, 15, smallest=3, largest=6):
        reference = nx.from_numpy_array(dag, create_using=nx.DiGraph)
        target = int(rng.integers(len(dag)))
        others = [v for v in range(len(dag)) if v != target and rng.random() < 0.8]
        blankets = [
            set(subset)
            for size in range(len(others) + 1)
            for subset in combinations(others, size)
            if not set(others) - set(subset)
            or nx.is_d_separator(reference, {target}, set(others) - set(subset), set(subset))
        ]
        assert oracle(dag)(target, others) == blankets[0]


def test_oracle_over_everything_is_parents_children_and_spouses():
    for dag in random_dags(7, 50):
        identify = oracle(dag)
        for target in range(len(dag)):
            children = dag[target].astype(bool)
            family = dag[:, target].astype(bool) | children | dag[:, children].any(axis=1)
            expected = {int(v) for v in np.flatnonzero(family)} - {target}
            assert identify(target, [v for v in range(len(dag)) if v != target]) == expected


def test_oracle_takes_names_from_a_labelled_frame():
    frame = pd.DataFrame([[0, 1, 0], [0, 0, 0], [0, 1, 0]], index=list("abc"), columns=list("abc"))
    assert oracle(frame)("a", ["b", "c"]) == {"b", "c"}
    assert oracle(frame)("a", ["c"]) == set()


# --- small pieces and the result type --------------------------------------------------------------------


def test_topological_order_puts_parents_first():
    for dag in random_dags(11, 50):
        place = {node: rank for rank, node in enumerate(topological_order(dag))}
        assert sorted(place) == list(range(len(dag)))
        assert all(place[i] < place[j] for i, j in np.argwhere(dag))


def test_is_acyclic():
    assert is_acyclic(np.zeros((3, 3)))
    assert is_acyclic([[0, 0.5], [0, 0]])
    assert not is_acyclic([[0, 1], [1, 0]])
    assert not is_acyclic([[1, 0], [0, 0]])
    for dag in random_dags(11, 20):
        assert is_acyclic(dag)
        if dag.any():
            cause, effect = np.argwhere(dag)[0]
            dag[effect, cause] = 1
            assert not is_acyclic(dag)
    with pytest.raises(InputError, match="parameter 'directed': must be a square matrix, got str"):
        is_acyclic("a -> b")


@pytest.mark.parametrize("matrix", [[[0, 2], [0, 0]], [[1, 0], [0, 0]], [[0, 1, 0], [0, 0, 1]], [0, 1]])
def test_a_matrix_that_is_no_graph_is_refused(matrix):
    with pytest.raises(InputError, match="square matrix of 0 and 1"):
        dag_to_cpdag(matrix)


def test_cpdag_tells_its_edges():
    #   a -> c <- b, c -> d, e - f
    dag = np.zeros((6, 6), dtype=int)
    dag[0, 2] = dag[1, 2] = dag[2, 3] = dag[4, 5] = 1
    cpdag = CPDAG.from_dag("abcdef", dag)
    assert cpdag.directed_edges == (("a", "c"), ("b", "c"), ("c", "d"))
    assert cpdag.undirected_edges == (("e", "f"),)
    assert cpdag.role("a", "c") == "parent"
    assert cpdag.role("d", "c") == "child"
    assert cpdag.role("f", "e") == "neighbour"
    assert cpdag.role("a", "b") is None
    assert str(cpdag) == "a -> c\nb -> c\nc -> d\ne - f"
    assert repr(cpdag) == "CPDAG(6 variables, 3 directed, 1 undirected edges)"
    assert str(CPDAG(("a", "b"), np.zeros((2, 2)))) == "(no edges)"
    assert cpdag.to_frame().loc["a", "c"] == 1
    np.testing.assert_array_equal(dag_to_cpdag(cpdag.to_dag().adjacency), cpdag.adjacency)


def test_cpdag_equality_is_by_name():
    dag = np.zeros((3, 3), dtype=int)
    dag[0, 1] = dag[2, 1] = 1
    one = CPDAG.from_dag("abc", dag)
    other = one.reorder("cab")
    assert one == other
    assert hash(one) == hash(other)
    assert one != CPDAG("abc", np.zeros((3, 3)))
    assert one != "abc"


def test_cpdag_cannot_be_changed_or_wrong():
    cpdag = CPDAG(("a", "b"), [[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="read-only"):
        cpdag.adjacency[0, 1] = 0
    with pytest.raises(InputError, match="not the CPDAG of any DAG"):
        CPDAG(("a", "b"), [[0, 1], [0, 0]])
    with pytest.raises(InputError, match="not the CPDAG of any DAG"):
        CPDAG("abcd", RING)
    with pytest.raises(InputError, match="different names"):
        CPDAG(("a", "a"), [[0, 1], [1, 0]])
    with pytest.raises(InputError, match="Did you mean 'a'"):
        cpdag.role("A", "b")


def test_the_chosen_dag_tells_which_directions_are_arbitrary():
    #   a -> c <- b, d - e - f
    dag = np.zeros((6, 6), dtype=int)
    dag[0, 2] = dag[1, 2] = dag[3, 4] = dag[4, 5] = 1
    chosen = CPDAG.from_dag("abcdef", dag).to_dag()
    assert {frozenset(edge) for edge in chosen.arbitrary} == {frozenset("de"), frozenset("ef")}
    assert all(chosen.adjacency.loc[cause, effect] == 1 for cause, effect in chosen.arbitrary)
    lines = str(chosen).splitlines()
    assert lines[:2] == ["a -> c", "b -> c"]
    assert sum(line.endswith("(arbitrary)") for line in lines) == 2
    assert lines[-1] == "2 of 4 directions chosen arbitrarily"
    assert str(CPDAG(("a", "b"), np.zeros((2, 2))).to_dag()) == "(no edges)"


@pytest.mark.parametrize("dag", list(all_dags(4))[::60], ids=str)
def test_an_arbitrary_direction_is_the_other_way_round_in_another_dag_of_the_class(dag):
    cpdag = CPDAG.from_dag("abcd", dag)
    chosen = cpdag.to_dag()
    alike = [other for other in all_dags(4) if np.array_equal(dag_to_cpdag(other), cpdag.adjacency)]
    varying = {
        (a, b) for a, b in np.argwhere(chosen.adjacency.to_numpy()) if any(other[b, a] for other in alike)
    }
    assert {("abcd".index(a), "abcd".index(b)) for a, b in chosen.arbitrary} == varying
