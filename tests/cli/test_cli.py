"""The command line: answers, exit codes, names as text, files whole or not at all, a terminal and a pipe."""

import contextlib
import io
import itertools
import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import dcd
import dcd.cli.options
from dcd.cli import agreement, outputs, terminal
from dcd.cli import dcd as group
from dcd.cli.running import run
from dcd.runtime.files import whole_file
from dcd.runtime.files import write_text as write_result_text

try:
    import termios
except ImportError:  # Windows
    termios = None

ROOT = Path(__file__).parents[2]
EVIL = "\x1b[31mred\x1b]0;title\x07"
MARKUP = "[red]x[/red]"
ESCAPES = re.compile(r"\x1b|\x07|\x9b")

needs_results = pytest.mark.skipif(not hasattr(dcd, "summarise"), reason="results are not there yet")
needs_audit = pytest.mark.skipif(not hasattr(dcd, "audit"), reason="the audit is not there yet")
needs_knowledge = pytest.mark.skipif(not hasattr(dcd, "Knowledge"), reason="knowledge is not there yet")
needs_kinds = pytest.mark.skipif(
    "kinds" not in dcd.RobustDCD().get_params(), reason="kinds are not there yet"
)
needs_terminal = pytest.mark.skipif(termios is None, reason="there are no pseudo-terminals")


def chain(n=200, seed=0, names=("a", "b", "c")):
    """a -> b -> c, and so on: each column half the one before."""
    rng = np.random.default_rng(seed)
    values = rng.standard_normal((n, len(names)))
    for column in range(1, len(names)):
        values[:, column] += 0.8 * values[:, column - 1]
    return pd.DataFrame(values, columns=list(names))


def collider(n=400, seed=0):
    frame = pd.DataFrame(np.random.default_rng(seed).standard_normal((n, 3)), columns=["a", "b", "c"])
    frame["c"] += frame["a"] + frame["b"]
    return frame


@pytest.fixture
def data(tmp_path):
    """A path to a CSV file of a table; other tables on call."""

    def write(frame, name="data.csv"):
        frame.to_csv(tmp_path / name, index=False)
        return str(tmp_path / name)

    write.path = write(chain())
    return write


