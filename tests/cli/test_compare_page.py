"""`dcd compare` with knowledge and with a page."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from support.browser import launched, visits
from support.commands import collider, random_graphs
from support.made_results import HOSTILE

import dcd
from dcd.cli.agreement import DISTANCES, Distance, against_knowledge, agreement
from dcd.cli.compare_page import compare_page
from dcd.evaluation.baselines import METHODS
from dcd.table.reading import read_columns

# --- knowledge -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_against_knowledge_is_every_forbidden_arrow_and_every_required_edge_that_is_absent(seed):
    graph = random_graphs(seed, n_graphs=1)["m0"]
    known = dcd.Knowledge(forbidden=[("a", "b"), ("b", "a"), ("c", "d")], required=[("e", "f"), ("a", "f")])
    found = against_knowledge(graph, known.bind(graph.names))
    arrows, lines = set(graph.directed_edges), {frozenset(edge) for edge in graph.undirected_edges}
    expected = {
        pair for pair in [("a", "b"), ("b", "a"), ("c", "d"), ("f", "e"), ("f", "a")] if pair in arrows
    }
    absent = {
        (a, b)
        for a, b in [("e", "f"), ("a", "f")]
        if not {(a, b), (b, a)} & arrows and frozenset((a, b)) not in lines
    }
    assert len(found) == len(expected) + len(absent)
    for a, b in expected:
        assert any(words.startswith(f"{a} -> {b}, but ") for words in found)
    for a, b in absent:
        assert f"no edge between {a} and {b}, but {a} -> {b} is required" in found


def test_a_method_that_takes_knowledge_obeys_it_and_the_others_are_told_apart(call, data, tmp_path):
    rng = np.random.default_rng(0)
    cause = rng.uniform(-1, 1, 400)
    frame = pd.DataFrame(
        {"cause": cause, "effect": cause + 0.5 * rng.uniform(-1, 1, 400), "other": rng.random(400)}
    )
    known = tmp_path / "known.toml"
    known.write_text('roots = ["cause"]\n')
    arguments = ["compare", data(frame), "--methods", "robust-dcd,pc,ges", "--knowledge", known]
    shown = call(*arguments, "--json", tmp_path / "answer.json").out
    document = json.loads((tmp_path / "answer.json").read_text())
    told = document["methods"]
    assert told["robust-dcd"]["directed"] == told["pc-fisherz"]["directed"] == [["cause", "effect"]]
    assert told["ges"]["undirected"] == [["cause", "effect"]]
    assert [one["takes_knowledge"] for one in told.values()] == [True, True, False]
    assert document["knowledge"] == ["cause is a root (no arrow points at it)."]
    assert document["shd"]["robust-dcd"] == {"robust-dcd": 0, "pc-fisherz": 0, "ges": 1}
    assert re.search(r"^  ges +1 +0 +\d+\.\d\d +cannot be used$", shown, flags=re.MULTILINE)
    assert re.search(r"^  pc-fisherz +1 +1 +\d+\.\d\d +used$", shown, flags=re.MULTILINE)


def test_python_refuses_knowledge_that_a_method_cannot_take():
    with pytest.raises(dcd.InputError, match="cannot be used by 'ges'"):
        dcd.baselines.run("ges", collider(), knowledge=dcd.Knowledge(roots=["a"]))
    with pytest.raises(dcd.InputError, match="'z' is not a column"):
        dcd.baselines.run("pc-fisherz", collider(), knowledge=dcd.Knowledge(roots=["z"]))


@pytest.mark.slow
@pytest.mark.parametrize("method", [name for name, method in METHODS.items() if method.takes_knowledge])
def test_every_method_that_says_so_takes_knowledge(method):
    """a -> c: whatever the data suggest, no arrow points at a or from c."""
    frame = collider()[["a", "c"]]
    if METHODS[method].discrete:
        frame = (frame > 0).astype(int)
    found = dcd.baselines.run(method, frame, knowledge=dcd.Knowledge(roots=["a"]))
    assert found.directed_edges == (("a", "c"),)
    assert found.background == (("a", "c"),)


@pytest.mark.parametrize(
    ("text", "words"),
    [("roots = ['z']", "'z' is not a column"), ("roots = [", "is not TOML"), ("rots = ['a']", "rots")],
)
def test_bad_knowledge_is_refused_before_any_method_runs(text, words, call, data, tmp_path):
    known = tmp_path / "known.toml"
    known.write_text(text)
    answer = call("compare", data.path, "--methods", "robust-dcd,dcd", "--knowledge", known)
    assert (answer.code, answer.out) == (2, "")
    assert words in answer.err


# --- the page --------------------------------------------------------------------------------------------


def test_a_distance_is_one_entry(monkeypatch):
    monkeypatch.setitem(DISTANCES, "arrows", Distance("More", lambda a, b: len(a.directed_edges)))
    graphs = random_graphs(0)
    found = agreement(graphs, graphs["m0"].names)
    assert found["arrows"]["m0"]["m1"] == len(graphs["m0"].directed_edges)


def made_page(names, n_graphs=3, seed=0, title="Title"):
    """The page of random graphs, without running a method."""
    rng = np.random.default_rng(seed)
    methods = list(METHODS)[:n_graphs]
    graphs = {}
    for method in methods:
        order = rng.permutation(len(names))
        dag = np.triu(rng.random((len(names), len(names))) < 0.25, k=1)[np.ix_(order, order)].astype(int)
        graphs[method] = dcd.CPDAG.from_dag(names, dag)
    told = {
        method: {
            "directed": graph.directed_edges,
            "undirected": graph.undirected_edges,
            "seconds": 0.5,
            "peak_mb": 100.0,
            "contradictory": False,
            "takes_knowledge": True,
            "against_knowledge": [f"{names[0]} -> {names[1]}, but it is not"],
        }
        for method, graph in graphs.items()
    }
    told[list(METHODS)[n_graphs]] = {"failed": f"no luck with {names[0]}"}
    answer = {
        "n_rows": 40,
        "n_rows_used": 40,
        "dropped": {},
        "knowledge": [f"{names[0]} is a root."],
        "methods": told,
        **agreement(graphs, names),
    }
    table = pd.DataFrame(rng.standard_normal((40, len(names))), columns=list(names))
    return compare_page(answer, graphs, read_columns(table).summary, title), graphs


def test_every_graph_is_drawn_in_the_same_places():
    page, graphs = made_page([f"v{i}" for i in range(7)])
    pictures = re.findall(r'<svg class="graph".*?</svg>', page, flags=re.DOTALL)
    assert len(pictures) == len(graphs)
    boxes = [re.findall(r'<rect x="([\d.]+)" y="([\d.]+)"', picture) for picture in pictures]
    assert boxes[0] == boxes[1] == boxes[2]
    for picture, graph in zip(pictures, graphs.values(), strict=True):
        assert picture.count('class="head"') == len(graph.directed_edges)
        assert picture.count('class="way"') == len(graph.directed_edges) + len(graph.undirected_edges)


def test_arrowheads_are_at_the_effect_also_where_it_is_above():
    """Every arrow ends at the box of its effect, whatever the layout of the other graphs."""
    n_up = 0
    for seed in range(6):
        page, graphs = made_page([f"v{i}" for i in range(6)], seed=seed)
        pictures = re.findall(r'<svg class="graph".*?</svg>', page, flags=re.DOTALL)
        for picture, graph in zip(pictures, graphs.values(), strict=True):
            boxes = [
                tuple(map(float, box))
                for box in re.findall(
                    r'<rect x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"', picture
                )
            ]
            heads = re.findall(r'<path d="M([\d.]+) ([\d.]+)l-[\d.]+ (-?)[\d.]+h[^"]*" class="head"', picture)
            assert len(heads) == len(graph.directed_edges)
            for (_, effect), (x, y, down) in zip(graph.directed_edges, heads, strict=True):
                left, top, width, height = boxes[graph.index(effect)]
                assert left <= float(x) <= left + width
                assert float(y) == pytest.approx(top if down else top + height, abs=0.2)
                n_up += not down
    assert n_up > 0


def test_names_and_reasons_are_text():
    page, _ = made_page(list(HOSTILE), title=HOSTILE[0])
    assert "<script" not in page
    assert "<img" not in page
    assert "no luck with &lt;script&gt;" in page
    page.encode("utf-8")


def test_the_page_of_a_run(call, data, tmp_path):
    page = tmp_path / "compare.html"
    ran = call("compare", data(collider()), "--methods", "robust-dcd,dcd", "--page", page, "--title", "Mine")
    assert ran.code == 0
    text = page.read_text()
    assert "<h1><bdi>Mine</bdi></h1>" in text
    assert text.count('<svg class="graph"') == 2
    assert "2 of 2" in text


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("names", [tuple("abcdefgh"), HOSTILE], ids=["plain", "hostile"])
def test_in_a_browser(names, width, browser, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(made_page(names, n_graphs=4, title=names[0])[0], encoding="utf-8")
    with visits(browser) as visit:
        page = visit(file.as_uri(), width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("script, img, iframe").count() == 0
        assert page.locator("h1").text_content() == names[0]
        assert page.locator("svg.graph").count() == 4
        widths = page.eval_on_selector_all(
            "svg.graph", "all => all.map(e => e.getBoundingClientRect().width)"
        )
        assert max(widths) <= width
        for anchor in page.eval_on_selector_all("nav a", "all => all.map(e => e.getAttribute('href'))"):
            assert page.locator(anchor).count() == 1
