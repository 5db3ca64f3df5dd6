"""Text for display: visible names, cut to a width and safe beside an arrow; shares in percent."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from decimal import Decimal

_LEFT_TO_RIGHT = "\u200e"  # zero width
_JOINERS = "\u200c\u200d"  # part of words and of emoji
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])")
_WORD = re.compile(r"[^\W\d_]+|\d+")


def visible(text: str) -> str:
    """The text with � for every character that XML forbids, or that hides or reverses others.

    >>> visible("a" + chr(0x202E) + "b")
    'a�b'
    """
    return text if text.isprintable() else "".join(map(_visible_character, text))


def _visible_character(character: str) -> str:
    category = unicodedata.category(character)
    if character in "\n\r\t" or character.isprintable() or (character.isspace() and category != "Cc"):
        return character
    return character if character in _JOINERS + _LEFT_TO_RIGHT or category == "Co" else "\ufffd"


def shortened(text: str, cells: int) -> str:
    """The text cut to a width in cells; wide characters take two."""
    width = 0.0
    for index, character in enumerate(text):
        width += _cell_width(character)
        if width > cells:
            return text[: max(index - 1, 1)] + "…"
    return text


def is_number(text: str) -> bool:
    """Whether the text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, however they are joined.

    >>> words_of("birthYear_2 (mother)")
    ['birth', 'year', '2', 'mother']
    """
    return [word.casefold() for word in _WORD.findall(_HUMP.sub(" ", name))]


def toml_entry(names: Sequence[str]) -> str:
    """One name, or a list of several, as an entry of a TOML list."""
    # JSON strings are TOML strings once invisible characters are escaped.
    text = json.dumps(names[0] if len(names) == 1 else list(names), ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in text)


def counted(number: int, noun: str) -> str:
    """A number with its noun: `1 edge`, `2 edges`."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """A share; 0 % and 100 % only if it is exactly that.

    >>> percent(0.93), percent(0.9999)
    ('93 %', '> 99 %')
    """
    rounded = round(100 * share)
    if rounded == 100 and share < 1:
        return "> 99 %"
    return "< 1 %" if rounded == 0 and share > 0 else f"{rounded} %"


def figures(value: float) -> str:
    """A number to three significant digits; with an exponent only if it has very many zeros.

    >>> figures(9383.2), figures(-0.00001234), figures(1.0), figures(1.5e12)
    ('9380', '-0.0000123', '1', '1.5e+12')
    """
    text = f"{value:.3g}"
    return f"{Decimal(text):f}" if 1e-6 < abs(value) < 1e9 else text


def text_width(text: str) -> float:
    """Approximate width in cells, the width of an "n"."""
    return sum(map(_cell_width, text))


def _cell_width(character: str) -> float:
    if unicodedata.combining(character) or character in _JOINERS + "\ufe0f":
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 2.0
    if character in "mMW@%\u2026":  # as wide as in DejaVu Sans, the widest of the usual fonts
        return 1.6
    if character.isupper() or character in "w\u2212\u00d7":
        return 1.3
    return 0.6 if character in "iljtf.,:;'| " else 1.0


def isolated(name: str) -> str:
    """A name for plain text with an arrow beside it; a bare right-to-left name would reverse the arrow."""
    if any(unicodedata.bidirectional(character) in ("R", "AL", "AN") for character in name):
        return f"{_LEFT_TO_RIGHT}{name}{_LEFT_TO_RIGHT}"
    return name


def with_names_isolated(text: str, names: Iterable[str]) -> str:
    """A sentence with these names isolated."""
    right_to_left = sorted((name for name in set(names) if isolated(name) != name), key=len, reverse=True)
    if not right_to_left:
        return text
    return re.sub("|".join(map(re.escape, right_to_left)), lambda match: isolated(match[0]), text)
