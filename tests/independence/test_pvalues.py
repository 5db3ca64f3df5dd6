"""`IndependenceTest`, the conditional independence test that other methods can use."""

import numpy as np
import pandas as pd
import pytest
from support.tables import collider_with_bystanders

import dcd
from dcd import InputError


def test_pvalues_of_a_collider():
    test = dcd.IndependenceTest(collider_with_bystanders(800, 0))
    assert test("a", "b", []) > 0.01
    assert test("a", "b", ["c"]) < 1e-6
    assert test(0, 3, [2]) > 0.01
    assert test("a", "b", ["c"]) == pytest.approx(test("b", "a", ["c"]))


def test_other_columns_make_no_difference():
    frame = collider_with_bystanders(800, 0)
    alone = dcd.IndependenceTest(frame[["a", "b", "c"]])
    assert alone("a", "b", ["c"]) == pytest.approx(dcd.IndependenceTest(frame)("a", "b", ["c"]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a", "a", []), "differ"),
        (("a", "b", ["a"]), "differ"),
        (("a", "b", "c"), "list"),
        (("a", "b", None), "list"),
        (("a", "x", []), "x"),
    ],
)
def test_bad_input(arguments, message):
    with pytest.raises(InputError, match=message):
        dcd.IndependenceTest(collider_with_bystanders(100, 0))(*arguments)


def test_pvalues_do_not_depend_on_the_order_of_columns():
    rng = np.random.default_rng(3)
    values = rng.standard_normal((150, 8)) + rng.standard_normal((150, 1))
    values[:, 6] += values[:, 0] * values[:, 1]
    values[:, 7] += values[:, 0] * values[:, 1]
    frame = pd.DataFrame(values, columns=list("abcdefxy"))
    one = dcd.IndependenceTest(frame)("x", "y", list("abcdef"))
    assert dcd.IndependenceTest(frame[list("yxfedcba")])("y", "x", list("fedcba")) == one


def test_it_serves_in_causal_learns_pc():
    from causallearn.search.ConstraintBased.PC import pc
    from causallearn.utils.cit import CIT_Base, register_ci_test

    class Decoupling(CIT_Base):
        def __init__(self, data, **_):
            super().__init__(data)
            self.method = "decoupling"
            self.test = dcd.IndependenceTest(data)

        def __call__(self, x, y, given=None):
            return self.test(int(x), int(y), [int(v) for v in given or ()])

    register_ci_test("decoupling", Decoupling)
    values = collider_with_bystanders(800, 1).to_numpy()
    graph = pc(values, 0.001, "decoupling", show_progress=False).G.graph
    assert {tuple(sorted(pair)) for pair in np.argwhere(graph)} == {(0, 2), (1, 2), (2, 3)}
