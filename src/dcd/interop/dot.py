r"""DOT, the language of graphviz, written and parsed by pydot.

Names are quoted. Within quotes `"`, `\` and line breaks are escaped by a backslash, and `&` is `&amp;` where
graphviz would take it for an HTML entity. Read are `graph` and `digraph` with nodes, edges, chains of edges,
groups, attributes and comments. Edges to groups, groups within groups, ports, HTML names and joined strings
are refused.
"""

from __future__ import annotations

import html
import re
import warnings
from dataclasses import dataclass, field
from typing import Any, Literal

from dcd.graph.cpdag import CPDAG
from dcd.interop.edge_lists import (
    Edge,
    Graph,
    check_text,
    class_of_labelled_edges,
    foreign_mark,
    load,
    names_and_edges,
)
from dcd.interop.escapes import hide_impossible, show_impossible
from dcd.runtime.errors import InputError, check_choice

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"}
_UNESCAPED = {written: read for read, written in _ESCAPES.items()} | {"\\\n": ""}
_ARROWHEADS = ("normal", "vee")
_KEYWORDS = ("strict", "graph", "digraph", "subgraph", "node", "edge")
_LEXEME = re.compile(
    r"""(?P<skipped>\s+|//[^\n]*|/\*.*?\*/|\#[^\n]*)
      | (?P<quoted>"(?:[^"\\]|\\.)*")
      | (?P<word>[^\W\d]\w*|-?(?:\.\d+|\d+(?:\.\d*)?))
      | (?P<sign><->|->|--|[{}\[\];,=])""",
    re.VERBOSE | re.DOTALL,
)


def to_dot(graph: Graph) -> str:
    """A `digraph` in DOT; an undirected edge is drawn without arrowheads (`dir=none`)."""
    names, arrows, lines = names_and_edges(graph)
    pydot = _load("pydot")
    drawing = pydot.Dot("", graph_type="digraph")
    for name in names:
        drawing.add_node(pydot.Node(_quoted(name)))
    for cause, effect in arrows:
        drawing.add_edge(pydot.Edge(_quoted(cause), _quoted(effect)))
    for a, b in lines:
        drawing.add_edge(pydot.Edge(_quoted(a), _quoted(b), dir="none"))
    return str(drawing.to_string(indent=2))


def from_dot(text: str, *, names: Literal["id", "label"] = "id") -> CPDAG:
    """The CPDAG of a graph in DOT.

    `a -> b` is an arrow. `a -> b [dir=none]`, `a -> b` together with `b -> a`, and `a -- b` in a `graph` are
    undirected edges. Attributes other than `dir`, `arrowhead` and `arrowtail` only affect the drawing and are
    ignored.

    Parameters
    ----------
    text : the graph, not a path.
    names : a variable is called by the "id" of its node, or by its "label" (as causal-learn writes it).
    """
    check_choice("names", names, ("id", "label"))
    check_text(text)
    drawing = _parsed(text)
    graph = _Contents(directed=drawing.get_type() == "digraph")
    graph.add(drawing, {})
    labels = {node: graph.labels.get(node, node) if names == "label" else node for node in graph.nodes}
    return class_of_labelled_edges(labels, graph.arrows, graph.lines, attribute=names)