@pytest.fixture
def call(capsys):
    """Run a command in this process; code, standard output and standard error."""

    def call(*arguments):
        code = run(group, [str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return call


def environment(**variables):
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    quiet = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    return {**quiet, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "TERM": "xterm-256color", **variables}


def in_process(*arguments, text=None, **variables):
    command = [sys.executable, "-m", "dcd", *map(str, arguments)]
    return subprocess.run(
        command, input=text, capture_output=True, text=True, env=environment(**variables), check=False
    )


class Terminal:
    """A command in a pseudo-terminal, which both of its outputs go to; it ends with the block."""

    def __init__(self, *arguments, **variables):
        self.ours, theirs = os.openpty()
        termios.tcsetwinsize(theirs, (24, 100))
        command = [sys.executable, "-m", "dcd", *map(str, arguments)]
        self.process = subprocess.Popen(
            command,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environment(**variables),
            start_new_session=True,
        )
        os.close(theirs)
        self.seen = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.ours)

    def read_until(self, text=None, limit=60):
        """What it writes until a text is seen or, without one, until its end."""
        end = time.monotonic() + limit
        while time.monotonic() < end and (text is None or text not in self.seen):
            if not select.select([self.ours], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self.ours, 65536)
            except OSError:  # how Linux tells that the other end is closed
                break
            if not piece:
                break
            self.seen += piece.decode(errors="replace")
        return self.seen

    def read_to_end(self):
        """All that it writes, and its exit code."""
        seen = self.read_until()
        return seen, self.process.wait(timeout=60)


# --- discover --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dcd", "robust-dcd", "robust"])
def test_discover_prints_the_graph_of_the_library(method, call, data):
    frame = collider()
    answer = call("discover", data(frame), "--method", method, "--alpha", 0.01)
    estimator = dcd.DCD if method == "dcd" else dcd.RobustDCD
    cpdag = estimator(alpha=0.01, random_state=0).fit(frame).cpdag_
    assert answer.code == 0
    assert answer.err == ""
    printed = re.findall(r"^  (\w+)  (->|-)  (\w+)$", answer.out, flags=re.MULTILINE)
    assert cpdag.directed_edges
    assert printed == [(a, "->", b) for a, b in cpdag.directed_edges] + [
        (a, "-", b) for a, b in cpdag.undirected_edges
    ]
    assert "3 variables, 400 rows" in answer.out


def test_discover_tells_conflicts_and_colliders(call, data):
    rng = np.random.default_rng(1)
    table = dcd.simulate.sample(
        dcd.simulate.random_dag(8, graph="erdos-renyi", degree=4, random_state=rng), 300, random_state=rng
    )
    frame = pd.DataFrame(table).add_prefix("x")
    model = dcd.RobustDCD().fit(frame)
    assert model.conflicts_
    assert model.colliders_
    out = call("discover", data(frame)).out
    assert all(str(found) in out for found in [*model.conflicts_, *model.colliders_][:20])


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
    assert "  a  -  b\n" in answer.out


def test_a_picture(call, data, tmp_path):
    pytest.importorskip("matplotlib")
    answer = call("discover", data.path, "--plot", tmp_path / "graph.png")
    assert answer.code == 0
    assert answer.err == f"wrote: {tmp_path / 'graph.png'}\n"
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


@needs_results
@pytest.mark.parametrize("method", ["dcd", "robust-dcd"])
def test_json_on_standard_output_and_nothing_else(method, call, data, tmp_path):
    short = data(chain(n=60), "short.csv")  # with a warning, too
    answer = call("discover", short, "--method", method, "--json", "-", "--title", "My title")
    document = json.loads(answer.out)
    assert dcd.results.Result.from_dict(document).title == "My title"
    assert answer.err.startswith("warning: ")
    call("discover", short, "--method", method, "--json", tmp_path / "r.json", "--title", "My title")
    assert dcd.load_result(tmp_path / "r.json").cpdag == dcd.results.Result.from_dict(document).cpdag


@needs_results
def test_a_report_now_and_again(call, data, tmp_path):
    now, saved, again = (tmp_path / name for name in ("now.html", "saved.json", "again.html"))
    assert call("discover", data.path, "--report", now, "--json", saved).code == 0
    assert call("report", saved, "--out", again).code == 0
    assert now.read_text() == again.read_text()
    assert "<html" in now.read_text()


@needs_results
@pytest.mark.parametrize("command", ["discover", "audit"])
def test_a_page_on_standard_output_and_nothing_else(command, call, data):
    answer = call(command, data.path, "--report", "-")
    assert answer.out.lower().startswith("<!doctype html>")
    assert answer.out.rstrip().endswith("</html>")
    assert "both" in call(command, data.path, "--report", "-", "--json", "-").err


@needs_results
def test_rows_of_the_table_can_be_kept_back(call, data):
    with_rows, without = (
        json.loads(call("discover", data.path, "--json", "-", option).out)
        for option in ("--rows", "--no-rows")
    )
    assert with_rows["sample"] is not None
    assert without["sample"] is None


@needs_knowledge
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
    assert re.search(rf"^  a  -  b +{share:.0%} ", first.out, flags=re.MULTILINE)
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
    for module in ("search.grow_shrink", "estimators.resampling"):
        monkeypatch.setattr(f"dcd.{module}.as_done", None)
    assert call(*arguments, "--checkpoint", checkpoint, "--jobs", 2).out == first.out


@pytest.mark.parametrize("method", ["dcd", "robust-dcd"])
def test_a_limit_on_time(call, data, tmp_path, method):
    limited = call("discover", data.path, "--method", method, "--max-time", "0.001")
    assert limited.code == 124
    assert limited.out == ""
    assert re.match(r"out of time: stopped after .* Markov boundaries to do\. Nothing is kept", limited.err)
    path = tmp_path / "run.dcd"
    limited = call("discover", data.path, "--method", method, "--max-time", "0.001s", "--checkpoint", path)
    assert limited.code == 124
    assert f"The same call with checkpoint '{path}' resumes from there." in limited.err
    assert call("discover", data.path, "--method", method, "--max-time", "1h", "--checkpoint", path).code == 0


@pytest.mark.parametrize(
    ("text", "seconds"), [("90", 90), ("90s", 90), ("1.5h", 5400), ("30 m", 1800), ("2d", 172800)]
)
def test_times(text, seconds):
    assert dcd.cli.options._read_time(None, None, text) == seconds


@needs_kinds
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


@needs_kinds
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


# --- boundary --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["dcd", "robust-dcd"])
def test_boundary_is_that_of_the_library(method, call, data):
    answer = call("boundary", data.path, "--target", "a", "--method", method, "--json", "-")
    search = None if method == "dcd" else dcd.GrowShrink()
    model = dcd.MarkovBoundary(target="a", search=search).fit(pd.read_csv(data.path))
    document = json.loads(answer.out)
    assert document["boundary"] == model.boundary_ == ["b"]
    pvalues = {column["name"]: column["pvalue"] for column in document["columns"]}
    assert pvalues == pytest.approx(dict(zip("bc", model.pvalues_[1:], strict=True)), rel=1e-6)
    shown = call("boundary", data.path, "--target", "a", "--method", method).out
    assert shown.startswith("Boundary of a: b\n")
    assert re.search(r"^  b +yes ", shown, flags=re.MULTILINE)


@needs_kinds
def test_boundary_tells_which_rows_and_columns_it_used(call, data):
    frame = chain().assign(same=1.0)
    frame.loc[:9, "a"] = np.nan
    arguments = ["boundary", data(frame, "real.csv"), "--target", "b"]
    answer = call(*arguments, "--missing", "complete-rows", "--drop-degenerate")
    assert "\n190 of the rows were used.\nLeft out: same (it has the same value" in answer.out
    found = json.loads(call(*arguments, "--missing", "complete-rows", "--drop-degenerate", "--json", "-").out)
    assert (found["n_rows"], found["n_rows_used"], list(found["dropped"])) == (200, 190, ["same"])


def test_a_target_that_is_not_there(call, data):
    answer = call("boundary", data.path, "--target", "B")
    assert (answer.code, answer.out) == (2, "")
    assert "'b'" in answer.err


# --- compare ---------------------------------------------------------------------------------------------


def random_graphs(seed, n_graphs=4, d=6):
    rng = np.random.default_rng(seed)
    names = tuple("abcdef"[:d])
    graphs = {}
    for index in range(n_graphs):
        order = rng.permutation(d)
        dag = np.triu(rng.random((d, d)) < 0.4, k=1)[np.ix_(order, order)].astype(int)
        graphs[f"m{index}"] = dcd.CPDAG.from_dag(names, dag)
    return agreement.Answers(tuple(graphs), names, graphs, {}, {})


@pytest.mark.parametrize("seed", range(10))
def test_agreement_adds_up(seed):
    answers = random_graphs(seed)
    distances = agreement.shd_matrix(answers)
    for pair in agreement.pair_counts(answers):
        first, second = (answers.graphs[pair[end]] for end in ("first", "second"))
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
    for a, b, found, agree in agreement.marks(answers):
        arrows = [sum((a, b) in graph.directed_edges for graph in answers.graphs.values())]
        arrows += [sum((b, a) in graph.directed_edges for graph in answers.graphs.values())]
        arrows += [
            sum({(a, b), (b, a)} & set(graph.undirected_edges) != set() for graph in answers.graphs.values())
        ]
        assert agree == max(arrows) == max(arrows[0], arrows[2])
        assert [list(found.values()).count(mark) for mark in ("->", "<-", "-")] == arrows


def test_compare_runs_all_and_tells_which_failed(call, data):
    frame = chain(n=14, names=tuple("abcdefghijkl"))  # too few rows for PC
    answer = call("compare", data(frame), "--methods", "robust-dcd,pc,dcd", "--json", "-")
    assert answer.code == 3
    document = json.loads(answer.out)
    assert list(document["methods"]) == ["robust-dcd", "pc-fisherz", "dcd"]
    assert "rows" in document["methods"]["pc-fisherz"]["failed"]
    assert set(document["shd"]) == {"robust-dcd", "dcd"}


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


@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        (["discover", "DATA"], "or set --missing complete-rows or testwise."),
        (["discover", "DATA", "--missing", "testwise"], "Drop it (--drop-degenerate does)"),
        (["discover", "DATA", "--jobs", "0"], "error: option --jobs: must not be 0."),
        (["boundary", "DATA", "--target", "b"], "--missing complete-rows or testwise"),
        (["audit", "DATA"], "Set --missing complete-rows or testwise"),
        (["audit", "DATA", "--json", "-"], "Drop it (--drop-degenerate does)"),
        (["audit", "DATA", "--report", "-"], "Drop it (--drop-degenerate does)"),
        (["simulate", "--noise-std", "-1"], "Try --noise-std 2.0."),
    ],
)
def test_remedies_name_options(arguments, shown, call, data):
    frame = chain().assign(same=1.0)
    frame.loc[:9, "a"] = np.nan
    path = data(frame, "real.csv")
    answer = call(*(path if word == "DATA" else word for word in arguments))
    assert shown in answer.out + answer.err
    assert not re.search(r"missing=|drop_degenerate|n_jobs", answer.out + answer.err)


