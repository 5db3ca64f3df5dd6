"""Output files: refused before the work begins, written completely or not at all."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import dcd
import dcd.cli.options
from dcd.cli import output_files
from dcd.runtime.files import whole_file
from dcd.runtime.files import write_text as write_result_text


@pytest.fixture
def no_work(monkeypatch):
    def never(*_, **__):
        raise AssertionError("the table was read before the outputs were checked")

    monkeypatch.setattr(dcd.cli.options.TableFile, "read", never)
    monkeypatch.setattr(dcd.cli.options.TableFile, "open", never)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize("option", ["--json", "--report", "--plot"])
def test_outputs_are_checked_before_any_work(option, call, data, tmp_path):
    (tmp_path / "folder.png").mkdir()
    for path, message in {
        "missing/out.png": "does not exist",
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
    output_files.write_text(str(tmp_path / "ours"), "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


WRITERS = {
    "command": lambda path, text: output_files.write_text(str(path), text),
    "result": write_result_text,
}


@pytest.mark.skipif(sys.platform == "win32", reason="modes and links are those of POSIX")
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_modes_and_links_stay(writer, tmp_path):
    real, link = tmp_path / "there" / "real.json", tmp_path / "link.json"
    real.parent.mkdir()
    real.write_text("old")
    real.chmod(0o600)
    link.symlink_to(real)
    for path in (real, link):
        writer(path, "new")
        assert path.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()
    assert os.listdir(real.parent) == ["real.json"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("writer", WRITERS.values(), ids=WRITERS)
def test_a_pipe_is_written_to_and_stays(writer, tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        writer(pipe, "text")
        assert reader.stdout.read() == b"text"
    assert pipe.is_fifo()
    assert os.listdir(tmp_path) == ["pipe"]


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
