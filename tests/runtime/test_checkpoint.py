"""Checkpoints of a fit: kill -9 at any moment, and other runs refused."""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from support.checkpoints import MODELS, assert_same_result, fresh, interacting_table, needs_fork, table_for

import dcd
from dcd import DCD, InputError, RobustDCD
from dcd.estimators import checkpoints
from dcd.runtime.checkpoint import Checkpoint

# --- the same result --------------------------------------------------------------------------------------


@cache
def fitted(name):
    """The fit without a checkpoint, which the others are compared with."""
    return fresh(name).fit(table_for(name))


@pytest.mark.parametrize("name", MODELS)
def test_from_any_prefix_of_the_file_the_same_result(name, tmp_path):
    """Any line can be the last before a crash, and no line is required."""
    path, table, wanted = tmp_path / "run.dcd", table_for(name), fitted(name)
    kept = fresh(name).fit(table, checkpoint=path)
    assert_same_result(kept, wanted)
    whole = path.read_bytes().splitlines(keepends=True)
    for number in {0, 1, 2, len(whole) // 2, len(whole) - 1}:
        path.write_bytes(b"".join(whole[:number]))
        assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)
        assert sorted(path.read_bytes().splitlines(keepends=True)) == sorted(whole)


def test_the_robust_record_is_not_trivial():
    for name in ("always", "weights", "gaps"):
        diagnostics = fitted(name).diagnostics_
        assert diagnostics.sets, name
        assert name == "weights" or diagnostics.interactions, name


@pytest.mark.parametrize("name", ["published", "always"])
def test_in_any_order_of_the_pieces(name, tmp_path):
    path, table = tmp_path / "run.dcd", table_for(name)
    wanted = fresh(name).fit(table, checkpoint=path)
    header, *pieces = path.read_bytes().splitlines(keepends=True)
    rng = random.Random(0)
    for _ in range(3):
        rng.shuffle(pieces)
        path.write_bytes(b"".join([header, *pieces[: rng.randrange(len(pieces))]]))
        assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)


@pytest.mark.parametrize("name", ["published", "robust"])
def test_a_finished_run_does_nothing_again(name, tmp_path, monkeypatch):
    path, table = tmp_path / "run.dcd", table_for(name)
    wanted = fresh(name).fit(table, checkpoint=path)
    content = path.read_bytes()
    monkeypatch.setattr("dcd.search.whole_graph.as_done", None)
    monkeypatch.setattr("dcd.search.decoupled_boundaries.as_done", None)
    assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)
    assert path.read_bytes() == content


@needs_fork
@pytest.mark.parametrize("name", ["published", "always", "gaps"])
def test_killed_at_any_moment_it_goes_on(name, tmp_path):
    """SIGKILL repeatedly, at random moments."""
    path, table, rng = tmp_path / "run.dcd", table_for(name), random.Random(name)
    start = time.monotonic()
    wanted = fresh(name).fit(table)
    usual = time.monotonic() - start
    kills = 0
    for _ in range(6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of forks while there are threads
            child = os.fork()
        if child == 0:
            fresh(name).fit(table, checkpoint=path)
            os._exit(0)
        time.sleep(rng.uniform(0, 0.5 * usual))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if not os.WIFSIGNALED(status):
            break
        kills += 1
    assert kills >= 1
    assert_same_result(fresh(name).fit(table, checkpoint=path), wanted)


RUN = """
import sys, pandas, dcd
model = getattr(dcd, sys.argv[1])(n_jobs=2)
if __name__ == "__main__":
    model.fit(pandas.read_csv(sys.argv[2]), checkpoint=sys.argv[3])
"""


@pytest.mark.parametrize("name", ["DCD", "RobustDCD"])
@pytest.mark.slow
def test_killed_with_two_processes_it_goes_on(name, tmp_path):
    path, frame = tmp_path / "run.dcd", tmp_path / "table.csv"
    table = interacting_table(n=600)
    table.to_csv(frame, index=False)
    arguments = [sys.executable, "-c", RUN, name, str(frame), str(path)]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 3):
            time.sleep(0.005)
        process.kill()
        process.communicate(timeout=60)  # the end of all who could write there: no process is left behind
    assert path.read_bytes().count(b"\n") >= 3
    model, table = getattr(dcd, name), pd.read_csv(frame)
    assert_same_result(model().fit(table, checkpoint=path), model().fit(table))


