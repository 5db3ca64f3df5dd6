"""Files that a command writes: refused before the work if they cannot be, whole or not there after it."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dcd.cli.terminal import remark
from dcd.runtime.files import is_special, whole_file

_PIECE = 16384


def check_outputs(outputs: Mapping[str, str | None], inputs: Sequence[str | None] = ()) -> None:
    """Raise `InputError` if a file cannot be written, or would replace an input or another output.

    `outputs` are files by option; None is an option that was not given, "-" standard output.
    """
    from dcd.runtime.errors import InputError

    files = {option: Path(path) for option, path in outputs.items() if path not in (None, "-")}
    read = {_place(Path(path)) for path in inputs if path not in (None, "-")}
    written: dict[Path, str] = {}
    for option, path in files.items():
        subject, folder = f"option {option}, file '{path}'", _place(path).parent
        special = is_special(path)  # such as /dev/null or a pipe: written to where it is
        if not special and not folder.is_dir():
            raise InputError(subject, f"there is no folder '{folder}'", "Make it first, or choose another.")
        if path.is_dir():
            raise InputError(subject, "is a folder", "Name a file in it.")
        replaceable = special or os.access(folder, os.W_OK | os.X_OK)
        if not replaceable or (path.exists() and not os.access(path, os.W_OK)):
            raise InputError(subject, "cannot be written", "Check the permissions, or choose another folder.")
        if _place(path) in read:
            raise InputError(subject, "is read by this command", "Choose another name, or it would be lost.")
        if _place(path) in written and not special:
            raise InputError(
                subject, f"is also written by {written[_place(path)]}", "Choose two different names."
            )
        written[_place(path)] = option
    on_standard_output = [option for option, path in outputs.items() if path == "-"]
    if len(on_standard_output) > 1:
        raise InputError(
            f"options {' and '.join(on_standard_output)}",
            "cannot both write to standard output",
            "Give one of them a file.",
        )


def _place(path: Path) -> Path:
    return Path(os.path.realpath(path))


def write_text(path: str, text: str) -> None:
    """Text to a file or, for "-", to standard output; says where it went."""
    if path == "-":
        _write_out(text if text.endswith("\n") else text + "\n")
        return
    with whole_file(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="")
    wrote(path)


def _write_out(text: str) -> None:
    """Text to standard output, in pieces: of a large one Python, unbuffered, may lose the end in silence."""
    for start in range(0, len(text), _PIECE):
        sys.stdout.write(text[start : start + _PIECE])
    sys.stdout.flush()


def wrote(path: str) -> None:
    """Tell of a file that was written."""
    remark("wrote", path)
