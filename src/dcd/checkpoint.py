"""Work that survives its process: one JSON line for each finished piece, in a file that says whose it is.

The first line describes the run. Going on with a file is refused unless the description is the same, so that
results of different data or parameters never mix. Every line is on the disk before the next piece counts; a
line that was cut off by a crash is dropped and its piece done again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dcd.files import whole_file
from dcd.validation import InputError

_KIND = "dcd checkpoint"
_FORMAT = 1


class Checkpoint:
    """The finished pieces of a run, by index, in the file `path`.

    Parameters
    ----------
    path : the file; made if it is not there or empty.
    run : what the results depend on, as JSON values. An entry that differs from the one in the file is named
        in the refusal.
    is_result : whether a line of the file can be the result of a piece; one that cannot is refused.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        run: Mapping[str, Any],
        is_result: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self._path = Path(path)
        self._is_result = is_result
        self._header = {"kind": _KIND, "format": _FORMAT, **run}
        self.done: dict[int, dict[str, Any]] = {}
        if self._path.is_dir() or not self._path.absolute().parent.is_dir():
            raise self._refusal("no file can be made there", "Name a file in a folder that exists.")
        if self._path.exists() and self._path.stat().st_size:
            self._read()
        else:
            self._start()

    def add(self, index: int, result: Mapping[str, Any]) -> None:
        """Keep a result; it is on the disk when this returns."""
        line = _line({"index": index, **result})
        with self._path.open("ab") as file:
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
        self.done[index] = json.loads(line)

    def _start(self) -> None:
        # Under its name there is a whole header or no file: a crash cannot leave half of one.
        with whole_file(self._path) as temporary:
            temporary.write_bytes(_line(self._header))

    def _read(self) -> None:
        content = self._path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        header, *lines = whole.splitlines() or [b""]
        self._check_header(header)
        for number, line in enumerate(lines, start=2):
            record = _parsed(line)
            if record is None or not _is_index(record.get("index")) or not self._is_result(record):
                raise self._refusal(f"line {number} is damaged", "Remove that line, or the file.")
            self.done[record["index"]] = record
        if len(whole) < len(content):
            os.truncate(self._path, len(whole))

    def _check_header(self, line: bytes) -> None:
        found = _parsed(line)
        if found is None or found.get("kind") != _KIND:
            raise self._refusal("is no checkpoint", "Name another file: this one is left as it is.")
        expected = json.loads(_line(self._header))
        differing = [key for key in {**expected, **found} if expected.get(key) != found.get(key)]
        if differing:
            changes = "; ".join(
                f"{key} was {_shown(found.get(key))}, is {_shown(expected.get(key))}" for key in differing
            )
            raise self._refusal(
                f"belongs to another run: {changes}", "Name another file, or run with what this one is of."
            )

    def _refusal(self, problem: str, remedy: str) -> InputError:
        return InputError(f"checkpoint {str(self._path)!r}", problem, remedy)


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _line(record: Mapping[str, Any]) -> bytes:
    return json.dumps(record).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
