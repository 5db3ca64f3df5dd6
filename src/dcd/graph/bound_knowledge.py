"""Background knowledge on the columns of one table: two (d, d) matrices of required and forbidden arrows.

A `Binder` resolves the names in the statements of a `Knowledge` to columns and rejects contradictions. Each
matrix entry remembers the sentence it comes from, for messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import cached_property
from itertools import product

import numpy as np
import numpy.typing as npt

from dcd.runtime.array_types import BoolArray
from dcd.runtime.errors import InputError, suggest

Numbers = npt.NDArray[np.int_]
Tiers = Sequence[Sequence[str]]
_SHOWN = 5  # names of a tier in a sentence


@dataclass(frozen=True, eq=False)
class BoundKnowledge:
    """Knowledge about numbered variables.

    Attributes
    ----------
    required : `[i, j]` is true if `i -> j` is required.
    forbidden : `[i, j]` is true if `i -> j` is forbidden, including because `j -> i` is required.
    """

    required: BoolArray
    forbidden: BoolArray
    _behind: Numbers = field(repr=False)
    _sentences: tuple[str, ...] = field(repr=False)

    @cached_property
    def joined(self) -> BoolArray:
        """`[i, j]` is true if an edge is required; symmetric."""
        return self.required | self.required.T

    @cached_property
    def apart(self) -> BoolArray:
        """`[i, j]` is true if any edge is forbidden; symmetric."""
        return self.forbidden & self.forbidden.T

    @property
    def says_something(self) -> bool:
        """Whether there are any statements."""
        return bool(self.required.any() or self.forbidden.any())

    def arrows(self, skeleton: BoolArray) -> BoolArray:
        """The edges of a skeleton for which only one direction is allowed, as arrows."""
        return skeleton & self.forbidden.T & ~self.forbidden

    def reason(self, cause: int, effect: int) -> str:
        """The statement that requires or forbids `cause -> effect`."""
        return self._sentences[self._behind[cause, effect]]


def is_pattern(name: str) -> bool:
    """Whether a name contains wildcards of shell patterns."""
    return any(character in name for character in "*?[")


class Binder:
    """Collects statements, resolves their names to columns, and checks for contradictions.

    Without `patterns`, names that are not columns are ignored. `left_out` maps unused columns of the table
    to the reason, for error messages.
    """

    def __init__(
        self, columns: tuple[str, ...], *, patterns: bool = True, left_out: Mapping[str, str] | None = None
    ) -> None:
        self._columns, self._patterns, self._left_out = columns, patterns, left_out or {}
        self._position = {name: index for index, name in enumerate(columns)}
        self._sentences: list[str] = []
        size = len(columns)
        self._required, self._forbidden = (np.full((size, size), -1) for _ in range(2))
        self._tier_of = np.full(size, -1)
        self._tiers: Tiers = ()

    def state(self, key: str, *names: str) -> None:
        """Add a statement on a pair ("required", "forbidden", "no_edge") or variable ("roots", "leaves")."""
        if len(names) == 2 and names[0] == names[1] and not is_pattern(names[0]):
            raise InputError(f"knowledge '{key}'", f"has {names[0]!r} on both sides", "Name two variables.")
        matched = [self._match(key, name) for name in names]
        if len(names) == 1:
            matched.insert(0 if key == "roots" else 1, np.arange(len(self._columns)))
        matrix = self._required if key == "required" else self._forbidden
        for causes, effects in [matched, matched[::-1]] if key == "no_edge" else [matched]:
            block = matrix[np.ix_(causes, effects)]  # the first of several equivalent statements is kept
            block[(block < 0) & (causes[:, None] != effects)] = len(self._sentences)
            matrix[np.ix_(causes, effects)] = block
        self._sentences.append(SENTENCES[key].format(*names))

    def order(self, tiers: Tiers, *, closed: bool) -> None:
        """Forbid arrows from later to earlier tiers, and within tiers if they are `closed`."""
        self._tiers = tiers
        self._assign(tiers)
        cause, effect = self._tier_of[:, None], self._tier_of[None, :]
        backwards = (cause > effect) & (effect >= 0)
        within = (cause == effect) & (effect >= 0) & ~np.eye(len(cause), dtype=bool) & closed
        # Vectorised: a total order of the variables has as many tiers as variables.
        number = len(self._sentences) + len(tiers) * effect + cause
        every_two = product(range(len(tiers)), repeat=2)
        self._sentences += [tier_sentence(tiers, one, other) for one, other in every_two]
        stated = (backwards | within) & (self._forbidden < 0)
        self._forbidden[stated] = number[stated]

    def _assign(self, tiers: Tiers) -> None:
        """Assign columns to tiers: by name, else by the first matching pattern."""
        named = [(k, name) for k, tier in enumerate(tiers) for name in tier]
        for k, name in named:
            if name in self._position:
                column = self._position[name]
                if self._tier_of[column] not in (-1, k):
                    both = (int(self._tier_of[column]), k)
                    raise _contradiction([f"{name} is in {_tier_words(tiers, tier)}" for tier in both])
                self._tier_of[column] = k
        for k, name in named:
            matching = self._match("tiers", name)
            self._tier_of[matching[self._tier_of[matching] < 0]] = k

    def bound(self) -> BoundKnowledge:
        """All statements together; raises `InputError` if they contradict each other."""
        self._refuse_contradictions()
        required, forbidden = self._required >= 0, self._forbidden >= 0
        behind = np.where(required, self._required, np.where(forbidden, self._forbidden, self._required.T))
        return BoundKnowledge(required, forbidden | required.T, behind, tuple(self._sentences))

    def _match(self, key: str, name: str) -> Numbers:
        """The columns of a name or a pattern."""
        if name in self._position:
            return np.array([self._position[name]])
        if not self._patterns:
            return np.array([], dtype=int)
        if name in self._left_out:
            problem = f"names {name!r}, which was left out of the table ({self._left_out[name]})"
            raise InputError(f"knowledge '{key}'", problem, "Drop the statement.")
        matching = [index for index, column in enumerate(self._columns) if fnmatchcase(column, name)]
        if not matching:
            raise InputError(
                f"knowledge '{key}'",
                f"{name!r} {'matches no' if is_pattern(name) else 'is not a'} column",
                suggest(name, self._columns),
            )
        return np.array(matching)

    def _refuse_contradictions(self) -> None:
        required = self._required >= 0
        for i, j in np.argwhere(required & (self._forbidden >= 0)):
            sentences = [self._sentences[matrix[i, j]] for matrix in (self._required, self._forbidden)]
            raise _contradiction(sentences, f"{self._columns[i]} -> {self._columns[j]}")
        for start in np.flatnonzero(required.any(axis=1)).tolist():
            for end, path in _paths(required, start).items():
                sentences = [self._sentences[self._required[edge]] for edge in path]
                cause, effect = self._columns[start], self._columns[end]
                if end == start:
                    raise _contradiction(sentences, f"{cause}, which would cause itself")
                if -1 < self._tier_of[end] < self._tier_of[start]:
                    sentences.append(tier_sentence(self._tiers, self._tier_of[end], self._tier_of[start]))
                    raise _contradiction(sentences, f"{cause}, which would cause {effect}")


def _paths(arrows: BoolArray, start: int) -> dict[int, list[tuple[int, int]]]:
    """A shortest directed path from `start` to each reachable node; to itself if it is on a cycle."""
    paths: dict[int, list[tuple[int, int]]] = {}
    pending: list[tuple[int, list[tuple[int, int]]]] = [(start, [])]
    for node, path in pending:
        for following in np.flatnonzero(arrows[node]).tolist():
            if following not in paths:
                paths[following] = [*path, (node, following)]
                pending.append((following, paths[following]))
    return paths


def _contradiction(sentences: Sequence[str], about: str | None = None) -> InputError:
    *others, last = [f"'{one}'" for one in dict.fromkeys(sentences)]
    quoted = f"{', '.join(others)}, but {last}" if others else f"{last} alone"
    problem = f"contradicts itself{'' if about is None else f' about {about}'}: {quoted}"
    return InputError("parameter 'knowledge'", problem, "Drop or narrow one of these statements.")


SENTENCES = {
    "required": "{} -> {} is required",
    "forbidden": "{} -> {} is forbidden",
    "no_edge": "no edge between {} and {} is allowed",
    "roots": "{} is a root (no arrow points at it)",
    "leaves": "{} is a leaf (no arrow leaves it)",
}


def tier_sentence(tiers: Tiers, earlier: int, later: int) -> str:
    """The order of two tiers, in words; for the same tier twice, that it has no edges within it."""
    if earlier == later:
        return f"no edge within {_tier_words(tiers, earlier)} is allowed"
    return f"{_tier_words(tiers, earlier)} comes before {_tier_words(tiers, later)}"


def _tier_words(tiers: Tiers, k: int) -> str:
    names = ", ".join(tiers[k][:_SHOWN]) + (", ..." if len(tiers[k]) > _SHOWN else "")
    return f"tier {k + 1} ({names})"
