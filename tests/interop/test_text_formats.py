"""DOT and GraphML: exchange with other programs, and bad input."""

import re

import networkx as nx
import numpy as np
import pytest
from causallearn.utils.GraphUtils import GraphUtils
from support.handover import CHAIN, COLLIDER, NAMES, random_cpdags, read_by_pydot

from dcd import CPDAG, InputError, interop


def test_dot_by_hand():
    assert interop.to_dot(COLLIDER) == 'digraph {\n  "a";\n  "b";\n  "c";\n  "a" -> "b";\n  "c" -> "b";\n}\n'
    assert '"a" -> "b" [dir=none];\n  "b" -> "c" [dir=none];' in interop.to_dot(CHAIN)


def test_pydot_reads_the_same_edges():
    for graph in [*random_cpdags()][::4]:
        theirs = read_by_pydot(interop.to_dot(graph))
        edges = [
            (e.get_source().strip('"'), e.get_destination().strip('"'), e.get("dir"))
            for e in theirs.get_edges()
        ]
        assert {(a, b) for a, b, way in edges if way is None} == set(graph.directed_edges)
        assert {(a, b) for a, b, way in edges if way == "none"} == set(graph.undirected_edges)
        assert [node.get_name().strip('"') for node in theirs.get_nodes()] == list(graph.names)


def test_pydot_reads_any_name_as_one_name():
    names = [name for name in NAMES if name.strip()]
    graph = CPDAG(names, np.zeros((len(names), len(names))))
    theirs = read_by_pydot(interop.to_dot(graph))
    assert len(theirs.get_nodes()) == len(names)
    assert not theirs.get_edges()


@pytest.mark.parametrize("graph", [COLLIDER, CHAIN])
def test_dot_of_pydot_networkx_and_causal_learn_comes_in(graph):
    theirs = read_by_pydot(interop.to_dot(graph))
    assert interop.from_dot(theirs.to_string()) == graph
    assert interop.from_dot(nx.nx_pydot.to_pydot(interop.to_networkx(graph)).to_string()) == graph
    drawn = GraphUtils.to_pydot(interop.to_causal_learn(graph)).to_string()
    assert interop.from_dot(drawn, names="label") == graph


def test_dot_of_many_forms():
    text = """
    // a comment
    strict DiGraph "name" {
        # another
        graph [rankdir=LR]; node [shape=box, style="filled"]
        edge [arrowhead=vee]
        rankdir = LR  /* a third */
        1 -> b [label="1.5" color=red; weight]
        3 [label="the third"]
        b -> 3 [dir=back]
    }"""
    assert interop.from_dot(text) == CPDAG(("1", "b", "3"), COLLIDER.adjacency)
    assert interop.from_dot(text, names="label").names == ("1", "b", "the third")
    assert interop.from_dot("graph { a -- b -- c }") == CHAIN
    assert (
        interop.from_dot("digraph { { rank=same; a; c } subgraph cluster_1 { a -> b } c -> b }") == COLLIDER
    )
    assert interop.from_dot("digraph { { edge [dir=none] d -> e } a -> b; c -> b }").undirected_edges == (
        ("d", "e"),
    )
    assert interop.from_dot("digraph { a -> b -> c; c -> b; }") == CHAIN
    assert (
        interop.from_dot("digraph { a -> b [dir=both arrowtail=none]; c -> b [arrowhead=normal] }")
        == COLLIDER
    )


def test_graphml_by_hand():
    rows = interop.to_graphml(COLLIDER).splitlines()
    assert [row.strip() for row in rows if "edge " in row] == [
        '<edge source="a" target="b" />', '<edge source="c" target="b" />',
    ]  # fmt: skip
    assert interop.to_graphml(CHAIN).count("<edge ") == 4


def test_networkx_reads_and_writes_the_same_graphml():
    for graph in [*random_cpdags(), CPDAG(NAMES[:11], np.zeros((11, 11)))]:
        theirs = nx.parse_graphml(interop.to_graphml(graph))
        assert list(theirs.nodes) == list(graph.names)
        assert set(theirs.edges) == set(interop.to_networkx(graph).edges)
        assert interop.from_graphml("\n".join(nx.generate_graphml(theirs))) == graph


