"""The pruned search: with perfect boundaries the same result as the full one, from fewer queries."""

from itertools import combinations, islice, product

import numpy as np
import pytest
from support.known_graphs import classes_up_to_names, random_dag

import dcd
from dcd import DCD, InputError
from dcd.graph.adjacency import unshielded_colliders
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.separation import oracle
from dcd.runtime.errors import SearchCutWarning
from dcd.search.algorithm1 import construct
from dcd.search.pruned_subsets import closed_sets


def dag_of_degree(n, degree, rng):
    order = rng.permutation(n)
    dag = np.triu(rng.random((n, n)) < degree / (n - 1), k=1).astype(np.int8)
    return dag[np.ix_(order, order)]


def built(dag, subsets, identify=None):
    """The construction, and the sets within which it queried boundaries."""
    asked = []
    names = range(len(dag))
    identify = identify or oracle(dag)

    def recorded(target, others):
        asked.append(frozenset(others))
        return identify(target, others)

    return construct(names, recorded, None, None, subsets=subsets), set(asked)


def descendants(dag):
    reach = dag.astype(bool)
    for middle in range(len(dag)):
        reach |= np.outer(reach[:, middle], reach[middle])
    return reach


# --- the argument, step by step, by brute force ----------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_what_drops_a_spouse_has_all_common_children_and_their_descendants(seed):
    """The smallest exclusion agrees with the proof; the middles of any are the colliders of the pair."""
    rng = np.random.default_rng(seed)
    n_pairs = 0
    for _ in range(25):
        dag = random_dag(7, rng)
        identify, below = oracle(dag), descendants(dag)
        colliders = set(unshielded_colliders(dag))
        for target in range(7):
            boundary = identify(target, [other for other in range(7) if other != target])
            for spouse in [name for name in boundary if not dag[target, name] and not dag[name, target]]:
                n_pairs += 1
                common = np.flatnonzero(dag[target] & dag[spouse])
                smallest = {z for z in boundary if any(z == c or below[c, z] for c in common)}
                rest = sorted(boundary - {spouse})
                dropping = [
                    set(excluded)
                    for size in range(len(rest) + 1)
                    for excluded in combinations(rest, size)
                    if spouse not in identify(target, boundary - set(excluded))
                ]
                assert dropping[0] == smallest
                assert all(excluded >= smallest for excluded in dropping)
                low, high = sorted((target, spouse))
                around = (dag | dag.T)[target] & (dag | dag.T)[spouse]
                for excluded in dropping:
                    found = {(low, z, high) for z in excluded if around[z]}
                    assert found == {triple for triple in colliders if triple[::2] == (low, high)}
    assert n_pairs > 20


# --- the same answer -------------------------------------------------------------------------------------


def test_same_graph_on_all_kinds_of_dags_of_five_nodes():
    """One of each class of equivalent DAGs, for these have the same separations."""
    rng = np.random.default_rng(0)
    for dag, _ in classes_up_to_names(5):
        order = rng.permutation(5)
        dag = dag[np.ix_(order, order)]
        result, asked = built(dag, "pruned")
        assert np.array_equal(result.cpdag.adjacency, dag_to_cpdag(dag)), dag
        assert result.conflicts == ()
        assert len(asked) <= 2**5 - 2


@pytest.mark.parametrize("degree", [1, 2, 3, 4, 6])
def test_same_graph_and_fewer_sets_on_larger_dags(degree):
    rng = np.random.default_rng(degree)
    n_sets = np.zeros(2)
    for _ in range(10):
        dag = dag_of_degree(9, degree, rng)
        full, all_sets = built(dag, "all")
        pruned, sets = built(dag, "pruned")
        assert np.array_equal(full.cpdag.adjacency, dag_to_cpdag(dag))
        assert np.array_equal(pruned.cpdag.adjacency, dag_to_cpdag(dag))
        assert pruned.conflicts == ()
        assert pruned.markov_boundaries == full.markov_boundaries
        for ours, theirs in zip(pruned.searches, full.searches, strict=True):
            assert ours.neighbours == theirs.neighbours
            assert set(ours.colliders) <= set(theirs.colliders)
        assert sets <= all_sets
        n_sets += len(sets) - 9, len(all_sets) - 9
    assert n_sets[0] < 0.6 * n_sets[1]


def test_a_star_needs_no_exclusions():
    """The boundary of a leaf is one variable, so its edge is decided there, not at the hub."""
    star = np.zeros((8, 8), dtype=np.int8)
    star[0, 1:] = 1
    result, asked = built(star, "pruned")
    assert len(asked) == 8
    assert np.array_equal(result.cpdag.adjacency, dag_to_cpdag(star))


@pytest.mark.parametrize("seed", range(3))
def test_names_and_their_order_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    for _ in range(10):
        dag = random_dag(7, rng)
        order = rng.permutation(7)
        identify = oracle(dag)
        found = construct(range(7), identify, None, None, subsets="pruned").cpdag
        turned = construct(order.tolist(), identify, None, None, subsets="pruned").cpdag
        assert turned == found


# --- what is around it -----------------------------------------------------------------------------------


