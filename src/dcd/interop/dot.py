r"""DOT, the language of graphviz: written in full, read in the part that tools write.

Names are quoted. Within quotes `"`, `\` and line breaks are escaped by a backslash, and `&` is `&amp;` where
graphviz would take it for an HTML entity. Read are `graph` and `digraph` with nodes, edges, chains of edges,
groups, attributes and comments. Edges to groups, groups within groups, ports, HTML names and joined strings
are refused. Nothing is executed.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

from dcd.graph.cpdag import CPDAG
from dcd.interop.edge_lists import Graph, check_text, class_of_labelled_edges, foreign_mark, names_and_edges
from dcd.interop.escapes import hide_impossible, show_impossible
from dcd.runtime.errors import InputError, check_choice

_BACKSLASHED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_PLAIN = {written: read for read, written in _BACKSLASHED.items()} | {"\\\n": ""}
_ARROWHEADS = ("normal", "vee")
_KEYWORDS = ("node", "edge", "graph")

_TOKEN = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<sign><->|->|--|[{}\[\];,=])""",
    re.VERBOSE | re.DOTALL,
)


class _Token(NamedTuple):
    kind: str
    text: str
    line: int


class _Edge(NamedTuple):
    start: str
    end: str
    attributes: dict[str, str]


# --- out -------------------------------------------------------------------------------------------------


def to_dot(graph: Graph) -> str:
    """A `digraph` in DOT; an undirected edge is drawn without arrowheads (`dir=none`)."""
    names, arrows, lines = names_and_edges(graph)
    statements = [_quoted(name) for name in names]
    statements += [f"{_quoted(cause)} -> {_quoted(effect)}" for cause, effect in arrows]
    statements += [f"{_quoted(a)} -> {_quoted(b)} [dir=none]" for a, b in lines]
    return "\n".join(["digraph {", *(f"  {statement};" for statement in statements), "}"]) + "\n"


def _quoted(name: str) -> str:
    text = re.sub(r"&(?=#?\w+;)", "&amp;", hide_impossible(name))
    return '"' + re.sub(r'[\\"\n\r]', lambda found: _BACKSLASHED[found[0]], text) + '"'


def _unquoted(text: str) -> str:
    plain = re.sub(r"\\.", lambda found: _PLAIN.get(found[0], found[0]), text[1:-1], flags=re.DOTALL)
    return show_impossible(re.sub(r"&#?\w+;", lambda found: html.unescape(found[0]), plain))


# --- in --------------------------------------------------------------------------------------------------


def from_dot(text: str, *, names: Literal["id", "label"] = "id") -> CPDAG:
    """The CPDAG of a graph in DOT.

    `a -> b` is an arrow. `a -> b [dir=none]`, `a -> b` together with `b -> a`, and `a -- b` in a `graph` are
    undirected edges. Other attributes than `dir`, `arrowhead`, `arrowtail` are drawing and are passed over.

    Parameters
    ----------
    text : the graph, not a path.
    names : a variable is called by the "id" of its node, or by its "label" (as causal-learn writes it).
    """
    check_choice("names", names, ("id", "label"))
    check_text(text)
    reader = _Reader(text)
    reader.read()
    arrows, lines = [], []
    for edge in reader.edges:
        head, tail = _marks(edge, reader.directed)
        if head and tail:
            raise foreign_mark(f"{edge.start!r} <-> {edge.end!r}", "bidirected")
        if head:
            arrows.append((edge.start, edge.end))
        elif tail:
            arrows.append((edge.end, edge.start))
        else:
            lines.append((edge.start, edge.end))
    labels = {node: node if names == "id" else reader.labels.get(node, node) for node in reader.nodes}
    return class_of_labelled_edges(labels, arrows, lines, attribute=names)


def _marks(edge: _Edge, directed: bool) -> tuple[bool, bool]:
    """Whether there is an arrowhead at the end and at the start of an edge."""
    direction = edge.attributes.get("dir", "forward" if directed else "none")
    shown = {"forward": (True, False), "back": (False, True), "both": (True, True), "none": (False, False)}
    if direction not in shown:
        raise InputError(f"edge {edge.start!r}, {edge.end!r}", f"has dir={direction!r}", "Use dir=none.")
    marks = []
    for drawn, attribute in zip(shown[direction], ("arrowhead", "arrowtail"), strict=True):
        mark = edge.attributes.get(attribute, "normal")
        if drawn and mark not in (*_ARROWHEADS, "none"):
            raise foreign_mark(f"{edge.start!r}, {edge.end!r}", f"marked by {attribute}={mark!r}")
        marks.append(drawn and mark != "none")
    return marks[0], marks[1]


