"""Probabilities of the types of an edge, and their words."""

import numpy as np
import pandas as pd
import pytest

from dcd import CPDAG, InputError
from dcd.graph.probabilities import COLUMNS, Probabilities, drawn_edges, edge_lines, pair_probabilities

COLLIDER = np.array([[0, 0, 1], [0, 0, 1], [0, 0, 0]])
FRAME = pd.DataFrame(
    [
        ("a", "b", 0.0, 0.01, 0.02, 0.97),
        ("a", "c", 0.93, 0.02, 0.04, 0.01),
        ("b", "c", 0.61, 0.2, 0.18, 0.01),
    ],
    columns=COLUMNS,
)


def test_words_tell_the_probability_of_what_is_drawn():
    found = Probabilities(0.93, 0.02, 0.04, 0.01)
    assert found.words("a", "b") == "arrow 93 %, edge 99 %"
    assert found.reversed().words("b", "a") == "arrow 2 %, edge 99 %"
    assert Probabilities(1.0, 0.0, 0.0, 0.0).words("a", "b") == "arrow 100 %, edge 100 %"
    assert Probabilities(0.999, 0.0, 0.0, 0.001).words("a", "b") == "arrow > 99 %, edge > 99 %"
    assert found.reversed().reversed() == found


def test_words_for_a_line_give_its_reason_and_name_every_direction():
    mostly_undirected, found = Probabilities(0.0, 0.25, 0.74, 0.01), Probabilities(0.06, 0.64, 0.3, 0.0)
    assert mostly_undirected.words("a", "b", "undirected") == "edge 99 %, undirected 74 %"
    assert found.words("a", "b", "undirected") == "edge 100 %, undirected 30 %, b -> a 64 %"
    assert found.reversed().words("b", "a", "undirected", arrow="→").endswith("undirected 30 %, b → a 64 %")
    assert found.words("a", "b", "improbable") == "edge 100 %, direction uncertain: a -> b 6 %, b -> a 64 %"
    unconfirmed = found.reversed().words("b", "a", "unconfirmed")
    assert unconfirmed == "edge 100 %, direction not confirmed by tests: b -> a 64 %"


def test_a_line_is_undirected_improbable_or_not_confirmed():
    found = Probabilities(0.78, 0.1, 0.11, 0.01)
    assert found.reason_for_line(uncertain=False, least=0.7) == "undirected"
    assert found.reason_for_line(uncertain=True, least=0.8) == "improbable"
    assert found.reason_for_line(uncertain=True, least=0.7) == "unconfirmed"


def test_pairs_are_found_in_both_orders():
    pairs = pair_probabilities(FRAME)
    assert pairs["a", "c"].forward == pairs["c", "a"].backward == 0.93
    assert len(pairs) == 6


def test_an_uncertain_arrow_is_a_line_in_its_own_direction():
    cpdag = CPDAG(("c", "a", "b"), np.array([[0, 0, 0], [1, 0, 0], [1, 0, 0]]), uncertain=(("b", "c"),))
    assert list(drawn_edges(cpdag)) == [("->", "a", "c", False), ("-", "b", "c", True)]
    assert edge_lines(cpdag, FRAME) == [
        ("a -> c", "arrow 93 %, edge 99 %"),
        ("b - c", "edge 99 %, direction uncertain: b -> c 61 %"),
    ]
    assert edge_lines(cpdag, FRAME, 0.6)[1][1] == "edge 99 %, direction not confirmed by tests: b -> c 61 %"


def test_without_probabilities_edges_are_plain():
    assert edge_lines(CPDAG(("a", "b", "c"), COLLIDER), None) == [("a -> c", ""), ("b -> c", "")]
    assert edge_lines(CPDAG(("a", "b"), np.zeros((2, 2))), FRAME) == []


@pytest.mark.parametrize("wrong", [FRAME.drop(columns="absent"), FRAME.to_numpy(), {"a": 1}])
def test_anything_but_probabilities_is_refused(wrong):
    with pytest.raises(InputError, match=r"parameter 'probabilities'.*Pass model\.probabilities_"):
        pair_probabilities(wrong)
