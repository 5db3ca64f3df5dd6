"""Rows on disk: a CSV file per experiment, a line per (setting, method, seed), written when it is done.

A line is appended in one write and flushed to disk, so that a run killed at any point loses no finished work.
A truncated line is dropped when the file is opened for writing again.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, BinaryIO

import pandas as pd

from dcd.evaluation.metrics import Comparison
from dcd.runtime.errors import InputError
from experiments.plan import Task
from experiments.settings import Network, Setting, Simulated

try:
    import fcntl
except ImportError:  # Windows: no lock, so do not start the same experiment twice there
    fcntl = None  # type: ignore[assignment]

RESULTS = Path(__file__).parent / "results"

SETTING_FIELDS = tuple(dict.fromkeys(field.name for kind in (Network, Simulated) for field in fields(kind)))
KEY_FIELDS = (*SETTING_FIELDS, "method", "seed")
SCORES = tuple(field.name for field in fields(Comparison))
COLUMNS = (
    *KEY_FIELDS,
    *("status", "reason", *SCORES, "n_edges", "contradictory", "seconds", "peak_mb", "versions", "commit"),
)

Key = tuple[str, ...]


def key_of(task: Task) -> Key:
    """The key of the row of this task, as text in the file."""
    return (*setting_key(task.setting), task.method, str(task.seed))


def setting_key(setting: Setting) -> Key:
    """The setting's part of the key."""
    return tuple(str(value) for value in setting_values(setting).values())


def setting_values(setting: Setting) -> dict[str, Any]:
    """The setting's columns of a row; a field that it does not have stays empty."""
    values = asdict(setting)
    return {name: values.get(name, "") for name in SETTING_FIELDS}


def path_of(experiment: str, folder: Path = RESULTS) -> Path:
    """The file of an experiment's rows."""
    return folder / f"{experiment}.csv"


def read_rows(folder: Path = RESULTS) -> dict[Key, dict[str, str]]:
    """The rows of all experiments by key; settings that two experiments share are run once.

    Of two rows with the same key (a repeated failure), the one with a graph counts.
    """
    rows: dict[Key, dict[str, str]] = {}
    for path in sorted(folder.glob("*.csv")):
        text = whole_lines(path)
        _check_header(text, path, COLUMNS)
        for row in csv.DictReader(io.StringIO(text)):
            key = tuple(row[name] for name in KEY_FIELDS)
            if key not in rows or rows[key]["status"] != "ok":
                rows[key] = row
    return rows


def as_frame(rows: list[dict[str, str]]) -> pd.DataFrame:
    """Rows with their numbers as numbers."""
    frame = pd.DataFrame(rows, columns=COLUMNS)
    numeric = [*SCORES, "n_edges", "seconds", "peak_mb"]
    frame[numeric] = frame[numeric].apply(pd.to_numeric)
    return frame


def forget(keys: Collection[Key], folder: Path = RESULTS) -> None:
    """Remove rows from all files of a folder, replacing each file as a whole."""
    for path in sorted(folder.glob("*.csv")) if keys else ():
        with path.open("rb") as file:
            _lock(file, path)
            rows = list(csv.DictReader(io.StringIO(whole_lines(path))))
            kept = [row for row in rows if tuple(row[name] for name in KEY_FIELDS) not in keys]
            if len(kept) < len(rows):
                replace_rows(path, kept, COLUMNS)


def replace_rows(path: Path, rows: Sequence[dict[str, str]], columns: Sequence[str]) -> None:
    """Rewrite a file of rows in one step."""
    text = io.StringIO()
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    replacement = path.with_suffix(".new")
    replacement.write_text(text.getvalue(), encoding="utf-8", newline="")
    os.replace(replacement, path)


class Appender:
    """Appends rows to the file of one experiment."""

    def __init__(self, file: BinaryIO, columns: Sequence[str]) -> None:
        self._file, self._columns = file, columns

    def append(self, row: dict[str, Any]) -> None:
        """Write one line and flush it to disk."""
        text = io.StringIO()
        csv.DictWriter(text, self._columns, lineterminator="\n").writerow(row)
        self._file.write(text.getvalue().encode())
        self._file.flush()
        os.fsync(self._file.fileno())


@contextmanager
def appending(path: Path, columns: Sequence[str] = COLUMNS) -> Iterator[Appender]:
    """Open a file for appending rows; one process at a time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        _lock(file, path)
        text = whole_lines(path)
        _check_header(text, path, columns)
        file.truncate(len(text.encode()))
        if not text:
            file.write(",".join(columns).encode() + b"\n")
            file.flush()
        yield Appender(file, columns)


def _check_header(text: str, path: Path, columns: Sequence[str]) -> None:
    if text and text.splitlines()[0] != ",".join(columns):
        raise InputError(
            f"file {path.name}", "has other columns than rows have now", f"Move it out of {path.parent}."
        )


def _lock(file: BinaryIO, path: Path) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(
            f"file {path.name}", "is being written by another run", "Wait for it or stop it."
        ) from None


def whole_lines(path: Path) -> str:
    """The text up to the last line end."""
    text = path.read_bytes()
    return text[: text.rfind(b"\n") + 1].decode()