def test_rounds_are_prepared_before_they_are_asked():
    rng = np.random.default_rng(5)
    dag = dag_of_degree(8, 4, rng)
    identify = oracle(dag)
    for subsets, n_rounds in (("all", 2), ("pruned", 8)):
        ready, labels = set(), []

        def prepare(sets, label, then, ready=ready, labels=labels):
            ready.update(map(frozenset, sets))
            labels.append(label)

        def prepared(target, others, ready=ready):
            assert frozenset(others) in ready
            return identify(target, others)

        construct(range(8), prepared, None, None, subsets=subsets, prepare=prepare)
        assert labels[0] == "Markov boundaries"
        assert 1 < len(labels) <= n_rounds


def test_the_bound_counts_questions_and_says_what_it_cut():
    dag = np.zeros((7, 7), dtype=int)
    dag[:5, 5:] = 1  # five causes of two effects: to separate two causes, both effects must be excluded
    names = list("abcdefg")
    identify = oracle(dag, names)
    with pytest.warns(SearchCutWarning, match="boundary of 6 variables"):
        cut = dcd.search.construct_cpdag(names, identify, subsets="pruned", max_subsets=1)
    assert all(0 < record.subsets_searched <= 6 for record in cut.cuts)
    assert {record.subsets_in_all for record in cut.cuts} == {2**5 - 2, 2**6 - 2}  # effects and causes
    bounded = dcd.search.construct_cpdag(names, identify, subsets="pruned", max_subsets=21)
    assert bounded.cuts == ()  # the full search would be cut at 6 + 15 of 62
    assert np.array_equal(bounded.cpdag.adjacency, dag_to_cpdag(dag))


@pytest.mark.parametrize("rate", [0.05, 0.3])
@pytest.mark.parametrize("seed", range(3))
def test_a_valid_answer_whatever_the_boundaries(rate, seed):
    """Making a `CPDAG` checks that it is one. Both sides of a pair that shares boundaries agree."""
    rng = np.random.default_rng(seed)
    for _ in range(10):
        dag = random_dag(7, rng)
        truth, answers = oracle(dag), {}

        def identify(target, others, truth=truth, answers=answers):
            key = target, frozenset(others)
            if key not in answers:
                answers[key] = truth(target, others) ^ {name for name in others if rng.random() < rate}
            return answers[key]

        result, _ = built(dag, "pruned", identify)
        assert "asymmetric_edge" not in {conflict.kind for conflict in result.conflicts}


def test_true_knowledge_changes_nothing_but_directions():
    rng = np.random.default_rng(8)
    for _ in range(20):
        dag = random_dag(6, rng)
        names = list("abcdef")
        arrows = [(names[i], names[j]) for i, j in np.argwhere(dag)]
        absent = [(a, b) for a, b in product(names, names) if a != b and (a, b) not in arrows]
        known = dcd.Knowledge(required=arrows[:1], forbidden=absent[:6])
        found = [
            dcd.search.construct_cpdag(names, oracle(dag, names), knowledge=known, subsets=subsets)
            for subsets in ("all", "pruned")
        ]
        assert found[0].cpdag == found[1].cpdag
        assert found[1].conflicts == ()


def test_estimated_boundaries():
    """The same boundaries from fewer sets."""
    n_sets = np.zeros(2)
    for seed in range(3):
        dag = dcd.simulate.random_dag(8, random_state=seed)
        table = dcd.simulate.sample(dag, 300, mechanism="mlp", random_state=seed)
        full, pruned = (
            DCD(subsets=subsets, progress=False).fit(table).diagnostics_ for subsets in ("all", "pruned")
        )
        assert [s.boundary for s in pruned.searches] == [s.boundary for s in full.searches]
        assert {s.variables for s in pruned.sets} <= {s.variables for s in full.sets}
        n_sets += len(pruned.sets), len(full.sets)
    assert n_sets[0] < n_sets[1]


def test_bad_input():
    with pytest.raises(InputError, match="'subsets': must be one of 'all', 'pruned', got 'prune'"):
        DCD(subsets="prune").fit(np.random.default_rng(0).standard_normal((50, 3)))
    with pytest.raises(InputError, match="'subsets'"):
        dcd.search.construct_cpdag("ab", lambda target, others: set(), subsets="half")


@pytest.mark.parametrize("seed", range(20))
def test_sets_that_are_grown_are_the_combinations_that_are_closed(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    descends = rng.random((n, n)) < rng.choice([0.05, 0.2])
    never = rng.random(n) < 0.2
    undecided = set(rng.choice(n, int(rng.integers(1, n + 1)), replace=False).tolist())
    descends = np.linalg.matrix_power(descends | np.eye(n, dtype=bool), n) > 0
    closures = [None if never[i] else sum(1 << int(j) for j in np.flatnonzero(descends[i])) for i in range(n)]
    for size in range(1, n):
        expected = [
            chosen
            for chosen in combinations(range(n), size)
            if not never[list(chosen)].any()
            and not np.delete(descends[list(chosen)], chosen, axis=1).any()
            and not undecided <= set(chosen)
        ]
        assert list(closed_sets(closures, size, sum(1 << i for i in undecided))) == expected


@pytest.mark.parametrize("backwards", [False, True])
def test_questions_are_not_looked_for_among_all_subsets(backwards):
    """In a chain only the ends are closed: one set of each size, out of 2^60 combinations."""
    n = 60
    closures = [(1 << (i + 1)) - 1 if backwards else (1 << n) - (1 << i) for i in range(n)]
    assert (
        sum(len(list(islice(closed_sets([*closures, 1 << n], size, 1 << n), 9))) for size in range(1, n))
        == n - 1
    )
