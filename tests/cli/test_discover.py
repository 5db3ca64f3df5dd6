"""`dcd discover`: the graph of the library, files, checkpoints and real columns."""

import io
import json
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from support.commands import chain, collider

import dcd
import dcd.cli.options


@pytest.mark.parametrize("method", ["dcd", "robust-dcd", "robust"])
def test_discover_prints_the_graph_of_the_library(method, call, data):
    frame = collider()
    answer = call("discover", data(frame), "--method", method, "--alpha", 0.01)
    estimator = dcd.DCD if method == "dcd" else dcd.RobustDCD
    cpdag = estimator(alpha=0.01, random_state=0).fit(frame).cpdag_
    assert answer.code == 0
    assert answer.err == ""
    printed = re.findall(r"^  (\w+)  (->|-) +(\w+)(?:  .*)?$", answer.out, flags=re.MULTILINE)
    assert printed
    assert printed == [(a, "->", b) for a, b in cpdag.directed_edges] + [
        (a, "-", b) for a, b in cpdag.undirected_edges
    ]
    assert "3 variables, 400 rows" in answer.out


def test_the_code_names_the_file_and_the_columns_that_were_kept(call, data, tmp_path):
    path = data(collider().assign(id=range(400)), "my survey.csv")
    answer = call("discover", path, "--exclude", "id", "--json", tmp_path / "result.json")
    assert answer.code == 0
    result = dcd.load_result(tmp_path / "result.json")
    assert "table = pandas.read_csv('my survey.csv'" in result.reproduction.code
    assert f"table = table[{list(result.names)!r}]" in result.reproduction.code


def test_discover_tells_conflicts(call, data):
    rng = np.random.default_rng(1)
    dag = dcd.simulate.random_dag(6, graph="erdos-renyi", degree=4, random_state=rng)
    frame = pd.DataFrame(dcd.simulate.sample(dag, 200, random_state=rng)).add_prefix("x")
    model = dcd.DCD().fit(frame)
    assert model.conflicts_
    whole = call("discover", data(frame), "--method", "dcd", "--verbose").out
    assert all(f"  {found}\n" in whole for found in model.conflicts_)
    brief = call("discover", data(frame), "--method", "dcd").out
    one_sided = [found for found in model.conflicts_ if found.kind.startswith("asymmetric")]
    assert f"Conflicts and how they were resolved ({len(model.conflicts_)})\n" in brief
    assert one_sided
    assert re.search(rf"^  {len(one_sided)} pairs? ha(s|ve) one-sided findings: ", brief, flags=re.MULTILINE)
    assert all((str(found) in brief) == (found not in one_sided) for found in model.conflicts_)


def test_discover_tells_edges_that_a_test_did_not_confirm(call, data):
    frame = chain()
    separated = dcd.RobustDCD(alpha=1e-300).fit(frame).diagnostics_.separated
    assert separated
    out = call("discover", data(frame), "--alpha", 1e-300).out
    assert f"Edges that improved the score but were not confirmed by a test ({len(separated)})\n" in out
    for first, second in separated:
        assert re.search(rf"  {first} - {second}  \(edge \d+ %\)\n", out)


def test_a_graph_without_edges_says_so(call, data):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((200, 3)), columns=list("abc"))
    assert "No edges." in call("discover", data(frame), "--alpha", 0.001).out


def test_columns_are_chosen_by_pattern(call, data):
    frame = chain(names=("gene_1", "gene_2", "age", "id"))
    path = data(frame)
    assert "2 variables" in call("discover", path, "--columns", "gene_*").out
    assert "2 variables" in call("discover", path, "--columns", "gene_*,age", "--exclude", "gene_2").out
    answer = call("discover", path, "--columns", "gen_*")
    assert (answer.code, answer.out) == (2, "")
    assert answer.err.startswith("error: column 'gen_*': is not in the table.")


def test_names_with_commas_are_quoted(call, data):
    frame = chain(names=("a,b", "c", 'd"e', "f")).assign(region=list("xyz") * 66 + ["x", "y"])
    path = data(frame.rename(columns={"region": "r,s=t"}), "commas.csv")
    quoted = call("discover", path, "--columns", '"a,b", c', "--columns", 'd"e', "--exclude", "c")
    assert "2 variables" in quoted.out
    assert "3 variables" in call("discover", path, "--exclude", '"a,b","r,s=t"').out
    found = json.loads(call("audit", path, "--kinds", '"a,b"=ordinal,"r,s=t"=nominal', "--json", "-").out)
    kinds = {column["name"]: column["kind"] for column in found["columns"]}
    assert (kinds["a,b"], kinds["r,s=t"], kinds["c"]) == ("ordinal", "nominal", "continuous")
    assert call("discover", path, "--exclude", "x\ny").code == 2


