"""Theorem 1 and Proposition 1 on discrete distributions that can be enumerated, with exact weights."""

from itertools import combinations

import numpy as np
import pytest
from support.known_graphs import random_dag

from dcd.graph.adjacency import topological_order
from dcd.graph.separation import oracle

SEEDS = range(6)


def random_joint(dag, rng):
    """A strictly positive joint distribution that is Markov to `dag`; axis i is variable i."""
    levels = rng.integers(2, 4, size=len(dag))
    joint = np.ones(levels)
    for node in topological_order(dag):
        parents = np.flatnonzero(dag[:, node])
        # One distribution of the node for every state of its parents, far from equal so that dependence is
        # strong.
        table = rng.dirichlet(np.ones(levels[node]), size=tuple(levels[parents])) + 0.05
        table /= table.sum(axis=-1, keepdims=True)
        axes = [*parents, node]
        shape = [levels[axis] if axis in axes else 1 for axis in range(len(dag))]
        joint = joint * np.transpose(table, np.argsort(axes)).reshape(shape)
    return joint


def marginal(joint, keep):
    return joint.sum(axis=tuple(axis for axis in range(joint.ndim) if axis not in keep), keepdims=True)


def decoupled(joint, target, marginals):
    """w(z) P(x_t, z) with the density ratio w(z) = prod_i q_i(z_i) / P(z) of Appendix B."""
    others = [axis for axis in range(joint.ndim) if axis != target]
    product = np.ones([1] * joint.ndim)
    for axis in others:
        shape = [1] * joint.ndim
        shape[axis] = joint.shape[axis]
        product = product * marginals[axis].reshape(shape)
    weights = product / marginal(joint, others)
    assert np.isclose((weights * marginal(joint, others)).sum(), 1.0)
    return weights * joint


def dependence(joint, a, b):
    """Largest deviation of the pair's distribution from the product of its marginals."""
    return np.abs(marginal(joint, (a, b)) - marginal(joint, (a,)) * marginal(joint, (b,))).max()


def choices_of_marginals(joint, rng):
    n = joint.ndim
    yield [marginal(joint, (axis,)).ravel() for axis in range(n)]
    yield [np.full(joint.shape[axis], 1 / joint.shape[axis]) for axis in range(n)]
    for _ in range(2):
        yield [0.8 * rng.dirichlet(np.ones(size)) + 0.2 / size for size in joint.shape]


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_dependent_exactly_if_in_the_boundary(seed):
    rng = np.random.default_rng(seed)
    dag = random_dag(5, rng)
    joint = random_joint(dag, rng)
    assert joint.min() > 0
    assert np.isclose(joint.sum(), 1.0)
    for marginals in choices_of_marginals(joint, rng):
        for target in range(5):
            others = [v for v in range(5) if v != target]
            weighted = decoupled(joint, target, marginals)
            for a, b in combinations(others, 2):
                assert dependence(weighted, a, b) < 1e-14
            boundary = oracle(dag)(target, others)
            for other in others:
                if other in boundary:
                    assert dependence(weighted, other, target) > 1e-7
                else:
                    assert dependence(weighted, other, target) < 1e-14


@pytest.mark.parametrize("seed", SEEDS)
def test_proposition_1_conditional_given_the_boundary_does_not_change(seed):
    rng = np.random.default_rng(100 + seed)
    dag = random_dag(5, rng)
    joint = random_joint(dag, rng)
    for target in range(5):
        others = [v for v in range(5) if v != target]
        boundary = oracle(dag)(target, others)
        rest = [v for v in others if v not in boundary]
        weights = rng.uniform(0.1, 10, size=[1 if v == target else joint.shape[v] for v in range(5)])
        weights /= (weights * marginal(joint, others)).sum()
        weighted = weights * joint
        full_conditional = joint / marginal(joint, others)
        for size in range(len(rest) + 1):
            for extra in combinations(rest, size):
                given = (*boundary, *extra)
                conditional = marginal(weighted, (*given, target)) / marginal(weighted, given)
                np.testing.assert_allclose(
                    np.broadcast_to(conditional, joint.shape), full_conditional, rtol=0, atol=1e-12
                )


@pytest.mark.parametrize("depends", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_one_variable_apart_from_a_set_is_enough(seed, depends):
    """If x is independent of S, P_w(y | x) is the mean of P(y | x, s) over one distribution of s."""
    rng = np.random.default_rng(seed)
    levels = (3, 2, 3, 3)  # x, two members of S, y
    x_and_s = rng.dirichlet(np.ones(18)).reshape(3, 2, 3, 1) + 0.01
    y_given = rng.dirichlet(np.ones(3), size=(3 if depends else 1, 2, 3))
    joint = x_and_s / x_and_s.sum() * np.broadcast_to(y_given, levels)
    free_x = rng.dirichlet(np.ones(3)).reshape(3, 1, 1, 1)
    free_s = rng.dirichlet(np.ones(6)).reshape(1, 2, 3, 1)  # the members of S stay dependent
    weighted = joint * free_x * free_s / marginal(joint, (0, 1, 2))
    y_given_x = weighted.sum(axis=(1, 2)) / weighted.sum(axis=(1, 2, 3))[:, None]
    expected = (np.broadcast_to(y_given, levels) * free_s).sum(axis=(1, 2))
    np.testing.assert_allclose(y_given_x, expected, atol=1e-12)
    assert (np.ptp(y_given_x, axis=0).max() > 1e-3) == depends
