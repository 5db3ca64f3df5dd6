"""Files to bytes: where they come from, whether they are packed, and which format they hold.

A file whose format can be read in parts stays a path, so that it can be larger than memory.
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
from pathlib import Path

from dcd.runtime.errors import InputError, check_choice

FORMATS = ("csv", "tsv", "parquet", "arrow", "npy", "excel")
IN_PARTS = ("parquet", "arrow", "npy")  # formats of which a part can be read without the rest
_BY_SUFFIX = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".feather": "arrow",
    ".arrow": "arrow",
    ".ipc": "arrow",
    ".npy": "npy",
    ".xlsx": "excel",
    ".xlsm": "excel",
}
_START = 4096  # bytes that show what a file is
_UNPACK: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".xz": lzma.decompress,
}
_FIRST_BYTES = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "excel",
}


def format_and_content(path: str | Path, name: str, chosen: str | None) -> tuple[str, bytes | Path]:
    """The format of a file, one of `FORMATS`; its content unpacked, or its path if it is read in parts."""
    if chosen is not None:
        check_choice("format", chosen, FORMATS)
    if str(path) == "-":
        return _known_format(_standard_input(name), [".csv"], name, chosen)
    suffixes = [suffix.lower() for suffix in Path(path).suffixes]
    kind = chosen or _BY_SUFFIX.get(suffixes[-1] if suffixes else "")
    packed = bool(suffixes) and suffixes[-1] in _UNPACK
    if kind in IN_PARTS and not packed and os.path.isfile(path):  # which takes any text
        start = _bytes_of(Path(path), name, most=_START)
        return _known_format(start, suffixes, name, chosen)[0], Path(path)
    content = _bytes_of(Path(path), name)
    if packed:
        content = _unpacked(content, suffixes.pop(), name)
    return _known_format(content, suffixes, name, chosen)


def _known_format(content: bytes, suffixes: list[str], name: str, chosen: str | None) -> tuple[str, bytes]:
    """The format, checked against how the content begins, and the content."""
    kind = chosen or _BY_SUFFIX.get(suffixes[-1] if suffixes else "")
    if kind is None:
        raise InputError(
            name,
            f"has an extension that names no format ({''.join(suffixes) or 'none'})",
            f"Use one of {', '.join(_BY_SUFFIX)}, or set format to one of {', '.join(FORMATS)} (--format).",
        )
    if not content.strip():
        raise InputError(name, "is empty", "Check that it was written completely.")
    found = next((other for start, other in _FIRST_BYTES.items() if content.startswith(start)), kind)
    is_text = b"\0" not in content  # a column of a CSV file may be called PAR1
    if found != kind and not is_text:
        raise InputError(name, f"is read as {kind} but holds {found}", f"Set format to {found} (--format).")
    return kind, content


def _standard_input(name: str) -> bytes:
    if sys.stdin is None:
        raise InputError(name, "is closed", "Send a table there, or name a file.")
    return sys.stdin.buffer.read()


def _bytes_of(path: Path, name: str, most: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except FileNotFoundError:
        folder = path.parent
        beside = [found.name for found in folder.iterdir()] if folder.is_dir() else []
        near = difflib.get_close_matches(path.name, beside, n=1, cutoff=0.75)
        remedy = f"Did you mean '{folder / near[0]}'?" if near else "Check the name and the folder."
        raise InputError(name, "does not exist", remedy) from None
    except IsADirectoryError:
        raise InputError(
            name,
            "is a folder",
            "Name a file in it; in Python, fit takes all of them as pyarrow.dataset.dataset(folder).",
        ) from None
    except OSError as error:
        raise InputError(name, f"cannot be read ({error.strerror})", "Check its permissions.") from error
    except ValueError as error:  # a zero byte in the name
        raise InputError(name, f"cannot be read ({error})", "Check the name.") from error


def _unpacked(content: bytes, suffix: str, name: str) -> bytes:
    try:
        return _UNPACK[suffix](content)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(
            name, f"cannot be unpacked ({error})", "It may be cut short: copy it again."
        ) from error


def decoded(content: bytes, name: str, encoding: str | None) -> str:
    """Bytes as text; an `InputError` with the line of the first byte that is none."""
    marked = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding or marked)
    except LookupError:
        raise InputError("parameter 'encoding'", f"there is no {encoding!r}", "Try 'latin-1'.") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        byte = content[error.start]
        raise InputError(
            f"{name}, line {line}",
            f"byte 0x{byte:02x} is not {encoding or 'UTF-8'}",
            "Save it as UTF-8, or set the encoding, to latin-1 say (--encoding latin-1).",
        ) from error
    except UnicodeError:  # of codecs that do not tell where
        raise InputError(
            name, f"is not {encoding}", "Save it as UTF-8, or set its encoding (--encoding)."
        ) from None
    if "\0" in text:
        line = text[: text.index("\0")].count("\n") + 1
        raise InputError(
            f"{name}, line {line}", "has a zero byte, so it is no text", "Set its format (--format)."
        )
    return text
