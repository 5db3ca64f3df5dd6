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
    forbidden : `[i, j]` is true if `i -> j` is forbidden, also because `j -> i` is required.
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


# --- from names to columns -------------------------------------------------------------------------------


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
        everything = list(range(len(self._columns)))
        if len(names) == 2:
            causes, effects = self._ends(key, *names)
        elif key == "roots":
            causes, effects = everything, self._match(key, *names)
        else:
            causes, effects = self._match(key, *names), everything
        matrix = self._required if key == "required" else self._forbidden
        self._enter(matrix, sentence(key, *names), causes, effects)
        if key == "no_edge":
            self._enter(matrix, sentence(key, *names), effects, causes)

    def order(self, tiers: Tiers, *, closed: bool) -> None:
        """Forbid arrows from later to earlier tiers, and within tiers if they are `closed`."""
        self._tiers = tiers
        self._assign(tiers)
        cause, effect = self._tier_of[:, None], self._tier_of[None, :]
        backwards = (cause > effect) & (effect >= 0)
        within = (cause == effect) & (effect >= 0) & ~np.eye(len(cause), dtype=bool) & closed
        # Vectorised: a total order of the variables has as many tiers as variables.
        number = len(self._sentences) + len(tiers) * effect + cause
        self._sentences += [
            closed_words(tiers, one) if one == other else order_words(tiers, one, other)
            for one, other in product(range(len(tiers)), repeat=2)
        ]
        stated = (backwards | within) & (self._forbidden < 0)
        self._forbidden[stated] = number[stated]

    def _assign(self, tiers: Tiers) -> None:
        """Assign columns to tiers: by name, else by the first matching pattern."""
        named = [(k, name) for k, tier in enumerate(tiers) for name in tier]
        for k, name in named:
            if name in self._position:
                column = self._position[name]
                if self._tier_of[column] not in (-1, k):
                    first, second = (tier_words(tiers, t) for t in (int(self._tier_of[column]), k))
                    raise _contradiction([f"{name} is in {first}", f"{name} is in {second}"])
                self._tier_of[column] = k
        for k, name in named:
            matching = np.array(self._match("tiers", name), dtype=int)
            self._tier_of[matching[self._tier_of[matching] < 0]] = k

    def bound(self) -> BoundKnowledge:
        """All statements together; an `InputError` if they contradict each other."""
        self._refuse_contradictions()
        required, forbidden = self._required >= 0, self._forbidden >= 0
        behind = np.where(required, self._required, np.where(forbidden, self._forbidden, self._required.T))
        return BoundKnowledge(required, forbidden | required.T, behind, tuple(self._sentences))

    def _enter(self, matrix: Numbers, words: str, causes: Sequence[int], effects: Sequence[int]) -> None:
        """Enter a statement for all these pairs; the first of several equivalent ones is kept."""
        rows, columns = np.array(causes, dtype=int), np.array(effects, dtype=int)
        block = matrix[np.ix_(rows, columns)]
        block[(block < 0) & (rows[:, None] != columns[None, :])] = len(self._sentences)
        matrix[np.ix_(rows, columns)] = block
        self._sentences.append(words)

    def _match(self, key: str, name: str) -> list[int]:
        if name in self._position:
            return [self._position[name]]
        if not self._patterns:
            return []
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
        return matching

    def _ends(self, key: str, one: str, other: str) -> tuple[list[int], list[int]]:
        if one == other and not is_pattern(one):
            raise InputError(f"knowledge '{key}'", f"has {one!r} on both sides", "Name two variables.")
        return self._match(key, one), self._match(key, other)

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
                    sentences.append(order_words(self._tiers, self._tier_of[end], self._tier_of[start]))
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
    distinct = list(dict.fromkeys(sentences))
    quoted = ", but ".join([", ".join(f"'{one}'" for one in distinct[:-1]), f"'{distinct[-1]}'"])
    if len(distinct) == 1:
        quoted = f"'{distinct[0]}' alone"
    problem = f"contradicts itself{'' if about is None else f' about {about}'}: {quoted}"
    return InputError("parameter 'knowledge'", problem, "Drop or narrow one of these statements.")


# --- sentences -------------------------------------------------------------------------------------------


_WORDS = {
    "required": "{} -> {} is required",
    "forbidden": "{} -> {} is forbidden",
    "no_edge": "no edge between {} and {} is allowed",
    "roots": "{} is a root (no arrow points at it)",
    "leaves": "{} is a leaf (no arrow leaves it)",
}


def sentence(key: str, *names: str) -> str:
    """A statement about a pair or a variable, in words."""
    return _WORDS[key].format(*names)


def tier_words(tiers: Tiers, k: int) -> str:
    """A tier by number and names."""
    names = ", ".join(tiers[k][:_SHOWN]) + (", ..." if len(tiers[k]) > _SHOWN else "")
    return f"tier {k + 1} ({names})"


def order_words(tiers: Tiers, earlier: int, later: int) -> str:
    """The order of two tiers, in words."""
    return f"{tier_words(tiers, earlier)} comes before {tier_words(tiers, later)}"


def closed_words(tiers: Tiers, k: int) -> str:
    """That a tier has no edges within it, in words."""
    return f"no edge within {tier_words(tiers, k)} is allowed"