def test_compare_side_by_side(call, data):
    answer = call("compare", data(collider()), "--methods", "robust,dcd")
    assert answer.code == 0
    assert re.search(r"^  a +c +-> +-> +2 of 2$", answer.out, flags=re.MULTILINE)
    assert re.search(r"^  robust-dcd +0 +0$", answer.out, flags=re.MULTILINE)


def test_a_method_that_is_not_installed_or_too_slow(call, data, monkeypatch):
    from dcd.evaluation.baselines import registry

    monkeypatch.setattr(registry, "find_spec", lambda module: None)
    answer = call("compare", data(collider()), "--methods", "ges,robust-dcd,dcd")
    assert answer.code == 3
    assert "ges gave no graph: method 'ges' needs the extra 'causal-learn': pip install" in answer.out
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
    assert "pip install 'dcd[gcastle]'" in call("methods").out


# --- simulate and score ----------------------------------------------------------------------------------


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
    first, second = list(random_graphs(seed, n_graphs=2).graphs.values())
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
        ("anything", "g.txt", "names no kind of graph"),
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


@needs_results
def test_a_result_is_scored(call, data, tmp_path):
    (tmp_path / "truth.csv").write_text("from,to\na,b\nb,c\n")
    call("discover", data.path, "--json", tmp_path / "result.json")
    assert call("score", tmp_path / "result.json", tmp_path / "truth.csv", "--min-f1", 1).code == 0


