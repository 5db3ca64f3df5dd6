"""The format and content of files, unpacked.

Files in formats that can be read in parts stay paths, so that they can be larger than memory.
"""

from __future__ import annotations

import bz2
import difflib
import gzip
import lzma
import os
import sys
import zlib
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

from dcd.runtime.errors import InputError, check_choice
from dcd.table.formats.base import FORMATS

_BY_SUFFIX = {suffix: name for name, file_format in FORMATS.items() for suffix in file_format.suffixes}
_START = 4096  # bytes that identify a format
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}


def format_and_content(path: str | Path, label: str, chosen: str | None) -> tuple[str, bytes | Path]:
    """The format of a file, and its content unpacked, or its path if it is read in parts."""
    if chosen is not None:
        check_choice("format", chosen, tuple(FORMATS))
    if str(path) == "-":
        if sys.stdin is None:
            raise InputError(label, "is closed", "Send a table there, or name a file.")
        content = sys.stdin.buffer.read()
        return _checked_format(content, [".csv"], label, chosen), content
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    packed = bool(suffixes) and suffixes[-1] in _UNPACK
    likely = _format_name(suffixes, chosen)
    in_parts = likely is not None and FORMATS[likely].in_parts
    if in_parts and not packed and os.path.isfile(path):  # which takes any text
        start = _bytes_of(Path(path), label, most=_START)
        return _checked_format(start, suffixes, label, chosen), Path(path)
    content = _bytes_of(Path(path), label)
    if packed:
        try:
            content = _UNPACK[suffixes.pop()](content)
        except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
            problem = f"cannot be unpacked ({error})"
            raise InputError(label, problem, "It may be cut short: copy it again.") from error
    return _checked_format(content, suffixes, label, chosen), content


def _format_name(suffixes: list[str], chosen: str | None) -> str | None:
    return chosen or _BY_SUFFIX.get(suffixes[-1] if suffixes else "")


def _checked_format(content: bytes, suffixes: list[str], label: str, chosen: str | None) -> str:
    """The format, checked against the start of the content."""
    name = _format_name(suffixes, chosen)
    if name is None:
        problem = f"has an extension that names no format ({''.join(suffixes) or 'none'})"
        known = f"{', '.join(_BY_SUFFIX)}, or set format='csv' or another of {', '.join(FORMATS)}"
        raise InputError(label, problem, f"Use one of {known}.")
    if not content.strip():
        raise InputError(label, "is empty", "Check that it was written completely.")
    is_text = b"\0" not in content  # a column of a CSV file may be called PAR1
    signed = [other for other, known in FORMATS.items() if content.startswith(known.signatures or b"\0\0")]
    if signed and signed != [name] and not is_text:
        raise InputError(label, f"is read as {name} but holds {signed[0]}", f"Set format={signed[0]!r}.")
    return name


def _bytes_of(path: Path, label: str, most: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except FileNotFoundError:
        folder = path.parent
        beside = [other.name for other in folder.iterdir()] if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.75)
        remedy = f"Did you mean '{folder / near[0]}'?" if near else "Check the name and the folder."
        raise InputError(label, "does not exist", remedy) from None
    except IsADirectoryError:
        remedy = "Name a file in it; in Python, fit takes all of them as pyarrow.dataset.dataset(folder)."
        raise InputError(label, "is a folder", remedy) from None
    except OSError as error:
        raise InputError(label, f"cannot be read ({error.strerror})", "Check its permissions.") from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(label, f"cannot be read ({error})", "Check the name.") from error


def decode(content: bytes, label: str, encoding: str | None) -> str:
    """Bytes as text; an `InputError` with the line of the first invalid byte."""
    marked = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    remedy = "Save it as UTF-8, or set its encoding, such as encoding='latin-1'."
    try:
        text = content.decode(encoding or marked)
    except LookupError:
        raise InputError("parameter 'encoding'", f"there is no {encoding!r}", "Try 'latin-1'.") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        problem = f"byte 0x{content[error.start]:02x} is not {encoding or 'UTF-8'}"
        raise InputError(f"{label}, line {line}", problem, remedy) from error
    except UnicodeError:  # of codecs without positions
        raise InputError(label, f"is not {encoding}", remedy) from None
    before, zero_byte, _ = text.partition("\0")
    if zero_byte:
        line = before.count("\n") + 1
        remedy = "Set its format, such as format='parquet'."
        raise InputError(f"{label}, line {line}", "has a zero byte, so it is not text", remedy)
    return text


def require(module: str, label: str, format_name: str, extra: str) -> None:
    """An `InputError` if the library that reads a format is not installed."""
    if find_spec(module) is None:
        remedy = f"pip install 'dcd[{extra}]', or save it as CSV."
        raise InputError(label, f"{format_name} files need {module}", remedy)
