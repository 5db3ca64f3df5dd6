"""Files are read up to a maximum size, and written completely or not at all.

A link stays a link and points to the new file, a file keeps its permissions, and anything but a regular file
(a device, a pipe) is written to, never replaced.
"""

from __future__ import annotations

import contextlib
import difflib
import errno
import io
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from dcd.runtime.errors import InputError

MOST_TEXT = 2**28  # bytes of a document; results of a thousand variables have some 2**25
MOST_TABLE = 2**31  # bytes of a table that is read at once, which takes several times as much memory
_CHUNK = 2**20


@contextlib.contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file to write to, which replaces `path` on success and is removed otherwise.

    Raises `InputError` if the file cannot be written: a full disk, a folder, a broken link.
    """
    check_path(path)
    special = is_special(path)
    with _writing(path):
        if os.path.islink(path) and not os.path.exists(path):
            raise OSError(errno.ELOOP, f"it is a link to '{os.readlink(path)}', which does not exist")
        if os.path.isdir(path) or os.fspath(path).endswith(os.sep):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
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


_REMEDIES = {
    errno.ENOSPC: "Free space on that disk, or choose another; an existing file is unchanged.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f), or choose another disk.",
    errno.ELOOP: "Remove the link, or choose another file.",
    errno.ENAMETOOLONG: "Choose a shorter name.",
    errno.EDQUOT: "Free space within your quota, or choose another disk; an existing file is unchanged.",
}


@contextlib.contextmanager
def _writing(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn an `OSError` into an `InputError` with the file and the remedy; a closed pipe is passed on."""
    try:
        yield
    except OSError as error:
        if error.errno is None or isinstance(error, BrokenPipeError):
            raise
        usual = "Choose a file, not a folder, in a folder that exists and can be written to."
        problem = f"cannot be written ({error.strerror or error})"
        raise InputError(f"file {str(Path(path))!r}", problem, _REMEDIES.get(error.errno, usual)) from error


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write text to a file, completely or not at all; raises `InputError` if that is not possible."""
    with whole_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def check_path(path: object) -> None:
    """Raise `InputError` unless it can be the path of a file."""
    problem = None
    try:
        text = os.fspath(path) if isinstance(path, (str, os.PathLike)) else b""
        if not isinstance(text, str) or not text:
            problem = f"must be the path of a file, got {path!r:.80}"
        elif "\0" in text:
            problem = "has a zero byte"
        else:
            os.fsencode(text)
    except UnicodeEncodeError as error:
        problem = f"cannot be the name of a file ({error})"
    if problem is not None:
        raise InputError("parameter 'path'", problem, "Name a file, such as 'result.json'.")


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a document (a result, a graph, knowledge); raises `InputError` if it cannot be read."""
    check_path(path)
    content = read_bytes(path, f"file {str(Path(path))!r}", most=MOST_TEXT)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"is not UTF-8 (byte {error.start + 1})"
        raise InputError(f"file {str(Path(path))!r}", problem, "Save it as UTF-8.") from error


def read_bytes(path: str | os.PathLike[str], label: str, *, most: int, start: int | None = None) -> bytes:
    """The bytes of a regular file of at most `most` bytes, or the first few of any regular file.

    Devices and pipes are rejected before they are opened: some never end, others never begin.
    """
    remedy = "Save it as a file first; a table can come from standard input, under the name '-'."
    try:
        found = os.stat(path)
        if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
            raise InputError(label, "is a device, a pipe or a socket, not a file", remedy)
        if stat.S_ISREG(found.st_mode) and not found.st_size and not _is_empty(path):
            raise InputError(label, "is a file of the system without a known size", remedy)
        with open(path, "rb") as file:
            return file.read(start) if start is not None else bounded(file, label, most)
    except FileNotFoundError:
        folder, name = os.path.split(os.fspath(path))
        beside = os.listdir(folder or ".") if os.path.isdir(folder or ".") else []
        near = difflib.get_close_matches(name, beside, n=1, cutoff=0.75)
        remedy = (
            f"Did you mean '{os.path.join(folder, near[0])}'?" if near else "Check the name and the folder."
        )
        raise InputError(label, "does not exist", remedy) from None
    except IsADirectoryError:
        raise InputError(label, "is a folder", "Name a file in it.") from None
    except OSError as error:
        raise InputError(label, f"cannot be read ({error.strerror})", "Check its permissions.") from error
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        # a zero byte in the name
        raise InputError(label, f"cannot be read ({error})", "Check the name.") from error


def _is_empty(path: str | os.PathLike[str]) -> bool:
    """Whether a file of size 0 has no bytes; files of the kernel have some, and may never deliver them."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        return not os.read(handle, 1)
    except OSError:  # nothing to read yet, or not byte by byte
        return False
    finally:
        os.close(handle)


def bounded(stream: Any, label: str, most: int) -> bytes:
    """All bytes of a stream; stops reading and raises `InputError` if there are more than `most`."""
    content = io.BytesIO()
    while chunk := stream.read(_CHUNK):
        content.write(chunk)
        if content.tell() > most:
            problem = f"is larger than {most // 2**20:,} MiB (uncompressed)"
            remedy = (
                "Use a smaller file; a larger table can be read column by column from a Parquet, Arrow or "
                "NumPy file."
            )
            raise InputError(label, problem, remedy)
    return content.getvalue()


def is_special(path: str | os.PathLike[str]) -> bool:
    """Whether this name exists and is neither a regular file nor a folder."""
    try:
        mode = os.stat(path).st_mode
    except (OSError, ValueError):
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _put(temporary: Path, target: Path) -> None:
    temporary.chmod(stat.S_IMODE(target.stat().st_mode) & 0o777 if target.exists() else _new_mode(temporary))
    _to_disk(temporary)
    temporary.replace(target)
    if hasattr(os, "O_DIRECTORY"):  # if a folder can be opened, its new entry is flushed too
        _to_disk(target.parent)


def _to_disk(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno != errno.EINVAL:  # some file systems cannot
            raise
    finally:
        os.close(handle)


def _new_mode(beside: Path) -> int:
    """The permissions of a new file; read from one, because querying the mask would change it."""
    probe = beside.with_name(f"{beside.name}.new")
    os.close(os.open(probe, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
    try:
        return stat.S_IMODE(probe.stat().st_mode)
    finally:
        probe.unlink()


def _pour(temporary: Path, target: str | os.PathLike[str]) -> None:
    # Neither created nor truncated: a pipe whose reader has gone must not become a file.
    with temporary.open("rb") as source, os.fdopen(os.open(target, os.O_WRONLY), "wb") as sink:
        shutil.copyfileobj(source, sink)


def locked(file: IO[bytes]) -> bool:
    """Lock an open file against other processes until it is closed; False if one of them holds the lock.

    The lock ends with the process, however that ends. A file system without locks counts as unlocked.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            file.seek(2**40)  # far beyond the end, because Windows lets nobody read a locked region
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
    return True