def test_standard_input(call, data, monkeypatch):
    content = Path(data.path).read_bytes()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(content)))
    answer = call("discover", "-")
    assert answer.code == 0
    assert answer.out == call("discover", data.path).out
    assert "  a  -  b  edge " in answer.out


def test_a_picture(call, data, tmp_path):
    pytest.importorskip("matplotlib")
    answer = call("discover", data.path, "--plot", tmp_path / "graph.png")
    assert answer.code == 0
    assert answer.err == f"wrote: {tmp_path / 'graph.png'}\n"
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("method", ["dcd", "robust-dcd"])
def test_json_on_standard_output_and_nothing_else(method, call, data, tmp_path):
    short = data(chain(n=60), "short.csv")  # with a warning, too
    answer = call("discover", short, "--method", method, "--json", "-", "--title", "My title")
    document = json.loads(answer.out)
    assert dcd.results.Result.from_dict(document).title == "My title"
    assert answer.err.startswith("warning: ")
    call("discover", short, "--method", method, "--json", tmp_path / "r.json", "--title", "My title")
    assert dcd.load_result(tmp_path / "r.json").cpdag == dcd.results.Result.from_dict(document).cpdag


def test_a_report_now_and_again(call, data, tmp_path):
    now, saved, again = (tmp_path / name for name in ("now.html", "saved.json", "again.html"))
    assert call("discover", data.path, "--report", now, "--json", saved).code == 0
    assert call("report", saved, "--out", again).code == 0
    assert now.read_text() == again.read_text()
    assert "<html" in now.read_text()


@pytest.mark.parametrize("command", ["discover", "audit"])
def test_a_page_on_standard_output_and_nothing_else(command, call, data):
    answer = call(command, data.path, "--report", "-")
    assert answer.out.lower().startswith("<!doctype html>")
    assert answer.out.rstrip().endswith("</html>")
    assert "both" in call(command, data.path, "--report", "-", "--json", "-").err


def test_rows_of_the_table_can_be_kept_back(call, data):
    with_rows, without = (
        json.loads(call("discover", data.path, "--json", "-", option).out)
        for option in ("--rows", "--no-rows")
    )
    assert with_rows["sample"] is not None
    assert without["sample"] is None


def test_knowledge_from_a_file(call, data, tmp_path):
    (tmp_path / "k.toml").write_text('required = [["b", "a"]]\n')
    answer = call("discover", data.path, "--knowledge", tmp_path / "k.toml")
    assert answer.code == 0
    assert re.search(r"^  b  ->  a  known", answer.out, flags=re.MULTILINE)
    assert "b -> a is required" in answer.out
    (tmp_path / "k.toml").write_text('requird = [["b", "a"]]\n')
    answer = call("discover", data.path, "--knowledge", tmp_path / "k.toml")
    assert answer.code == 2
    assert "requird" in answer.err


def test_memory_that_will_not_do_for_resamples_is_told_before_the_fit(call, data, tmp_path):
    checkpoint = tmp_path / "run.dcd"
    asked = ("--stability", 2, "--jobs", 2, "--memory-limit", "70MiB", "--checkpoint", checkpoint)
    refused = call("discover", data.path, *asked)
    assert refused.code == 2
    assert re.search(
        r"--memory-limit: .* 2 processes\. Try --memory-limit 129MiB, .* --jobs 1\.", refused.err
    )
    assert not checkpoint.exists()


def test_stability_and_its_checkpoint(call, data, tmp_path):
    checkpoint = tmp_path / "resamples"
    first = call("discover", data.path, "--stability", 10, "--checkpoint", checkpoint, "--seed", 3)
    assert first.code == 0
    stability = dcd.stability(dcd.RobustDCD(), chain(), n_resamples=10, random_state=3)
    share = stability.frequencies("a", "b")["-"]
    assert re.search(rf"^  a  -  b  edge .* {100 * share:.0f} % ", first.out, flags=re.MULTILINE)
    assert "10 resamples" in first.out
    assert checkpoint.exists()
    assert (
        call("discover", data.path, "--stability", 10, "--checkpoint", checkpoint, "--seed", 3).out
        == first.out
    )


