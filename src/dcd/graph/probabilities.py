"""`Probabilities` of the types of edge between two variables, and the words for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import msgspec
import pandas as pd

from dcd.graph.cpdag import CPDAG
from dcd.runtime.errors import InputError
from dcd.runtime.text import percent

COLUMNS = ("first", "second", "forward", "backward", "undirected", "absent")
FORWARD, BACKWARD, UNDIRECTED, ABSENT = range(4)  # the types of a pair in arrays, in the same order
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
EdgeType = Literal["->", "-"]


class Probabilities(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Probabilities of `first -> second`, `second -> first`, an undirected edge and none; they sum to 1."""

    forward: _Share
    backward: _Share
    undirected: _Share
    absent: _Share

    @property
    def edge(self) -> float:
        """The probability of an edge of any type."""
        return 1.0 - self.absent

    def reversed(self) -> Probabilities:
        """The same for the pair in the other order."""
        return Probabilities(self.backward, self.forward, self.undirected, self.absent)

    def words(self, kind: EdgeType, uncertain_arrow: str = "") -> str:
        """The probabilities of an edge as drawn, in words.

        `uncertain_arrow` is the text of `first -> second` if that arrow is too uncertain to be drawn.

        >>> Probabilities(0.93, 0.02, 0.04, 0.01).words("->")
        'arrow 93 %, edge 99 %'
        >>> Probabilities(0.61, 0.2, 0.18, 0.01).words("-", "a -> b")
        'edge 99 %, direction uncertain: a -> b 61 %'
        >>> Probabilities(0.13, 0.6, 0.26, 0.01).words("-", "a -> b")
        'edge 99 %, direction uncertain: a -> b 13 %, the opposite 60 %'
        """
        edge = f"edge {percent(self.edge)}"
        if kind == "->":
            return f"arrow {percent(self.forward)}, {edge}"
        if uncertain_arrow:
            opposite = f", the opposite {percent(self.backward)}" if self.backward > self.forward else ""
            return f"{edge}, direction uncertain: {uncertain_arrow} {percent(self.forward)}{opposite}"
        directed = max(self.forward, self.backward)
        one_way = f", one direction {percent(directed)}" if directed > self.undirected else ""
        return f"{edge}, undirected {percent(self.undirected)}{one_way}"


def pair_probabilities(frame: pd.DataFrame) -> dict[tuple[str, str], Probabilities]:
    """The rows of `probabilities_` by pair, each in both orders."""
    if not isinstance(frame, pd.DataFrame) or not set(COLUMNS) <= set(frame.columns):
        problem = f"must have the columns {', '.join(COLUMNS)}"
        raise InputError("parameter 'probabilities'", problem, "Pass model.probabilities_.")
    pairs = {}
    for first, second, *shares in frame[list(COLUMNS)].itertuples(index=False):
        found = Probabilities(*(float(share) for share in shares))
        pairs[first, second], pairs[second, first] = found, found.reversed()
    return pairs


def edge_lines(cpdag: CPDAG, frame: pd.DataFrame | None) -> list[tuple[str, str]]:
    """The edges as text, each with its probabilities in words, or with an empty text."""
    pairs = {} if frame is None else pair_probabilities(frame)
    lines = []
    for kind, first, second, uncertain in drawn_edges(cpdag):
        found, arrow = pairs.get((first, second)), f"{first} -> {second}" if uncertain else ""
        lines.append((f"{first} {kind} {second}", found.words(kind, arrow) if found else ""))
    return lines


def drawn_edges(cpdag: CPDAG) -> Iterator[tuple[EdgeType, str, str, bool]]:
    """Edges as drawn: type, first, second, and whether `first -> second` is too uncertain to be drawn."""
    for cause, effect in cpdag.directed_edges:
        yield "->", cause, effect, False
    for first, second in cpdag.undirected_edges:
        if (second, first) in cpdag.uncertain:
            yield "-", second, first, True
        else:
            yield "-", first, second, (first, second) in cpdag.uncertain
