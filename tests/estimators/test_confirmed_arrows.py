"""Arrows that tests do not confirm are drawn as lines in tables with categories, with the reason."""

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd.graph.probabilities import FORWARD

ROWS = 600


def collider(seed, category):
    """x -> z <- y, with y as a number or as a category, and w -> x or x -> w."""
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, ROWS))
    kind = (y > 0).astype(float) if category else y
    z = x + 1.5 * kind + 0.5 * rng.standard_normal(ROWS)
    w = x + 0.5 * rng.standard_normal(ROWS)
    return pd.DataFrame({"x": x, "y": np.where(y > 0, "high", "low") if category else y, "z": z, "w": w})


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("category", [False, True])
def test_the_arrows_of_a_clear_collider_are_confirmed_and_drawn(seed, category):
    model = dcd.RobustDCD(progress=False).fit(collider(seed, category))
    for cause in ("x", "y"):
        assert model.posterior_.confirms(cause, "z")
        assert (cause, "z") in model.cpdag_.directed_edges


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("category", [False, True])
def test_without_confirmation_they_are_lines_only_if_there_are_categories(category, missing, monkeypatch):
    def nothing(dag, oriented, ask):
        return np.zeros_like(oriented)

    table = collider(0, category)
    if missing:
        table.loc[::40, "w"] = np.nan
    monkeypatch.setattr("dcd.search.whole_graph.confirmed_arrows", nothing)
    model = dcd.RobustDCD(progress=False, missing="testwise" if missing else "refuse", arrow_probability=0)
    cpdag = model.fit(table).cpdag_
    assert {("x", "z"), ("y", "z")} <= set(cpdag.directed_edges if not category else cpdag.uncertain)
    if category:
        result = dcd.summarise(model)
        assert all(edge.confirmed is False for edge in result.edges if edge.uncertain)
        page = dcd.report.render(result)
        assert "direction not confirmed by tests" in page
        assert "Directions that tests do not confirm are drawn as lines" in page


def test_without_tests_nothing_is_said_of_them():
    model = dcd.RobustDCD(progress=False, search=dcd.WholeGraph(confirm=False)).fit(collider(0, True))
    assert model.posterior_.confirmed is None
    tested = dcd.RobustDCD(progress=False).fit(collider(0, True)).probabilities_
    merged = tested.merge(model.probabilities_, on=["first", "second"])
    arrows = merged.query("forward_x > 0.5")
    assert len(arrows) > 0
    assert (arrows["forward_y"] < arrows["forward_x"]).all()  # none counts as confirmed
    assert {edge.confirmed for edge in dcd.summarise(model).edges} == {None}
    assert "confirmed by tests" not in dcd.report.render(dcd.summarise(model))


@pytest.mark.parametrize("seed", range(3))
def test_an_arrow_that_tests_do_not_confirm_is_less_probable(seed, monkeypatch):
    table = collider(seed, category=False)
    confirmed = dcd.RobustDCD(progress=False).fit(table).posterior_
    monkeypatch.setattr("dcd.search.whole_graph.confirmed_arrows", lambda *_: np.zeros((4, 4), dtype=bool))
    doubtful = dcd.RobustDCD(progress=False).fit(table).posterior_
    x, z = confirmed.names.index("x"), confirmed.names.index("z")
    assert doubtful.types[FORWARD, x, z] < confirmed.types[FORWARD, x, z]
    np.testing.assert_array_equal(doubtful.sampled, confirmed.sampled)
