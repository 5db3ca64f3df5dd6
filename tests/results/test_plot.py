import sys

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.collections import PathCollection
from sklearn.exceptions import NotFittedError
from support.known_graphs import random_dag

import dcd
from dcd import CPDAG, InputError, MarkovBoundary, RobustDCD
from dcd.results import Stability
from dcd.results.plot import plot_boundary, plot_cpdag, plot_weights

mpl.use("Agg")


@pytest.fixture(autouse=True)
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")


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


def test_only_graphs_are_drawn():
    with pytest.raises(InputError, match=r"must be a CPDAG, got ndarray\. Pass \.cpdag_"):
        plot_cpdag(np.zeros((2, 2)))
    with pytest.raises(InputError, match="parameter 'truth'"):
        plot_cpdag(CPDAG("ab", np.zeros((2, 2))), truth=np.zeros((2, 2)))


def arrows_of(ax):
    return [text for text in ax.texts if getattr(text, "arrow_patch", None) is not None]


@pytest.mark.parametrize("n_variables", [2, 5, 11, 46])
def test_boxes_do_not_overlap_and_arrowheads_end_at_them(n_variables):
    rng = np.random.default_rng(n_variables)
    dag = random_dag(n_variables, rng) * (rng.random((n_variables, n_variables)) < 4 / n_variables)
    cpdag = CPDAG.from_dag([f"variable {i}" for i in range(n_variables)], dag)
    ax = plot_cpdag(cpdag)
    ax.figure.canvas.draw()
    boxes = [text.get_bbox_patch().get_window_extent() for text in ax.texts if text.get_bbox_patch()]
    assert len(boxes) == n_variables
    assert not any(a.overlaps(b) for k, a in enumerate(boxes) for b in boxes[k + 1 :])
    frame = ax.figure.bbox
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 for box in boxes)
    for arrow in arrows_of(ax):  # get_path is in display coordinates for an arrow that was drawn
        line = arrow.arrow_patch.get_path().vertices
        assert not any(box.padded(-2).contains(*line[-1]) for box in boxes)


def sachs_like():
    names = ("a", "b", "c", "d")
    truth = CPDAG.from_dag(names, [[0, 0, 1, 0], [0, 0, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0]])
    directed = np.zeros((4, 4))
    directed[0, 2] = directed[1, 2] = 0.9
    directed[2, 3] = 0.2
    return truth, Stability(names, directed, np.zeros((4, 4)), 10, "subsample", 0.5)


def test_edges_are_wider_and_darker_the_more_often_they_are_found():
    graph, stability = sachs_like()
    ax = plot_cpdag(graph, stability=stability)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"in {share} of resamples" for share in ("100%", "50%", "10%")
    ]
    patches = [arrow.arrow_patch for arrow in arrows_of(ax)]
    assert len(patches) == 3
    widths = sorted(patch.get_linewidth() for patch in patches)
    assert widths[0] < widths[1] == widths[2]
    assert min(patches, key=lambda patch: patch.get_linewidth()).get_alpha() < 0.7
    turned = plot_cpdag(graph.reorder("dcba"), stability=stability)
    assert sorted(arrow.arrow_patch.get_linewidth() for arrow in arrows_of(turned)) == widths
    with pytest.raises(InputError, match="has no variable 'z'"):
        plot_cpdag(CPDAG("az", np.zeros((2, 2))), stability=stability)
    with pytest.raises(InputError, match=r"must be a Stability, got dict"):
        plot_cpdag(graph, stability={})


def test_a_target_and_its_boundary_are_marked():
    graph, _ = sachs_like()
    ax = plot_cpdag(graph, target="a")
    fill = {t.get_text(): t.get_bbox_patch().get_facecolor() for t in ax.texts if t.get_bbox_patch()}
    assert fill["b"] == fill["c"]  # a spouse and a child
    assert len({fill["a"], fill["b"], fill["d"]}) == 3
    with pytest.raises(InputError, match="'x'"):
        plot_cpdag(graph, target="x")


def test_arrows_by_knowledge_have_another_style():
    ax = plot_cpdag(CPDAG("abc", [[0, 1, 0], [0, 0, 1], [0, 0, 0]], background=(("a", "b"),)))
    assert {text.get_text() for text in ax.get_legend().get_texts()} == {"edge", "by knowledge"}
    assert sum(arrow.arrow_patch.get_linestyle() == "dashdot" for arrow in arrows_of(ax)) == 1


def small_table(n=200):
    rng = np.random.default_rng(0)
    a = rng.standard_normal(n)
    b = a + rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "$c$": a + b + rng.standard_normal(n)})


def test_models_draw_the_graph_they_found(tmp_path):
    import matplotlib.pyplot as plt

    model = RobustDCD(progress=False)
    with pytest.raises(NotFittedError):
        model.plot()
    model.fit(small_table())
    _, axes = plt.subplots(1, 2)
    assert model.plot(axes[1]) is axes[1]
    assert not axes[0].texts
    assert {text.get_text() for text in model.plot(truth=model.cpdag_).texts} >= {"a", "b", "$c$"}
    axes[1].figure.savefig(tmp_path / "both.png")


