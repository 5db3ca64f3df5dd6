import warnings

import numpy as np
import pytest
from support.known_graphs import all_dags, classes_up_to_names, random_dag
from support.searches import erring_identifier

import dcd
from dcd import InputError
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.pattern import draw_skeleton, fit_pattern
from dcd.graph.separation import oracle
from dcd.runtime.errors import SearchCutWarning
from dcd.search.algorithm1 import exclusions


def fit(n_variables, edges, colliders):
    return fit_pattern(draw_skeleton(n_variables, edges), edges, colliders)


def remembering(identify):
    """The same identifier with cached results."""
    answers = {}

    def remembered(target, others):
        key = target, frozenset(others)
        if key not in answers:
            answers[key] = identify(target, others)
        return answers[key]

    return remembered


def assert_recovers(dag):
    names = [f"v{index}" for index in range(len(dag))]
    identify = remembering(oracle(dag, names))
    truth = dag_to_cpdag(dag)
    for subsets in ("all", "pruned"):
        result = dcd.search.construct_cpdag(names, identify, subsets=subsets)
        assert np.array_equal(result.cpdag.adjacency, truth), (subsets, dag)
        assert result.conflicts == ()
        assert result.cuts == ()


# --- Theorem 2: exact with a perfect identifier ----------------------------------------------------------


@pytest.mark.parametrize(("n", "count", "n_classes"), [(3, 25, 11), (4, 543, 185)])
def test_theorem_2_on_all_small_dags(n, count, n_classes):
    """Equivalent DAGs have the same separations, so one of each class is enough."""
    dags = list(all_dags(n))
    classes = {dag_to_cpdag(dag).tobytes(): dag for dag in dags}
    assert (len(dags), len(classes)) == (count, n_classes)
    for dag in classes.values():
        assert_recovers(dag)


@pytest.mark.parametrize("n_orders", [1, pytest.param(8, marks=pytest.mark.slow)])
def test_theorem_2_on_all_dags_of_five_nodes_up_to_their_names(n_orders):
    shapes = classes_up_to_names(5)
    assert sum(n_namings for _, n_namings in shapes) == 8782
    rng = np.random.default_rng(n_orders)
    for dag, _ in shapes:
        for _ in range(n_orders):
            order = rng.permutation(5)
            assert_recovers(dag[np.ix_(order, order)])


@pytest.mark.parametrize("n_dags", [40, pytest.param(500, marks=pytest.mark.slow)])
def test_theorem_2_on_larger_dags(n_dags):
    rng = np.random.default_rng(2026)
    for _ in range(n_dags):
        assert_recovers(random_dag(int(rng.integers(6, 10)), rng))


def test_roles_are_those_of_the_true_graph():
    rng = np.random.default_rng(3)
    for _ in range(50):
        dag = random_dag(6, rng)
        names = list("abcdef")
        identify = oracle(dag, names)
        boundaries = dcd.search.construct_cpdag(names, identify).markov_boundaries
        for target in names:
            assert set(boundaries[target]) == identify(target, [name for name in names if name != target])
            for member, role in boundaries[target].items():
                i, j = names.index(member), names.index(target)
                possible = {"spouse"}
                if dag[i, j] or dag[j, i]:
                    possible = {"neighbour", "parent" if dag[i, j] else "child"}
                assert role in possible


# --- what an imperfect identifier leads to ---------------------------------------------------------------


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.3, 0.5])
@pytest.mark.parametrize("seed", range(3))
def test_always_the_cpdag_of_some_dag(rate, seed):
    """Making a `CPDAG` checks that it is one, so it is enough that nothing is raised."""
    rng = np.random.default_rng(seed)
    kinds = set()
    for _ in range(15):
        dag = random_dag(7, rng)
        noise = {}

        def pvalue(*key, noise=noise):
            return noise.setdefault(str(key), rng.random())

        result = dcd.search.construct_cpdag(range(7), erring_identifier(dag, rate, rng), pvalue=pvalue)
        assert isinstance(result.cpdag, dcd.CPDAG)
        kinds |= {conflict.kind for conflict in result.conflicts}
        left_out = {conflict.variables for conflict in result.conflicts if conflict.kind == "left_out_edge"}
        held = {
            (min(search.target, name), max(search.target, name))
            for search in result.searches
            for name in search.neighbours
        }
        drawn = {
            (int(i), int(j))
            for i, j in np.argwhere(np.triu(result.cpdag.adjacency | result.cpdag.adjacency.T))
        }
        assert drawn == held - left_out  # every edge of Algorithm 1, but for those recorded
    assert kinds or rate < 0.1


def test_a_ring_loses_its_weakest_edge():
    neighbours = {"a": "bd", "b": "ac", "c": "bd", "d": "ac"}

    def identify(target, others):
        return set(neighbours[target]) & set(others)

    pvalues = {frozenset("ab"): 1e-9, frozenset("bc"): 1e-8, frozenset("cd"): 0.04, frozenset("ad"): 1e-7}
    result = dcd.search.construct_cpdag(
        "abcd", identify, pvalue=lambda target, member, others: pvalues[frozenset((target, member))]
    )
    assert str(result.cpdag) == "a - b\na - d\nb - c"
    (conflict,) = result.conflicts
    assert (conflict.kind, conflict.variables) == ("left_out_edge", ("c", "d"))
    assert "weakest evidence" in str(conflict)