@needs_results
@needs_knowledge
def test_true_knowledge_does_not_spoil_a_score(call, data, tmp_path):
    """The truth is a DAG, scored as its class: arrows that knowledge directs must be taken back as well."""
    path = data(pd.concat([chain(), chain(seed=1, names=("d", "e"))], axis="columns"), "two.csv")
    (tmp_path / "truth.csv").write_text("from,to\na,b\nb,c\nd,e\n")
    (tmp_path / "known.toml").write_text("roots = ['a']")
    call("discover", path, "--knowledge", tmp_path / "known.toml", "--json", tmp_path / "result.json")
    found, true = tmp_path / "result.json", tmp_path / "truth.csv"
    assert dcd.load_result(found).cpdag.background
    assert call("score", found, true, "--max-shd", 0).code == 0
    assert "SHD 1:" in call("score", found, true, "--as-given").out  # of a, b, c nothing but d - e is open


@pytest.mark.parametrize("kind", ["graphml", "dot"])
def test_graphs_of_other_programs(kind, call, tmp_path):
    interop = pytest.importorskip("dcd.interop")
    cpdag = next(iter(random_graphs(3, n_graphs=1).graphs.values()))
    (tmp_path / f"g.{kind}").write_text(getattr(interop, f"to_{kind}")(cpdag))
    write_graph(tmp_path / "g.csv", cpdag.to_frame(), "matrix")
    answer = call("score", tmp_path / f"g.{kind}", tmp_path / "g.csv", "--max-shd", 0)
    assert answer.code == 0, answer.err


# --- audit -----------------------------------------------------------------------------------------------


def made_up_audit(name, ok=False):
    column = SimpleNamespace(
        name=name, kind="nominal", why="it is <b>text</b>", n_missing=np.int64(2), n_distinct=3,
        problem="has 2 missing values", remedy="Fill them in.",
    )  # fmt: skip
    problems = () if ok else (f"{name} has 2 missing values.",)
    return SimpleNamespace(columns=(column,), n_rows=10, n_complete_rows=8, problems=problems, ok=ok)


