"""The format and content of files, unpacked.

Files in formats that can be read in parts are passed on as paths, so that they can be larger than memory.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dcd.runtime.errors import InputError, check_choice
from dcd.runtime.files import MOST_TABLE, bounded, read_bytes
from dcd.table.formats.base import FORMATS

_BY_SUFFIX = {suffix: name for name, file_format in FORMATS.items() for suffix in file_format.suffixes}
_START = 4096  # bytes that identify a format
_UNPACK: dict[str, Callable[[io.BytesIO], Any]] = {
    ".gz": lambda packed: gzip.GzipFile(fileobj=packed),
    ".bz2": bz2.BZ2File,
    ".xz": lzma.LZMAFile,
}


def format_and_content(path: str | Path, label: str, chosen: str | None) -> tuple[str, bytes | Path]:
    """The format of a file, and its content unpacked, or its path if it is read in parts."""
    if chosen is not None:
        check_choice("format", chosen, tuple(FORMATS))
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError(label, "is closed", "Pipe a table into it, or name a file.")
        content = bounded(sys.stdin.buffer, label, MOST_TABLE)
        return _checked_format(content, [".csv"], label, chosen), content
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _UNPACK
    likely = _format_name(suffixes, chosen)
    in_parts = likely is not None and FORMATS[likely].in_parts
    if in_parts and not packed and os.path.isfile(path):  # isfile accepts any text
        start = read_bytes(path, label, most=MOST_TABLE, start=_START)
        return _checked_format(start, suffixes, label, chosen), Path(path)
    if os.path.isdir(path):
        remedy = "Name a file in it; in Python, fit takes all of them as pyarrow.dataset.dataset(folder)."
        raise InputError(label, "is a folder", remedy)
    content = read_bytes(path, label, most=MOST_TABLE)
    if packed:
        try:
            content = bounded(_UNPACK[suffixes.pop()](io.BytesIO(content)), label, MOST_TABLE)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            problem = f"cannot be unpacked ({error})"
            raise InputError(label, problem, "It may be truncated: copy it again.") from error
    return _checked_format(content, suffixes, label, chosen), content


def _format_name(suffixes: list[str], chosen: str | None) -> str | None:
    return chosen or _BY_SUFFIX.get(suffixes[-1] if suffixes else "")


def _checked_format(content: bytes, suffixes: list[str], label: str, chosen: str | None) -> str:
    """The format, checked against the start of the content."""
    name = _format_name(suffixes, chosen)
    if name is None:
        problem = f"has an unknown extension ({''.join(suffixes) or 'none'})"
        known = f"{', '.join(_BY_SUFFIX)}, or set format='csv' or another of {', '.join(FORMATS)}"
        raise InputError(label, problem, f"Use one of {known}.")
    if not content.strip():
        raise InputError(label, "is empty", "Check that it was written completely.")
    is_text = b"\0" not in content  # a column of a CSV file may be called PAR1
    signed = [other for other, known in FORMATS.items() if content.startswith(known.signatures or b"\0\0")]
    if signed and signed != [name] and not is_text:
        raise InputError(label, f"is read as {name} but holds {signed[0]}", f"Set format={signed[0]!r}.")
    return name


def decode(content: bytes, label: str, encoding: str | None) -> str:
    """Bytes as text; raises `InputError` with the line of the first invalid byte."""
    marked = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    remedy = "Save it as UTF-8, or set its encoding, such as encoding='latin-1'."
    try:
        text = content.decode(encoding or marked)
    except LookupError:
        problem = f"must be a known encoding, got {encoding!r}"
        raise InputError("parameter 'encoding'", problem, "Try 'latin-1'.") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = f"byte 0x{content[error.start]:02x} is not {encoding or 'UTF-8'}"
        raise InputError(f"{label}, line {line}", problem, remedy) from error
    except UnicodeError:  # from codecs without positions
        raise InputError(label, f"is not {encoding}", remedy) from None
    before, zero_byte, _ = text.partition("\0")
    if zero_byte:
        line = before.count("\n") + 1
        remedy = "Set its format, such as format='parquet'."
        raise InputError(f"{label}, line {line}", "has a zero byte, so it is not text", remedy)
    return text


def require(module: str, label: str, format_name: str, extra: str) -> None:
    """Raise `InputError` if the library that reads a format is not installed."""
    if find_spec(module) is None:
        remedy = f"pip install 'causal-dcd[{extra}]', or save it as CSV."
        raise InputError(label, f"{format_name} files need {module}", remedy)
