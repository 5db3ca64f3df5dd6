"""Random failures while files are written."""

from __future__ import annotations

import contextlib
import errno
import os
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from unittest import mock

import dcd
from benchmarks.fuzz import Try, WrongAnswerError
from dcd.runtime import files


def writing(r: random.Random, folder: Path) -> Iterator[Try]:
    """Files are complete or unchanged, whichever step of writing fails."""
    steps = ["fsync", "replace", "chmod", "open", "mkstemp", ""]
    while True:
        target = folder / "target.txt"
        target.unlink(missing_ok=True)
        kind = r.choice(["file", "none", "link", "dangling", "folder", "pipe"])
        step, number = r.choice(steps), r.choice([errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES])
        yield (
            f"writing: {kind}, {step} {os.strerror(number)}",
            partial(_write, folder, kind=kind, step=step, number=number),
        )


def _write(folder: Path, *, kind: str, step: str, number: int) -> None:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        target, old = Path(place, "target.txt"), Path(place, "old.txt")
        old.write_text("old")
        if kind == "file":
            target.write_text("old")
        elif kind in ("link", "dangling"):
            target.symlink_to(old if kind == "link" else Path(place, "nowhere.txt"))
        elif kind == "folder":
            target.mkdir()
        elif kind == "pipe":
            os.mkfifo(target)
            return
        with _failing(step, number) as failed, contextlib.suppress(dcd.InputError):
            files.write_text(target, "new")
        if target.is_file() and target.read_text() not in ("old", "new"):
            raise WrongAnswerError("half a file")
        if Path(place, "nowhere.txt").exists():
            raise WrongAnswerError("a file elsewhere")
        beside = {path.name for path in Path(place).iterdir()} - {"target.txt", "old.txt"}
        if beside and not failed:
            raise WrongAnswerError(f"left behind: {beside}")


@contextlib.contextmanager
def _failing(step: str, number: int) -> Iterator[list[str]]:
    failed: list[str] = []

    def fail(*_: object, **__: object) -> None:
        failed.append(step)
        raise OSError(number, os.strerror(number))

    places = {
        "fsync": (os, "fsync"),
        "replace": (Path, "replace"),
        "chmod": (Path, "chmod"),
        "mkstemp": (tempfile, "mkstemp"),
    }
    if step not in places:
        yield failed
        return
    with mock.patch.object(*places[step], fail):
        yield failed
