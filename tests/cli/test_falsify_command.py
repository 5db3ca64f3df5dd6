"""`dcd falsify`: a graph in a file against a table in a file."""

import json

import pandas as pd
import pytest
from support.commands import EVIL, chain, collider

import dcd
from dcd import interop

CHAIN = "digraph { a -> b -> c }"


@pytest.fixture
def graph(tmp_path):
    def write(text, name="graph.dot"):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def test_a_right_and_a_wrong_graph(call, data, graph, tmp_path):
    right = call("falsify", graph(CHAIN), data.path, "--permutations", 5)
    assert right.code == 0
    assert "The data do not contradict the one independence that the graph implies." in right.out
    page, answer = tmp_path / "page.html", tmp_path / "answer.json"
    wrong = graph("digraph { a -> c; b -> c }", "wrong.dot")
    ran = call("falsify", wrong, data.path, "--permutations", 5, "--page", page, "--json", answer)
    assert ran.code == 1
    assert "The data contradict the one independence" in ran.out
    assert "  a, b" in ran.out
    document = json.loads(answer.read_text())
    assert document["violated"] == 1
    assert "wrong.dot on data.csv" in page.read_text()
    assert ran.err.count("wrote: ") == 2


@pytest.mark.parametrize(("arrow_probability", "noted"), [(1.0, True), (0.5, False)])
def test_uncertain_arrows_of_a_result_are_tested_as_arrows_and_noted(
    arrow_probability, noted, call, data, tmp_path
):
    frame, saved = collider(), tmp_path / "result.json"
    model = dcd.RobustDCD(arrow_probability=arrow_probability, progress=False, random_state=0).fit(frame)
    assert len(model.cpdag_.uncertain) == 2 * noted
    model.save(saved)
    ran = call("falsify", saved, data(frame), "--permutations", 5)
    assert ran.code == 0
    note = "note: 2 uncertain arrows of the result, drawn there as lines, tested as arrows\n"
    assert (note in ran.err) == noted


@pytest.mark.parametrize("name", ["graph.dot", "graph.graphml", "list.csv", "matrix.csv"])
def test_every_format_keeps_the_dag_as_written(name, call, data, graph, tmp_path):
    """a -> b <- c -> d: given the parents of b, not those of another DAG."""
    matrix = [[0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0]]
    dag = dcd.graph.ChosenDAG(pd.DataFrame(matrix, index=list("abcd"), columns=list("abcd")), ())
    texts = {
        "graph.dot": interop.to_dot(dag),
        "graph.graphml": interop.to_graphml(dag),
        "list.csv": "from,to\na,b\nc,b\nc,d\n",
        "matrix.csv": dag.adjacency.to_csv(),
    }
    path = data(chain(names=("a", "b", "c", "d")))
    answer = call("falsify", graph(texts[name], name), path, "--permutations", 0, "--json", "-")
    document = json.loads(answer.out)
    position = document["names"].index
    arrows = {(a, b) for a, b in (("a", "b"), ("c", "b"), ("c", "d"))}
    assert {(a, b) for a in "abcd" for b in "abcd" if document["dag"][position(a)][position(b)]} == arrows


def test_a_saved_result_on_another_table(call, data, tmp_path):
    result = tmp_path / "result.json"
    assert call("discover", data(collider(), "one.csv"), "--json", result).code == 0
    answer = call("falsify", result, data(collider(seed=1), "two.csv"), "--permutations", 0)
    assert answer.code == 0
    assert "contradict" in answer.out


def test_real_columns(call, data, graph):
    frame = chain().assign(group=["x", "y"] * 100, weight=1.0)
    frame.loc[:9, "a"] = float("nan")
    arguments = ["falsify", graph(CHAIN), data(frame), "--permutations", 0]
    refused = call(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert "--missing" in refused.err
    ran = call(*arguments, "--missing", "testwise", "--sample-weight", "weight")
    assert ran.code == 0
    assert "note: not in the graph, ignored: group" in ran.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("digraph { a -> b -> c -> a }", "form a directed cycle"),
        (
            "digraph { a -> z }",
            "variable 'z': is in the graph, but not in the table. Choose from 'a', 'b', 'c'.",
        ),
        ("digraph { a <-> b }", "bidirected"),
        ("graph? {", "cannot read"),
    ],
)
def test_graphs_that_cannot_be_tested(text, words, call, data, graph):
    answer = call("falsify", graph(text), data.path)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.parametrize(
    "options",
    [["--alpha", "0"], ["--permutations", "-1"], ["--max-rows", "2"], ["--jobs", "0"], ["--report", "."]],
)
def test_options_out_of_range(options, call, data, graph):
    assert call("falsify", graph(CHAIN), data.path, *options).code == 2


def test_neither_input_is_overwritten(call, data, graph):
    path = graph(CHAIN)
    refused = call("falsify", path, data.path, "--report", path)
    assert refused.code == 2
    assert "is read by this command" in refused.err


def test_hostile_names_in_the_terminal(call, data, graph):
    frame = chain(names=("a", "b", EVIL))
    text = interop.to_dot(dcd.CPDAG.from_dag(("a", "b", EVIL), [[0, 0, 1], [0, 0, 1], [0, 0, 0]]).to_dag())
    ran = call("falsify", graph(text), data(frame), "--permutations", 0)
    assert "\x1b" not in ran.out + ran.err