def test_a_checkpoint_keeps_the_fit_and_the_resamples(call, data, tmp_path, monkeypatch):
    checkpoint = tmp_path / "run.dcd"
    arguments = ("discover", data.path, "--stability", 4)
    plain_answer = call(*arguments)
    first = call(*arguments, "--checkpoint", checkpoint)
    assert (first.code, first.out) == (0, plain_answer.out)
    works = [json.loads(line).get("work") for line in checkpoint.read_text().splitlines()]
    assert [work for work in works if work] == ["fit", "resamples"]
    other = data(chain(seed=1), "other.csv")
    refused = call("discover", other, "--checkpoint", checkpoint)
    assert refused.code == 2
    assert re.match(r"error: checkpoint '.*run\.dcd': belongs to another run: data was ", refused.err)
    assert "alpha" in call(*arguments, "--checkpoint", checkpoint, "--alpha", 0.1).err
    for module in ("search.whole_graph", "estimators.resampling"):
        monkeypatch.setattr(f"dcd.{module}.as_done", None)
    assert call(*arguments, "--checkpoint", checkpoint, "--jobs", 2).out == first.out


@pytest.mark.parametrize(("method", "pieces"), [("dcd", "Markov boundaries"), ("robust-dcd", "edges")])
def test_a_limit_on_time(call, data, tmp_path, method, pieces):
    limited = call("discover", data.path, "--method", method, "--max-time", "0.001")
    assert limited.code == 124
    assert limited.out == ""
    assert re.match(rf"out of time: stopped after .* {pieces} remaining\. Without a checkpoint", limited.err)
    path = tmp_path / "run.dcd"
    limited = call("discover", data.path, "--method", method, "--max-time", "0.001s", "--checkpoint", path)
    assert limited.code == 124
    assert f"The same call with checkpoint '{path}' resumes from there." in limited.err
    assert call("discover", data.path, "--method", method, "--max-time", "1h", "--checkpoint", path).code == 0


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5h", 5400), ("30 m", 1800), ("2d", 172800)]
)
def test_times(text, seconds):
    assert dcd.cli.options.read_time(text) == seconds


def test_real_columns(call, data):
    frame = chain(n=300)
    frame["region"] = np.where(frame["a"] > 0, "north", "south")
    frame["constant"] = 1
    frame.loc[:9, "b"] = np.nan
    frame["weight"] = 1.0
    path = data(frame)
    assert call("discover", path).code == 2
    answer = call(
        *("discover", path, "--missing", "complete-rows", "--drop-degenerate"),
        *("--kinds", "region=nominal", "--sample-weight", "weight"),
    )
    assert answer.code == 0, answer.err
    assert "290" in answer.out
    assert "Left out: constant" in answer.out
    assert "weight" not in answer.out
    target = call("boundary", path, "--target", "c", "--missing", "complete-rows", "--drop-degenerate")
    assert target.code == 0, target.err


def test_weights_reach_the_method(call, data):
    """Rows of weight 0 do not count: without them there is no edge."""
    frame = pd.concat(
        [chain(n=300), pd.DataFrame(np.random.default_rng(5).standard_normal((300, 3)), columns=list("abc"))]
    )
    frame["w"] = np.repeat([1e-9, 1.0], 300)
    assert "  a  -  b" in call("discover", data(frame), "--exclude", "w").out
    assert "  a  -  b" not in call("discover", data(frame), "--sample-weight", "w").out


def test_a_column_of_weights_that_is_not_there(call, data):
    answer = call("discover", data.path, "--sample-weight", "w", "--columns", "a,b,c")
    assert answer.code == 2
    assert "'w'" in answer.err


def test_knowledge_with_a_mark_or_without_end(call, data, tmp_path):
    (tmp_path / "mark.toml").write_bytes(b"\xef\xbb\xbfroots = ['a']")
    assert call("discover", data.path, "--knowledge", tmp_path / "mark.toml").code == 0
    (tmp_path / "deep.toml").write_text(f"roots = {'[' * 50_000}{']' * 50_000}")
    answer = call("discover", data.path, "--knowledge", tmp_path / "deep.toml")
    assert answer.code == 2
    assert "is not TOML (too many nested lists)" in answer.err


def test_counts_are_repeated_rows(call, data):
    frame = chain().assign(k=np.arange(len(chain())) % 3)
    answer = call("discover", data(frame), "--counts", "k")
    repeated = frame.drop(columns="k").loc[frame.index.repeat(frame["k"])]
    assert answer.code == 0
    assert f"3 variables, {len(repeated)} rows" in answer.out
    assert answer.out == call("discover", data(repeated)).out


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("kount", r"column 'kount' \(--counts\): is not in the table"),
        ("a", "option --counts: has values that are not"),
    ],
)
def test_bad_counts(column, message, call, data):
    answer = call("discover", data(chain()), "--counts", column)
    assert answer.code == 2
    assert re.search(message, answer.err)
