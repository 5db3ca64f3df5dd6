"""JSON as text, for saved results: any name can be written, and only what JSON defines is read."""

from __future__ import annotations

import json
from typing import Any


def json_text(value: Any) -> str:
    """JSON in UTF-8, with escapes if a name contains half a surrogate pair, which UTF-8 cannot represent."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def parsed(text: str) -> Any:
    """The value of a JSON text; raises `ValueError` for NaN and infinities too."""
    return json.loads(text, parse_constant=_refuse_constant)


def _refuse_constant(text: str) -> Any:
    raise ValueError(f"{text} is not valid JSON")
