"""`dcd simulate` and `dcd score`: tables from graphs, and graphs against each other."""

import io
import itertools
import json
import re
import sys

import numpy as np
import pandas as pd
import pytest
from support.commands import chain, random_graphs

import dcd


@pytest.mark.parametrize("graph", ["scale-free", "erdos-renyi"])
def test_simulate_and_score(graph, call, tmp_path):
    table, truth = tmp_path / "data.csv", tmp_path / "truth.csv"
    options = ("--variables", 6, "--rows", 50, "--graph", graph, "--seed", 4)
    assert call("simulate", *options, "--out", table, "--truth", truth).code == 0
    frame, dag = pd.read_csv(table), pd.read_csv(truth, index_col=0)
    assert frame.shape == (50, 6)
    assert list(frame.columns) == list(dag.columns) == list(dag.index)
    rng = np.random.default_rng(4)
    expected = dcd.simulate.random_dag(6, graph=graph, random_state=rng)
    assert (dag.to_numpy() == expected).all()
    np.testing.assert_allclose(frame, dcd.simulate.sample(expected, 50, random_state=rng), rtol=1e-8)
    printed = call("simulate", *options)
    assert pd.read_csv(io.StringIO(printed.out)).equals(frame)
    assert "SHD 0" in call("score", truth, truth).out


def test_simulate_a_table_with_categories(call, tmp_path):
    table = tmp_path / "data.csv"
    assert call("simulate", "--mechanism", "mixed", "--rows", 60, "--out", table).code == 0
    kinds = pd.read_csv(table).dtypes.map(pd.api.types.is_numeric_dtype)
    assert kinds.any()
    assert not kinds.all()
    assert call("simulate", "--mechanism", "mixed", "--noise", "uniform").code == 2


def write_graph(path, matrix, kind):
    """A labelled matrix as a file of some kind."""
    if kind == "matrix":
        matrix.to_csv(path)
        return
    pairs = itertools.combinations(matrix.columns, 2)
    lines = ["from,to,type"]
    for a, b in pairs:
        forward, backward = matrix.loc[a, b], matrix.loc[b, a]
        if forward and backward:
            lines.append(f"{b},{a},-")
        elif forward or backward:
            lines.append(f"{a},{b},->" if forward else f"{b},{a},directed")
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kinds", list(itertools.product(["matrix", "list"], repeat=2)))
def test_scores_are_those_of_the_library(kinds, seed, call, tmp_path):
    first, second = random_graphs(seed, n_graphs=2).values()
    files = tmp_path / "found.csv", tmp_path / "true.csv"
    shuffled = list(np.random.default_rng(seed).permutation(first.names))
    for path, graph, kind in zip(files, (first.reorder(shuffled), second), kinds, strict=True):
        write_graph(path, graph.to_frame(), kind)
    answer = call("score", *files, "--json", "-")
    expected = dcd.metrics.compare(second, first)
    assert json.loads(answer.out) == {name: getattr(expected, name) for name in expected.__dataclass_fields__}
    shown = call("score", *files).out
    assert f"SHD {expected.shd_c}:" in shown
    assert f"{expected.f1:.2f}" in shown


@pytest.mark.parametrize("seed", range(3))
def test_effects_are_those_of_the_library(seed, call, tmp_path):
    pytest.importorskip("gadjid", reason="pip install 'causal-dcd[gadjid]'")
    first, second = random_graphs(seed, n_graphs=2).values()
    files = tmp_path / "found.csv", tmp_path / "true.csv"
    for path, graph in zip(files, (first, second), strict=True):
        write_graph(path, graph.to_frame(), "matrix")
    expected = dcd.metrics.adjustment_distances(second, first)
    assert json.loads(call("score", *files, "--effects", "--json", "-").out)["effects"] == vars(expected)
    shown = call("score", *files, "--effects").out
    assert f"of {expected.n_effects} (adjustment distances)" in shown
    assert re.search(rf"for ancestors +{expected.ancestor}\n", shown)


def test_effects_without_gadjid_say_what_to_install(call, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "gadjid", None)
    (tmp_path / "g.csv").write_text("from,to\na,b\n")
    answer = call("score", tmp_path / "g.csv", tmp_path / "g.csv", "--effects")
    assert answer.code != 0
    assert "pip install 'causal-dcd[gadjid]'" in answer.err


