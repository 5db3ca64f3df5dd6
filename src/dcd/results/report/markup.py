"""HTML and SVG from Python, safe by default: text is escaped, only what `tag` made is markup."""

from __future__ import annotations

import html
from collections.abc import Iterable
from typing import Any

from markupsafe import Markup

from dcd.runtime.text import shortened, visible

_VOID = frozenset(("br", "hr", "input", "link", "meta"))


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
