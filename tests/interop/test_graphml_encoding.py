"""GraphML as text and as files of other programs: encodings, and words for directions."""

import codecs

import pytest

import dcd
from dcd.cli.graph_files import read_graph
from dcd.interop import from_graphml, to_graphml

DRAWN = """<?xml version="1.0"{encoding}?>
<graphml><graph edgedefault="{default}"><node id="été"/><node id="日"/>
<edge source="été" target="日"{directed}/></graph></graphml>"""


def drawn(encoding="", default="directed", directed=""):
    return DRAWN.format(encoding=encoding, default=default, directed=directed)


@pytest.mark.parametrize(
    "encoding", ["", "UTF-8", "ISO-8859-1", "latin-1", "US-ASCII", "UTF-16", "windows-1252"]
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_text_is_read_as_it_is_whatever_encoding_it_declares(encoding, mark):
    text = mark + drawn(f' encoding="{encoding}"' if encoding else "")
    assert from_graphml(text).names == ("été", "日")


def test_a_file_with_a_byte_order_mark_is_read(tmp_path):
    file = tmp_path / "graph.graphml"
    file.write_bytes(codecs.BOM_UTF8 + drawn(' encoding="ISO-8859-1"').encode())
    assert list(read_graph(str(file)).columns) == ["été", "日"]


@pytest.mark.parametrize("directed", ["yes", "no", "True", "FALSE", "2", ""])
def test_unknown_directions_are_refused(directed):
    with pytest.raises(dcd.InputError, match=f"has directed='{directed}' in <edge>"):
        from_graphml(drawn(directed=f' directed="{directed}"'))


@pytest.mark.parametrize("default", ["both", "Directed", ""])
def test_unknown_defaults_are_refused(default):
    with pytest.raises(dcd.InputError, match=f"has edgedefault='{default}' in <graph>"):
        from_graphml(drawn(default=default))


@pytest.mark.parametrize(
    ("default", "directed", "arrow"),
    [
        ("directed", "false", False),
        ("directed", "0", False),
        ("undirected", "true", True),
        ("undirected", "1", True),
    ],
)
def test_the_edge_overrides_the_default(default, directed, arrow):
    text = drawn(default=default, directed=f' directed="{directed}"')
    if arrow:  # a single arrow has no direction in a CPDAG: a collider shows it
        text = text.replace(
            "</graph>", f'<node id="z"/><edge source="z" target="日" directed="{directed}"/></graph>'
        )
    graph = from_graphml(text)
    assert bool(graph.directed_edges) == arrow
    assert from_graphml(to_graphml(graph)) == graph
