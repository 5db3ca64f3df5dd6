"""Adjustment distances, against examples worked out by hand and their definition on small graphs."""

from functools import cache, wraps
from itertools import product

import numpy as np
import pytest
from support.known_graphs import all_dags, random_dag

import dcd
from dcd.evaluation.metrics import AdjustmentDistances, adjustment_distances
from dcd.graph.separation import d_separated

pytest.importorskip("gadjid", reason="pip install 'causal-dcd[gadjid]'")
CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]  # 0 -> 1 -> 2


# --- by hand ---------------------------------------------------------------------------------------------


def test_a_chain_for_its_reverse():
    """0 -> 1 -> 2 estimated as 0 <- 1 <- 2.

    The estimate claims that the effects of 0 on 1 and 2 and of 1 on 2 are zero: three mistakes. The effects
    that the estimate claims, of 1 on 0 and of 2 on 0 and 1, adjust for nothing, for nothing and, with the
    parents or ancestors of 1, for 2: the truth has none of these effects. Of 2 on 1: the path 2 <- 1 is open.
    Of 2 on 0: open as well. Of 1 on 0, given 2 or not: 1 <- 0 is open. Six mistakes.
    """
    reverse = np.array(CHAIN).T
    distances = adjustment_distances(CHAIN, reverse)
    assert distances == AdjustmentDistances(parent=6, ancestor=6, optimal=6, sid=6, n_effects=6)


def test_one_arrow_too_many():
    """0 -> 1 -> 2 estimated with 0 -> 2 as well: every claim is still right."""
    full = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert adjustment_distances(CHAIN, full) == AdjustmentDistances(0, 0, 0, 0, 6)


def test_one_arrow_missing():
    """0 -> 2 <- 1 with 0 -> 1 in truth, which the estimate lacks.

    It claims that 0 has no effect on 1 (wrong), or with the parents of 0, of which there are none, that the
    effect is the association (right). The effect of 1 on 2 needs 0, a confounder (wrong). That 1 has no
    effect on 0 is right, but adjusting for the parents of 1, of which there are none, is wrong. The total
    effect of 0 on 2 is the association (right), and 2 has no effects: adjusting for its parents is right.
    """
    truth = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    estimate = [[0, 0, 1], [0, 0, 1], [0, 0, 0]]
    distances = adjustment_distances(truth, estimate)
    assert (distances.parent, distances.sid) == (2, 2)
    assert (distances.ancestor, distances.optimal) == (2, 2)


def test_undirected_edges_claim_nothing():
    """Against 0 - 1 - 2 a graph without edges claims that six effects are zero; none is identified."""
    cpdag = dcd.graph.dag_to_cpdag(CHAIN)
    assert adjustment_distances(cpdag, cpdag) == AdjustmentDistances(0, 0, 0, None, 6)
    empty = np.zeros((3, 3))
    assert adjustment_distances(cpdag, empty).ancestor == 6
    assert adjustment_distances(empty, cpdag).ancestor == 6