@pytest.mark.parametrize("ok", [True, False])
def test_an_audit_is_shown_and_written(ok, call, data, tmp_path, monkeypatch):
    name = "<script>alert(1)</script>"
    monkeypatch.setattr(dcd, "audit", lambda table, **options: made_up_audit(name, ok), raising=False)
    answer = call("audit", data.path, "--report", tmp_path / "audit.html", "--title", "A & B")
    assert answer.code == (0 if ok else 1)
    assert name in answer.out
    assert ("Nothing is in the way." in answer.out) == ok
    page = (tmp_path / "audit.html").read_text()
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "<title>Audit of A &amp; B</title>" in page
    assert not re.search(r"""(src|href)=|url\(|@import""", page)
    assert json.loads(call("audit", data.path, "--json", "-").out)["columns"][0]["n_missing"] == 2


@needs_audit
def test_nothing_invisible_reaches_the_page_of_an_audit(call, data, tmp_path):
    path = data(chain(names=("a\u202eb", "c\x1b[31m", "d")), "turned.csv")
    assert call("audit", path, "--report", tmp_path / "page.html", "--title", "t\udcff\u2066").code == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "a\ufffdb" in page
    assert not set("\u202e\u2066\x1b") & set(page)


@needs_audit
def test_the_audit_of_a_real_table(call, data):
    good = call("audit", data.path)
    assert (good.code, good.err) == (0, "")
    assert "continuous" in good.out
    frame = chain().assign(copy=chain()["a"], constant=1)
    frame.loc[0, "b"] = np.nan
    bad = call("audit", data(frame, "bad.csv"))
    assert bad.code == 1
    assert "constant" in bad.out
    assert "copy" in bad.out


# --- errors, warnings, exit codes ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["discover", "nowhere.csv"], 2, "error: file 'nowhere.csv': does not exist."),
        (["discover"], 2, "error: Missing argument 'DATA'. See 'dcd discover --help'."),
        (["discover", "x.csv", "--alpha", "2"], 2, "error: Invalid value for '--alpha'"),
        (["discover", "x.csv", "--kinds", "a=number"], 2, "'a=number' is no COLUMN=KIND"),
        (["discover", "x.csv", "--checkpoint", "no/c"], 2, "there is no folder"),
        (["discover", "x.csv", "--max-time", "soon"], 2, "'soon' is no time such as 90s, 30m, 8h or 2d."),
        (["discover", "x.csv", "--max-time", "0m"], 2, "'0m' is no time"),
        (["discover", "x.csv", "--stability", "2", "--checkpoint", "-"], 2, "--checkpoint is read again"),
        (["discover", "x.csv", "--plot", "graph.bmp"], 2, "--plot draws .png, .svg or .pdf"),
        (["discovery"], 2, "error: No such command 'discovery'."),
        (["simulate", "--degree", "3"], 2, "error: option --degree: "),
        (["report", "nowhere.json", "--out", "-"], 2, "error: "),
    ],
)
def test_errors_are_one_line(arguments, code, message, call, tmp_path, monkeypatch):
    if arguments[0] == "report" and not hasattr(dcd, "load_result"):
        pytest.skip("results are not there yet")
    monkeypatch.chdir(tmp_path)
    answer = call(*arguments)
    assert (answer.code, answer.out) == (code, "")
    assert message in answer.err
    assert answer.err.count("\n") == 1


@needs_knowledge
def test_knowledge_with_a_mark_or_without_end(call, data, tmp_path):
    (tmp_path / "mark.toml").write_bytes(b"\xef\xbb\xbfroots = ['a']")
    assert call("discover", data.path, "--knowledge", tmp_path / "mark.toml").code == 0
    (tmp_path / "deep.toml").write_text(f"roots = {'[' * 50_000}{']' * 50_000}")
    answer = call("discover", data.path, "--knowledge", tmp_path / "deep.toml")
    assert answer.code == 2
    assert "is not TOML (lists in lists without end)" in answer.err


