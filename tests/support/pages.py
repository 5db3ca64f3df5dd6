"""The pages of the documentation as programs: their blocks run in order, in one folder and one namespace.

| block | what has to hold |
|---|---|
| python | it runs |
| text, right after python | the Python block printed it, apart from spaces and line breaks |
| console | each `$ command` prints what stands below it |
| sh | a line that begins with `dcd` succeeds; other lines (installation, make) are for the reader |
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import NamedTuple

from dcd.cli import dcd as commands
from dcd.cli import run

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]

_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1``` *$", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)


class Block(NamedTuple):
    """A fenced block; `follows` means that only white space separates it from the block before."""

    language: str
    code: str
    follows: bool


class MissingPackageError(Exception):
    """A page needs a package that is not installed; the rest of the page did not run."""


def blocks_of(page):
    text, end = page.read_text(encoding="utf-8"), 0
    for fence in _FENCE.finditer(text):
        yield Block(fence[2], textwrap.dedent(fence[3]), not text[end : fence.start()].strip())
        end = fence.end()


def run_page(page, *, optional=()):
    """Run a page in the current folder; returns its namespace and the output of its Python blocks.

    A package of `optional` that is missing raises `MissingPackageError`.
    """
    namespace, everything, printed = {"__name__": "__main__"}, [], ""
    for block in blocks_of(page):
        if block.language == "python":
            printed = _run_python(block.code, page, namespace, optional)
            everything.append(printed)
        elif block.language == "text" and block.follows:
            assert _words(block.code) in _words(printed), f"{page.name} shows\n{block.code}\nbut\n{printed}"
        elif block.language == "console":
            for command, shown in _COMMAND.findall(block.code):
                _, answer = run_command(command)
                assert answer.rstrip() == shown.rstrip(), f"{page.name}: {command}"
        elif block.language == "sh":
            for command in re.sub(r"\\\n\s*", "", block.code).splitlines():
                if command.startswith("dcd "):
                    code, answer = run_command(command)
                    assert code == 0, f"{page.name}: {command}\n{answer}"
    return namespace, "".join(everything)


def run_command(command):
    """Exit code and output of a line of the shell; a plain `dcd ...` runs in this process, to save time."""
    words = shlex.split(command, comments=True)
    if words[0] == "dcd" and not re.search(r"[|<>&;$*`]", re.sub(r"'[^']*'", "", command)):
        output = io.StringIO()
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            code = run(commands, words[1:])
        return code, output.getvalue()
    program = f'dcd() {{ "{sys.executable}" -m dcd "$@"; }}\n{command}'
    path = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    quiet = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    answer = subprocess.run(
        ["bash", "-c", program], env={**quiet, "PYTHONPATH": path}, text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    return answer.returncode, answer.stdout


def _run_python(code, page, namespace, optional):
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        try:
            exec(compile(code, str(page), "exec"), namespace)
        except ModuleNotFoundError as error:
            if error.name not in optional:
                raise
            raise MissingPackageError(error.name) from error
    return output.getvalue()


def _words(text):
    return " ".join(text.split())
