"""Names as text, colour and progress in a terminal, pipes that close, and Ctrl-C."""

import os
import re
import signal
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from support.commands import ESCAPES, EVIL, MARKUP, Terminal, chain, environment, in_process, needs_terminal

from dcd.cli import terminal

# A boundary exists: joblib has started; a thread that is just starting could not be ended.
AT_WORK = r"Markov boundaries:.* [1-9]\d*/30[,\]]"


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
    path = data(chain(names=(EVIL, MARKUP)))
    with Terminal("discover", path, "--method", "dcd", NO_COLOR="1", TQDM_DISABLE="1") as shown:
        seen, code = shown.read_to_end()
    assert code == 0
    assert not ESCAPES.search(seen.removesuffix("\x1b[0m"))  # of a library, when the process ends
    assert MARKUP in seen


@needs_terminal
@pytest.mark.slow
def test_colour_in_a_terminal_only(call):
    for variables, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        with Terminal("score", "nowhere.csv", "nowhere.csv", **variables) as shown:
            seen, code = shown.read_to_end()
        assert code == 2
        assert ("\x1b[" in seen) == coloured, variables
        assert "error:" in seen
    assert call("score", "nowhere.csv", "nowhere.csv").err.startswith("error: file 'nowhere.csv'")


@needs_terminal
@pytest.mark.slow
def test_progress_is_for_those_who_watch(data):
    with Terminal("discover", data.path) as shown:
        seen, code = shown.read_to_end()
    assert code == 0
    assert "the best graph" in seen.split("variables")[0]  # stages that take no time are not shown
    with Terminal("compare", data.path, "--methods", "empty,spanning-tree") as shown:
        seen, code = shown.read_to_end()
    assert code == 0
    assert "0/2" in seen
    assert in_process("discover", data.path).stderr == ""  # this process may have loaded a notebook's kernel


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
        (["discover", "DATA", "--method", "dcd"], "stdout"),
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
    arguments = ("discover", data(chain(names=("Größe", "漢字"))), "--method", "dcd")
    answer = in_process(*arguments, PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert answer.returncode == 0
    assert "Gr\\xf6\\xdfe  -  \\u6f22\\u5b57" in answer.stdout


@needs_terminal
@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_interrupt_leaves_no_broken_file(jobs, data, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((800, 30))).cumsum(axis=1).add_prefix("x")
    path = data(frame, "long.csv")
    (tmp_path / "graph.png").write_text("old")
    before = sorted(os.listdir(tmp_path))
    arguments = ("discover", path, "--method", "dcd", "--jobs", jobs, "--plot", tmp_path / "graph.png")
    with Terminal(*arguments, NO_COLOR="1") as shown:
        assert re.search(AT_WORK, shown.read_until(AT_WORK))
        os.killpg(shown.process.pid, signal.SIGINT)  # as Ctrl-C in a terminal does
        seen, code = shown.read_to_end()
    assert code == 130
    assert seen.splitlines()[-1] == "interrupted: no partial files were written"
    assert "Traceback" not in seen
    assert (tmp_path / "graph.png").read_text() == "old"
    assert sorted(os.listdir(tmp_path)) == before


@needs_terminal
@pytest.mark.slow
def test_after_an_interrupt_a_checkpoint_goes_on(call, data, tmp_path):
    frame = pd.DataFrame(np.random.default_rng(0).standard_normal((600, 12))).add_prefix("x")
    path, checkpoint = data(frame, "long.csv"), tmp_path / "run.dcd"
    arguments = ("discover", path, "--method", "dcd", "--checkpoint", checkpoint)
    with Terminal(*arguments, NO_COLOR="1") as shown:
        shown.read_until("/12")
        os.killpg(shown.process.pid, signal.SIGINT)
        seen, code = shown.read_to_end()
    assert code == 130
    last = " ".join(seen.splitlines()[-1].split())
    assert last == f"interrupted: run the same command again to resume from '{checkpoint}'"
    assert call(*arguments).out == call(*arguments[:4]).out


def test_help_does_not_wait_for_numpy():
    script = "import sys, dcd.cli; dcd.cli.run(dcd.cli.dcd, ['discover', '--help']); print(*sys.modules)"
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, env=environment(), check=True
    )
    modules = set(answer.stdout.split())
    assert "dcd.cli" in modules
    assert not modules & {"numpy", "pandas", "scipy", "sklearn", "matplotlib", "rich.console"}