def test_a_method_that_fails_is_3_and_debug_shows_where(call, data, monkeypatch):
    def fail(*_, **__):
        raise FloatingPointError("no convergence\nat all")

    monkeypatch.setattr(dcd.RobustDCD, "fit", fail)
    answer = call("discover", data.path)
    assert (answer.code, answer.out) == (3, "")
    assert answer.err == "error: FloatingPointError: no convergence at all (--debug shows where)\n"
    for arguments in (["--debug", "discover", data.path], ["discover", data.path, "--debug"]):
        answer = call(*arguments)
        assert answer.code == 3
        assert answer.err.startswith("Traceback")
        assert answer.err.splitlines()[-1].startswith("error: ")


def test_warnings_are_one_line_and_told_once(call, data, monkeypatch):
    answer = call("discover", data(chain(n=50)))
    assert answer.code == 0
    assert answer.err.count("\n") == 1
    assert answer.err.startswith("warning: Only 50 rows")
    fit = dcd.RobustDCD.fit

    def warn_and_fit(model, *table, **options):
        for _ in range(2):
            warnings.warn("The search\nwas cut.", dcd.errors.SearchCutWarning, stacklevel=1)
            warnings.warn("Deprecated somewhere.", DeprecationWarning, stacklevel=1)
        return fit(model, *table, **options)

    monkeypatch.setattr(dcd.RobustDCD, "fit", warn_and_fit)
    assert call("discover", data(chain())).err == "warning: The search was cut.\n"


def test_no_command_is_a_usage_error_with_help(call):
    answer = call()
    assert (answer.code, answer.out) == (2, "")
    assert "discover" in answer.err


def test_the_version(call):
    assert call("--version").out == f"dcd, version {dcd.__version__}\n"


def examples():
    for name, command in group.commands.items():
        lines = re.findall(r"dcd [a-z]+ .*|dcd [a-z]+", command.epilog or "")
        yield name, lines


@pytest.mark.parametrize(
    ("name", "lines"), list(examples()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_help_has_examples_with_options_that_exist(name, lines, call):
    shown = call(name, "--help")
    assert shown.code == 0
    assert "Examples:" in shown.out
    assert lines
    for line in lines:
        words = shlex.split(line)
        command = group.commands[words[1]]
        known = {option for parameter in command.params for option in parameter.opts}
        assert {word for word in words if word.startswith("--")} <= known


# --- names are text --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("plain Ä 漢字", "plain Ä 漢字"),
        ("\x1b[31m", "\\x1b[31m"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("\x9b31m\x7f", "\\x9b31m\\x7f"),
        ("abc\u202edef\u2066", "abc\\u202edef\\u2066"),
        ("line\u2028end", "line\\u2028end"),
        (MARKUP, MARKUP),
    ],
)
def test_plain_text(given, shown):
    assert terminal.plain(given) == shown


@pytest.mark.parametrize(
    "arguments",
    [
        ["discover"],
        ["discover", "--method", "dcd"],
        ["boundary", "--target", MARKUP],
        ["compare", "--methods", "dcd,robust"],
    ],
)
def test_names_do_not_reach_the_terminal_as_commands(arguments, call, data):
    path = data(chain(n=60, names=(EVIL, MARKUP, ":smile:", "漢字")))
    answer = call(arguments[0], path, *arguments[1:])
    assert answer.code == 0
    assert not ESCAPES.search(answer.out + answer.err)
    assert MARKUP in answer.out
    assert ":smile:" in answer.out
    assert "漢字" in answer.out
    assert "\\x1b[31mred" in answer.out


def test_errors_with_evil_names_are_clean_too(call, data):
    frame = chain(names=(EVIL, MARKUP))
    for answer in (
        call("discover", data(frame.assign(**{EVIL: "x"}))),
        call("discover", f"{EVIL}.csv"),
        call("discover", data.path, "--columns", EVIL),
        call("discover", data(frame), "--kinds", f"{EVIL}=nonsense"),
        call(EVIL),
        call("--debug", "boundary", data(frame), "--target", EVIL + "?"),
    ):
        assert answer.code == 2
        assert answer.err
        assert not ESCAPES.search(answer.err)


@needs_terminal
def test_names_are_text_in_a_terminal(data):
    with Terminal("discover", data(chain(names=(EVIL, MARKUP))), NO_COLOR="1", TQDM_DISABLE="1") as shown:
        seen, code = shown.read_to_end()
    assert code == 0
    assert not ESCAPES.search(seen)
    assert MARKUP in seen


# --- terminals and pipes ---------------------------------------------------------------------------------


@needs_terminal
def test_colour_in_a_terminal_only():
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
        with Terminal("score", "nowhere.csv", "nowhere.csv", **variables) as shown:
            seen, code = shown.read_to_end()
        assert code == 2
        assert ("\x1b[" in seen) == coloured, variables
        assert "error:" in seen
    answer = in_process("score", "nowhere.csv", "nowhere.csv")
    assert answer.stderr.startswith("error: file 'nowhere.csv'")


@needs_terminal
def test_progress_is_for_those_who_watch(data):
    with Terminal("discover", data.path) as shown:
        seen, code = shown.read_to_end()
    assert code == 0
    assert "Markov boundaries" in seen
    with Terminal("compare", data.path, "--methods", "dcd,robust-dcd") as shown:
        seen, code = shown.read_to_end()
    assert code == 0
    assert "0/2" in seen
    assert in_process("discover", data.path).stderr == ""


def test_a_pipe_that_closes_is_no_error(tmp_path):
    command = [sys.executable, "-m", "dcd", "simulate", "--variables", "20", "--rows", "3000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout.readline().startswith(b"x1,")
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=60) == 141


@pytest.mark.parametrize(
    ("arguments", "closed"),
    [
        (["audit", "DATA"], "stdout"),
        (["discover", "DATA"], "stdout"),
        (["methods"], "stdout"),
        (["audit", "DATA", "--json", "-"], "stdout"),
        (["audit", "nowhere.csv"], "stderr"),
    ],
)
def test_a_closed_pipe_is_141_for_every_answer(arguments, closed, data):
    inner, outer = os.pipe()
    os.close(inner)
    command = [sys.executable, "-m", "dcd", *(data.path if word == "DATA" else word for word in arguments)]
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, closed: outer}
    ended = subprocess.run(command, env=environment(), check=False, **streams)
    os.close(outer)
    assert ended.returncode == 141
    assert not ended.stdout
    assert not ended.stderr


