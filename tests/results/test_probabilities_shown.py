"""Probabilities in all outputs: results, files, caveats, print, plots, the page."""

import re
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from support.made_results import (
    HOSTILE,
    add_posterior,
    assert_refused,
    make_document,
    random_cpdag,
    with_uncertain,
)

import dcd
from dcd import InputError, RobustDCD, WholeGraph, load_result, summarise
from dcd.cli.graph_text import show_result
from dcd.graph.probabilities import pair_probabilities
from dcd.results import Result, report
from dcd.results.cautions import cautions_of
from dcd.results.lines import reason_for_line

NAMES = [f"v{i}" for i in range(7)]


@pytest.fixture(scope="module")
def hesitant(table):
    """No arrow is certain enough to be drawn."""
    return RobustDCD(arrow_probability=1.0, random_state=7).fit(table)


@pytest.fixture
def made():
    return add_posterior(make_document(with_uncertain(random_cpdag(NAMES, 9, seed=3)), n_sample=5))


# --- results ---------------------------------------------------------------------------------------------


def test_edges_carry_the_probabilities_of_the_fit(robust, result):
    told = pair_probabilities(robust.probabilities_)
    assert result.edges
    for edge in result.edges:
        mine, fitted = edge.probabilities, told[edge.first, edge.second]
        for share in ("forward", "backward", "undirected", "absent"):
            assert getattr(mine, share) == pytest.approx(getattr(fitted, share), abs=1e-6)
    kept = {(pair.first, pair.second) for pair in result.posterior.pairs}
    likely = robust.probabilities_.query("absent <= 0.98")
    assert kept == set(zip(likely["first"], likely["second"], strict=True))
    assert result.posterior.n_chains == robust.diagnostics_.n_chains == WholeGraph().chains
    assert result.posterior.drift == pytest.approx(robust.diagnostics_.drift, abs=1e-6)
    assert result.posterior.subsampled is robust.diagnostics_.subsampled is True
    assert result.posterior.arrow_probability == robust.arrow_probability


def test_uncertain_arrows_survive_a_file(tmp_path, hesitant):
    assert hesitant.cpdag_.uncertain
    made = summarise(hesitant)
    made.save(tmp_path / "result.json")
    back = load_result(tmp_path / "result.json")
    assert back == made
    assert back.cpdag == hesitant.cpdag_
    assert back.cpdag.uncertain == hesitant.cpdag_.uncertain
    assert np.array_equal(back.cpdag.adjacency, hesitant.cpdag_.adjacency)
    assert {(e.first, e.second) for e in made.edges if e.uncertain} == set(hesitant.cpdag_.uncertain)
    assert not made.colliders  # none is drawn


@pytest.mark.parametrize("model", [dcd.DCD(max_steps=5), RobustDCD(search=WholeGraph(chains=0))])
def test_a_fit_without_probabilities_has_none_anywhere(model, table, tmp_path):
    model.fit(table)
    made = summarise(model)
    assert made.posterior is None
    assert {edge.probabilities for edge in made.edges} <= {None}
    assert "robability" not in str(model)
    assert "chains over graphs" not in str(model.diagnostics_)
    page = report.render(made)
    assert "edge probability" not in page
    assert "below the limit of" not in page
    made.save(tmp_path / "r.json")
    assert load_result(tmp_path / "r.json") == made


def set_shares(document, **shares):
    document["edges"][0]["probabilities"].update(shares)
    document["posterior"]["pairs"][0]["probabilities"].update(shares)


def certain(document, index=0):
    document["edges"][index]["probabilities"] = None


def arrow_first(document):
    edge = next(edge for edge in document["edges"] if edge["type"] == "->")
    edge["uncertain"] = True


@pytest.mark.parametrize(
    ("tamper", "message"),
    [
        (
            lambda d: set_shares(d, forward=0.5, backward=0.5, undirected=0.5, absent=0.5),
            "must sum to 1, got 2",
        ),
        (
            lambda d: set_shares(d, forward=0.0, backward=0.0, undirected=0.0, absent=0.9),
            "must sum to 1, got 0.9",
        ),
        (lambda d: set_shares(d, forward=1.5), "probabilities.forward: expected `float` <= 1.0, got 1.5"),
        (lambda d: set_shares(d, absent=-0.1), "probabilities.absent: expected `float` >= 0.0, got -0.1"),
        (lambda d: set_shares(d, forward="much"), "expected `float`, got `str`"),
        (lambda d: set_shares(d, maybe=0.1), "unknown field `maybe`"),
        (certain, "edges[0].probabilities must be present if and only if there is a posterior"),
        (lambda d: d.update(posterior=None), "must be present if and only if there is a posterior"),
        (arrow_first, "uncertain is true for a drawn arrow"),
        (lambda d: d["posterior"].update(drift=2.0), "posterior.drift: expected `float` <= 1.0, got 2"),
        (lambda d: d["posterior"].update(n_chains=-1), "posterior.n_chains: expected `int` >= 0, got -1"),
        (lambda d: d["posterior"]["pairs"][0].update(first="nobody"), "posterior.pairs[0] names 'nobody'"),
        (lambda d: d["posterior"]["pairs"].append(d["posterior"]["pairs"][0]), "or occurs twice"),
        (
            lambda d: d["posterior"]["pairs"][0].update(
                probabilities={"forward": 0.25, "backward": 0.25, "undirected": 0.25, "absent": 0.25}
            ),
            "edges[0].probabilities differ from those in posterior.pairs",
        ),
    ],
)
def test_tampered_probabilities_are_refused(made, tamper, message):
    assert_refused(made, tamper, message)


