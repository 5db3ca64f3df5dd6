"""Checkpoints of resamples: extended, killed, truncated, from another run, damaged."""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest
from support.resampling import Correlated, chain_table, rare_event_table

import dcd
from dcd import InputError, RobustDCD
from dcd.runtime.errors import FailedResamplesWarning


def test_more_resamples_extend_fewer(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path)
    before = path.read_bytes()
    more = dcd.stability(RobustDCD(), table, n_resamples=9, checkpoint=path)
    assert path.read_bytes().startswith(before)
    assert more == dcd.stability(RobustDCD(), table, n_resamples=9)
    fewer = dcd.stability(RobustDCD(), table, n_resamples=4, checkpoint=path)
    assert fewer == dcd.stability(RobustDCD(), table, n_resamples=4)


def test_finished_resamples_are_not_done_again(tmp_path, monkeypatch):
    path, table = tmp_path / "run.jsonl", chain_table()
    wanted = dcd.stability(Correlated(), table, n_resamples=5, checkpoint=path)
    monkeypatch.setattr(Correlated, "fit", None)  # any refit would count as a failure
    assert dcd.stability(Correlated(), table, n_resamples=5, checkpoint=path) == wanted


def test_a_line_cut_off_is_done_again(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    wanted = dcd.stability(RobustDCD(), table, n_resamples=6, checkpoint=path)
    whole = path.read_bytes()
    last_line = whole[:-1].rfind(b"\n") + 1
    for cut in (last_line + 1, len(whole) - 1):
        path.write_bytes(whole[:cut])
        assert dcd.stability(RobustDCD(), table, n_resamples=6, checkpoint=path) == wanted
        assert path.read_bytes() == whole


def test_failures_are_kept_too(tmp_path):
    path, table = tmp_path / "run.jsonl", rare_event_table()
    with pytest.warns(FailedResamplesWarning):
        first = dcd.stability(RobustDCD(), table, n_resamples=20, checkpoint=path)
    with pytest.warns(FailedResamplesWarning):
        assert dcd.stability(RobustDCD(), table, n_resamples=20, checkpoint=path) == first


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"X": chain_table(seed=1)}, "data was"),
        ({"X": chain_table(149)}, "rows was 150, is 149"),
        ({"X": chain_table().rename(columns={"d": "e"})}, "data was"),
        ({"model": RobustDCD(alpha=0.1)}, r"model parameter 'alpha' was '0.05', is '0.1'"),
        ({"model": dcd.DCD()}, "model was 'RobustDCD', is 'DCD'"),
        ({"random_state": 1}, "random_state was 0, is 1"),
        ({"scheme": "bootstrap"}, "scheme was 'subsample', is 'bootstrap'"),
        ({"fraction": 0.6}, "fraction was 0.5, is 0.6"),
        ({"sample_weight": np.arange(1.0, 151)}, "sample_weight was None"),
    ],
)
def test_other_runs_are_refused_with_what_differs(tmp_path, change, named):
    path = tmp_path / "run.jsonl"
    settings = {"model": RobustDCD(), "X": chain_table(), "n_resamples": 2, "checkpoint": path}
    dcd.stability(**settings)
    before = path.read_bytes()
    with pytest.raises(InputError, match=named):
        dcd.stability(**{**settings, **change})
    assert path.read_bytes() == before


def test_n_jobs_and_progress_do_not_make_another_run(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    first = dcd.stability(RobustDCD(n_jobs=2, random_state=8), table, n_resamples=2, checkpoint=path)
    lines = path.read_bytes()
    assert dcd.stability(RobustDCD(progress=False), table, n_resamples=2, n_jobs=2, checkpoint=path) == first
    assert path.read_bytes() == lines


def test_files_that_are_no_checkpoints_are_left_alone(tmp_path):
    table = chain_table()
    other = tmp_path / "thesis.txt"
    for content in ("Once upon a time\n", "no line end", '{"kind": "other"}\n'):
        other.write_text(content)
        with pytest.raises(InputError, match="is not a checkpoint"):
            dcd.stability(RobustDCD(), table, checkpoint=other)
        assert other.read_text() == content
    with pytest.raises(InputError, match="no file can be created there"):
        dcd.stability(RobustDCD(), table, checkpoint=tmp_path / "no folder" / "run.jsonl")
    with pytest.raises(InputError, match="'random_state': must be a whole number with a checkpoint"):
        dcd.stability(RobustDCD(), table, checkpoint=tmp_path / "run.jsonl", random_state=None)


def test_damaged_lines_are_refused(tmp_path):
    path, table = tmp_path / "run.jsonl", chain_table()
    dcd.stability(RobustDCD(), table, n_resamples=3, checkpoint=path)
    lines = path.read_text().splitlines()
    path.write_text("\n".join([lines[0], lines[1][:-5], *lines[2:]]) + "\n")
    with pytest.raises(InputError, match="line 2 is damaged"):
        dcd.stability(RobustDCD(), table, n_resamples=3, checkpoint=path)


@pytest.mark.parametrize(
    "line",
    [
        {"key": -1},
        {"key": True},
        {"key": None},
        {"stage": 3},
        {"result": None},
        {"result": {"failure": 3}},
        {"result": {}},
        {"result": {"directed": []}},
        {"result": {"directed": 3, "undirected": []}},
        {"result": {"directed": [["a", "nobody"]], "undirected": []}},
        {"result": {"directed": [["a", ["b"]]], "undirected": []}},
        {"result": {"directed": [["a"]], "undirected": []}},
        {"result": {"directed": [["a", "a"]], "undirected": []}},
        {"result": {"directed": [["a", "b"]], "undirected": [["b", "a"]]}},
    ],
)
def test_lines_that_no_resample_can_have_written_are_refused(tmp_path, line):
    path, table = tmp_path / "run.jsonl", chain_table()
    dcd.stability(RobustDCD(), table, n_resamples=1, checkpoint=path)
    good = {"stage": "resamples", "key": 1, "result": {"failure": "x"}}
    content = path.read_text() + json.dumps(good | line) + "\n"
    path.write_text(content)
    with pytest.raises(InputError, match="line 3 is damaged"):
        dcd.stability(RobustDCD(), table, n_resamples=3, checkpoint=path)
    assert path.read_text() == content


RUN = """
import sys
import numpy as np, pandas as pd, dcd
table = pd.read_csv(sys.argv[1])
dcd.stability(dcd.RobustDCD(), table, n_resamples=400, n_jobs=int(sys.argv[3]), checkpoint=sys.argv[2])
"""


@pytest.mark.parametrize(
    ("end", "n_jobs"),
    [
        pytest.param(signal.SIGKILL, 2, marks=pytest.mark.slow),
        (signal.SIGINT, 1),
    ],
)
def test_a_killed_run_goes_on(tmp_path, end, n_jobs):
    path, csv = tmp_path / "run.jsonl", tmp_path / "table.csv"
    chain_table().to_csv(csv, index=False)
    arguments = [sys.executable, "-c", RUN, str(csv), str(path), str(n_jobs)]
    with subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline and (not path.exists() or path.read_bytes().count(b"\n") < 4):
            time.sleep(0.01)
        process.send_signal(end)
        process.wait()
    lines = path.read_bytes().splitlines()
    assert 4 <= len(lines) < 401
    assert all(json.loads(line) for line in lines[:-1])
    n_resamples = len(lines) + 3
    table = pd.read_csv(csv)
    resumed = dcd.stability(RobustDCD(), table, n_resamples=n_resamples, checkpoint=path)
    assert resumed == dcd.stability(RobustDCD(), table, n_resamples=n_resamples)