def test_an_encoding_without_the_letters_is_no_error(data):
    answer = in_process(
        "discover", data(chain(names=("Größe", "漢字"))), PYTHONIOENCODING="ascii", PYTHONUTF8="0"
    )
    assert answer.returncode == 0
    assert "Gr\\xf6\\xdfe  -  \\u6f22\\u5b57" in answer.stdout


# --- files -----------------------------------------------------------------------------------------------


@pytest.fixture
def no_work(monkeypatch):
    def never(*_, **__):
        raise AssertionError("the table was read before the outputs were checked")

    monkeypatch.setattr(dcd.cli.options.Source, "read", never)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("option", ["--json", "--report", "--plot"])
def test_outputs_are_checked_before_any_work(option, call, data, tmp_path):
    (tmp_path / "folder.png").mkdir()
    for path, message in {
        "missing/out.png": "there is no folder",
        "folder.png": "is a folder",
        "data.csv": "is read by this command",
    }.items():
        answer = call("discover", data.path, option, tmp_path / path)
        assert answer.code == 2
        assert f"option {option}" in answer.err
        assert message in answer.err


@pytest.mark.usefixtures("no_work")
def test_an_input_is_an_input_by_any_name(call, data, tmp_path):
    (tmp_path / "link.csv").symlink_to(data.path)
    assert "is read" in call("discover", data.path, "--json", tmp_path / "link.csv").err
    assert "is read" in call("discover", tmp_path / "link.csv", "--json", data.path).err
    assert (
        "also written"
        in call("discover", data.path, "--json", tmp_path / "o", "--report", tmp_path / "o").err
    )
    assert "both" in call("simulate", "--out", "-", "--truth", "-").err


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.usefixtures("no_work")
def test_a_folder_that_cannot_be_written(call, data, tmp_path):
    folder = tmp_path / "locked"
    folder.mkdir(mode=0o500)
    assert "cannot be written" in call("discover", data.path, "--json", folder / "out.json").err


