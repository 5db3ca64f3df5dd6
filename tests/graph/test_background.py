"""Graphs that carry background knowledge, and their extensions."""

from itertools import combinations

import numpy as np
import pytest
from support.brute_force import members_of_class, shared_arrows

from dcd import CPDAG, InputError
from dcd.graph.adjacency import directed_part
from dcd.graph.equivalence import apply_meek_rules, consistent_extension

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


def test_a_cpdag_with_background():
    known = CPDAG.from_dag("abc", CHAIN, background=[("a", "b")])
    assert known.directed_edges == (("a", "b"), ("b", "c"))
    assert known.background == (("a", "b"),)
    assert repr(known) == "CPDAG(3 variables, 2 directed (2 by knowledge), 0 undirected edges)"
    turned = known.reorder("cba")
    assert turned == known
    assert hash(turned) == hash(known)
    assert turned.background == (("a", "b"),)
    plain = known.without_background()
    assert plain == CPDAG.from_dag("abc", CHAIN)
    assert plain != known
    assert plain.background == ()
    np.testing.assert_array_equal(known.to_dag().adjacency, CHAIN)
    middle = CPDAG.from_dag("abc", CHAIN, background=[("b", "c")])
    assert middle.undirected_edges == (("a", "b"),)


def test_background_that_the_class_has_anyway_is_left_out():
    collider = np.array([[0, 1, 0], [0, 0, 0], [0, 1, 0]])
    assert CPDAG("abc", collider, (("a", "b"),)).background == ()


@pytest.mark.parametrize(
    ("adjacency", "background", "message"),
    [
        (CHAIN, (), "is not the CPDAG of any DAG"),
        (
            [[0, 1, 0], [0, 0, 1], [0, 1, 0]],
            (("a", "b"),),
            "is not the CPDAG of any DAG with this background",
        ),
        (CHAIN, (("b", "a"),), "'background': has b -> a, which is not in the graph"),
        (CHAIN, (("a", "c"),), "'background': has a -> c, which is not in the graph"),
        (CHAIN, (("a", "x"),), "variable 'x': is not in the graph"),
    ],
)
def test_a_background_that_does_not_fit_is_refused(adjacency, background, message):
    with pytest.raises(InputError, match=message):
        CPDAG("abc", adjacency, background)


@pytest.mark.parametrize("seed", range(3))
def test_extensions_with_background_are_found_if_and_only_if_there_are_any(seed):
    """Dor and Tarsi's algorithm against all directions, on patterns with arbitrary arrows."""
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
