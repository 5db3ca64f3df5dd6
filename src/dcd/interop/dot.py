r"""DOT, the language of graphviz.

Names are quoted, with `"`, `\` and line breaks escaped by a backslash, and `&` by `&amp;` where graphviz
would read an HTML entity. The reader supports nodes, edges, chains of edges, groups, attributes and comments,
but not edges to groups, nested groups, ports, HTML names and joined strings.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Literal, NamedTuple

import pandas as pd

from dcd.graph.cpdag import CPDAG
from dcd.interop import common
from dcd.interop.common import Graph
from dcd.runtime.errors import InputError, check_choice, check_type

_BACKSLASHED = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_PLAIN = {written: read for read, written in _BACKSLASHED.items()} | {"\\\n": ""}
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


# --- writing ---------------------------------------------------------------------------------------------


def to_dot(graph: Graph) -> str:
    """A `digraph` in DOT; an undirected edge is drawn without arrowheads (`dir=none`)."""
    names, arrows, lines = common.names_and_edges(graph)
    statements = [_quoted(name) for name in names]
    statements += [f"{_quoted(cause)} -> {_quoted(effect)}" for cause, effect in arrows]
    statements += [f"{_quoted(a)} -> {_quoted(b)} [dir=none]" for a, b in lines]
    return "\n".join(["digraph {", *(f"  {statement};" for statement in statements), "}"]) + "\n"


def _quoted(name: str) -> str:
    text = re.sub(r"&(?=#?\w+;)", "&amp;", common.hide_impossible(name))
    return '"' + re.sub(r'[\\"\n\r]', lambda match: _BACKSLASHED[match[0]], text) + '"'


def _unquoted(text: str) -> str:
    plain = re.sub(r"\\.", lambda match: _PLAIN.get(match[0], match[0]), text[1:-1], flags=re.DOTALL)
    return common.show_impossible(re.sub(r"&#?\w+;", lambda match: html.unescape(match[0]), plain))


# --- reading ---------------------------------------------------------------------------------------------


def from_dot(text: str, *, names: Literal["id", "label"] = "id", as_given: bool = False) -> CPDAG:
    """The CPDAG of a graph in DOT.

    `a -> b` is an arrow. `a -> b [dir=none]`, `a -> b` together with `b -> a`, and `a -- b` in a `graph` are
    undirected edges. Attributes other than `dir`, `arrowhead` and `arrowtail` are ignored.

    Parameters
    ----------
    text : the graph, not a path.
    names : name variables by the "id" of their node, or by its "label" (as written by causal-learn).
    as_given : keep all arrows, as background knowledge, not only those of the class.
    """
    return common.class_of_frame(read_dot(text, names=names), as_given=as_given)


def read_dot(text: str, *, names: Literal["id", "label"] = "id") -> pd.DataFrame:
    """The labelled adjacency matrix of a graph in DOT, with its arrows as given; see `from_dot`."""
    check_choice("names", names, ("id", "label"))
    check_type("text", text, str, "Read the file first.")
    parser = _DotParser(text)
    parser.graph()
    arrows, lines = [], []
    for start, end, attributes in parser.edges:
        head, tail = _arrowheads(f"{start!r}, {end!r}", attributes, parser.directed)
        if head and tail:
            raise common.foreign_mark(f"{start!r} <-> {end!r}", "bidirected")
        if head or tail:
            arrows.append((start, end) if head else (end, start))
        else:
            lines.append((start, end))
    labels = {node: node if names == "id" else parser.labels.get(node, node) for node in parser.nodes}
    return common.frame_of_labelled_edges(labels, arrows, lines, attribute=names)


def _arrowheads(edge: str, attributes: dict[str, str], directed: bool) -> list[bool]:
    """Whether an edge has an arrowhead at its end and at its start."""
    direction = attributes.get("dir", "forward" if directed else "none")
    heads = {"forward": (True, False), "back": (False, True), "both": (True, True), "none": (False, False)}
    if direction not in heads:
        raise InputError(f"edge {edge}", f"has dir={direction!r}", "Use dir=none.")
    drawn = []
    for has_head, attribute in zip(heads[direction], ("arrowhead", "arrowtail"), strict=True):
        mark = attributes.get(attribute, "normal")
        if has_head and mark not in ("normal", "vee", "none"):
            raise common.foreign_mark(edge, f"marked by {attribute}={mark!r}")
        drawn.append(has_head and mark != "none")
    return drawn


def _tokens(text: str) -> Iterator[_Token]:
    position, line = 0, 1
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise _unreadable(line, f"cannot read {text[position : position + 20]!r}")
        if match.lastgroup != "skipped":
            yield _Token(str(match.lastgroup), match[0], line)
        line += match[0].count("\n")
        position = match.end()
    yield _Token("end", "", line)


def _unreadable(line: int, problem: str) -> InputError:
    return InputError(
        f"line {line} of the DOT text",
        problem,
        "Only plain nodes and edges are read: no edges to groups, ports, HTML names or joined strings.",
    )


class _DotParser:
    """A recursive descent parser, a method for each rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.pending = _tokens(text)
        self.token = next(self.pending)
        self.directed = True
        self.nodes: dict[str, None] = {}  # a set in the order of appearance
        self.labels: dict[str, str] = {}
        self.edges: list[tuple[str, str, dict[str, str]]] = []  # start, end, attributes
        self.of_all_edges: dict[str, str] = {}
        self.within_group = False

    def graph(self) -> None:
        """The whole text."""
        self.skip("strict")
        kind = self.take("word").lower()
        if kind not in ("graph", "digraph"):
            raise _unreadable(self.token.line, f"must begin with 'digraph' or 'graph', not {kind!r}")
        self.directed = kind == "digraph"
        if self.token.kind in ("word", "quoted"):
            self.name()
        self.block()
        if self.token.kind != "end":
            raise _unreadable(self.token.line, f"has {self.token.text!r} after the graph")

    def block(self) -> None:
        """Statements in braces."""
        self.take("sign", "{")
        while not self.skip("}"):
            self.statement()
            self.skip(";")

    def statement(self) -> None:
        """A group, default attributes, an attribute of the graph, a node, or a chain of edges."""
        if self.skip("subgraph") or self.token.text == "{":
            self.group()
            return
        if self.token.kind == "word" and self.token.text.lower() in _KEYWORDS:
            keyword = self.take("word").lower()
            attributes = self.attributes()
            if keyword == "edge":
                self.of_all_edges = self.of_all_edges | attributes  # not in place: groups restore it
            return
        chain = [self.name()]
        if self.skip("="):
            self.name()
            return
        while self.token.text in ("->", "--", "<->") and self.token.kind == "sign":
            self.edge_sign(chain[-1])
            chain.append(self.name())
        self.nodes |= dict.fromkeys(chain)
        attributes = self.attributes()
        if len(chain) == 1 and "label" in attributes:
            self.labels[chain[0]] = attributes["label"]
        for start, end in pairwise(chain):
            self.edges.append((start, end, self.of_all_edges | attributes))

    def group(self) -> None:
        """A block within the graph, whose nodes belong to the graph."""
        if self.within_group:
            raise _unreadable(self.token.line, "has a group within a group")
        if self.token.text != "{":
            self.name()
        self.within_group, outside = True, self.of_all_edges
        self.block()
        self.within_group, self.of_all_edges = False, outside

    def edge_sign(self, start: str) -> None:
        line, sign = self.token.line, self.take("sign")
        if sign == "<->":
            raise common.foreign_mark(f"{start!r} <-> {self.name()!r}", "bidirected")
        if (sign == "->") != self.directed:
            kind = "digraph" if self.directed else "graph"
            raise _unreadable(line, f"has {sign!r} after {start!r} in a {kind}")

    def attributes(self) -> dict[str, str]:
        attributes: dict[str, str] = {}
        while self.skip("["):
            while not self.skip("]"):
                key = self.name()
                attributes[key] = self.name() if self.skip("=") else "true"
                self.skip(",") or self.skip(";")
        return attributes

    def name(self) -> str:
        """A name or a value; keywords have to be quoted."""
        kind, text, line = self.token
        if kind not in ("word", "quoted") or (kind == "word" and text.lower() in (*_KEYWORDS, "subgraph")):
            raise _unreadable(line, f"has {text!r} where a name should be" if text else "ends too early")
        self.token = next(self.pending)
        return text if kind == "word" else _unquoted(text)

    def take(self, kind: str, text: str | None = None) -> str:
        token = self.token
        if token.kind != kind or text not in (None, token.text):
            raise _unreadable(token.line, f"has {token.text!r} where {text or 'a word'!r} should be")
        self.token = next(self.pending)
        return token.text

    def skip(self, text: str) -> bool:
        """Skip a sign or keyword if it is next."""
        if self.token.kind == "quoted" or self.token.text.lower() != text:
            return False
        self.token = next(self.pending)
        return True
