"""Background knowledge: forbidden and required arrows, tiers, roots and leaves.

A `Knowledge` holds statements about names or shell patterns. Bound to the columns of a table
(`bound_knowledge`) it becomes two (d, d) matrices of required and forbidden arrows (direct causes).
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import chain, pairwise
from os import PathLike
from typing import Any

from dcd.graph.bound_knowledge import SENTENCES, Binder, BoundKnowledge, is_pattern, tier_sentence
from dcd.runtime.errors import InputError, as_tuple, check_choice, check_type, suggest
from dcd.runtime.files import read_text

NamePair = tuple[str, str]
_PAIRS = ("required", "forbidden", "no_edge")
_LISTS = ("roots", "leaves")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    r"""Background knowledge that discovery has to respect.

    A name that is not a column is a shell pattern (`*`, `?`, `[abc]`, case-sensitive) for all columns that
    match it; a pattern without a match is an error.

    Parameters
    ----------
    forbidden : pairs `(cause, effect)`
        This arrow is not allowed; the opposite arrow is.
    required : pairs `(cause, effect)`
        This arrow must exist.
    no_edge : pairs
        No arrow between the two in either direction.
    tiers : lists of names, the earliest first
        No arrow points from a later tier to an earlier one. A pattern takes the columns that no tier names
        and no earlier tier has taken, so a last tier `["*"]` contains all others. Variables in no tier are
        free.
    roots : names
        Variables without causes among the columns.
    leaves : names
        Variables without effects among the columns.
    within_tiers : "allowed" or "forbidden"
        Whether there may be edges between variables of the same tier.

    Examples
    --------
    >>> import dcd
    >>> knowledge = dcd.Knowledge(tiers=[["age", "sex"], ["*"]], required=[("smoking", "cancer")])
    >>> print(*knowledge.statements(), sep="\n")
    smoking -> cancer is required.
    Tier 1 (age, sex) comes before tier 2 (*).
    """

    forbidden: Sequence[NamePair] = ()
    required: Sequence[NamePair] = ()
    no_edge: Sequence[NamePair] = ()
    tiers: Sequence[Sequence[str]] = ()
    roots: Sequence[str] = ()
    leaves: Sequence[str] = ()
    within_tiers: str = "allowed"

    def __post_init__(self) -> None:
        for key in _PAIRS:
            pairs = (_names(key, item, "pairs of names", 2) for item in _items(key, getattr(self, key)))
            object.__setattr__(self, key, tuple(pairs))
        for key in _LISTS:
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        tiers = tuple(_names("tiers", tier, "lists of names") for tier in _items("tiers", self.tiers))
        object.__setattr__(self, "tiers", tiers)
        check_choice("within_tiers", self.within_tiers, ("allowed", "forbidden"))
        names = chain(*self.required, *self.forbidden, *self.no_edge, *self.tiers, self.roots, self.leaves)
        plain = dict.fromkeys(name for name in names if not is_pattern(name))
        self._bind(Binder(tuple(plain), patterns=False))  # contradictions that no table can resolve

    @classmethod
    def from_dict(cls, statements: Mapping[str, Any]) -> Knowledge:
        """From a mapping with the parameters as keys, as returned by `to_dict`."""
        if not isinstance(statements, Mapping):
            raise InputError("knowledge", f"must be a mapping, got {statements!r}", "See `to_dict`.")
        known = [one.name for one in fields(cls)]
        for key in statements:
            if key not in known:
                raise InputError(f"knowledge '{key}'", "is not a kind of statement", suggest(key, known))
        return cls(**statements)

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Knowledge:
        """From a TOML file with the parameters as keys."""
        file, text = f"file {str(path)!r}", read_text(path)
        try:
            statements = tomllib.loads(text)
        except (tomllib.TOMLDecodeError, RecursionError) as error:
            why = "too many nested lists" if isinstance(error, RecursionError) else error
            raise InputError(file, f"is not TOML ({why})", "Write keys such as roots = ['age'].") from None
        return cls.from_dict(statements)

    def to_dict(self) -> dict[str, Any]:
        """The statements as lists and strings, for JSON and TOML."""
        stated: dict[str, Any] = {
            key: [list(item) for item in getattr(self, key)] for key in (*_PAIRS, "tiers")
        }
        stated |= {key: list(getattr(self, key)) for key in _LISTS}
        stated |= {"within_tiers": self.within_tiers} if self.within_tiers != "allowed" else {}
        return {key: value for key, value in stated.items() if value}

    def statements(self) -> tuple[str, ...]:
        """Every statement as a sentence."""
        required, forbidden, no_edge = (
            [SENTENCES[key].format(*pair) for pair in getattr(self, key)] for key in _PAIRS
        )
        about_groups = no_edge + [tier_sentence(self.tiers, *two) for two in pairwise(range(len(self.tiers)))]
        if self.within_tiers == "forbidden":
            about_groups += [tier_sentence(self.tiers, k, k) for k in range(len(self.tiers))]
        capitalised = [f"{words[0].upper()}{words[1:]}" for words in about_groups]
        roots, leaves = ([SENTENCES[key].format(name) for name in getattr(self, key)] for key in _LISTS)
        return tuple(f"{words}." for words in (*required, *forbidden, *capitalised, *roots, *leaves))

    def bind(self, names: Iterable[object], left_out: Mapping[str, str] | None = None) -> BoundKnowledge:
        """Apply to these columns; raises `InputError` for an unknown name or a contradiction.

        `left_out` maps unused columns to the reason; statements that name one are rejected.
        """
        columns = tuple(str(name) for name in as_tuple("parameter 'names'", names, "names=['a', 'b']"))
        if len(set(columns)) < len(columns):
            twice = next(name for at, name in enumerate(columns) if name in columns[:at])
            raise InputError("parameter 'names'", f"has {twice!r} more than once", "Name each column once.")
        if left_out is not None:
            check_type("left_out", left_out, Mapping, "Try {'a': 'it is constant'}.")
        return self._bind(Binder(columns, left_out=left_out))

    def _bind(self, binder: Binder) -> BoundKnowledge:
        for key in _PAIRS:
            for pair in getattr(self, key):
                binder.state(key, *pair)
        for key in _LISTS:
            for name in getattr(self, key):
                binder.state(key, name)
        binder.order(self.tiers, closed=self.within_tiers == "forbidden")
        return binder.bound()


def check_knowledge(knowledge: object) -> None:
    """Raise `InputError` unless the parameter `knowledge` is None or a `Knowledge`."""
    if knowledge is not None and not isinstance(knowledge, Knowledge):
        raise InputError(
            "parameter 'knowledge'",
            f"must be None or a Knowledge, got {type(knowledge).__name__}",
            "Use Knowledge(...), Knowledge.from_dict or Knowledge.from_toml.",
        )


def bind_knowledge(
    knowledge: Knowledge | None, names: Sequence[object], left_out: Mapping[str, str] | None = None
) -> BoundKnowledge:
    """`knowledge` bound to these variables; None means no knowledge."""
    check_knowledge(knowledge)
    return (knowledge or Knowledge()).bind(names, left_out)


# --- checks of the input ---------------------------------------------------------------------------------


def _items(key: str, value: object, allowed: str = "must be a list") -> tuple[Any, ...]:
    return as_tuple(f"knowledge '{key}'", value, _EXAMPLES[key], letters=False, allowed=allowed)


def _names(key: str, value: object, what: str = "", size: int | None = None) -> tuple[str, ...]:
    names = _items(key, value, f"must hold {what}") if what else _items(key, value)
    if size not in (None, len(names)) or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"knowledge '{key}'", f"must hold {what or 'names'}, got {value!r}", f"Try {_EXAMPLES[key]}."
        )
    return names


_EXAMPLES = {
    **{key: f"{key} = [['a', 'b']]" for key in _PAIRS},
    "tiers": "tiers = [['a', 'b'], ['*']]",
    **{key: f"{key} = ['a', 'b']" for key in _LISTS},
}
