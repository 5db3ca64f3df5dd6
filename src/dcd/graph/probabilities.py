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
LineReason = Literal["undirected", "improbable", "unconfirmed"]
_UNCERTAIN = {"improbable": "direction uncertain", "unconfirmed": "direction not confirmed by tests"}


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

    def reason_for_line(self, uncertain: bool, least: float) -> LineReason:
        """Why an edge is drawn as a line; `uncertain` says that its class has the arrow `first -> second`.

        `least` is the smallest probability of an arrow that is drawn.
        """
        if not uncertain:
            return "undirected"
        return "improbable" if self.forward < least else "unconfirmed"

    def words(self, first: str, second: str, reason: LineReason | None = None, *, arrow: str = "->") -> str:
        """The probabilities of an edge as drawn, in words: an arrow, or a line for a `reason`.

        >>> Probabilities(0.93, 0.02, 0.04, 0.01).words("a", "b")
        'arrow 93 %, edge 99 %'
        >>> Probabilities(0.2, 0.05, 0.74, 0.01).words("a", "b", "undirected")
        'edge 99 %, undirected 74 %'
        >>> Probabilities(0.06, 0.63, 0.3, 0.01).words("a", "b", "undirected")
        'edge 99 %, undirected 30 %, b -> a 63 %'
        >>> Probabilities(0.13, 0.6, 0.26, 0.01).words("a", "b", "improbable")
        'edge 99 %, direction uncertain: a -> b 13 %, b -> a 60 %'
        >>> Probabilities(0.78, 0.1, 0.11, 0.01).words("a", "b", "unconfirmed")
        'edge 99 %, direction not confirmed by tests: a -> b 78 %'
        """
        edge = f"edge {percent(self.edge)}"
        forward = f"{first} {arrow} {second} {percent(self.forward)}"
        backward = f"{second} {arrow} {first} {percent(self.backward)}"
        if reason is None:
            return f"arrow {percent(self.forward)}, {edge}"
        if reason == "undirected":
            likelier = backward if self.backward > self.forward else forward
            named = f", {likelier}" if max(self.forward, self.backward) > self.undirected else ""
            return f"{edge}, undirected {percent(self.undirected)}{named}"
        opposite = f", {backward}" if self.backward > self.forward else ""
        return f"{edge}, {_UNCERTAIN[reason]}: {forward}{opposite}"


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


def edge_lines(
    cpdag: CPDAG, frame: pd.DataFrame | None, arrow_probability: float = 1.0
) -> list[tuple[str, str]]:
    """The edges as text, each with its probabilities in words, or with an empty text.

    `arrow_probability` is the smallest probability of an arrow that is drawn; by default no arrow that is a
    line is said to lack only the confirmation by tests.
    """
    pairs = {} if frame is None else pair_probabilities(frame)
    lines = []
    for kind, first, second, uncertain in drawn_edges(cpdag):
        words = ""
        if (found := pairs.get((first, second))) is not None:
            reason = None if kind == "->" else found.reason_for_line(uncertain, arrow_probability)
            words = found.words(first, second, reason)
        lines.append((f"{first} {kind} {second}", words))
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
