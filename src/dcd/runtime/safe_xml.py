"""XML without document types, which can declare entities that exhaust memory or open files."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO
from xml.parsers import expat


def parse_safely(
    source: IO[bytes],
    on_element: Callable[[str, dict[str, str]], object] | None = None,
    encoding: str | None = None,
) -> None:
    """Read XML to its end; raises `ValueError` if it is not XML or has a document type.

    Parameters
    ----------
    on_element : called with the tag and the attributes of every element.
    encoding : of the bytes, whatever the document declares.
    """
    parser = expat.ParserCreate(encoding)
    parser.StartDoctypeDeclHandler = _refuse
    if on_element is not None:
        parser.StartElementHandler = on_element
    try:
        parser.ParseFile(source)
    except expat.ExpatError as error:
        raise ValueError(str(error)) from error


def _refuse(*_: object) -> None:
    raise ValueError("it declares a document type, which can declare entities")
