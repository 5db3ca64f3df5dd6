"""Methods of a fitted model: its view in a notebook, a file, a score, and pgmpy's name for the graph."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import sklearn
from support.made_results import HOSTILE
from support.tables import collider_with_bystanders

import dcd


@pytest.fixture(scope="module")
def table():
    return collider_with_bystanders(400, seed=0)


@pytest.fixture(scope="module")
def model(table):
    return dcd.RobustDCD(progress=False).fit(table)


def shown(fitted):
    return fitted._repr_mimebundle_()["text/html"]


def test_a_notebook_shows_the_graph_and_the_probabilities(model):
    html = shown(model)
    assert html == model._repr_html_()
    assert html.count("<svg") == 1
    for line in str(model).splitlines()[1:]:
        edge, words = line.replace(">", "&gt;").removesuffix(")").split("  (")
        assert f"<tr><td>{edge}</td><td>{words}</td></tr>" in html
    assert model._repr_mimebundle_()["text/plain"] == repr(model)


def test_without_probabilities_the_table_has_edges_only(table):
    html = shown(dcd.RobustDCD(search=dcd.WholeGraph(chains=0), progress=False).fit(table))
    assert '<th scope="col">edge</th></tr>' in html
    alone = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 3)), columns=list("abc"))
    assert "(no edges)" in shown(dcd.RobustDCD(alpha=1e-9, progress=False).fit(alone))


def test_before_a_fit_the_view_is_that_of_scikit_learn():
    assert "sk-container" in shown(dcd.RobustDCD())
    assert "sk-container" in dcd.RobustDCD()._repr_html_()


def test_text_is_shown_where_scikit_learn_is_told_to(model):
    with sklearn.config_context(display="text"):
        assert "text/html" not in model._repr_mimebundle_()


def test_names_are_text_in_every_view():
    values = np.random.default_rng(0).standard_normal((300, 4)).cumsum(axis=1)
    frame = pd.DataFrame(values, columns=[HOSTILE[0], HOSTILE[1], HOSTILE[8], "a"])
    model = dcd.RobustDCD(progress=False).fit(frame)
    stability = dcd.stability(model, frame, n_resamples=2, progress=False)
    for html in (shown(model), stability._repr_html_(), dcd.audit(frame)._repr_html_()):
        assert "<script" not in html
        assert "<img" not in html
        assert "&lt;script&gt;" in html


def test_stability_diagnostics_and_audit_show_themselves(model, table):
    stability = dcd.stability(model, table, n_resamples=3, progress=False)
    frame, html = stability.to_frame(), stability._repr_html_()
    assert html.count("<tr>") == 1 + min(len(frame), 20)
    assert "<strong>3 subsamples" in html
    assert f"<td>{frame['a'][0]}</td><td>{frame['b'][0]}</td>" in html
    for line in str(model.diagnostics_).splitlines():
        assert f"<p>{line}</p>" in model.diagnostics_._repr_html_()
    audited = dcd.audit(table.assign(same=1.0))
    html = audited._repr_html_()
    assert "Drop it (drop_degenerate=True does)" in html
    assert html.count("<tr>") == 1 + len(audited.columns)
    assert "<html" not in html
    assert "body {" not in html  # styles of a page would apply to the whole notebook


# --- files and scores ------------------------------------------------------------------------------------


def test_save_writes_what_load_result_reads(model, tmp_path):
    model.save(tmp_path / "model.json", title="A model", rows=False)
    assert dcd.load_result(tmp_path / "model.json") == dcd.summarise(model, title="A model", rows=False)
    with pytest.raises(dcd.InputError, match="has not been fitted"):
        dcd.RobustDCD().save(tmp_path / "other.json")
    with pytest.raises(dcd.InputError, match="parameter 'rows'"):
        model.save(tmp_path / "other.json", rows="no")
    assert not (tmp_path / "other.json").exists()


TRUTH = {("a", "c"), ("b", "c"), ("c", "d")}


def truths():
    names = list("abcde")
    dag = pd.DataFrame(0, index=names, columns=names)
    for cause, effect in TRUTH:
        dag.loc[cause, effect] = 1
    graph = nx.DiGraph(TRUTH)
    graph.add_node("e")
    return {
        "CPDAG": dcd.CPDAG.from_dag(names, dag),
        "frame": dag,
        "frame in another order": dag.iloc[::-1, ::-1],
        "array": dag.to_numpy(),
        "networkx": graph,
    }


@pytest.mark.parametrize("form", truths())
def test_a_score_is_that_of_the_metrics_whatever_the_form_of_the_truth(form, model):
    compared = dcd.metrics.compare(truths()["CPDAG"], model.cpdag_)
    for metric in ("shd_c", "f1", "skeleton_recall"):
        assert model.score(true_graph=truths()[form], metric=metric) == getattr(compared, metric)
    assert model.score(true_graph=truths()[form]) == compared.shd_c
    assert model.score(true_graph=model.cpdag_) == 0


def test_a_true_dag_counts_as_its_class_and_so_do_arrows_by_knowledge():
    a, b, c = np.random.default_rng(0).standard_normal((3, 500)).cumsum(axis=0)
    frame = pd.DataFrame({"a": a, "b": b, "c": c})
    dag = nx.DiGraph([("a", "b"), ("b", "c")])
    model = dcd.RobustDCD(progress=False, knowledge=dcd.Knowledge(roots=["a"])).fit(frame)
    assert model.cpdag_.background
    assert model.score(true_graph=dag) == model.score(true_graph=nx.reverse(dag)) == 0


def test_pgmpy_has_the_same_graph_and_is_understood(model):
    pgmpy = pytest.importorskip("pgmpy.base")
    assert model.causal_graph_ is model.cpdag_
    truth = pgmpy.DAG(list(TRUTH))
    truth.add_node("e")
    assert model.score(true_graph=truth) == model.score(true_graph=truths()["CPDAG"])
    assert model.score(true_graph=dcd.interop.to_pgmpy(model.causal_graph_)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"true_graph": "abcde"}, "parameter 'true_graph': must be a square matrix"),
        ({"true_graph": np.zeros((3, 3))}, "parameter 'true_graph': is not a graph of the model's variables"),
        (
            {"true_graph": nx.DiGraph([("a", "x")])},
            "parameter 'true_graph': is not a graph of the model's variables",
        ),
        ({"true_graph": np.zeros((5, 5)), "metric": "SHD"}, "parameter 'metric': must be one of 'shd_c'"),
    ],
)
def test_other_truths_and_metrics_are_refused(options, message, model):
    with pytest.raises(dcd.InputError, match=message):
        model.score(**options)


def test_a_model_without_a_graph_has_no_score_and_no_graph():
    with pytest.raises(sklearn.exceptions.NotFittedError):
        dcd.RobustDCD().score(true_graph=np.zeros((2, 2)))
    assert not hasattr(dcd.RobustDCD(), "causal_graph_")


def test_a_graph_becomes_one_of_networkx(model):
    graph = model.cpdag_.to_networkx()
    assert dcd.interop.from_networkx(graph) == model.cpdag_
