"""`dcd effect`: the same result as the library, with an estimated or a given graph, and bad input."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.commands import chain

import dcd

STANDARD_ERROR = "; ± is their Monte Carlo standard error"
DOT = "digraph { a -> b; b -> c; a -> c; }"


@pytest.fixture
def graph(tmp_path):
    def write(name="graph.dot", text=DOT):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_the_answer_is_that_of_the_library(call, data):
    answer = call("effect", data.path, "--of", "a", "--on", "b", "--estimator", "linear", "--json", "-")
    document = json.loads(answer.out)
    model = dcd.RobustDCD(random_state=0).fit(pd.read_csv(data.path))
    found = model.effect("a", "b", estimator="linear")
    assert document == json.loads(json.dumps(found.to_dict()))
    shown = call("effect", data.path, "--of", "a", "--on", "b", "--estimator", "linear")
    assert shown.out == f"{found}\n"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("graph.dot", DOT),
        ("graph.csv", "from,to\na,b\nb,c\na,c\n"),
        ("matrix.csv", ",a,b,c\na,0,1,1\nb,0,0,1\nc,0,0,0\n"),
    ],
)
def test_the_arrows_of_a_given_graph_are_known(call, data, graph, name, text):
    table = pd.read_csv(data.path)
    answer = call("effect", data.path, "--of", "b", "--on", "c", "--graph", graph(name, text),
                  "--estimator", "linear", "--json", "-")  # fmt: skip
    found = json.loads(answer.out)
    assert [one["adjustment"] for one in found["answers"]] == [["a"]]
    design = np.column_stack([table["b"], table["a"], np.ones(len(table))])
    assert found["low"] == pytest.approx(np.linalg.lstsq(design, table["c"], rcond=None)[0][0])


def test_a_saved_result_answers_as_its_fit_would(call, data, tmp_path, graph):
    saved = str(tmp_path / "result.json")
    call("discover", data.path, "--json", saved)
    asked = ["effect", data.path, "--of", "a", "--on", "b", "--estimator", "linear"]
    fitted = call(*asked)
    asked += ["--graph", saved]
    assert " % ± " in fitted.out  # a saved result does not keep the chains apart
    without_errors = re.sub(r" ± (< )?\d+ %", "", fitted.out).replace(STANDARD_ERROR, "")
    assert call(*asked).out == without_errors
    found = json.loads(call(*asked, "--json", "-").out)
    assert found["over"] == "posterior"
    assert None in [one["adjustment"] for one in found["answers"]]
    known = graph("known.toml", 'tiers = [["a"], ["b"], ["c"]]')
    settled = json.loads(call(*asked, "--knowledge", known, "--json", "-").out)
    assert [one["adjustment"] for one in settled["answers"]] == [[]]


def test_levels_plot_and_gaps(call, data, graph, tmp_path):
    table = chain().assign(a=np.where(chain()["a"] > 0, "high", "low"))
    table.loc[:9, "c"] = np.nan
    path, plot = data(table, "levels.csv"), tmp_path / "effect.svg"
    answer = call("effect", path, "--of", "a", "--on", "c", "--graph", graph(), "--levels", "low,high",
                  "--plot", plot)  # fmt: skip
    assert answer.code == 0
    assert answer.out.startswith("The effect of a (high instead of low) on c is ")
    assert "10 of 200 rows were left out" in answer.out
    assert plot.read_text(encoding="utf-8").startswith("<?xml")


def test_rows_that_the_graph_leaves_out_are_counted_once(call, data, tmp_path):
    table = chain()
    table.loc[:9, "c"] = np.nan
    saved = str(tmp_path / "result.json")
    options = ["--estimator", "linear", "--missing", "complete-rows"]
    fitted = call("effect", data(table, "missing.csv"), "--of", "a", "--on", "b", *options)
    assert "rows have missing values" not in fitted.err
    assert fitted.out.count("The graph was found on the 190 rows that are complete in all columns.") == 1
    call("discover", data(table, "missing.csv"), "--missing", "complete-rows", "--json", saved)
    asked = ["effect", data(table, "missing.csv"), "--of", "a", "--on", "b", "--estimator", "linear"]
    assert "The graph was found on the 190 rows" in call(*asked, "--graph", saved).out


def test_advice_about_the_order_stops_where_knowledge_decides_it(call, data, graph):
    asked = ["effect", data.path, "--of", "b", "--on", "a", "--estimator", "linear"]
    assert "state it as knowledge" in call(*asked).out
    known = call(*asked, "--knowledge", graph("known.toml", 'tiers = [["a"], ["b"]]')).out
    assert known.startswith("The effect of b on a is 0: b does not cause a in 100 % of the sampled graphs.")
    assert "tiers" not in known


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--of", "A", "--on", "b"],
            "error: option --of: is 'A', which is not in the table. Did you",
        ),
        (["--of", "a", "--on", "a"], "error: option --on: is the treatment, 'a'."),
        (["--of", "a"], "error: Missing option '--on'."),
        (["--of", "a", "--on", "b", "--levels", "1,2"], "error: option --levels: '1' is not a level of 'a'."),
        (["--of", "a", "--on", "b", "--plot", "effect.doc"], "error: --plot draws .png, .svg or .pdf"),
        (["--of", "a", "--on", "b", "--confidence", "95"], "error: Invalid value for '--confidence'"),
    ],
)
def test_bad_input_is_one_line(call, data, graph, arguments, message):
    answer = call("effect", data.path, "--graph", graph(), *arguments)
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith(message)


def test_a_column_that_is_not_there_is_told_before_the_fit(call, data, monkeypatch):
    monkeypatch.setattr(dcd.RobustDCD, "fit", None)
    answer = call("effect", data.path, "--of", "A", "--on", "b")
    assert answer.code == 2
    assert "Did you mean 'a'?" in answer.err
