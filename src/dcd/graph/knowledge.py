"""Background knowledge as it is stated: forbidden and required arrows, tiers, roots and leaves.

`Knowledge` holds statements about names, which may be shell patterns; it reads, checks and writes them. Bound
to the columns of a table (`bound_knowledge`) it becomes two (d, d) matrices, `required` and `forbidden`. All
statements are about arrows, that is, direct causes. On a skeleton they amount to a set of arrows: those
required, and those of which only one direction is allowed.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike
from pathlib import Path
from typing import Any

from dcd.graph.bound_knowledge import (
    Binder,
    BoundKnowledge,
    closed_words,
    is_pattern,
    order_words,
    sentence,
)
from dcd.runtime.errors import InputError, check_choice, suggest

NamePair = tuple[str, str]
_PAIRS = ("required", "forbidden", "no_edge")
_LISTS = ("roots", "leaves")


@dataclass(frozen=True, kw_only=True)
class Knowledge:
    r"""Statements about causes that discovery has to respect.

    A name that is a column stands for that column. Any other is a shell pattern over the columns (`*`, `?`,
    `[abc]`, case matters) and stands for all that match; one that matches nothing is an error.

    Parameters
    ----------
    forbidden : pairs `(cause, effect)`
        This arrow is not allowed. The other direction is.
    required : pairs `(cause, effect)`
        This arrow must exist.
    no_edge : pairs
        No arrow between the two in either direction.
    tiers : lists of names, the earliest first
        No arrow points from a later tier to an earlier one. A pattern takes what no tier has by its own name
        and no earlier tier has taken, so that a last tier `["*"]` is all the rest. Variables in no tier are
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
            object.__setattr__(self, key, tuple(_pair(key, item) for item in _items(key, getattr(self, key))))
        for key in _LISTS:
            object.__setattr__(self, key, _names(key, getattr(self, key)))
        tiers = tuple(_names("tiers", tier, inner=True) for tier in _items("tiers", self.tiers))
        object.__setattr__(self, "tiers", tiers)
        check_choice("within_tiers", self.within_tiers, ("allowed", "forbidden"))
        plain = dict.fromkeys(name for name in self._all_names() if not is_pattern(name))
        self._bind(Binder(tuple(plain), patterns=False))  # contradictions that no table can resolve

    @classmethod
    def from_dict(cls, statements: Mapping[str, Any]) -> Knowledge:
        """From a mapping with the parameters as keys, such as `to_dict` makes."""
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
        try:
            statements = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise InputError(
                f"file {str(path)!r}", f"cannot be read ({error.strerror})", "Check it."
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
            why = "lists in lists without end" if isinstance(error, RecursionError) else error
            raise InputError(
                f"file {str(path)!r}", f"is not TOML ({why})", "Write keys such as roots = ['age']."
            ) from None
        return cls.from_dict(statements)

    def to_dict(self) -> dict[str, Any]:
        """The statements as lists and strings, fit for JSON and TOML."""
        stated: dict[str, Any] = {
            key: [list(item) for item in getattr(self, key)] for key in (*_PAIRS, "tiers")
        }
        stated |= {key: list(getattr(self, key)) for key in _LISTS}
        stated |= {"within_tiers": self.within_tiers} if self.within_tiers != "allowed" else {}
        return {key: value for key, value in stated.items() if value}

    def statements(self) -> tuple[str, ...]:
        """Every statement as a sentence for a person."""
        closed = range(len(self.tiers)) if self.within_tiers == "forbidden" else ()
        required, forbidden, no_edge = (
            [sentence(key, *pair) for pair in getattr(self, key)] for key in _PAIRS
        )
        about_groups = (
            *no_edge,
            *(order_words(self.tiers, k, k + 1) for k in range(len(self.tiers) - 1)),
            *(closed_words(self.tiers, k) for k in closed),
        )
        capitalised = [f"{words[0].upper()}{words[1:]}" for words in about_groups]
        roots, leaves = ([sentence(key, name) for name in getattr(self, key)] for key in _LISTS)
        return tuple(f"{words}." for words in (*required, *forbidden, *capitalised, *roots, *leaves))

    def bind(self, names: Iterable[object], left_out: Mapping[str, str] | None = None) -> BoundKnowledge:
        """The same about these columns; an `InputError` if a name is not one of them or statements clash.

        `left_out` has columns that are not used, and why; a statement that names one of them is refused.
        """
        return self._bind(Binder(tuple(str(name) for name in names), left_out=left_out))

    def _bind(self, binder: Binder) -> BoundKnowledge:
        for key in _PAIRS:
            for pair in getattr(self, key):
                binder.state(key, *pair)
        for key in _LISTS:
            for name in getattr(self, key):
                binder.state(key, name)
        binder.order(self.tiers, closed=self.within_tiers == "forbidden")
        return binder.bound()

    def _all_names(self) -> Iterator[str]:
        for key in _PAIRS:
            for pair in getattr(self, key):
                yield from pair
        for group in (*self.tiers, self.roots, self.leaves):
            yield from group


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
    """`knowledge` about these variables; None is no knowledge."""
    check_knowledge(knowledge)
    return (knowledge or Knowledge()).bind(names, left_out)


# --- what was written ------------------------------------------------------------------------------------


def _items(key: str, value: object) -> tuple[Any, ...]:
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        raise InputError(f"knowledge '{key}'", f"must be a list, got {value!r}", f"Try {_EXAMPLES[key]}.")
    return tuple(value)


def _names(key: str, value: object, inner: bool = False) -> tuple[str, ...]:
    names = _items(key, value)
    if not all(isinstance(name, str) for name in names):
        what = "lists of names" if inner else "names"
        raise InputError(f"knowledge '{key}'", f"must hold {what}, got {value!r}", f"Try {_EXAMPLES[key]}.")
    return names


def _pair(key: str, value: object) -> NamePair:
    names = _items(key, value)
    if len(names) != 2 or not all(isinstance(name, str) for name in names):
        raise InputError(
            f"knowledge '{key}'", f"must hold pairs of names, got {value!r}", f"Try {_EXAMPLES[key]}."
        )
    return names[0], names[1]


_EXAMPLES = {
    **{key: f"{key} = [['a', 'b']]" for key in _PAIRS},
    "tiers": "tiers = [['a', 'b'], ['*']]",
    **{key: f"{key} = ['a', 'b']" for key in _LISTS},
}
