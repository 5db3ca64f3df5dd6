import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from html.parser import HTMLParser

import numpy as np
import pytest
from support.known_graphs import random_dag

from dcd import CPDAG

NS = "{http://www.w3.org/2000/svg}"
ODD = ("<script>alert(1)</script>", '"quo\'te" & co', "😀", "مرحبا", "n" * 200, "]]>", "\x00\x1b\ud800\uffff")


def of_class(root, name):
    return [element for element in root.iter() if element.get("class") == name]


def test_every_node_and_edge_is_there():
    rng = np.random.default_rng(0)
    for n_variables in (2, 5, 11, 46):
        dag = random_dag(n_variables, rng) * (rng.random((n_variables, n_variables)) < 0.3)
        cpdag = CPDAG.from_dag([f"v{i}" for i in range(n_variables)], dag)
        root = ElementTree.fromstring(cpdag._repr_svg_())
        assert [g.findtext(f"{NS}title") for g in of_class(root, "node")] == list(cpdag.names)
        assert len(of_class(root, "head")) == len(cpdag.directed_edges)
        n_edges = len(cpdag.directed_edges) + len(cpdag.undirected_edges)
        assert len(of_class(root, "way")) == n_edges
        left, top, width, height = map(float, root.get("viewBox").split())
        for box in root.iter(f"{NS}rect"):
            x, y, w, h = (float(box.get(key)) for key in ("x", "y", "width", "height"))
            assert left <= x <= x + w <= left + width
            assert top <= y <= y + h <= top + height


def test_boxes_do_not_overlap():
    rng = np.random.default_rng(1)
    names = [f"a rather long name {i}" for i in range(12)]
    root = ElementTree.fromstring(CPDAG.from_dag(names, random_dag(12, rng))._repr_svg_())
    boxes = [
        tuple(float(box.get(key)) for key in ("x", "y", "width", "height")) for box in root.iter(f"{NS}rect")
    ]
    for index, (x, y, w, h) in enumerate(boxes):
        for u, v, w2, h2 in boxes[index + 1 :]:
            assert x + w <= u or u + w2 <= x or y + h <= v or v + h2 <= y


def test_it_can_be_read_aloud():
    cpdag = CPDAG.from_dag("abc", [[0, 0, 1], [0, 0, 1], [0, 0, 0]])
    root = ElementTree.fromstring(cpdag._repr_svg_())
    assert root.get("role") == "img"
    assert root[0].tag == f"{NS}title"
    assert root[0].text == "Graph of 3 variables with 2 directed and 0 undirected edges"
    assert root.findtext(f"{NS}desc") == "Directed: a to c; b to c. Undirected: none."


@pytest.mark.parametrize("render", [CPDAG._repr_svg_, CPDAG._repr_html_])
def test_names_are_text(render):
    dag = np.zeros((7, 7))
    dag[0, 2] = dag[1, 2] = dag[3, 4] = 1
    text = render(CPDAG.from_dag(ODD, dag))
    assert "<script" not in text
    text.encode()  # no lone surrogates
    seen = set()

    class Tags(HTMLParser):
        def handle_starttag(self, tag, attributes):
            seen.add(tag)
            assert not any(key.startswith("on") for key, _ in attributes)

    Tags().feed(text)
    assert "script" not in seen
    root = ElementTree.fromstring(text)
    shown = ["".join(node.itertext()) for node in root.iter(f"{NS}text")]
    assert shown[1] == ODD[1]
    assert len(shown[4]) == 24
    assert "n" * 200 in text


@pytest.mark.parametrize("render", [CPDAG._repr_svg_, CPDAG._repr_html_])
def test_names_cannot_turn_text_around_or_hide_it(render):
    odd = [f"a{character}b" for character in "\u202e\u2066\u200b\u001b\u001f\u0085\ufeff\ufffe"]
    kept = ["\u0645\u06cc\u200c\u062e", "👩\u200d👧", "thin\u202fspace"]
    text = render(CPDAG.from_dag([*odd, *kept], np.zeros((11, 11))))
    titles = [group.findtext(f"{NS}title") for group in of_class(ElementTree.fromstring(text), "node")]
    assert sorted(titles) == sorted(["a\ufffdb"] * len(odd) + kept)


def test_notebooks_find_it_and_no_library_is_loaded_for_it():
    cpdag = CPDAG("ab", [[0, 1], [1, 0]])
    assert cpdag._repr_svg_() in cpdag._repr_html_()
    assert "a - b" in cpdag._repr_html_()
    script = (
        "import sys, dcd; dcd.CPDAG('ab', [[0, 1], [1, 0]])._repr_html_(); "
        "assert not {'matplotlib', 'networkx'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_wide_graph_gets_more_room_between_its_layers():
    star = np.zeros((9, 9))
    star[0, 1:] = 1
    narrow, wide = (
        ElementTree.fromstring(
            CPDAG.from_dag([f"a rather long name {i}" for i in range(n)], star[:n, :n])._repr_svg_()
        )
        for n in (2, 9)
    )
    heights = [sorted({float(box.get("y")) for box in root.iter(f"{NS}rect")}) for root in (narrow, wide)]
    gaps = [tops[1] - tops[0] for tops in heights]
    assert gaps[0] < gaps[1]


def test_arrows_by_knowledge_are_dashed():
    cpdag = CPDAG("abc", [[0, 1, 0], [0, 0, 1], [0, 0, 0]], background=(("a", "b"),))
    root = ElementTree.fromstring(cpdag._repr_svg_())
    assert [path.get("stroke-dasharray") is not None for path in of_class(root, "way")] == [True, False]
