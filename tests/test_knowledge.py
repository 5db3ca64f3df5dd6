"""Background knowledge: statements, contradictions, and answers that are what brute force says."""

import json
from itertools import combinations, permutations, product

import numpy as np
import pandas as pd
import pytest
from known_graphs import all_dags, random_dag
from sklearn.base import clone
from test_boundary import collider_with_bystanders
from test_construction import erring_identifier
from test_growth import Oracle
from test_orientation import likelihood_of, linear

import dcd
from dcd import CPDAG, InputError, Knowledge, graph
from dcd.construction import assemble, orient_skeleton
from dcd.graph import (
    apply_meek_rules,
    consistent_extension,
    dag_to_cpdag,
    directed_part,
    skeleton_of,
    topological_order,
    unshielded_colliders,
)
from dcd.growth import GrowShrink, search_boundaries
from dcd.orientation import BlockLikelihood, ColliderEvidence, log_prior
from dcd.scores import make_scores

NAMES = tuple("abcdefgh")

# --- witnesses -------------------------------------------------------------------------------------------


def orientations(skeleton):
    """Every DAG of a skeleton, by trying all orders."""
    found = {}
    for order in permutations(range(len(skeleton))):
        place = np.argsort(order)
        dag = (skeleton & (place[:, None] < place[None, :])).astype(np.int8)
        found[dag.tobytes()] = dag
    return found.values()


def members_of_class(cpdag):
    """Every DAG with the skeleton and the unshielded colliders of a graph."""
    wanted = set(unshielded_colliders(cpdag))
    return [dag for dag in orientations(skeleton_of(cpdag)) if set(unshielded_colliders(dag)) == wanted]


def respects(dag, knowledge):
    """Whether a DAG respects all statements, read from them directly."""
    arrows = {(NAMES[i], NAMES[j]) for i, j in np.argwhere(dag)}
    tier = {name: k for k, names in enumerate(knowledge.tiers) for name in names}
    return (
        not arrows & set(knowledge.forbidden)
        and set(knowledge.required) <= arrows
        and not any({(a, b), (b, a)} & arrows for a, b in knowledge.no_edge)
        and not any(tier.get(a, -1) > tier.get(b, 99) for a, b in arrows)
        and not any(effect in knowledge.roots for _, effect in arrows)
        and not any(cause in knowledge.leaves for cause, _ in arrows)
    )


def shared_arrows(dags):
    """The graph of all arrows that the DAGs share; edges that turn around among them are undirected."""
    return np.any(dags, axis=0).astype(np.int8)


def true_knowledge(dag, rng):
    """Random statements, of random kinds, that hold in a DAG."""
    names = NAMES[: len(dag)]
    stated = {}
    arrows = [(names[i], names[j]) for i, j in np.argwhere(dag)]
    absent = [(a, b) for a, b in product(names, names) if a != b and (a, b) not in arrows]
    apart = [(a, b) for a, b in combinations(names, 2) if (a, b) in absent and (b, a) in absent]
    for key, true in (("required", arrows), ("forbidden", absent), ("no_edge", apart)):
        stated[key] = [pair for pair in true if rng.random() < rng.choice([0.0, 0.2, 0.5])]
    if rng.random() < 0.3:
        order = [names[i] for i in topological_order(dag)]
        cuts = sorted(rng.choice(len(names) + 1, size=2))
        stated["tiers"] = [order[: cuts[0]], order[cuts[0] : cuts[1]], order[cuts[1] :]]
    if rng.random() < 0.3:
        stated["roots"] = [names[i] for i in range(len(dag)) if not dag[:, i].any() and rng.random() < 0.5]
        stated["leaves"] = [names[i] for i in range(len(dag)) if not dag[i].any() and rng.random() < 0.5]
    return Knowledge(**stated)


def any_knowledge(n, rng):
    """Random statements that do not contradict each other, true or not."""
    while True:
        pairs = [(a, b) for a, b in product(NAMES[:n], NAMES[:n]) if a != b]
        stated = {
            key: [pair for pair in pairs if rng.random() < rate]
            for key, rate in (("required", 0.06), ("forbidden", 0.25), ("no_edge", 0.03))
        }
        try:
            return Knowledge(**stated)
        except InputError:
            continue


def assert_exact(dag, knowledge):
    """Algorithm 1 with an oracle has the arrows that the DAGs of the class with the knowledge share."""
    names = NAMES[: len(dag)]
    result = dcd.construct_cpdag(names, graph.oracle(dag, names), knowledge=knowledge)
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


