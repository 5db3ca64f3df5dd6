"""`dcd compare` and `dcd methods`: several methods, and where they agree."""

import json
import re
import warnings

import numpy as np
import pytest
from support.commands import chain, collider, random_graphs

import dcd
from dcd.cli.agreement import agreement


@pytest.mark.parametrize("seed", range(10))
def test_agreement_adds_up(seed):
    graphs = random_graphs(seed)
    found = agreement(graphs, graphs["m0"].names)
    distances = found["shd"]
    for pair in found["pairs"]:
        first, second = (graphs[pair[end]] for end in ("first", "second"))
        edges = [
            {(a, b, "->") for a, b in graph.directed_edges}
            | {(*sorted(edge), "-") for edge in graph.undirected_edges}
            for graph in (first, second)
        ]
        assert pair["same"] == len(edges[0] & edges[1])
        assert pair["same"] + pair["otherwise"] + pair["first_only"] == len(edges[0])
        assert pair["same"] + pair["otherwise"] + pair["second_only"] == len(edges[1])
        differ = pair["otherwise"] + pair["first_only"] + pair["second_only"]
        assert distances[pair["first"]][pair["second"]] == distances[pair["second"]][pair["first"]] == differ
    for edge in found["edges"]:
        a, b, marks = edge["a"], edge["b"], list(edge["marks"].values())
        arrows = [sum((a, b) in graph.directed_edges for graph in graphs.values())]
        arrows += [sum((b, a) in graph.directed_edges for graph in graphs.values())]
        arrows += [sum({(a, b), (b, a)} & set(graph.undirected_edges) != set() for graph in graphs.values())]
        assert edge["agree"] == max(arrows) == max(arrows[0], arrows[2])
        assert [marks.count(mark) for mark in ("->", "<-", "-")] == arrows


@pytest.mark.slow
def test_compare_runs_all_and_tells_which_failed(call, data):
    frame = chain(n=14, names=tuple("abcdefghijkl"))  # too few rows for PC
    answer = call("compare", data(frame), "--methods", "robust-dcd,pc,dcd", "--json", "-")
    assert answer.code == 3
    document = json.loads(answer.out)
    assert list(document["methods"]) == ["robust-dcd", "pc-fisherz", "dcd"]
    assert "rows" in document["methods"]["pc-fisherz"]["failed"]
    assert set(document["shd"]) == {"robust-dcd", "dcd"}


@pytest.mark.slow
def test_compare_takes_real_columns_and_refuses_them_once(call, data):
    frame = collider().assign(same=1.0, group=[1, 2, 3, 4] * 100)
    frame.loc[:9, "a"] = np.nan
    arguments = ["compare", data(frame, "real.csv"), "--methods", "robust-dcd,dcd,pc"]
    refused = call(*arguments)
    assert (refused.code, refused.out) == (2, "")
    assert refused.err.endswith("or set --missing complete-rows.\n")
    refused = call(*arguments, "--missing", "complete-rows")
    assert refused.code == 2
    assert "Drop it (--drop-degenerate does)" in refused.err
    real = ["--missing", "complete-rows", "--drop-degenerate", "--json", "-"]
    answer = call(*arguments, *real, "--kinds", "group=nominal")
    assert "10 of 400 rows have missing values and were left out" in answer.err
    found = json.loads(answer.out)
    assert (found["n_rows"], found["n_rows_used"], list(found["dropped"])) == (400, 390, ["same"])
    assert "'group'" in found["methods"]["pc-fisherz"]["failed"]
    expected = dcd.RobustDCD(kinds={"group": "nominal"}, missing="complete-rows", drop_degenerate=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        edges = expected.fit(frame).cpdag_.directed_edges
    assert found["methods"]["robust-dcd"]["directed"] == [list(edge) for edge in edges]
    ordered = json.loads(call(*arguments, *real).out)
    assert "failed" not in ordered["methods"]["pc-fisherz"]


def test_compare_side_by_side(call, data):
    answer = call("compare", data(collider()), "--methods", "robust,dcd")
    assert answer.code == 0
    assert re.search(r"^  a +c +-> +-> +2 of 2$", answer.out, flags=re.MULTILINE)
    assert re.search(r"^  robust-dcd +0 +0$", answer.out, flags=re.MULTILINE)
    told = "robust-dcd has all arrows of its CPDAG here; dcd discover draws uncertain ones as lines."
    assert told in answer.out
    assert told not in call("compare", data(collider()), "--methods", "dcd").out


@pytest.mark.slow
def test_a_method_that_is_not_installed_or_too_slow(call, data, monkeypatch):
    from dcd.evaluation.baselines import registry

    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    answer = call("compare", data(collider()), "--methods", "ges,robust-dcd,dcd")
    assert answer.code == 3
    assert "ges gave no graph: method 'ges': needs the extra 'causal-learn'. pip install" in answer.out
    assert re.search(r"^  a +c +failed +-> +-> +2 of 2$", answer.out, flags=re.MULTILINE)
    answer = call("compare", data(collider()), "--methods", "robust-dcd,dcd", "--time-limit", 1e-4)
    assert answer.code == 3
    assert "robust-dcd gave no graph: stopped after" in answer.out


@pytest.mark.parametrize(
    "options",
    [
        ["--methods", "robust-dcd,gse"],
        ["--methods", "ges"],
        ["--time-limit", "0"],
        ["--time-limit", "nan"],
        ["--time-limit", "inf"],
    ],
)
def test_compare_refuses_what_makes_no_sense(options, call, data):
    answer = call("compare", data.path, *options)
    assert (answer.code, answer.out) == (2, "")


def test_methods_are_listed(call, monkeypatch):
    from dcd.evaluation.baselines import METHODS, registry

    lines = call("methods").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(METHODS)
    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    rows = {row["name"]: row for row in json.loads(call("methods", "--json", "-").out)}
    assert not rows["ges"]["installed"]
    assert "pip install 'causal-dcd[gcastle]'" in call("methods").out


def test_the_usual_methods_are_those_that_are_installed(monkeypatch, call, tmp_path):
    table = tmp_path / "data.csv"
    assert call("simulate", "--variables", 4, "--rows", 120, "--out", table).code == 0
    monkeypatch.setattr(dcd.baselines, "installed", lambda name: "dcd" in name)
    ran = call("compare", table)
    assert ran.code == 0
    assert "note: pc, ges: not installed, left out" in ran.err
    assert "robust-dcd" in ran.out