def _load(module: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pydot calls pyparsing by deprecated names
        return load(module, "dot")


def _quoted(name: str) -> str:
    text = re.sub(r"&(?=#?\w+;)", "&amp;", hide_impossible(name))
    return '"' + re.sub(r'[\\"\n\r]', lambda match: _ESCAPES[match[0]], text) + '"'


def _unquoted(text: str) -> str:
    plain = re.sub(r"\\.", lambda match: _UNESCAPED.get(match[0], match[0]), text[1:-1], flags=re.DOTALL)
    return show_impossible(re.sub(r"&#?\w+;", lambda match: html.unescape(match[0]), plain))


# --- text to pydot ---------------------------------------------------------------------------------------


def _parsed(text: str) -> Any:
    """The one graph of a text as a `pydot.Dot`."""
    plain = _with_quoted_names(text)
    parser = _load("pydot.dot_parser").GraphParser.parser  # graph_from_dot_data prints its errors
    try:
        graphs = parser.parse_string(plain, parse_all=True)
    except load("pyparsing", "dot").ParseBaseException as error:
        raise _unreadable(error.lineno, str(error).partition("  (at char")[0]) from error
    if len(graphs) > 1:
        raise InputError("the DOT text", "has more than one graph", "Give one graph.")
    return graphs[0]


def _with_quoted_names(text: str) -> str:
    """The same graph with every name in quotes, without comments, on the same lines.

    pydot alone would read `penwidth=1e5` as two attributes and fail at an attribute `name`. It also accepts
    either edge operator in either kind of graph, and takes a time that doubles with each nested group.
    """
    parts, position, depth, operator, in_attributes = [], 0, 0, "", False
    while position < len(text):
        lexeme = _LEXEME.match(text, position)
        if lexeme is None:
            raise _unreadable(_line(text, position), f"cannot read {text[position : position + 20]!r}")
        token, kind, position = lexeme[0], lexeme.lastgroup, lexeme.end()
        if kind == "skipped":
            token = "\n" * token.count("\n") or " "
        elif kind == "word" and (in_attributes or token.lower() not in _KEYWORDS):
            token = f'"{token}"'
        elif kind == "word":
            operator = operator or {"digraph": "->", "graph": "--"}.get(token.lower(), "")
        elif kind == "sign":
            depth += (token == "{") - (token == "}")
            in_attributes = token == "[" or (in_attributes and token != "]")
            if problem := _misplaced(token, operator, depth):
                raise _unreadable(_line(text, lexeme.start()), problem)
            token = "," if in_attributes and token == ";" else token
        parts.append(token)
    return "".join(parts)


def _misplaced(sign: str, operator: str, depth: int) -> str | None:
    if sign == "<->":
        return "has a bidirected edge (<->), and a CPDAG has arrows and undirected edges only"
    if sign in ("->", "--") and operator not in (sign, ""):
        return f"has {sign!r} in a {'digraph' if operator == '->' else 'graph'}"
    return "has a group within a group" if depth > 2 else None


def _line(text: str, position: int) -> int:
    return text.count("\n", 0, position) + 1


def _unreadable(line: int, problem: str) -> InputError:
    return InputError(
        f"line {line} of the DOT text",
        problem,
        "Only plain nodes and edges are read: no edges to groups, ports, HTML names or joined strings.",
    )


# --- pydot to nodes and edges ----------------------------------------------------------------------------


@dataclass
class _Contents:
    """Nodes in the order of their appearance, with their labels, and edges."""

    directed: bool
    nodes: dict[str, None] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    arrows: list[Edge] = field(default_factory=list)
    lines: list[Edge] = field(default_factory=list)

    def add(self, drawing: Any, defaults: dict[str, str]) -> None:
        """Everything in a graph or group; `defaults` are the attributes of edges that hold around it."""
        statements = [*drawing.get_nodes(), *drawing.get_edges(), *drawing.get_subgraphs()]
        for statement in sorted(statements, key=lambda statement: statement.get_sequence()):
            attributes = {
                _unquoted(key): _unquoted(value or '"true"')
                for key, value in statement.get_attributes().items()
            }
            kind = statement.obj_dict["type"]
            if kind == "subgraph":
                self.add(statement, defaults)
            elif kind == "edge":
                ends = [self._node(end) for end in statement.obj_dict["points"]]
                self._add_edge(ends[0], ends[1], defaults | attributes)
            elif statement.get_name() == "edge":  # attributes of the edges that follow
                defaults = defaults | attributes
            elif statement.get_name() not in ("node", "graph"):
                name = self._node(statement.get_name())
                self.labels |= {name: attributes["label"]} if "label" in attributes else {}

    def _node(self, name: Any) -> str:
        if not isinstance(name, str):
            raise InputError("the DOT text", "has an edge to a group", "Write one edge for each node of it.")
        if not name.startswith('"'):
            raise InputError("the DOT text", f"has {name!r} where a name should be", "Put it in quotes.")
        self.nodes[_unquoted(name)] = None
        return _unquoted(name)

    def _add_edge(self, start: str, end: str, attributes: dict[str, str]) -> None:
        direction = attributes.get("dir", "forward" if self.directed else "none")
        if direction not in ("forward", "back", "both", "none"):
            raise InputError(f"edge {start!r}, {end!r}", f"has dir={direction!r}", "Use dir=none.")
        head = direction in ("forward", "both") and _is_arrow(start, end, "arrowhead", attributes)
        tail = direction in ("back", "both") and _is_arrow(start, end, "arrowtail", attributes)
        if head and tail:
            raise foreign_mark(f"{start!r} <-> {end!r}", "bidirected")
        if head or tail:
            self.arrows.append((start, end) if head else (end, start))
        else:
            self.lines.append((start, end))


def _is_arrow(start: str, end: str, which: str, attributes: dict[str, str]) -> bool:
    mark = attributes.get(which, "normal")
    if mark not in (*_ARROWHEADS, "none"):
        raise foreign_mark(f"{start!r}, {end!r}", f"marked by {which}={mark!r}")
    return mark != "none"
