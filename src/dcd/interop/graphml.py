"""GraphML: XML that networkx, igraph, Gephi, yEd and Cytoscape read.

An undirected edge is written as two edges, one each way, because common readers (networkx, igraph) refuse a
graph with both kinds. Declarations of entities and document types are refused when reading: entities that
expand into each other fill the memory, and external ones open files.
"""

from __future__ import annotations

from xml.parsers import expat
from xml.sax.saxutils import quoteattr

from dcd.graph.cpdag import CPDAG
from dcd.interop.common import Graph, arrows_and_lines, class_of_edges, names_and_adjacency
from dcd.interop.escapes import hide_impossible, show_impossible
from dcd.runtime.errors import InputError

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_REMEDY = "Write it again with to_graphml, networkx or igraph."


def to_graphml(graph: Graph) -> str:
    """A directed graph in GraphML; an undirected edge appears in both directions."""
    names, _ = names_and_adjacency(graph)
    arrows, lines = arrows_and_lines(graph)
    edges = [*arrows, *(pair for a, b in lines for pair in ((a, b), (b, a)))]
    rows = [f"    <node id={_attribute(name)}/>" for name in names]
    rows += [f"    <edge source={_attribute(a)} target={_attribute(b)}/>" for a, b in edges]
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<graphml xmlns="{_NAMESPACE}">\n'
    return "\n".join([f'{head}  <graph edgedefault="directed">', *rows, "  </graph>", "</graphml>"]) + "\n"


def _attribute(name: str) -> str:
    return quoteattr(hide_impossible(name), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})


def from_graphml(text: str, *, names: str = "id") -> CPDAG:
    """The CPDAG of a graph in GraphML; two edges in opposite directions are one undirected edge.

    Parameters
    ----------
    text : the XML, not a path.
    names : a variable is called by the "id" of its node, or by this attribute of it (igraph: "name").
    """
    if not isinstance(text, str):
        raise InputError(
            "parameter 'text'", f"must be text, got {type(text).__name__}", "Read the file first."
        )
    reader = _Reader(names)
    reader.read(text)
    called = {node: reader.values.get(node) if names != "id" else node for node in reader.nodes}
    for node, name in called.items():
        if name is None:
            raise InputError(f"node {node!r}", f"has no attribute {names!r}", "Use names='id'.")
    for edge in (*reader.arrows, *reader.lines):
        for node in edge:
            if node not in called:
                raise InputError(f"edge {edge[0]!r}, {edge[1]!r}", f"has no node {node!r}", _REMEDY)
    if len(set(called.values())) < len(called):
        raise InputError("parameter 'names'", f"two nodes have the same {names!r}", "Use names='id'.")
    return class_of_edges(
        called.values(),
        [(called[a], called[b]) for a, b in reader.arrows],
        [(called[a], called[b]) for a, b in reader.lines],
    )


class _Reader:
    """Nodes and edges as the XML parser comes across them."""

    def __init__(self, names: str) -> None:
        self.attribute = names
        self.nodes: dict[str, None] = {}  # a set in the order of appearance
        self.values: dict[str, str] = {}
        self.arrows: list[tuple[str, str]] = []
        self.lines: list[tuple[str, str]] = []
        self.directed: bool | None = None
        self.key: str | None = None
        self.node: str | None = None
        self.within_value = False

    def read(self, text: str) -> None:
        parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartDoctypeDeclHandler = self.refuse_doctype
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        try:
            parser.Parse(text.encode(), True)
        except (expat.ExpatError, UnicodeEncodeError) as error:
            raise InputError("the GraphML text", f"is no XML ({error})", _REMEDY) from error
        if self.directed is None:
            raise InputError("the GraphML text", "has no graph", _REMEDY)

    def refuse_doctype(self, *_: object) -> None:
        raise InputError(
            "the GraphML text",
            "declares a document type, which can declare entities",
            "Remove the DOCTYPE; GraphML needs none.",
        )

    def start(self, element: str, found: dict[str, str]) -> None:
        kind = element.rpartition(" ")[2]
        if kind == "graph":
            if self.directed is not None:
                raise InputError("the GraphML text", "has a graph within or after a graph", "Give one graph.")
            self.directed = self.required(kind, found, "edgedefault") == "directed"
        elif kind == "key" and found.get("attr.name") == self.attribute:
            if found.get("for", "all") in ("node", "all"):
                self.key = self.required(kind, found, "id")
        elif kind == "node":
            self.node = show_impossible(self.required(kind, found, "id"))
            self.nodes[self.node] = None
        elif kind == "data":
            self.within_value = self.node is not None and found.get("key") == self.key
        elif kind == "edge":
            self.edge(found)
        elif kind == "hyperedge":
            raise InputError("the GraphML text", "has a hyperedge", "Give edges between two nodes.")

    def edge(self, found: dict[str, str]) -> None:
        start, end = (show_impossible(self.required("edge", found, end)) for end in ("source", "target"))
        directed = found.get("directed", "true" if self.directed else "false") in ("true", "1")
        (self.arrows if directed else self.lines).append((start, end))

    def required(self, element: str, found: dict[str, str], attribute: str) -> str:
        if attribute not in found:
            raise InputError("the GraphML text", f"has a {element} without {attribute!r}", _REMEDY)
        return found[attribute]

    def characters(self, text: str) -> None:
        if self.within_value and self.node is not None:
            self.values[self.node] = self.values.get(self.node, "") + text

    def end(self, element: str) -> None:
        kind = element.rpartition(" ")[2]
        if kind == "data":
            self.within_value = False
        elif kind == "node":
            self.node = None
