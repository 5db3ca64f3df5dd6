"""Files of text, written whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from dcd.runtime.errors import InputError
from dcd.runtime.files import whole_file


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write to a file, whole or not at all; an `InputError` if it cannot be."""
    try:
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        remedy = "Choose a file, not a folder, in a folder that exists and can be written to."
        raise _no_file(Path(path), error, remedy) from error


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise _no_file(Path(path), error, "Check the path.") from error


def _no_file(path: Path, error: OSError, remedy: str) -> InputError:
    return InputError(f"file {str(path)!r}", error.strerror or str(error), remedy)