@pytest.mark.parametrize("method", ["published", "robust"])
def test_boundaries_are_drawn_member_by_member(method, tmp_path):
    table = small_table()
    model = MarkovBoundary(target="$c$", method=method).fit(table)
    assert set(model.boundary_) == {"a", "b"}
    figure = plot_boundary(model, table)
    assert len(figure.axes) == 4
    titles = [ax.get_title() for ax in figure.axes]
    member = figure.axes[0].get_xlabel()
    measured = np.corrcoef(table[member], table["$c$"])[0, 1]
    assert titles[0] == f"as measured: r = {measured:.2f}"
    covariance = np.cov(table[member], table["$c$"], aweights=model.weights_)
    weighted = covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1])
    assert titles[1].startswith(f"decoupled: r = {weighted:.2f}, p ")
    dots = [next(c for c in ax.collections if isinstance(c, PathCollection)) for ax in figure.axes[:2]]
    assert len(set(dots[0].get_sizes())) == 1
    heaviest, lightest = model.weights_.argmax(), model.weights_.argmin()
    assert dots[1].get_sizes()[heaviest] > dots[1].get_sizes()[lightest]
    figure.savefig(tmp_path / "boundary.png")
    assert len(plot_boundary(model, table, most=1).axes) == 2


def test_a_boundary_of_y_is_drawn_too():
    table = small_table()
    model = MarkovBoundary().fit(table[["a", "b"]], table["$c$"])
    assert plot_boundary(model, table[["a", "b"]], table["$c$"]).axes[0].get_ylabel() == "$c$"


def test_boundaries_with_categories_and_gaps_are_drawn(tmp_path):
    rng = np.random.default_rng(5)
    group = rng.integers(3, size=200)
    table = pd.DataFrame({"group": np.array(["low", "mid", "$"])[group], "x": rng.standard_normal(200)})
    table["y"] = 2.0 * group + table["x"] + rng.standard_normal(200)
    table.loc[:4, "x"] = np.nan
    model = MarkovBoundary(target="y", missing="testwise").fit(table)
    assert set(model.boundary_) == {"group", "x"}
    figure = plot_boundary(model, table)
    drawn = {ax.get_xlabel(): ax for ax in figure.axes[::2]}
    assert drawn["group"].get_title() == "as measured"
    assert {label.get_text() for label in drawn["group"].get_xticklabels()} == {"low", "mid", "$"}
    assert len(drawn["x"].collections[0].get_offsets()) == 195
    figure.savefig(tmp_path / "boundary.png")
    plot_weights(model, table).savefig(tmp_path / "weights.png")


def test_what_is_no_boundary_is_refused():
    table = small_table()
    model = MarkovBoundary(target="a").fit(table)
    with pytest.raises(InputError, match=r"has 199 rows, but the weights have 200"):
        plot_boundary(model, table[1:])
    with pytest.raises(InputError, match="must be a MarkovBoundary, got RobustDCD"):
        plot_boundary(RobustDCD(), table)
    with pytest.raises(NotFittedError):
        plot_boundary(MarkovBoundary(target="a"), table)
    with pytest.raises(InputError, match="parameter 'y': was not the target of the fit"):
        plot_boundary(model, table, table["b"])
    separate = MarkovBoundary().fit(table[["a", "b"]], table["$c$"])
    with pytest.raises(InputError, match="parameter 'y': is None, but the model was fitted to y"):
        plot_boundary(separate, table[["a", "b"]])
    noise = np.random.default_rng(1).standard_normal((200, 3))
    empty = MarkovBoundary(target="x0", alpha=1e-9).fit(noise)
    with pytest.raises(InputError, match=r"of 'x0' is empty"):
        plot_boundary(empty, noise)


@pytest.mark.parametrize("learn", [dcd.weights.decoupling_weights, dcd.weights.convex_weights])
def test_weights_are_drawn_with_the_dependence_before_and_after(learn, tmp_path):
    table = small_table()
    result = learn(table)
    figure = plot_weights(result, table)
    histogram, before, after, _ = figure.axes
    assert histogram.get_title() == f"effective sample size {result.ess:.0f} of 200 ({result.ess / 200:.0%})"
    assert sum(bar.get_height() for bar in histogram.patches) == 200
    matrices = [np.asarray(ax.images[0].get_array(), dtype=float) for ax in (before, after)]
    assert np.nansum(matrices[1]) < np.nansum(matrices[0]) / 2
    assert before.images[0].get_clim() == after.images[0].get_clim()
    assert [label.get_text() for label in before.get_yticklabels()] == ["a", "b", "$c$"]
    figure.savefig(tmp_path / "weights.png")


def test_both_kinds_of_weights_are_measured_alike():
    table = small_table()
    published, convex = dcd.weights.decoupling_weights(table), dcd.weights.convex_weights(table)
    first, second = (plot_weights(w, table).axes[1].images[0].get_array() for w in (published, convex))
    assert np.allclose(np.asarray(first, float), np.asarray(second, float), atol=1e-6, equal_nan=True)


def test_weights_of_models_and_without_a_table():
    table = small_table()
    for model in (MarkovBoundary(target="$c$", method="published"), MarkovBoundary(target="$c$")):
        figure = plot_weights(model.fit(table), table)
        assert [label.get_text() for label in figure.axes[1].get_yticklabels()] == ["a", "b"]
    assert len(plot_weights(dcd.weights.convex_weights(table)).axes) == 1
    assert len(plot_weights(dcd.weights.decoupling_weights(table)).axes) == 4
    with pytest.raises(InputError, match="got ndarray"):
        plot_weights(np.ones(3))
    with pytest.raises(InputError, match="has 100 rows, but the weights have 200"):
        plot_weights(dcd.weights.convex_weights(table), table[:100])


def test_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'causal-dcd\[plot\]'"):
        plot_cpdag(CPDAG(("a", "b"), np.zeros((2, 2))))
