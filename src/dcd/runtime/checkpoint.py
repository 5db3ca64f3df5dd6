"""Checkpoints: a line that describes the run, then one JSON line for each finished task.

A file is rejected unless its description matches the run, so results of different data or parameters never
mix. Every line is flushed to disk before the next task counts; a line that was cut off by a crash is dropped
and its task repeated. One file can hold several kinds of work on the same table (a fit and its resamples),
each with its own description. A checkpoint is data: reading it runs no code.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Self

import msgspec

from dcd.runtime.errors import InputError
from dcd.runtime.files import is_special, locked

_KIND = "dcd checkpoint"
_FORMAT = 3
_LISTED = 12  # differences shown; a file can have any number
_OPENING = b'{"kind": "' + _KIND.encode() + b'"'  # of every header

Key = int | tuple[int, ...]
_Index = Annotated[int, msgspec.Meta(ge=0)]


class _Piece(msgspec.Struct, forbid_unknown_fields=True):
    """A line with a finished task."""

    stage: str
    key: _Index | tuple[_Index, ...]
    result: Any


@dataclass(frozen=True)
class Codec:
    """How the results of one stage become JSON values, and back.

    `read` takes the key and the value that `write` made; it raises `ValueError`, `TypeError` or `KeyError`
    for a value that `write` cannot have made.
    """

    write: Callable[[Any], Any]
    read: Callable[[Key, Any], Any]


@dataclass(frozen=True)
class Description:
    """Everything that the results depend on, as JSON values; an error names the entries that differ.

    Attributes
    ----------
    work : the kind of work.
    shared : entries that all work in one file must have in common.
    own : entries of this work alone.
    """

    work: str
    shared: Mapping[str, Any]
    own: Mapping[str, Any]

    def header(self) -> dict[str, Any]:
        """The header line of this work in the file."""
        return {"kind": _KIND, "format": _FORMAT, **vars(self)}


class Checkpoint:
    """The finished tasks of some work, by stage and key, in the file `path`, which is created if needed.

    `codecs` has the stages of this work; lines of other work in the same file are ignored. The file is
    locked against other processes until the end of the `with` block.
    """

    def __init__(
        self, path: str | os.PathLike[str], description: Description, codecs: Mapping[str, Codec]
    ) -> None:
        if not isinstance(path, (str, os.PathLike)):
            problem = f"must be None or the path of a file, got {path!r}"
            raise InputError("parameter 'checkpoint'", problem, "Try checkpoint='run.dcd'.")
        self.path = Path(path)
        self._codecs = codecs
        self.done: dict[tuple[str, Key], Any] = {}
        # The functions of os.path accept any text, even if no system accepts it as a name.
        is_folder, in_folder = os.path.isdir(path), os.path.isdir(self.path.absolute().parent)
        if is_folder or not in_folder or is_special(self.path):
            raise self._refusal("no file can be created there", "Name a file in a folder that exists.")
        with contextlib.ExitStack() as undone:
            self._file = undone.enter_context(self._opened())
            if not locked(self._file):
                raise self._refusal("is in use by another run", "Wait for that run, or name another file.")
            self._read(description)
            self._closing = undone.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closing.close()

    def add(self, stage: str, key: Key, result: Any) -> None:
        """Store a result; it is on disk when this returns."""
        self._append({"stage": stage, "key": key, "result": self._codecs[stage].write(result)})

    def _opened(self) -> Any:
        try:
            return self.path.open("ab", buffering=0)
        except (OSError, ValueError) as error:
            problem = f"cannot be written ({getattr(error, 'strerror', None) or error})"
            raise self._refusal(problem, "Name another file.") from error

    def _append(self, record: Mapping[str, Any]) -> None:
        try:
            line = _line(record)
            while line:
                line = line[self._file.write(line) :]
            os.fsync(self._file.fileno())
        except OSError as error:
            problem = f"cannot be written ({error.strerror}); the lines in it are safe"
            raise self._refusal(problem, "Free disk space, and resume.") from error

    def _read(self, description: Description) -> None:
        """Read the tasks of this work, drop a line that was cut off, and add a header if there is none."""
        end, has_header = 0, False
        for number, line in enumerate(self._lines(), start=1):
            record = _parsed(line)
            if number == 1 and record.get("kind") != _KIND:
                raise self._no_checkpoint()
            if "kind" in record:
                has_header |= self._is_ours(record, description)
            else:
                self._keep(record, number)
            end += len(line)
        self._file.truncate(end)
        if not has_header:
            self._append(description.header())

    def _lines(self) -> Iterator[bytes]:
        """The complete lines; a last line without a line break was cut off."""
        with self.path.open("rb") as file:
            for number, line in enumerate(file):
                if line.endswith(b"\n"):
                    yield line
                elif number == 0 and line[: len(_OPENING)] != _OPENING[: len(line)]:
                    raise self._no_checkpoint()

    def _is_ours(self, header: Mapping[str, Any], description: Description) -> bool:
        """Whether a header belongs to this work; raises `InputError` if it is from another run."""
        expected = json.loads(_line(description.header()))
        compared = ["shared"] if header.get("work") != description.work else ["shared", "own"]
        if header.get("format") != _FORMAT:
            changes = [_change("format", header.get("format"), _FORMAT)]
        else:
            pairs = [(_mapping(header.get(part)), expected[part]) for part in compared]
            changes = [
                _change(entry, was.get(entry), now.get(entry))
                for was, now in pairs
                for entry in {**now, **was}
                if was.get(entry) != now.get(entry)
            ]
        if changes:
            more = f"; and {len(changes) - _LISTED} more" if len(changes) > _LISTED else ""
            problem = f"belongs to another run: {'; '.join(changes[:_LISTED])}{more}"
            remedy = "Name another file, or run with the data and parameters of this one."
            raise self._refusal(problem, remedy)
        return header.get("work") == description.work

    def _keep(self, record: Mapping[str, Any], number: int) -> None:
        try:
            piece = msgspec.convert(record, _Piece)
            if piece.stage in self._codecs:
                result = self._codecs[piece.stage].read(piece.key, piece.result)
                self.done[piece.stage, piece.key] = result
        except (msgspec.ValidationError, ValueError, TypeError, KeyError) as error:
            remedy = "Remove that line, or the file."
            raise self._refusal(f"line {number} is damaged", remedy) from error

    def _no_checkpoint(self) -> InputError:
        return self._refusal("is not a checkpoint", "Name another file; this one is left unchanged.")

    def _refusal(self, problem: str, remedy: str) -> InputError:
        return InputError(f"checkpoint {str(self.path)!r}", problem, remedy)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any]:
    """The record of a line; empty if it is damaged."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def _change(entry: str, was: Any, now: Any) -> str:
    """How an entry changed; a file can set its name and value to anything."""
    shown = (entry if entry.isprintable() else repr(entry), repr(was), repr(now))
    name, old, new = (text if len(text) <= 60 else text[:57] + "..." for text in shown)
    return f"{name} was {old}, is {new}"
