"""Escapes for names in text formats.

Characters that DOT or GraphML cannot hold (control characters, surrogates) become `_xHHHH_`, as in Office
Open XML; in names that already contain this form, the first underscore becomes `_x005F_`.
"""

from __future__ import annotations

import re

_IMPOSSIBLE = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff"
_TO_HIDE = re.compile(rf"_(?=x[0-9A-Fa-f]{{4}}[_{_IMPOSSIBLE}])|[{_IMPOSSIBLE}]")
_HIDDEN = re.compile(r"_x([0-9A-Fa-f]{4})_")


def hide_impossible(name: str) -> str:
    """The name with every impossible character as `_xHHHH_`."""
    return _TO_HIDE.sub(lambda match: f"_x{ord(match[0]):04X}_", name)


def show_impossible(text: str) -> str:
    """The name that `hide_impossible` was given."""
    return _HIDDEN.sub(lambda match: chr(int(match[1], 16)), text)