def _tokens(text: str) -> Iterator[_Token]:
    place, line = 0, 1
    while place < len(text):
        found = _TOKEN.match(text, place)
        if found is None:
            raise _unreadable(line, f"cannot read {text[place : place + 20]!r}")
        if found.lastgroup != "skipped":
            yield _Token(str(found.lastgroup), found[0], line)
        line += found[0].count("\n")
        place = found.end()
    yield _Token("end", "", line)


def _unreadable(line: int, problem: str) -> InputError:
    return InputError(
        f"line {line} of the DOT text",
        problem,
        "Only plain nodes and edges are read: no edges to groups, ports, HTML names or joined strings.",
    )


class _Reader:
    """A graph in DOT, statement by statement."""

    def __init__(self, text: str) -> None:
        self.pending = _tokens(text)
        self.token = next(self.pending)
        self.directed = True
        self.nodes: dict[str, None] = {}  # a set in the order of appearance
        self.labels: dict[str, str] = {}
        self.edges: list[_Edge] = []
        self.of_all_edges: dict[str, str] = {}
        self.within_group = False

    def read(self) -> None:
        """The whole text."""
        self.skip("strict")
        kind = self.take("word").lower()
        if kind not in ("graph", "digraph"):
            raise _unreadable(self.token.line, f"must begin with 'digraph' or 'graph', not {kind!r}")
        self.directed = kind == "digraph"
        if self.token.kind in ("word", "quoted"):
            self.name()
        self.take("sign", "{")
        while not self.skip("}"):
            self.statement()
            self.skip(";")
        if self.token.kind != "end":
            raise _unreadable(self.token.line, f"has {self.token.text!r} after the graph")

    def statement(self) -> None:
        """A group, attributes of all nodes or edges, one of the graph, a node, or a chain of edges."""
        if self.skip("subgraph") or self.token.text == "{":
            self.group()
            return
        if self.token.kind == "word" and self.token.text.lower() in _KEYWORDS:
            keyword = self.take("word").lower()
            found = self.attributes()
            if keyword == "edge":
                self.of_all_edges = self.of_all_edges | found  # a group leaves those outside as they are
            return
        chain = [self.name()]
        if self.skip("="):
            self.name()
            return
        while self.token.text in ("->", "--", "<->") and self.token.kind == "sign":
            self.edge_sign(chain[-1])
            chain.append(self.name())
        self.nodes |= dict.fromkeys(chain)
        found = self.attributes()
        if len(chain) == 1 and "label" in found:
            self.labels[chain[0]] = found["label"]
        for start, end in pairwise(chain):
            self.edges.append(_Edge(start, end, self.of_all_edges | found))

    def group(self) -> None:
        """Statements in braces, which tools write to place nodes; the nodes are those of the graph."""
        if self.within_group:
            raise _unreadable(self.token.line, "has a group within a group")
        if self.token.text != "{":
            self.name()
        self.take("sign", "{")
        self.within_group, outside = True, self.of_all_edges
        while not self.skip("}"):
            self.statement()
            self.skip(";")
        self.within_group, self.of_all_edges = False, outside

    def edge_sign(self, start: str) -> None:
        line, sign = self.token.line, self.take("sign")
        if sign == "<->":
            raise foreign_mark(f"{start!r} <-> {self.name()!r}", "bidirected")
        if (sign == "->") != self.directed:
            kind = "digraph" if self.directed else "graph"
            raise _unreadable(line, f"has {sign!r} after {start!r} in a {kind}")

    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self.skip("["):
            while not self.skip("]"):
                key = self.name()
                found[key] = self.name() if self.skip("=") else "true"
                self.skip(",") or self.skip(";")
        return found

    def name(self) -> str:
        """A name or a value; keywords have to be quoted to be one."""
        kind, text, line = self.token
        if kind not in ("word", "quoted") or (kind == "word" and text.lower() in (*_KEYWORDS, "subgraph")):
            raise _unreadable(line, f"has {text!r} where a name should be" if text else "ends too early")
        self.token = next(self.pending)
        return text if kind == "word" else _unquoted(text)

    def take(self, kind: str, text: str | None = None) -> str:
        found = self.token
        if found.kind != kind or text not in (None, found.text):
            raise _unreadable(found.line, f"has {found.text!r} where {text or 'a word'!r} should be")
        self.token = next(self.pending)
        return found.text

    def skip(self, text: str) -> bool:
        """Pass over a sign or keyword if it is next."""
        if self.token.kind == "quoted" or self.token.text.lower() != text:
            return False
        self.token = next(self.pending)
        return True