def test_graphs_are_matched_by_name():
    truth = dcd.CPDAG.from_dag("abc", [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert adjustment_distances(truth, truth.reorder("cab")).parent == 0
    with pytest.raises(dcd.InputError, match="'c', 'd' on one side only"):
        adjustment_distances(truth, dcd.CPDAG("abd", truth.adjacency))


def test_a_cycle_is_refused():
    cycle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    with pytest.raises(dcd.InputError, match="parameter 'estimated_graph': has a directed cycle"):
        adjustment_distances(CHAIN, cycle)


# --- by definition ---------------------------------------------------------------------------------------


def remembered(function):
    """A function of a graph, computed once for each: all effects and strategies need it."""

    @cache
    def computed(cells, kind, *others):
        d = round(np.sqrt(len(cells) / kind.itemsize))
        return function(np.frombuffer(cells, kind).reshape(d, d), *others)

    @wraps(function)
    def of_graph(graph, *others):
        graph = np.asarray(graph)
        return computed(graph.tobytes(), graph.dtype, *others)

    return of_graph


@remembered
def members(graph):
    """The DAGs of a CPDAG; a DAG alone."""
    lines = [(i, j) for i, j in np.argwhere(graph & graph.T) if i < j]
    found = []
    for flips in product([0, 1], repeat=len(lines)):
        dag = graph.copy()
        for (i, j), flip in zip(lines, flips, strict=True):
            dag[(j, i) if flip else (i, j)] = 0
        if is_acyclic(dag) and (not lines or (dcd.graph.dag_to_cpdag(dag) == graph).all()):
            found.append(dag)
    return found


def is_acyclic(dag):
    return not np.linalg.matrix_power(dag.astype(int), len(dag)).any()


@remembered
def descendants(dag, node):
    """With the node itself."""
    reached = np.linalg.matrix_power(np.eye(len(dag), dtype=int) + dag, len(dag))
    return set(np.flatnonzero(reached[node]))


def on_causal_paths(dag, t, y):
    """The nodes on directed paths from t to y, without t."""
    return {v for v in descendants(dag, t) if y in descendants(dag, v)} - {t}


def valid(dag, t, y, adjusted):
    """Shpitser's adjustment criterion in a DAG."""
    causal = on_causal_paths(dag, t, y)
    forbidden = {v for c in causal for v in descendants(dag, c)} | {t, y}
    without = dag.copy()
    without[t, list(causal)] = 0
    return not forbidden & adjusted and d_separated(without, t, y, adjusted)


def amenable(graph, t, y):
    """No possibly directed path from t to y begins with an undirected edge."""

    def leads(node, seen):
        if node == y:
            return True
        steps = np.flatnonzero(graph[node])
        return any(leads(step, seen | {step}) for step in steps if step not in seen)

    starts = np.flatnonzero(graph[t] & graph[:, t])
    return not any(leads(start, {t, start}) for start in starts)


def claims(graph, t, y, strategy):
    """The claim of a graph about the effect of t on y: "zero", "unknown", or the set to adjust for."""
    dags = members(graph)
    arrows = graph & ~graph.T & 1
    if strategy == "parent":
        if arrows[y, t]:
            return "zero"
    elif not any(y in descendants(dag, t) for dag in dags):
        return "zero"
    if not amenable(graph, t, y):
        return "unknown"
    if strategy == "parent":
        return set(np.flatnonzero(arrows[:, t]))
    if strategy == "ancestor":  # those that are ancestors by arrows alone
        return {v for v in range(len(graph)) if t in descendants(arrows, v)} - {t}
    dag = dags[0]  # the optimal set is the same in all of them
    causal = on_causal_paths(dag, t, y)
    forbidden = {v for c in causal for v in descendants(dag, c)} | {t}
    return {int(v) for c in causal for v in np.flatnonzero(dag[:, c])} - forbidden


def mistakes(true, estimated, strategy):
    wrong = 0
    for t, y in product(range(len(true)), repeat=2):
        if t == y:
            continue
        claim = claims(estimated, t, y, strategy)
        if claim == "zero":
            right = not any(y in descendants(dag, t) for dag in members(true))
        elif claim == "unknown":
            right = not amenable(true, t, y)
        else:
            right = amenable(true, t, y) and all(valid(dag, t, y, claim) for dag in members(true))
        wrong += not right
    return wrong


def by_definition(true, estimated):
    return tuple(mistakes(true, estimated, strategy) for strategy in ("parent", "ancestor", "optimal"))


def counts(true, estimated):
    distances = adjustment_distances(true, estimated)
    return distances.parent, distances.ancestor, distances.optimal


def test_all_dags_on_three_nodes():
    for true, estimated in product(list(all_dags(3)), repeat=2):
        expected = by_definition(true, estimated)
        assert counts(true, estimated) == expected
        assert adjustment_distances(true, estimated).sid == expected[0]


def test_all_classes_on_three_nodes():
    classes = {dcd.graph.dag_to_cpdag(dag).tobytes(): dcd.graph.dag_to_cpdag(dag) for dag in all_dags(3)}
    assert len(classes) == 11
    for true, estimated in product(classes.values(), repeat=2):
        assert counts(true, estimated) == by_definition(true, estimated)


@pytest.mark.parametrize("seed", range(4))
def test_random_classes_on_five_nodes(seed):
    rng = np.random.default_rng(seed)
    for _ in range(15):
        true, estimated = (dcd.graph.dag_to_cpdag(random_dag(5, rng)) for _ in range(2))
        assert counts(true, estimated) == by_definition(true, estimated)
