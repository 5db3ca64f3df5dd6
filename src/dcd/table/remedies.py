"""Settings that remedies offer, in Python; the command line shows them as options (`dcd.cli.wording`).

table.drop(columns=['id'])       --exclude id
kinds={'day': 'continuous'}      --kinds day=continuous
na_values=['unknown', '?']       --na 'unknown,?'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

Remedy = str | Callable[[Sequence[str]], str]  # what to do, or a function of the columns that it concerns
_SHOWN = 5  # names listed in one setting


def remedy_text(remedy: Remedy, columns: Sequence[str]) -> str:
    """What to do about these columns."""
    return remedy if isinstance(remedy, str) else remedy(columns)


def drop_columns(columns: Sequence[str]) -> str:
    """The setting that leaves columns out."""
    return f"table.drop(columns=[{_listed(map(repr, columns[:_SHOWN]), len(columns))}])"


def declare(columns: Sequence[str], kind: str) -> str:
    """The setting that declares the kind of columns."""
    pairs = (f"{name!r}: {kind!r}" for name in columns[:_SHOWN])
    return f"kinds={{{_listed(pairs, len(columns))}}}"


def mark_missing(words: Sequence[str]) -> str:
    """The setting that reads words in a file as missing values."""
    return f"na_values=[{_listed(map(repr, words[:_SHOWN]), len(words))}]"


def _listed(shown: Iterable[str], n_items: int) -> str:
    return ", ".join(shown) + (", ..." if n_items > _SHOWN else "")