@pytest.mark.parametrize(("n", "draws"), [(3, 6), (4, 1)])
def test_exact_on_all_small_dags(n, draws):
    rng = np.random.default_rng(n)
    with_background = 0
    for dag in all_dags(n):
        for _ in range(draws):
            with_background += bool(assert_exact(dag, true_knowledge(dag, rng)).background)
    assert with_background > 40


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
def test_the_robust_stages_are_exact_too(seed):
    """Boundaries that grow, with a perfect test, and the colliders of the true graph."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        n = int(rng.integers(4, 7))
        dag = random_dag(n, rng)
        names, knowledge = NAMES[:n], true_knowledge(dag, rng)
        bound = knowledge.bind(names)
        strategy = GrowShrink(max_size=n, max_given=n)
        searches = search_boundaries(strategy, Oracle(dag), names, 0.01, knowledge=bound)
        assert all(search.overruled == () for search in searches)
        colliders = dict.fromkeys(unshielded_colliders(dag), 1.0)
        result = assemble(names, searches, lambda skeleton, forbidden: colliders, knowledge=bound)  # noqa: B023
        dags = [one for one in members_of_class(dag_to_cpdag(dag)) if respects(one, knowledge)]
        np.testing.assert_array_equal(result.cpdag.adjacency, shared_arrows(dags))
        assert result.conflicts == ()


@pytest.mark.parametrize("seed", range(3))
def test_extensions_with_background_are_found_if_and_only_if_there_are_any(seed):
    """Dor and Tarsi against trying all directions, on patterns with arbitrary arrows."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(150):
        n = int(rng.integers(4, 6))
        pattern = np.zeros((n, n), dtype=np.int8)
        for i, j in combinations(range(n), 2):
            pattern[i, j], pattern[j, i] = ((0, 0), (1, 1), (1, 0), (0, 1))[rng.integers(4)]
        extensions = [one for one in members_of_class(pattern) if (one[directed_part(pattern)] == 1).all()]
        answer = consistent_extension(pattern)
        assert (answer is not None) == bool(extensions)
        if extensions:
            found += 1
            assert any(np.array_equal(answer, one) for one in extensions)
            np.testing.assert_array_equal(apply_meek_rules(pattern), shared_arrows(extensions))
    assert 40 < found < 140


# --- knowledge that the data contradict -------------------------------------------------------------------


def assert_valid_and_respectful(cpdag, knowledge):
    """The graph stands for some DAGs and has all arrows that they share; each of them respects it all."""
    adjacency = cpdag.adjacency
    dags = [one for one in members_of_class(adjacency) if (one[directed_part(adjacency)] == 1).all()]
    assert dags
    np.testing.assert_array_equal(shared_arrows(dags), adjacency)
    assert all(respects(dag, knowledge) for dag in dags)


@pytest.mark.parametrize("seed", range(4))
def test_always_valid_and_always_for_the_knowledge(seed):
    rng = np.random.default_rng(seed)
    kinds = set()
    for _ in range(25):
        dag, knowledge, noise = random_dag(6, rng), any_knowledge(6, rng), {}
        identify = erring_identifier(pd.DataFrame(dag, columns=list("abcdef"), index=list("abcdef")), 0.1, rng)

        def pvalue(*key, noise=noise):
            return noise.setdefault(str(key), rng.random())

        result = dcd.construct_cpdag("abcdef", identify, pvalue=pvalue, knowledge=knowledge)
        assert_valid_and_respectful(result.cpdag, knowledge)
        kinds |= {conflict.kind for conflict in result.conflicts}
    assert {"required_edge", "forbidden_edge", "refused_collider", "known_collider"} <= kinds


@pytest.mark.parametrize("seed", range(3))
def test_robust_is_always_valid_and_always_for_the_knowledge(seed):
    rng = np.random.default_rng(seed)
    for _ in range(4):
        dag, knowledge = random_dag(6, rng), any_knowledge(6, rng)
        frame = pd.DataFrame(linear(dag, seed, n=300), columns=list("abcdef"))
        assert_valid_and_respectful(dcd.RobustDCD(knowledge=knowledge).fit(frame).cpdag_, knowledge)


def test_what_the_data_contradict_is_told():
    """The data: a -> c <- b, c -> d, e alone."""
    frame = collider_with_bystanders(1000, 0)
    for model in (dcd.DCD(alpha=1e-3), dcd.RobustDCD(alpha=1e-3)):

        def told(expected, model=model, **stated):
            fitted = clone(model).set_params(knowledge=Knowledge(**stated)).fit(frame)
            return fitted, "\n".join(str(one) for one in fitted.conflicts_ if one.kind == expected)

        fitted, words = told("required_edge", required=[("e", "a")])
        assert words.replace("a - e", "e - a") == (
            "The data show no edge e - a, but e -> a is required. Knowledge went first; the edge was drawn."
        )
        assert ("e", "a") in fitted.cpdag_.directed_edges
        assert "e" in fitted.markov_boundaries_["a"]

        fitted, words = told("forbidden_edge", no_edge=[("c", "d")])
        assert "no edge between c and d is allowed" in words
        assert "no edge was drawn" in words
        assert fitted.markov_boundaries_["d"].get("c") in (None, "spouse")

        fitted, words = told("refused_collider", required=[("c", "a")])
        assert "c -> a is required" in words
        assert ("c", "a") in fitted.cpdag_.directed_edges

        fitted, words = told("known_collider", forbidden=[("c", "d")])
        assert "d -> c" in words
        assert ("d", "c") in fitted.cpdag_.directed_edges


