"""Adjustment sets of a class, checked against every DAG of the class."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from support.brute_force import all_dags, members_of_class, random_dag, respects, true_knowledge
from support.known_graphs import all_dags as all_dags_of

from dcd import CPDAG
from dcd.graph.adjustment_sets import RULES, adjustment_of, class_adjustments, sampled_adjustments
from dcd.graph.equivalence import dag_to_cpdag
from dcd.graph.separation import d_separated

NAMES = tuple("abcdefgh")


def path_ends(dag, x):
    """The descendants of x, by powers of the matrix."""
    reach = np.linalg.matrix_power(np.eye(len(dag)) + dag, len(dag))
    return {v for v in range(len(dag)) if reach[x, v] > 0}


def is_valid(dag, x, y, adjustment):
    """The adjustment criterion (Shpitser, VanderWeele and Robins 2010), read literally for single x and y."""
    causal = path_ends(dag, x) & {v for v in range(len(dag)) if y in path_ends(dag, v)} - {x}
    if set(adjustment) & set().union({x, y}, *(path_ends(dag, v) for v in causal)):
        return False
    without = dag.copy()
    for v in np.flatnonzero(dag[x]):  # only paths that are not causal remain
        if v in causal:
            without[x, v] = 0
    return d_separated(without, x, y, adjustment)


def variance(covariance, x, y, adjustment):
    """The asymptotic variance of the coefficient of x, regressed with some others, times n."""

    def residual(target, given):
        given = list(given)
        inner = covariance[np.ix_(given, given)]
        return covariance[target, target] - covariance[target, given] @ np.linalg.solve(
            inner, covariance[given, target]
        )

    return (
        residual(y, [x, *adjustment]) / residual(x, adjustment)
        if adjustment
        else (residual(y, [x]) / covariance[x, x])
    )


def brute_force(dags, x, y, rule):
    counts = Counter(adjustment_of(dag, x, y, rule) for dag in dags)
    return {adjustment: count / len(dags) for adjustment, count in counts.items()}


def test_the_set_of_a_dag_is_valid_and_no_valid_set_has_less_variance():
    rng = np.random.default_rng(0)
    for dag in all_dags(4)[::3]:
        dag = dag.astype(np.int8)
        mixing = np.linalg.inv(np.eye(4) - dag * rng.uniform(0.5, 1.5, size=(4, 4)))
        covariance = mixing.T @ mixing
        for x, y in np.argwhere(~np.eye(4, dtype=bool)):
            others = [v for v in range(4) if v not in (x, y)]
            optimal, parents = (adjustment_of(dag, x, y, rule) for rule in ("optimal", "parents"))
            if y not in path_ends(dag, x):
                assert optimal is parents is None
                continue
            assert parents == tuple(np.flatnonzero(dag[:, x]))
            subsets = [tuple(v for v, taken in zip(others, mask, strict=True) if taken)
                       for mask in product((0, 1), repeat=2)]  # fmt: skip
            valid = [subset for subset in subsets if is_valid(dag, x, y, subset)]
            assert {optimal, parents} <= set(valid)
            least = min(variance(covariance, x, y, subset) for subset in valid)
            assert variance(covariance, x, y, optimal) <= least + 1e-9


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("every", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_a_class_asks_for_what_its_members_ask_for(rule, every):
    classes = {}
    for dag in all_dags_of(4):
        classes.setdefault(dag_to_cpdag(dag).tobytes(), []).append(dag)
    several = 0
    for dags in list(classes.values())[::every]:
        cpdag = CPDAG.from_dag("abcd", dags[0])
        for x, y in np.argwhere(~np.eye(4, dtype=bool)):
            found = class_adjustments(cpdag, "abcd"[x], "abcd"[y], rule)
            assert found.counted
            assert found.complete
            assert found.shares == pytest.approx(brute_force(dags, x, y, rule))
            several += len(found.shares) > 1
    assert several > 200 / every


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(s, marks=pytest.mark.slow) for s in range(4, 20))]
)
def test_with_knowledge_members_that_disagree_do_not_count(seed):
    rng = np.random.default_rng(seed)
    restricted = 0
    for _ in range(6):
        dag = random_dag(6, rng, share=rng.uniform(0.3, 0.8)).astype(np.int8)
        names = NAMES[:6]
        known = true_knowledge(dag, rng)
        bound = known.bind(names)
        oriented = bound.forbidden.T & ~bound.forbidden
        whole = members_of_class(dag_to_cpdag(dag))
        members = [member for member in whole if respects(member, known)]
        restricted += len(members) < len(whole)
        arrows = [(names[i], names[j]) for i, j in np.argwhere(dag & oriented)]
        cpdag = CPDAG.from_dag(names, dag, arrows)
        for x, y in rng.permutation(np.argwhere(~np.eye(6, dtype=bool)))[:8]:
            for rule in RULES:
                expected = pytest.approx(brute_force(members, x, y, rule))
                assert class_adjustments(cpdag, names[x], names[y], rule).shares == expected
                assert sampled_adjustments(members, oriented, x, y, rule).shares == expected
    assert restricted


def test_sampled_graphs_count_by_how_often_they_were_sampled():
    chain = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=np.int8)
    collider = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]], dtype=np.int8)
    free = np.zeros((3, 3), dtype=bool)
    shares = sampled_adjustments([chain, collider, collider, collider], free, 0, 1).shares
    # The chain's class has three members: in two of them b causes a or has no effect on it.
    assert shares == pytest.approx({(2,): 3 / 4, (): 1 / 4 * 1 / 3, None: 1 / 4 * 2 / 3})


def test_the_error_of_a_share_is_its_spread_between_chains():
    rng = np.random.default_rng(0)
    free = np.zeros((4, 4), dtype=bool)
    dags = [random_dag(4, rng, share=0.5).astype(np.int8) for _ in range(60)]
    found = sampled_adjustments(dags, free, 0, 1, n_chains=6)
    one_by_one = [sampled_adjustments(dags[k : k + 10], free, 0, 1).shares for k in range(0, 60, 10)]
    for adjustment, share in found.shares.items():
        of_chains = [shares.get(adjustment, 0.0) for shares in one_by_one]
        assert share == pytest.approx(np.mean(of_chains))
        assert found.errors[adjustment] == pytest.approx(np.std(of_chains, ddof=1) / np.sqrt(6))
    assert found.shares == sampled_adjustments(dags, free, 0, 1).shares
    for n_chains in (None, 1, 7):  # 60 graphs cannot be those of 7 chains of the same length
        assert sampled_adjustments(dags, free, 0, 1, n_chains=n_chains).errors == {}


def test_the_error_of_a_share_is_calibrated():
    chain, empty = np.array([[0, 1], [0, 0]], dtype=np.int8), np.zeros((2, 2), dtype=np.int8)
    known, rng, z = chain.astype(bool), np.random.default_rng(0), []
    for _ in range(300):
        of_chain = rng.beta(2, 2, size=32)  # with a mean of 1/2; graphs of one chain resemble each other
        dags = [chain if rng.random() < p else empty for p in of_chain for _ in range(20)]
        found = sampled_adjustments(dags, known, 0, 1, n_chains=32)
        z.append((found.shares[()] - 0.5) / found.errors[()])
    assert np.std(z) == pytest.approx(1.03, abs=0.15)  # Student's t with 31 degrees of freedom


def test_an_uncertain_arrow_can_be_reversed():
    collider = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]], dtype=np.int8)
    sure = CPDAG.from_dag("abc", collider)
    assert class_adjustments(sure, "a", "c").shares == {(1,): 1.0}
    doubtful = CPDAG("abc", sure.adjacency, uncertain=[("a", "c")])
    # With a <- c it is the chain b -> c -> a: a cannot cause c. The arrow b -> c is drawn and stays.
    assert class_adjustments(doubtful, "a", "c").shares == {(1,): 0.5, None: 0.5}


def test_large_classes_are_bounded_and_say_so():
    complete = np.triu(np.ones((14, 14), dtype=np.int8), k=1)
    cpdag = CPDAG.from_dag([f"v{i}" for i in range(14)], complete)
    found = class_adjustments(cpdag, "v0", "v1")
    assert not found.complete
    assert not found.counted
    assert sum(found.shares.values()) == pytest.approx(1)
    star = np.zeros((14, 14), dtype=np.int8)
    star[0, 1:] = 1
    found = class_adjustments(CPDAG.from_dag([f"v{i}" for i in range(14)], star), "v0", "v1")
    assert found.complete
    assert found.shares == pytest.approx({(): 13 / 14, None: 1 / 14})