# --- caveats and diagnostics -----------------------------------------------------------------------------


def kinds_of(**posterior):
    document = make_document(random_cpdag(NAMES, 5), n_sample=3)
    add_posterior(document)["posterior"].update(posterior)
    made = Result.from_dict(document)
    diagnostics = SimpleNamespace(failed=(), cuts=())
    found = cautions_of(diagnostics, made.data, made.edges, made.boundaries, made.posterior, None)
    return {caution.kind: caution.text for caution in found}


def test_chains_that_have_not_converged_or_saw_all_rows_are_a_caveat():
    assert kinds_of(drift=0.1, subsampled=True) == {}
    told = kinds_of(drift=0.34, n_chains=16)
    assert list(told) == ["chains-not-converged"]
    text = told["chains-not-converged"]
    assert text.startswith("The chains have not converged: probabilities differ by up to 0.34")
    assert "WholeGraph(chains=64)" in text
    assert list(kinds_of(subsampled=False)) == ["not-subsampled"]
    assert len(kinds_of(subsampled=False, drift=0.2)) == 2


def test_few_chains_are_told_in_diagnostics_result_and_page(table):
    noisy = table.assign(third=table["alone"] + 0.1 * table["third"])
    model = RobustDCD(search=WholeGraph(chains=1), random_state=0).fit(noisy)
    diagnostics = model.diagnostics_
    assert diagnostics.n_chains == 1
    assert 0 <= diagnostics.drift <= 1
    line = f"differ by up to {diagnostics.drift:.2f} between the halves of the chains."
    assert str(diagnostics).endswith(
        f"1 chains over graphs, each on a random part of the rows; probabilities {line}"
    )
    told = [c.text for c in summarise(model).cautions if c.kind == "chains-not-converged"]
    assert bool(told) == (diagnostics.drift > 0.1)


# --- print and plot --------------------------------------------------------------------------------------


def test_a_fitted_model_prints_its_edges_with_probabilities(robust, hesitant):
    first, *lines = str(robust).splitlines()
    assert first.startswith("RobustDCD(")
    assert [line.split("  (")[0] for line in lines] == str(robust.cpdag_).splitlines()
    assert all(re.fullmatch(r".*  \((arrow|edge) (> )?\d+ %, .*\)", line) for line in lines)
    cause, effect = hesitant.cpdag_.uncertain[0]
    assert f"{cause} - {effect}  (edge " in str(hesitant)
    assert f"direction uncertain: {cause} -> {effect} " in str(hesitant)
    assert str(RobustDCD(alpha=0.01)) == repr(RobustDCD(alpha=0.01))
    assert repr(robust) == repr(RobustDCD(random_state=7))


def widths(ax):
    return sorted(text.arrow_patch.get_linewidth() for text in ax.texts if getattr(text, "arrow_patch", None))


def test_plots_draw_edges_by_their_probability(robust):
    plt.switch_backend("Agg")
    told = pair_probabilities(robust.probabilities_)
    joined = [*robust.cpdag_.directed_edges, *robust.cpdag_.undirected_edges]
    ax = robust.plot()
    assert widths(ax) == pytest.approx(sorted(0.8 + 2.7 * told[pair].edge for pair in joined))
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["edge 100%", "edge 50%", "edge 10%"]
    plain = dcd.plot.plot_cpdag(robust.cpdag_)
    assert set(widths(plain)) == {1.6}
    plt.close("all")


def test_plots_refuse_the_probabilities_of_other_variables(robust):
    other = robust.probabilities_.replace("first", "premier")
    with pytest.raises(InputError, match="parameter 'probabilities': has no variable 'first'"):
        dcd.plot.plot_cpdag(robust.cpdag_, probabilities=other)
    with pytest.raises(InputError, match=r"parameter 'probabilities'.*Pass model\.probabilities_"):
        dcd.plot.plot_cpdag(robust.cpdag_, probabilities=robust.adjacency_matrix_)