@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError, ValueError])
def test_a_file_is_whole_or_as_it_was(error, tmp_path):
    path = tmp_path / "out.json"
    for before in (None, "old"):
        if before is not None:
            path.write_text(before)
        with contextlib.suppress(error), whole_file(path) as temporary:
            temporary.write_text("half")
            raise error
        assert (path.read_text() if path.exists() else None) == before
    with whole_file(path) as temporary:
        temporary.write_text("whole")
    assert path.read_text() == "whole"
    assert os.listdir(tmp_path) == ["out.json"]


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_files_have_the_usual_mode(tmp_path):
    (tmp_path / "usual").write_text("")
    outputs.write_text(str(tmp_path / "ours"), "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


WRITERS = {
    "command": lambda path, text: outputs.write_text(str(path), text),
    "result": write_result_text,
}


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are those of POSIX")
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_modes_and_links_stay(writer, tmp_path):
    real, link, hanging = tmp_path / "there" / "real.json", tmp_path / "link.json", tmp_path / "hanging.json"
    real.parent.mkdir()
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    hanging.symlink_to(tmp_path / "there" / "new.json")
    for path in (real, link, hanging):
        writer(path, "new")
        assert path.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()
    assert hanging.is_symlink()
    assert sorted(os.listdir(real.parent)) == ["new.json", "real.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_a_pipe_is_written_to_and_stays(writer, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        writer(pipe, "text")
        assert reader.stdout.read() == b"text"
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


@needs_audit
@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="there is no /dev/fd")
def test_devices_and_open_pipes_are_outputs(call, data):
    inner, outer = os.pipe()
    answer = call("audit", data.path, "--json", f"/dev/fd/{outer}", "--report", os.devnull)
    os.close(outer)
    assert answer.code == 0
    with os.fdopen(inner) as reading:
        assert json.load(reading)["ok"]
    assert call("discover", data.path, "--report", os.devnull, "--json", os.devnull).code == 0
    assert Path(os.devnull).is_char_device()


@needs_terminal
@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interrupt_leaves_no_broken_file(jobs, data, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((1500, 30))).cumsum(axis=1).add_prefix("x")
    path = data(frame, "long.csv")
    (tmp_path / "graph.png").write_text("old")
    before = sorted(os.listdir(tmp_path))
    arguments = ("discover", path, "--method", "dcd", "--jobs", jobs, "--plot", tmp_path / "graph.png")
    with Terminal(*arguments, NO_COLOR="1") as shown:
        assert "Markov boundaries" in shown.read_until("Markov boundaries")
        os.killpg(shown.process.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        seen, code = shown.read_to_end()
    assert code == 130
    assert seen.splitlines()[-1] == "interrupted: no file is half written"
    assert "Traceback" not in seen
    assert (tmp_path / "graph.png").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == before


@needs_terminal
def test_after_an_interrupt_a_checkpoint_goes_on(call, data, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((1000, 12))).add_prefix("x")
    path, checkpoint = data(frame, "long.csv"), tmp_path / "run.dcd"
    arguments = ("discover", path, "--method", "dcd", "--checkpoint", checkpoint)
    with Terminal(*arguments, NO_COLOR="1") as shown:
        shown.read_until("/12")
        os.killpg(shown.process.pid, signal.SIGINT)
        seen, code = shown.read_to_end()
    assert code == 130
    last = " ".join(seen.splitlines()[-1].split())
    assert last == f"interrupted: run the same again, with '{checkpoint}', to go on from there"
    assert call(*arguments).out == call(*arguments[:4]).out


# --- start-up ---------------------------------------------------------------------------------------------


def test_help_does_not_wait_for_numpy():
    script = "import sys, dcd.cli; dcd.cli.run(dcd.cli.dcd, ['discover', '--help']); print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
    )
    modules = set(answer.stdout.split())
    assert "dcd.cli" in modules
    assert not modules & {"numpy", "pandas", "scipy", "sklearn", "matplotlib", "rich.console"}


def test_the_usual_methods_are_those_that_are_installed(monkeypatch, call, tmp_path):
    table = tmp_path / "data.csv"
    assert call("simulate", "--variables", 4, "--rows", 120, "--out", table).code == 0
    monkeypatch.setattr(dcd.baselines, "installed", lambda name: "dcd" in name)
    ran = call("compare", table)
    assert ran.code == 0
    assert "note: pc, ges: not installed, left out" in ran.err
    assert "robust-dcd" in ran.out
