"""Files of text, written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dcd.validation import InputError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write beside the target first, then put it in its place: nobody ever sees half a file."""
    target = Path(path)
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name[:40]}-", suffix=".tmp")
    except OSError as error:
        raise _no_file(target, error, "Choose a folder that exists and can be written to.") from error
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, _usual_mode())
        os.replace(temporary, target)
    except OSError as error:
        Path(temporary).unlink(missing_ok=True)
        raise _no_file(target, error, "Choose another path, of a file and not of a folder.") from error
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise _no_file(Path(path), error, "Check the path.") from error


def _no_file(path: Path, error: OSError, remedy: str) -> InputError:
    return InputError(f"file {str(path)!r}", error.strerror or str(error), remedy)


def _usual_mode() -> int:
    """The mode that a new file gets; temporary files are private by default."""
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