# --- the page --------------------------------------------------------------------------------------------


def test_the_page_has_the_words_of_each_edge(made):
    result = Result.from_dict(made)
    page = report.render(result)
    for edge in result.edges:
        reason = reason_for_line(result, edge)
        words = edge.probabilities.words(edge.first, edge.second, reason, arrow="→")
        assert page.count(f"<strong>{words}</strong>") == 2  # of its ends
    uncertain = next(edge for edge in made["edges"] if edge["uncertain"])
    share = round(100 * uncertain["probabilities"]["forward"])
    assert page.count(f"its direction has probability {share} %, below the limit of 75 %") == 2
    assert "Pairs that may have an edge but have none here" in page


def with_lines(arrow_probability, *shares):
    """A chain of lines with these probabilities."""
    names = [f"v{i}" for i in range(len(shares) + 1)]
    document = make_document(
        dcd.CPDAG.from_dag(names, np.diag(np.ones(len(shares)), 1).astype(int)), n_sample=5
    )
    add_posterior(document)["posterior"]["arrow_probability"] = arrow_probability
    for edge, pair, parts in zip(document["edges"], document["posterior"]["pairs"], shares, strict=False):
        kinds = dict(zip(("forward", "backward", "undirected", "absent"), parts, strict=True))
        edge["probabilities"] = pair["probabilities"] = kinds
    return Result.from_dict(document)


def test_a_line_with_a_likelier_direction_is_not_said_to_have_none():
    """64 % one way, 6 % the other, 30 % undirected."""
    page = report.render(with_lines(0.7, (0.64, 0.06, 0.3, 0.0), (0.1, 0.1, 0.8, 0.0)))
    text = page.replace("\u00a0", " ")
    assert "cannot be determined from the data" not in page
    assert "For these relations either direction fits the graph." in text
    assert "In the sampled graphs, an arrow is more probable than a line for v0 → v1 64 %." in text
    assert "<strong>edge 100 %, undirected 30 %, v0 → v1 64 %</strong>" in text
    assert page.count("Drawn as a line: either direction fits the graph.") == 4
    assert page.count("undirected: either direction fits the graph<") == 2
    assert "how certain the edge is" not in text


def test_a_probable_arrow_that_tests_do_not_confirm_says_so(made):
    made["posterior"]["arrow_probability"] = 0.0
    page = report.render(Result.from_dict(made)).replace("\u00a0", " ")
    assert "Directions that tests do not confirm are drawn as lines: " in page
    assert ", direction not confirmed by tests: " in page
    assert "direction uncertain" not in page


def test_names_are_text_in_probabilities_too():
    document = add_posterior(make_document(with_uncertain(random_cpdag(HOSTILE, 18), 4), n_sample=3))
    page = report.render(Result.from_dict(document))
    assert page.count("<script") == 1
    assert "<img" not in page
    assert "below the limit of 75 %" in page


def test_resamples_beside_probabilities_answer_another_question():
    document = make_document(random_cpdag(NAMES, 9), n_sample=3, resampled=True)
    assert "a different question" not in report.render(Result.from_dict(document))
    page = report.render(Result.from_dict(add_posterior(document)))
    assert "This answers a different question from the probabilities" in page
    assert "edge probability at least" in page  # the slider is by probability


# --- how far arrows can be relied on ---------------------------------------------------------------------

DOUBT = "In real tables directions are often wrong"


@pytest.mark.parametrize(
    ("arrows", "tiers", "expected"),
    [(True, None, True), (False, None, False), (True, [["x", "y"], ["z"]], False)],
    ids=["from data", "no arrows", "all known"],
)
def test_directions_from_data_come_with_a_doubt(arrows, tiers, expected, capsys):
    rng = np.random.default_rng(0)
    x, y, e = rng.standard_normal((3, 500))
    table = np.column_stack([x, y, x + y + e]) if arrows else np.column_stack([x, x + y, x + y + e])
    known = None if tiers is None else dcd.Knowledge(tiers=tiers)
    model = RobustDCD(knowledge=known, progress=False, random_state=0)
    result = summarise(model.fit(pd.DataFrame(table, columns=["x", "y", "z"])))
    assert any(edge.type == "->" for edge in result.edges) == arrows
    show_result(result, "Robust DCD")
    for text in (capsys.readouterr().out, report.page(result)):
        assert (DOUBT in text) == expected


def test_graphs_without_probabilities_come_without_that_doubt(capsys):
    result = Result.from_dict(make_document(random_cpdag(NAMES, 9, seed=3), n_sample=5))
    assert any(edge.type == "->" for edge in result.edges)
    show_result(result, "DCD")
    assert DOUBT not in capsys.readouterr().out + report.page(result)