def test_one_way_statements_that_would_close_a_ring():
    """Each pair has one direction left, in a circle; the weakest edge goes, a required one never."""
    pvalues = {frozenset("ab"): 1e-9, frozenset("bc"): 0.04, frozenset("ac"): 1e-7}
    circle = {"forbidden": [("b", "a"), ("c", "b"), ("a", "c")]}
    for required, edges in (([], "a -> b\nc -> a"), ([("b", "c"), ("c", "a")], "b -> c\nc -> a")):
        result = dcd.construct_cpdag(
            "abc",
            lambda target, others: set(others),
            pvalue=lambda target, member, others: pvalues[frozenset((target, member))],
            knowledge=Knowledge(**circle, required=required),
        )
        assert str(result.cpdag) == edges
        (conflict,) = result.conflicts
        assert "would close a cycle" in str(conflict)


# --- the search for colliders within what is known --------------------------------------------------------


@pytest.mark.parametrize("seed", range(6))
def test_the_search_finds_the_best_of_all_allowed_orientations(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(6, rng)
    skeleton = skeleton_of(dag)
    order = np.argsort(rng.permutation(6))  # arrows against this order are forbidden for some pairs
    forbidden = (order[:, None] > order[None, :]) & (rng.random((6, 6)) < 0.4)
    scores = make_scores(linear(dag, seed, n=150, weight=0.4))
    likelihood = BlockLikelihood(scores)
    found = ColliderEvidence().colliders(scores, skeleton, seed, forbidden=forbidden)

    cpdag = orient_skeleton(skeleton, found)
    n_arms = sum(
        any(skeleton[y, z] and not skeleton[x, y] and not forbidden[y, z] for y in range(6) if y != x)
        for z, x in product(range(6), range(6))
        if skeleton[x, z] and not forbidden[x, z]
    )

    def posterior(candidate):
        taken = {(end, z) for x, z, y in unshielded_colliders(candidate) for end in (x, y)}
        return likelihood_of(candidate, likelihood) / 1.5 + log_prior(len(taken), n_arms)

    allowed = {
        frozenset(unshielded_colliders(one)): posterior(one)
        for one in orientations(skeleton)
        if not (one.astype(bool) & forbidden).any()
    }
    assert set(found) == set(max(allowed, key=allowed.get))
    assert set(unshielded_colliders(cpdag)) == set(found)
    for triple, evidence in found.items():
        without = [value for colliders, value in allowed.items() if triple not in colliders]
        if not without:
            assert evidence == np.inf
        else:
            assert evidence >= max(allowed.values()) - max(without) - 1e-6


# --- on data ----------------------------------------------------------------------------------------------


def simulated(seed, d=8, n=400):
    dag = dcd.simulate.random_dag(d, degree=4, graph="erdos-renyi", random_state=seed)
    values = dcd.simulate.sample(dag, n, mechanism="mlp", noise_std=1.0, random_state=seed)
    return dag, pd.DataFrame(values, columns=NAMES[:d])


def true_tiers(dag, n_tiers=3):
    order = [NAMES[i] for i in topological_order(dag)]
    return [list(part) for part in np.array_split(order, n_tiers)]


def test_true_tiers_help():
    """Mean over 20 graphs: both the distance to the true class and that to the true DAG become smaller."""
    gains, gains_dag = [], []
    for seed in range(20):
        dag, frame = simulated(seed)
        plain = dcd.RobustDCD().fit(frame).cpdag_
        knowing = dcd.RobustDCD(knowledge=Knowledge(tiers=true_tiers(dag))).fit(frame).cpdag_
        truth = dag_to_cpdag(dag)
        before = dcd.metrics.compare(truth, plain.adjacency).shd_c
        gains.append(before - dcd.metrics.compare(truth, knowing.without_background().adjacency).shd_c)
        before = dcd.metrics.compare(dag, plain.adjacency).shd_c
        gains_dag.append(before - dcd.metrics.compare(dag, knowing.adjacency).shd_c)
    print(np.mean(gains), np.std(gains) / 20**0.5, np.mean(gains_dag), np.std(gains_dag) / 20**0.5)
    assert np.mean(gains) >= 0
    assert np.mean(gains_dag) >= 1