def test_of_two_colliders_that_disagree_the_stronger_wins():
    # a - b - c - d; by the data both b and c are colliders, which would direct b - c both ways.
    boundary = {"a": "bc", "b": "acd", "c": "abd", "d": "bc"}
    drops = {("a", frozenset("c")): "c", ("d", frozenset("b")): "b"}

    def identify(target, others):
        found = set(boundary[target]) & set(others)
        if target == "b":
            return found - {"d"} if "c" not in others else found
        if target == "c":
            return found - {"a"} if "b" not in others else found
        return found - set(drops.get((target, frozenset(others)), ""))

    def prefers(winner):
        strong = {"b": frozenset("ac"), "c": frozenset("bd")}[winner]
        return lambda target, member, others: 0.9 if frozenset((target, member)) == strong else 0.2

    for winner, graph in (("b", "a -> b\nc -> b\nc - d"), ("c", "b -> c\nd -> c\na - b")):
        result = dcd.search.construct_cpdag("abcd", identify, pvalue=prefers(winner))
        refused = [conflict for conflict in result.conflicts if conflict.kind == "refused_collider"]
        assert len(refused) == 1
        assert "already points away from the middle" in str(refused[0])
        assert sorted(str(result.cpdag).split("\n")) == sorted(graph.split("\n"))


def test_a_contradiction_elsewhere_changes_nothing_here():
    """0 -> 1 <- 2 and 3 -> 4 <- 5 with an edge 1 - 4, with and without a ring beside them."""
    edges = {(0, 1): 1e-9, (1, 2): 1e-9, (3, 4): 1e-9, (4, 5): 1e-9, (1, 4): 1e-5}
    ring = {(6, 7): 1e-9, (7, 8): 1e-9, (8, 9): 1e-9, (6, 9): 1e-3}
    colliders = {(0, 1, 2): 0.9, (3, 4, 5): 0.3}
    alone, alone_refused, alone_left_out = fit(10, edges, colliders)
    beside, refused, left_out = fit(10, {**edges, **ring}, colliders)
    assert alone_left_out == []
    assert left_out == [(6, 9)]
    assert refused == alone_refused
    np.testing.assert_array_equal(alone[:6, :6], beside[:6, :6])


def test_parts_that_no_edge_connects_do_not_meddle():
    edges = {(0, 1): 0.01, (1, 2): 0.01, (1, 3): 0.01, (2, 4): 0.01, (3, 4): 0.01}
    colliders = {(0, 1, 2): 0.83, (2, 1, 3): 0.38}
    elsewhere = {(5, 6): 0.01, (6, 7): 0.01, (7, 8): 0.01}
    contradiction = {(5, 6, 7): 0.5, (6, 7, 8): 0.6}
    alone, alone_refused, _ = fit(9, edges, colliders)
    both, refused, _ = fit(9, edges | elsewhere, colliders | contradiction)
    np.testing.assert_array_equal(alone[:5, :5], both[:5, :5])
    assert alone_refused == []
    assert [triple for triple, _ in refused] == [(5, 6, 7)]


def test_an_edge_between_two_contradictions_is_kept():
    rings = {(0, 1): 1e-9, (1, 2): 1e-9, (2, 3): 1e-9, (0, 3): 1e-8}
    rings |= {(i + 5, j + 5): p for (i, j), p in rings.items()}
    bridge = {(3, 4): 0.04, (4, 5): 0.045}
    _, refused, left_out = fit(9, rings | bridge, {})
    assert refused == []
    assert sorted(left_out) == [(0, 3), (5, 8)]


def test_asymmetric_findings_are_recorded():
    result = dcd.search.construct_cpdag("ab", lambda target, others: set(others) if target == "a" else set())
    (conflict,) = result.conflicts
    assert conflict.kind == "asymmetric_boundary"
    assert str(conflict).startswith("b is in the Markov boundary of a, but not the other way round.")
    assert str(result.cpdag) == "a - b"
    assert result.markov_boundaries == {"a": {"b": "neighbour"}, "b": {"a": "neighbour"}}


# --- the bound on the search -----------------------------------------------------------------------------


def test_exclusions_are_all_proper_subsets_small_first():
    found = list(exclusions("abcd"))
    assert len(found) == 2**4 - 2
    assert [len(excluded) for excluded, _ in found] == sorted(len(excluded) for excluded, _ in found)
    for excluded, kept in found:
        assert sorted(excluded + kept) == list("abcd")
    assert list(exclusions("a")) == []


@pytest.mark.parametrize(
    ("bound", "expected"), [(1, 5), (5, 5), (14, 5), (15, 15), (29, 25), (30, 30), (None, 30)]
)
def test_the_bound_keeps_whole_sizes(bound, expected):
    assert len(list(exclusions("abcde", bound))) == expected


def test_a_cut_search_says_so():
    dag = np.zeros((6, 6), dtype=int)
    dag[:5, 5] = 1
    names = list("abcdef")
    with pytest.warns(
        SearchCutWarning, match=r"cut short for 6 .* boundary of 5 variables, 5 of its 30 subsets"
    ):
        result = dcd.search.construct_cpdag(names, oracle(dag, names), max_subsets=5)
    assert {cut.target for cut in result.cuts} == set(names)
    assert result.cuts[0].boundary_size == 5
    assert result.cuts[0].subsets_searched == 5
    assert result.cuts[0].subsets_in_all == 30
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dcd.search.construct_cpdag(names, oracle(dag, names), max_subsets=30).cuts == ()


def test_bad_input():
    with pytest.raises(InputError, match="'names': has a name twice"):
        dcd.search.construct_cpdag("aa", lambda target, others: set())
    with pytest.raises(InputError, match="'max_subsets': must be a whole number at least 1"):
        dcd.search.construct_cpdag("ab", lambda target, others: set(), max_subsets=0)
