"""Colliders by likelihood: equivalence, the limiting cases, an exhaustive search, and evidence."""

from itertools import permutations

import numpy as np
import pytest
from scipy.integrate import quad
from support.known_graphs import all_dags, random_dag
from support.searches import likelihood_of
from support.tables import linear

import dcd
from dcd.features.rank_scores import make_scores
from dcd.graph.adjacency import skeleton_of, unshielded_colliders
from dcd.graph.equivalence import dag_to_cpdag
from dcd.search.assemble import orient_skeleton
from dcd.search.colliders import BlockLikelihood, ColliderEvidence, log_prior


def test_equivalent_graphs_have_the_same_likelihood():
    rng = np.random.default_rng(0)
    likelihood = BlockLikelihood(make_scores(rng.standard_normal((300, 4)) @ rng.standard_normal((4, 4))))
    by_class = {}
    for dag in all_dags(4):
        by_class.setdefault(dag_to_cpdag(dag).tobytes(), []).append(likelihood_of(dag, likelihood))
    for values in by_class.values():
        np.testing.assert_allclose(values, values[0], rtol=1e-9)
    assert len({round(values[0], 3) for values in by_class.values()}) > 180


@pytest.mark.parametrize("seed", range(5))
def test_a_collider_is_told_from_a_chain_and_a_fork(seed):
    skeleton = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]], dtype=bool)
    for edges, expected in (
        ([(0, 1), (2, 1)], {(0, 1, 2)}),
        ([(0, 1), (1, 2)], set()),
        ([(1, 0), (1, 2)], set()),
    ):
        dag = np.zeros((3, 3), dtype=np.int8)
        for i, j in edges:
            dag[i, j] = 1
        scores = make_scores(linear(dag, seed, n=600))
        assert set(ColliderEvidence().colliders(scores, skeleton, 0)) == expected


def test_the_search_finds_what_trying_all_orders_finds():
    rng = np.random.default_rng(1)
    for seed in range(12):
        dag = random_dag(6, rng)
        skeleton = skeleton_of(dag)
        scores = make_scores(linear(dag, seed, n=150, weight=0.4))
        likelihood = BlockLikelihood(scores)
        n_arms = sum(
            any(skeleton[y, z] and not skeleton[x, y] for y in range(6) if y != x)
            for z in range(6)
            for x in range(6)
            if skeleton[x, z]
        )

        def posterior(candidate, likelihood=likelihood, n_arms=n_arms):
            taken = {(end, z) for x, z, y in unshielded_colliders(candidate) for end in (x, y)}
            return likelihood_of(candidate, likelihood) / 1.5 + log_prior(len(taken), n_arms)

        best = -np.inf
        for order in permutations(range(6)):
            place = np.argsort(order)
            candidate = (skeleton & (place[:, None] < place[None, :])).astype(np.int8)
            value = posterior(candidate)
            if value > best + 1e-6:
                best, best_colliders = value, set(unshielded_colliders(candidate))
        found = ColliderEvidence().colliders(scores, skeleton, 0)
        assert set(found) == best_colliders


def test_noise_alone_makes_no_colliders_of_a_star():
    """Weak edges to a hub: many triples, none with evidence, so that the first would need much."""
    skeleton = np.zeros((8, 8), dtype=bool)
    skeleton[0, 1:] = skeleton[1:, 0] = True
    without = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        hub = rng.standard_normal((400, 1))
        values = np.hstack([hub, 0.3 * hub + rng.standard_normal((400, 7))])
        without += not ColliderEvidence().colliders(make_scores(values), skeleton, 0)
    assert without >= 17


def test_evidence_grows_with_the_sample_and_weak_evidence_can_be_left_out():
    dag = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=np.int8)
    skeleton = skeleton_of(dag)
    few, many = (make_scores(linear(dag, 3, n=n)) for n in (300, 3000))
    weak = ColliderEvidence().colliders(few, skeleton, 0)[0, 1, 2]
    strong = ColliderEvidence().colliders(many, skeleton, 0)[0, 1, 2]
    assert strong > 5 * weak > 0
    assert ColliderEvidence(min_evidence=2 * strong).colliders(many, skeleton, 0) == {}


@pytest.mark.parametrize(("n_colliders", "n_triples"), [(0, 0), (0, 12), (3, 12), (12, 12), (40, 60)])
def test_the_prior_is_the_integral_over_shares(n_colliders, n_triples):
    integral, _ = quad(lambda s: s**n_colliders * (1 - s) ** (n_triples - n_colliders), 0, 0.5)
    assert log_prior(n_colliders, n_triples) == pytest.approx(np.log(integral), rel=1e-6)


def test_a_thousand_arms_are_no_problem():
    assert log_prior(1100, 1100) == pytest.approx(-(1101 * np.log(2) + np.log(1101)))


@pytest.mark.parametrize("seed", range(4))
def test_what_is_found_fits_the_skeleton_whatever_the_threshold(seed):
    """All colliders that are named are those of one DAG with all edges of the skeleton."""
    rng = np.random.default_rng(seed)
    dag = random_dag(10, rng)
    skeleton = skeleton_of(dag)
    scores = make_scores(linear(dag, seed, n=100, weight=0.3))
    for min_evidence in (0.0, 3.0, 1e6):
        found = ColliderEvidence(min_evidence=min_evidence).colliders(scores, skeleton, seed)
        cpdag = orient_skeleton(skeleton, found)
        assert (skeleton_of(cpdag) == skeleton).all()
        assert set(unshielded_colliders(cpdag)) == set(found)


def test_no_triples_no_colliders():
    scores = make_scores(np.random.default_rng(0).standard_normal((100, 3)))
    assert ColliderEvidence().colliders(scores, np.zeros((3, 3), dtype=bool)) == {}


@pytest.mark.parametrize(("parameter", "value"), [("temper", 0), ("min_evidence", -1)])
def test_bad_parameters(parameter, value):
    strategy = ColliderEvidence(**{parameter: value})
    with pytest.raises(dcd.InputError, match=parameter):
        dcd.RobustDCD(orientation=strategy).fit(np.random.default_rng(0).random((200, 3)))
