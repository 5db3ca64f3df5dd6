import sys

import matplotlib as mpl
import numpy as np
import pytest
from known_graphs import random_dag

from dcd import CPDAG, InputError
from dcd.plot import _bend, layered_positions, plot_cpdag

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


def test_arrows_point_down_and_no_two_nodes_share_a_place():
    rng = np.random.default_rng(0)
    for _ in range(30):
        cpdag = CPDAG.from_dag([f"v{i}" for i in range(8)], random_dag(8, rng))
        places = dict(zip(cpdag.names, layered_positions(cpdag), strict=True))
        assert len({tuple(place) for place in places.values()}) == 8
        assert all(places[cause][1] > places[effect][1] for cause, effect in cpdag.directed_edges)


def test_every_edge_is_drawn_with_its_kind(tmp_path):
    truth = CPDAG.from_dag("abcd", [[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 0, 0, 0]])
    found = CPDAG.from_dag("abcd", [[0, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    ax = plot_cpdag(found, truth=truth)
    labels = {text.get_text() for text in ax.get_legend().get_texts()}
    assert labels == {"other direction or type", "missing", "extra"}
    assert {text.get_text() for text in ax.texts} >= set("abcd")
    ax.figure.savefig(tmp_path / "graph.png")
    assert (tmp_path / "graph.png").stat().st_size > 1000


def test_odd_names_are_text(tmp_path):
    names = ("$\\frac{", "<script>", "n" * 200, "مرحبا")
    ax = plot_cpdag(CPDAG(names, np.zeros((4, 4))))
    shown = [text.get_text() for text in ax.texts]
    assert shown[:2] == ["$\\frac{", "<script>"]
    assert len(shown[2]) == 24
    ax.figure.savefig(tmp_path / "graph.svg")
    assert "<script>" not in (tmp_path / "graph.svg").read_text()


def test_edges_keep_clear_of_nodes_between():
    places = np.array([[0.0, 0.0], [0.0, -1.0], [0.0, -2.0], [3.0, 0.0]])
    assert _bend(0, 1, places) == 0.0
    assert _bend(0, 2, places) != 0.0


def test_only_graphs_are_drawn():
    with pytest.raises(InputError, match=r"must be a CPDAG, got ndarray\. Pass \.cpdag_"):
        plot_cpdag(np.zeros((2, 2)))
    with pytest.raises(InputError, match="parameter 'truth'"):
        plot_cpdag(CPDAG("ab", np.zeros((2, 2))), truth=np.zeros((2, 2)))


def test_unconnected_nodes_wrap():
    places = layered_positions(CPDAG([f"v{i}" for i in range(30)], np.zeros((30, 30))))
    assert np.ptp(places[:, 0]) < 10


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'dcd\[plot\]'"):
        plot_cpdag(CPDAG(("a", "b"), np.zeros((2, 2))))
