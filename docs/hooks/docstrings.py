"""An extension of Griffe, which parses the docstrings for the reference: words after a name are not a type.

Docstrings here have two forms of entries, both NumPy style. `alpha : float, default=0.05`, with the meaning
below, is the form that Griffe knows. `rows : keep some rows of the table` has the meaning directly, since the
type is in the signature; Griffe would read the words as the type. They are moved below the name, as is a
function's result if it is described in words. Parameters that share an entry get one each, because Griffe
would give all of them the type of the first.
"""

from __future__ import annotations

import re
from typing import Any

import griffe

LONGEST_TYPE = 60  # characters; sentences that go on in the next line are longer
SECTION = re.compile(
    r"^(Parameters|Attributes|Returns)\n-+\n(.*?)(?=^\S[^\n]*\n-{3,}\n|\Z)", re.DOTALL | re.MULTILINE
)
ENTRY = re.compile(r"^(\S.*?) : (.*)\n((?:[ ]{4}.*\n|[ ]*\n(?=[ ]{4}))*)", re.MULTILINE)


class WordsAreNoTypes(griffe.Extension):
    """Move words from the place of the type to that of the meaning."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Rewrite the docstring before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = SECTION.sub(_section, obj.docstring.value + "\n").rstrip()


def _section(match: re.Match[str]) -> str:
    title, body = match.groups()
    if title == "Returns":
        entries = _in_words(body)
    else:
        shared = title == "Parameters"
        entries = ENTRY.sub(lambda entry: _entry(entry, each=shared), body)
    return f"{title}\n{'-' * len(title)}\n{entries}"


def _entry(match: re.Match[str], *, each: bool) -> str:
    names, first, below = match.groups()
    if below and len(first) <= LONGEST_TYPE and not first.startswith("as for "):
        return match[0]
    if first.startswith("as for ") and below:
        first += "."
    meaning = f"    {first[0].upper()}{first[1:]}\n{below}"
    return "".join(f"{name}\n{meaning}" for name in (names.split(", ") if each else [names]))


def _in_words(body: str) -> str:
    """A result in words has no name and no type; a class by its name stays."""
    first = body.strip().split("\n")[0]
    if " " not in first or body.count("\n    "):
        return body
    return ":\n" + "".join(f"    {line}\n" if line else "\n" for line in body.rstrip("\n").split("\n")) + "\n"