def test_graphml_of_many_forms():
    text = """<?xml version="1.0"?>
    <graphml xmlns="http://graphml.graphdrawing.org/xmlns">
      <key id="v_name" for="node" attr.name="name" attr.type="string"/>
      <graph edgedefault="undirected">
        <node id="n0"><data key="v_name">a</data><data key="other">A</data></node>
        <node id="n1"><data key="v_name">b</data></node>
        <node id="n2"><data key="v_name">c</data></node>
        <edge source="n0" target="n1" EXTRA/>
        <edge source="n2" target="n1" EXTRA/>
      </graph>
    </graphml>"""
    assert interop.from_graphml(text.replace("EXTRA", ""), names="name") == CHAIN
    assert interop.from_graphml(text.replace("EXTRA", 'directed="true"'), names="name") == COLLIDER
    assert interop.from_graphml(text.replace("EXTRA", "")).names == ("n0", "n1", "n2")


def test_a_text_cannot_ask_for_all_memory():
    text = "digraph {" + ";".join(f"n{i}" for i in range(6000)) + "}"
    with pytest.raises(InputError, match="has 6000 nodes"):
        interop.from_dot(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("digraph { a -> {b c} }", "line 1 of the DOT text: has '{' where a name should be"),
        ("digraph {\n { a } -> b }", "line 2 of the DOT text: has '->' where a name should be"),
        ("digraph " + 5000 * "{ ", "line 1 of the DOT text: has a group within a group"),
        ("digraph { a -> subgraph }", "has 'subgraph' where a name should be"),
        ("digraph { a -> b [arrowhead=odot] }", "edge 'a', 'b': is marked by arrowhead='odot'"),
        ("digraph { a:n -> b }", "cannot read ':n"),
        ("digraph { <b>x</b> }", "cannot read '<b>"),
        ('digraph { "a" + "b" }', "cannot read '+"),
        ("digraph { a -- b }", "has '--' after 'a' in a digraph"),
        ("graph { a -> b }", "has '->' after 'a' in a graph"),
        ("digraph { a <-> b }", "edge 'a' <-> 'b': is bidirected"),
        ("digraph { a -> b [dir=both] }", "edge 'a' <-> 'b': is bidirected"),
        ("digraph { a -> b [dir=sideways] }", "has dir='sideways'"),
        ("dag { a -> b }", "must begin with 'digraph' or 'graph', not 'dag'"),
        ("digraph { a -> b", "ends too early"),
        ('digraph { "a -> b }', "cannot read"),
        ("digraph { a } digraph { b }", "after the graph"),
        ("digraph { a [x=] }", "has ']' where a name should be"),
        ("", "where 'a word' should be"),
        (b"digraph {}", "must be text, got bytes"),
    ],
)
def test_dot_that_cannot_be_read_says_where(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        interop.from_dot(text)


BILLION_LAUGHS = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>
<graphml><graph edgedefault="directed"><node id="&c;"/></graph></graphml>"""
OPENS_A_FILE = """<?xml version="1.0"?>
<!DOCTYPE graphml [<!ENTITY file SYSTEM "file:///etc/passwd">]>
<graphml><graph edgedefault="directed"><node id="n"><data key="k">&file;</data></node></graph></graphml>"""
OPENS_A_DTD = (
    '<!DOCTYPE graphml SYSTEM "http://localhost/x.dtd"><graphml><graph edgedefault="directed"/></graphml>'
)


@pytest.mark.parametrize("text", [BILLION_LAUGHS, OPENS_A_FILE, OPENS_A_DTD])
def test_graphml_with_declarations_is_refused(text):
    with pytest.raises(InputError, match="declares a document type"):
        interop.from_graphml(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<graphml>", "is not XML"),
        ("no xml", "is not XML"),
        ("\ud800", "is not XML"),
        ("<graphml/>", "has no graph"),
        ("<graphml><graph/></graphml>", "has no 'edgedefault' in <graph>"),
        ('<graph edgedefault="directed"><node/></graph>', "has no 'id' in <node>"),
        (
            '<graph edgedefault="directed"><edge source="a" target="b"/></graph>',
            "edge 'a', 'b': has no node 'a'",
        ),
        ('<graph edgedefault="directed"><hyperedge/></graph>', "has a hyperedge"),
        ('<graph edgedefault="directed"><graph edgedefault="directed"/></graph>', "a graph within or after"),
        (b"<graphml/>", "must be text, got bytes"),
    ],
)
def test_graphml_that_cannot_be_read_says_why(text, message):
    with pytest.raises(InputError, match=re.escape(message)):
        interop.from_graphml(text)


def test_labels_have_to_tell_nodes_apart():
    with pytest.raises(InputError, match="two nodes have the same label"):
        interop.from_dot("digraph { a [label=x]; b [label=x]; }", names="label")
    with pytest.raises(InputError, match="must be one of 'id', 'label'"):
        interop.from_dot("digraph { }", names="lable")
    with pytest.raises(InputError, match="node 'a': has no attribute 'name'"):
        interop.from_graphml(interop.to_graphml(CHAIN), names="name")
