"""HTML and SVG from Python, safe by default: text is escaped, only what `tag` made is markup."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Iterable
from typing import Any

from dcd.graph.svg import LEFT_TO_RIGHT, visible

_VOID = frozenset(("br", "hr", "input", "link", "meta"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


Child = Any


def tag(name: str, /, *children: Child, **attributes: Any) -> Markup:
    """An element. Text among the children is escaped; lists are flattened; None is left out.

    Attributes: a trailing underscore is dropped (`class_`), other underscores become hyphens, True is an
    attribute without a value, None and False leave it out.
    """
    head = "".join(_attribute(key, value) for key, value in attributes.items())
    if name in _VOID:
        return Markup(f"<{name}{head}>")
    return Markup(f"<{name}{head}>{join(*children)}</{name}>")


def join(*children: Child) -> Markup:
    """Children one after the other."""
    return Markup("".join(_flat(children)))


def _flat(children: Iterable[Child]) -> Iterable[str]:
    for child in children:
        if isinstance(child, Markup):
            yield child
        elif isinstance(child, (list, tuple)):
            yield from _flat(child)
        elif child is not None:
            yield escape(str(child))


def _attribute(key: str, value: Any) -> str:
    if value is None or value is False:
        return ""
    name = key.rstrip("_").replace("_", "-")
    if value is True:
        return f" {name}"
    return f' {name}="{escape(f"{value:.6g}" if isinstance(value, float) else str(value))}"'


def escape(text: str) -> str:
    """Text for HTML; characters that would be invisible or that no HTML may hold are shown as �."""
    return html.escape(visible(text))


def name_of(variable: str, cells: int = 40) -> Markup:
    """The name of a variable, apart from the direction of the text around it; cut if very long."""
    shown = shortened(variable, cells) if variable.strip() else "(no name)"
    return tag("bdi", shown, title=variable if shown != variable else None)


def set_apart(name: str) -> str:
    """A name for plain text with an arrow beside it.

    Without marks around it, a name that is written from right to left takes the arrow along, which then
    points at the cause.
    """
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in name):
        return f"{LEFT_TO_RIGHT}{name}{LEFT_TO_RIGHT}"
    return name


def with_names_apart(text: str, names: Iterable[str]) -> str:
    """A sentence in which the names are set apart."""
    turned = sorted((name for name in set(names) if set_apart(name) != name), key=len, reverse=True)
    if not turned:
        return text
    return re.sub("|".join(map(re.escape, turned)), lambda found: set_apart(found[0]), text)


def shortened(text: str, cells: int) -> str:
    """Text cut to a width, in cells; wide characters take two."""
    width = 0.0
    for index, character in enumerate(text):
        width += cell_width(character)
        if width > cells:
            return text[: max(index - 1, 1)] + "…"
    return text


def cell_width(character: str) -> float:
    """Width of a character in cells, roughly."""
    if unicodedata.combining(character) or character in "\u200c\u200d\ufe0f":
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 2.0
    return (
        1.25 if character.isupper() or character in "mwMW@%" else 0.6 if character in "iljtf.,:;'| " else 1.0
    )


def text_width(text: str) -> float:
    """Width of a text in cells."""
    return sum(cell_width(character) for character in text)
