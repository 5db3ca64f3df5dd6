from itertools import combinations

import numpy as np
import pytest
from support.known_graphs import random_dag

import dcd
from dcd import CPDAG, InputError
from dcd.evaluation.metrics import Comparison, compare


def by_definition(true, estimated):
    """Edges as labelled sets; a right edge is in both sets, the distance counts pairs that differ."""

    def typed(matrix):
        return {
            (i, j): (int(matrix[i, j]), int(matrix[j, i]))
            for i, j in combinations(range(len(matrix)), 2)
            if matrix[i, j] or matrix[j, i]
        }

    a, b = typed(true), typed(estimated)
    right = sum(b.get(pair) == kind for pair, kind in a.items())
    distance = sum(a.get(pair) != b.get(pair) for pair in a.keys() | b.keys())
    precision = right / len(b) if b else 0.0
    recall = right / len(a) if a else 0.0
    f1 = 2 * precision * recall / (precision + recall) if right else 0.0
    return distance, precision, recall, f1


@pytest.mark.parametrize("seed", range(3))
def test_scores_meet_their_definition(seed):
    rng = np.random.default_rng(seed)
    for _ in range(50):
        true, estimated = (dcd.graph.dag_to_cpdag(random_dag(6, rng)) for _ in range(2))
        if not true.any() and not estimated.any():
            continue
        found = compare(true, estimated)
        assert (found.shd_c, found.precision, found.recall, found.f1) == pytest.approx(
            by_definition(true, estimated)
        )
        assert (
            found.skeleton_shd,
            found.skeleton_precision,
            found.skeleton_recall,
            found.skeleton_f1,
        ) == pytest.approx(by_definition(true | true.T, estimated | estimated.T))


def test_known_answers():
    chain = dcd.graph.dag_to_cpdag([[0, 1, 0], [0, 0, 1], [0, 0, 0]])
    collider = dcd.graph.dag_to_cpdag([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    empty = np.zeros((3, 3))
    assert compare(chain, chain) == Comparison(0, 1.0, 1.0, 1.0, 0, 1.0, 1.0, 1.0)
    assert compare(chain, collider) == Comparison(2, 0.0, 0.0, 0.0, 0, 1.0, 1.0, 1.0)
    assert compare(chain, empty) == Comparison(2, 0.0, 0.0, 0.0, 2, 0.0, 0.0, 0.0)
    assert compare(empty, empty) == Comparison(0, 1.0, 1.0, 1.0, 0, 1.0, 1.0, 1.0)


def test_graphs_are_matched_by_name():
    dag = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    one = CPDAG.from_dag("abc", dag)
    assert compare(one, one.reorder("bca")).shd_c == 0


def test_labelled_frames_are_matched_by_label():
    one = CPDAG.from_dag("abc", [[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert compare(one.to_frame(), one.reorder("bca").to_frame()).shd_c == 0
    assert compare(one, one.reorder("bca").to_frame()).shd_c == 0
    with pytest.raises(InputError, match="rows and columns with different labels"):
        compare(one, one.to_frame().loc[["c", "b", "a"]])


def test_other_variables_are_refused():
    line = [[0, 1], [1, 0]]
    with pytest.raises(InputError, match="'b', 'c' on one side only"):
        compare(CPDAG("ab", line), CPDAG("ac", line))
    with pytest.raises(InputError, match="has shape"):
        compare(line, np.zeros((3, 3)))