def test_two_processes_go_on_with_what_one_did(tmp_path):
    path, table = tmp_path / "run.dcd", table_for("always")
    wanted = fresh("always").fit(table, checkpoint=path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[: len(lines) // 2]))
    assert_same_result(fresh("always", n_jobs=2).fit(table, checkpoint=path), wanted)


@dataclass(frozen=True)
class CannotTell:
    """A user-defined test for which the data are never enough."""

    def bind(self, scores, level):
        return self

    def log_pvalue(self, x, y, given):
        return np.nan


def test_what_could_not_be_tested_is_kept_as_such(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    model = RobustDCD(test=CannotTell(), progress=False).fit(table, checkpoint=path)
    assert not model.cpdag_.directed_edges  # no edge is drawn that no test confirms
    assert len(path.read_bytes().splitlines()) > 2
    again = RobustDCD(test=CannotTell(), progress=False).fit(table, checkpoint=path)
    assert again.cpdag_ == model.cpdag_


def test_an_interrupt_leaves_a_good_checkpoint(tmp_path, monkeypatch):
    path, table, wanted = tmp_path / "run.dcd", table_for("always"), fitted("always")
    true_add = Checkpoint.add

    def interrupted(self, *given):
        true_add(self, *given)
        if len(path.read_bytes().splitlines()) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(Checkpoint, "add", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fresh("always").fit(table, checkpoint=path)
    monkeypatch.setattr(Checkpoint, "add", true_add)
    assert_same_result(fresh("always").fit(table, checkpoint=path), wanted)


# --- whose it is ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The checkpoint of a finished run."""
    path = tmp_path_factory.mktemp("finished") / "run.dcd"
    RobustDCD().fit(interacting_table(), checkpoint=path)
    return path.read_bytes()


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": interacting_table(1)}, "data was"),
        ({"X": interacting_table(n=249)}, "rows was 250, is 249"),
        ({"X": interacting_table().rename(columns={"d": "f"})}, "data was"),
        ({"X": interacting_table().drop(columns="e")}, "columns was 6, is 5"),
        ({"X": interacting_table().assign(a=interacting_table()["a"] * (1 + 1e-15))}, "data was"),
        ({"sample_weight": np.arange(1.0, 251)}, "sample_weight was None"),
        ({"model": RobustDCD(alpha=0.1)}, "model parameter 'alpha' was '0.05', is '0.1'"),
        ({"model": RobustDCD(search=dcd.WholeGraph(restarts=5))}, "model parameter 'search' was 'None'"),
        ({"model": RobustDCD(knowledge=dcd.Knowledge(roots=["e"]))}, "model parameter 'knowledge'"),
        ({"model": RobustDCD(random_state=1)}, "random_state was 0, is 1"),
        ({"model": DCD()}, "model was 'RobustDCD', is 'DCD'"),
        ({"version": "9.9"}, f"version was '{dcd.__version__}', is '9.9'"),
    ],
)
def test_other_runs_are_refused_with_what_differs(change, named, finished, tmp_path, monkeypatch):
    path = tmp_path / "run.dcd"
    path.write_bytes(finished)
    settings = {"model": RobustDCD(), "X": interacting_table()} | change
    monkeypatch.setattr(checkpoints, "__version__", settings.pop("version", dcd.__version__))
    with pytest.raises(InputError, match=named) as refusal:
        settings.pop("model").fit(**settings, checkpoint=path)
    assert "belongs to another run" in refusal.value.problem
    assert path.read_bytes() == finished


def test_other_weights_are_refused(tmp_path):
    path, table = tmp_path / "run.dcd", interacting_table()
    weights = np.random.default_rng(0).uniform(0.5, 2, size=len(table))
    RobustDCD().fit(table, sample_weight=weights, checkpoint=path)
    RobustDCD().fit(table, sample_weight=2 * weights, checkpoint=path)  # says the same of every row
    with pytest.raises(InputError, match="sample_weight was"):
        RobustDCD().fit(table, sample_weight=weights[::-1], checkpoint=path)


@pytest.mark.parametrize("name", ["published", "robust"])
def test_what_changes_no_result_makes_no_other_run(name, tmp_path, monkeypatch):
    """n_jobs, progress, memory_limit, the order of the columns, and the library of the table."""
    path, table = tmp_path / "run.dcd", interacting_table()
    wanted = fresh(name).fit(table, checkpoint=path)
    monkeypatch.setattr("dcd.search.whole_graph.as_done", None)
    monkeypatch.setattr("dcd.search.decoupled_boundaries.as_done", None)
    turned = table[list(table)[::-1]]
    again = (
        fresh(name).set_params(n_jobs=2, progress=True, memory_limit="2GB").fit(turned, checkpoint=str(path))
    )
    assert again.cpdag_.reorder(wanted.cpdag_.names) == wanted.cpdag_
    polars = pytest.importorskip("polars")
    fresh(name).fit(polars.from_pandas(table), checkpoint=path)


def test_the_seed_matters_only_where_it_does(tmp_path):
    table = interacting_table()
    DCD(random_state=None).fit(table, checkpoint=tmp_path / "a")
    DCD(random_state=3).fit(table, checkpoint=tmp_path / "a")
    for model in (DCD(init_scale=0.1), RobustDCD(random_state=None)):
        with pytest.raises(InputError, match="'random_state': must be a whole number with a checkpoint"):
            model.fit(table, checkpoint=tmp_path / "b")
    assert not (tmp_path / "b").exists()


def test_one_file_for_the_fit_and_its_resamples(tmp_path, monkeypatch):
    path, table = tmp_path / "run.dcd", interacting_table()
    model = RobustDCD().fit(table, checkpoint=path)
    stability = dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path)
    assert stability == dcd.stability(RobustDCD(), table, n_resamples=4)
    lines = path.read_text().splitlines()
    assert [json.loads(line)["work"] for line in lines if "kind" in json.loads(line)] == ["fit", "resamples"]
    for other in (interacting_table(1), interacting_table().drop(columns="a")):
        with pytest.raises(InputError, match="belongs to another run"):
            dcd.stability(RobustDCD(), other, n_resamples=4, checkpoint=path)
    with pytest.raises(InputError, match="scheme was 'subsample', is 'bootstrap'"):
        dcd.stability(RobustDCD(), table, n_resamples=4, scheme="bootstrap", checkpoint=path)
    for module in ("search.whole_graph", "search.decoupled_boundaries", "estimators.resampling"):
        monkeypatch.setattr(f"dcd.{module}.as_done", None)
    assert_same_result(RobustDCD().fit(table, checkpoint=path), model)
    assert dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path) == stability
    assert path.read_text().splitlines() == lines
