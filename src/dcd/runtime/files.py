"""Files written whole or not at all: the one way in which this package replaces a file.

A link stays a link and leads to the new file, a file keeps its permissions, and anything but a regular file
(a device, a pipe) is written to, never replaced.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from dcd.runtime.errors import InputError


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, which takes the place of `path` if all goes well and goes if not."""
    special = is_special(path)
    target = Path(os.path.realpath(path))
    folder = None if special else target.parent
    handle, name = tempfile.mkstemp(prefix=f".{target.stem[:40]}-", suffix=Path(path).suffix, dir=folder)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        if special:
            _pour(temporary, path)
        else:
            _put(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text to a file, whole or not at all; an `InputError` if that is not possible."""
    try:
        with whole_file(path) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        remedy = "Choose a file, not a folder, in a folder that exists and can be written to."
        raise InputError(f"file {str(Path(path))!r}", error.strerror or str(error), remedy) from error


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a file; an `InputError` if there is none to read."""
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        subject, problem = f"file {str(Path(path))!r}", error.strerror or str(error)
        raise InputError(subject, problem, "Check the path.") from error


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether there is something under this name that is neither a regular file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _put(temporary: Path, target: Path) -> None:
    with temporary.open("rb+") as file:
        os.fsync(file.fileno())
    temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else 0o666 & ~_umask())
    temporary.replace(target)


def _pour(temporary: Path, target: str | os.PathLike[str]) -> None:
    # Neither made anew nor cut to length: a pipe whose reader has gone must not become a file.
    with temporary.open("rb") as source, os.fdopen(os.open(target, os.O_WRONLY), "wb") as sink:
        shutil.copyfileobj(source, sink)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def locked(file: IO[bytes]) -> bool:
    """Keep other processes from locking an open file until it is closed; False if one of them has it.

    The lock ends with the process, however that ends. A file system without locks counts as free.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(2**40)  # far behind the end, for Windows lets nobody read what is locked
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True