def test_a_dag_counts_as_its_class(call, tmp_path):
    forward, backward = tmp_path / "forward.csv", tmp_path / "backward.csv"
    forward.write_text("cause,effect\na,b\nb,c\n")
    backward.write_text("cause,effect\nc,b\nb,a\n")
    assert call("score", forward, backward, "--max-shd", 0).code == 0
    assert call("score", forward, backward, "--as-given", "--max-shd", 0).code == 1


def test_thresholds_set_the_exit_code(call, tmp_path):
    one, two = tmp_path / "one.csv", tmp_path / "two.csv"
    one.write_text("from,to\na,b\n")
    two.write_text("from,to,type\na,b,-\nb,c,-\n")
    assert call("score", one, two).code == 0
    assert call("score", one, two, "--min-f1", 0.6, "--max-shd", 1).code == 0
    answer = call("score", one, two, "--min-f1", 0.7)
    assert answer.code == 1
    assert answer.err == "missed: F1 is 0.67, less than 0.7\n"
    assert call("score", one, two, "--max-shd", 0).code == 1
    assert call("score", one, two, "--min-f1", "nan").code == 2


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        (None, "g.csv", "does not exist"),
        ("", "g.csv", "is empty"),
        ("a,b\n1,2\n", "g.csv", "neither a matrix"),
        (",a,b\na,0,2\nb,0,0\n", "g.csv", "'2', which is not 0 or 1"),
        (",a,b\nb,0,1\na,0,0\n", "g.csv", "neither a matrix"),
        (",a,a\na,0,1\na,0,0\n", "g.csv", "neither a matrix"),
        (",a,b\na,0\nb,0,0\n", "g.csv", "neither a matrix"),
        ("from,to,type\na,b,~>\n", "g.csv", "line 2"),
        ("from,to\na\n", "g.csv", "line 2"),
        ("anything", "g.txt", "no graph format uses"),
    ],
)
def test_what_is_no_graph_is_refused(text, name, message, call, tmp_path):
    (tmp_path / "good.csv").write_text(",a,b\na,0,1\nb,0,0\n")
    if text is not None:
        (tmp_path / name).write_text(text)
    answer = call("score", tmp_path / name, tmp_path / "good.csv")
    assert answer.code == 2
    assert message in answer.err
    assert answer.err.count("\n") == 1


def test_a_result_is_scored(call, data, tmp_path):
    (tmp_path / "truth.csv").write_text("from,to\na,b\nb,c\n")
    call("discover", data.path, "--json", tmp_path / "result.json")
    assert call("score", tmp_path / "result.json", tmp_path / "truth.csv", "--min-f1", 1).code == 0


def test_true_knowledge_does_not_spoil_a_score(call, data, tmp_path):
    """The truth is a DAG, scored as its class: arrows that knowledge directs must be undirected as well."""
    path = data(pd.concat([chain(), chain(seed=1, names=("d", "e"))], axis="columns"), "two.csv")
    (tmp_path / "truth.csv").write_text("from,to\na,b\nb,c\nd,e\n")
    (tmp_path / "known.toml").write_text("roots = ['a']")
    call("discover", path, "--knowledge", tmp_path / "known.toml", "--json", tmp_path / "result.json")
    found, true = tmp_path / "result.json", tmp_path / "truth.csv"
    assert dcd.load_result(found).cpdag.background
    assert call("score", found, true, "--max-shd", 0).code == 0
    assert "SHD 1:" in call("score", found, true, "--as-given").out  # only d - e is undirected


@pytest.mark.parametrize("kind", ["graphml", "dot"])
def test_graphs_of_other_programs(kind, call, tmp_path):
    interop = pytest.importorskip("dcd.interop")
    cpdag = random_graphs(3, n_graphs=1)["m0"]
    (tmp_path / f"g.{kind}").write_text(getattr(interop, f"to_{kind}")(cpdag))
    write_graph(tmp_path / "g.csv", cpdag.to_frame(), "matrix")
    answer = call("score", tmp_path / f"g.{kind}", tmp_path / "g.csv", "--max-shd", 0)
    assert answer.code == 0, answer.err
