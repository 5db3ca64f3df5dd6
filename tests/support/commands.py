"""Tables, a terminal and a pipe for tests of the command line."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dcd

try:
    import termios
except ImportError:  # Windows
    termios = None


ROOT = Path(__file__).parents[2]

EVIL = "\x1b[31mred\x1b]0;title\x07"

MARKUP = "[red]x[/red]"

ESCAPES = re.compile(r"\x1b|\x07|\x9b")

needs_terminal = pytest.mark.skipif(termios is None, reason="needs pseudo-terminals")


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
    """A command in a pseudo-terminal that receives both of its outputs; it ends with the block."""

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

    def read_until(self, pattern=None, limit=60):
        """Its output up to a pattern or, without one, to its end."""
        end = time.monotonic() + limit
        while time.monotonic() < end and (pattern is None or not re.search(pattern, self.seen)):
            if not select.select([self.ours], [], [], 0.1)[0]:
                continue
            try:
                piece = os.read(self.ours, 65536)
            except OSError:  # how Linux reports that the other end is closed
                break
            if not piece:
                break
            self.seen += piece.decode(errors="replace")
        return self.seen

    def read_to_end(self):
        """All its output, and its exit code."""
        seen = self.read_until()
        return seen, self.process.wait(timeout=60)


def random_graphs(seed, n_graphs=4, d=6):
    rng = np.random.default_rng(seed)
    names = tuple("abcdef"[:d])
    graphs = {}
    for index in range(n_graphs):
        order = rng.permutation(d)
        dag = np.triu(rng.random((d, d)) < 0.4, k=1)[np.ix_(order, order)].astype(int)
        graphs[f"m{index}"] = dcd.CPDAG.from_dag(names, dag)
    return graphs
