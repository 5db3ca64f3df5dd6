"""GraphML, the XML format of networkx, igraph, Gephi, yEd and Cytoscape.

An undirected edge is written as two directed ones, because networkx and igraph reject graphs with both kinds.
Document types are rejected when reading: entities can exhaust memory or open files.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from xml.etree import ElementTree

import pandas as pd

from dcd.graph.cpdag import CPDAG
from dcd.interop import common
from dcd.interop.common import Edge, Graph
from dcd.runtime.errors import InputError, check_type
from dcd.runtime.safe_xml import parse_safely

_NAMESPACE = "http://graphml.graphdrawing.org/xmlns"
_DEFAULTS = {"directed": True, "undirected": False}
_DIRECTED = {"true": True, "1": True, "false": False, "0": False}
_REMEDY = "Write it again with to_graphml, networkx or igraph."


def to_graphml(graph: Graph) -> str:
    """A directed graph in GraphML; an undirected edge appears in both directions."""
    names, arrows, lines = common.names_and_edges(graph)
    root = ElementTree.Element("graphml", xmlns=_NAMESPACE)
    drawing = ElementTree.SubElement(root, "graph", edgedefault="directed")
    for name in names:
        ElementTree.SubElement(drawing, "node", id=common.hide_impossible(name))
    for a, b in common.both_ways(arrows, lines):
        ElementTree.SubElement(
            drawing, "edge", source=common.hide_impossible(a), target=common.hide_impossible(b)
        )
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="UTF-8", xml_declaration=True).decode() + "\n"


def from_graphml(text: str, *, names: str = "id", as_given: bool = False) -> CPDAG:
    """The CPDAG of a graph in GraphML; two edges in opposite directions are one undirected edge.

    Parameters
    ----------
    text : the XML, not a path.
    names : name variables by the "id" of their node, or by this attribute (igraph: "name").
    as_given : keep all arrows, as background knowledge, not only those of the class.
    """
    return common.class_of_frame(read_graphml(text, names=names), as_given=as_given)


def read_graphml(text: str, *, names: str = "id") -> pd.DataFrame:
    """The labelled adjacency matrix of a graph in GraphML, with its arrows as given."""
    check_type("text", text, str, "Read the file first.")
    check_type("names", names, str, "Use names='id'.")
    root = _parsed(text)
    graph = _only_graph(root)
    labels = _labels(root, names)
    arrows: list[Edge] = []
    lines: list[Edge] = []
    _attribute(graph, "edgedefault")
    by_default = "true" if _chosen(graph, "edgedefault", _DEFAULTS, "") else "false"
    for element in graph.iter("edge"):
        edge = _attribute(element, "source"), _attribute(element, "target")
        for node in edge:
            if node not in labels:
                raise InputError(f"edge {edge[0]!r}, {edge[1]!r}", f"has no node {node!r}", _REMEDY)
        is_directed = _chosen(element, "directed", _DIRECTED, by_default)
        (arrows if is_directed else lines).append(edge)
    return common.frame_of_labelled_edges(labels, arrows, lines, attribute=repr(names))


def _parsed(text: str) -> ElementTree.Element:
    try:
        # The text has been decoded: an encoding that it declares was that of the file.
        content = text.removeprefix("\ufeff").encode()
        parse_safely(io.BytesIO(content), encoding="utf-8")
        root = ElementTree.fromstring(content, ElementTree.XMLParser(encoding="utf-8"))
    except (ValueError, ElementTree.ParseError) as error:
        raise InputError("the GraphML text", f"is not XML ({error})", _REMEDY) from error
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]  # some writers omit the namespace
    return root


def _chosen(element: ElementTree.Element, attribute: str, meanings: Mapping[str, bool], default: str) -> bool:
    """The meaning of an attribute; raises `InputError` for a value that GraphML does not have."""
    value = element.get(attribute, default)
    if value not in meanings:
        problem = f"has {attribute}={value!r} in <{element.tag}>"
        raise InputError("the GraphML text", problem, f"Use one of {', '.join(map(repr, meanings))}.")
    return meanings[value]


def _only_graph(root: ElementTree.Element) -> ElementTree.Element:
    graphs = list(root.iter("graph"))
    if not graphs:
        raise InputError("the GraphML text", "has no graph", _REMEDY)
    if len(graphs) > 1:
        raise InputError("the GraphML text", "has a graph within or after a graph", "Pass one graph.")
    if next(root.iter("hyperedge"), None) is not None:
        raise InputError("the GraphML text", "has a hyperedge", "Use edges between two nodes.")
    return graphs[0]


def _labels(root: ElementTree.Element, names: str) -> dict[str, str]:
    """The name of each node by its id."""
    keys = [
        key.get("id")
        for key in root.iter("key")
        if key.get("attr.name") == names and key.get("for", "all") in ("node", "all")
    ]
    labels = {}
    for element in root.iter("node"):
        node = _attribute(element, "id")
        values = [data.text or "" for data in element.iter("data") if data.get("key") in keys]
        if names != "id" and not values:
            raise InputError(f"node {node!r}", f"has no attribute {names!r}", "Use names='id'.")
        labels[node] = node if names == "id" else values[-1]
    return labels


def _attribute(element: ElementTree.Element, attribute: str) -> str:
    value = element.get(attribute)
    if value is None:
        raise InputError("the GraphML text", f"has no {attribute!r} in <{element.tag}>", _REMEDY)
    return common.show_impossible(value)
