"""Output files of a command: checked before the work, written completely or not at all."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from dcd.cli.terminal import remark
from dcd.runtime.errors import InputError
from dcd.runtime.files import is_special, whole_file

_CHUNK = 16384  # characters: unbuffered, Python may silently lose the end of a large text


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str | None] = ()) -> None:
    """Raise `InputError` if a file cannot be written, or would replace an input or another output.

    `outputs` are files by option; None is an unused option, "-" standard output.
    """
    files = {option: Path(path) for option, path in outputs.items() if path not in (None, "-")}
    read = {os.path.realpath(path) for path in inputs if path not in (None, "-")}
    written: dict[str, str] = {}
    for option, path in files.items():
        resolved = os.path.realpath(path)
        subject, folder = f"option {option}, file '{path}'", Path(resolved).parent
        special = is_special(path)  # such as /dev/null or a pipe: written to in place
        if not special and not folder.is_dir():
            raise InputError(
                subject, f"the folder '{folder}' does not exist", "Create it first, or choose another."
            )
        if path.is_dir():
            raise InputError(subject, "is a folder", "Name a file in it.")
        replaceable = special or os.access(folder, os.W_OK | os.X_OK)
        if not replaceable or (path.exists() and not os.access(path, os.W_OK)):
            raise InputError(subject, "cannot be written", "Check the permissions, or choose another folder.")
        if resolved in read:
            raise InputError(subject, "is read by this command", "Choose another name, or it would be lost.")
        if resolved in written and not special:
            problem = f"is also written by {written[resolved]}"
            raise InputError(subject, problem, "Choose two different names.")
        written[resolved] = option
    on_standard_output = [option for option, path in outputs.items() if path == "-"]
    if len(on_standard_output) > 1:
        subject = f"options {' and '.join(on_standard_output)}"
        raise InputError(subject, "cannot both write to standard output", "Give one of them a file.")


def write_text(path: str, text: str) -> None:
    """Write text to a file or, for "-", to standard output."""
    if path == "-":
        text = text if text.endswith("\n") else text + "\n"
        for start in range(0, len(text), _CHUNK):
            sys.stdout.write(text[start : start + _CHUNK])
        sys.stdout.flush()
        return
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    remark("wrote", path)


def write_json(path: str | None, answer: object) -> None:
    """Write the answer of a command as JSON, if a file was named for it."""
    if path is not None:
        write_text(path, json.dumps(answer, indent=1))


def check_plot(path: str | None) -> None:
    """Raise an error if a plot cannot be drawn."""
    from importlib.util import find_spec

    if path is None:
        return
    if find_spec("matplotlib") is None:
        raise click.UsageError("--plot needs matplotlib: pip install 'causal-dcd[plot]'.")
    if Path(path).suffix.lower() not in (".png", ".svg", ".pdf"):
        raise click.UsageError(f"--plot draws .png, .svg or .pdf, not {path!r}.")


def draw(what: Any, path: str) -> None:
    """Write the plot of a model or an effect."""
    import matplotlib

    matplotlib.use("Agg")
    figure: Any = what.plot().figure
    with whole_file(path) as temporary:
        figure.savefig(temporary)
    remark("wrote", path)
