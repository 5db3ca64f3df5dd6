"""The report as text; test_report_in_browser.py tests its behaviour."""

import base64
import hashlib
import html as html_text
import json
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from msgspec import structs
from support.made_results import HOSTILE, make_document, make_result, random_cpdag

import dcd
from dcd import CPDAG, InputError
from dcd.results import Result, report
from dcd.results.model import Column, View
from dcd.results.origin import given_in
from dcd.results.report.confidence import scale_of
from dcd.results.report.findings import findings, groups
from dcd.results.report.graph_picture import draw_graph
from dcd.results.report.phrases import count, listed, percent, pvalue
from dcd.results.report.scatter_plots import Axis, draw_scatter
from dcd.results.report.variable_details import effect_of_weights
from dcd.runtime.text import visible

VOID = {"meta", "input", "br", "hr", "link"}


class Reader(HTMLParser):
    """The tree's well-formedness, its text, and all attributes."""

    def __init__(self):
        super().__init__()
        self.open, self.attributes, self.text, self.seen = [], [], [], []

    def handle_starttag(self, name, attributes):
        self.seen.append(name)
        self.attributes += [(name, key, value) for key, value in attributes]
        if name not in VOID:
            self.open.append(name)

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    assert reader.open == []
    return reader


@pytest.fixture(scope="module")
def result():
    return make_result(random_cpdag([f"v{i}" for i in range(7)], 8))


# --- words -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "\u2013"),
        (0.0, "< 10⁻³⁰⁰"),
        (9.6e-39, "1 \u00d7 10⁻³⁸"),
        (2.8e-135, "3 \u00d7 10⁻¹³⁵"),
        (0.0008, "0.0008"),
        (0.0123, "0.012"),
        (1.0, "1"),
    ],
)
def test_pvalues_are_short(value, expected):
    assert pvalue(value) == expected


def test_shares_are_never_0_or_100_unless_they_are():
    assert [percent(share) for share in (0, 0.001, 0.5, 0.999, 1)] == [
        "0 %",
        "< 1 %",
        "50 %",
        "> 99 %",
        "100 %",
    ]


def test_counts_and_lists_read_well():
    assert (count(1, "edge"), count(3, "edge"), count(12, "edge")) == ("one edge", "three edges", "12 edges")
    assert listed(["a"]) == "a"
    assert listed(["a", "b", "c"]) == "a, b and c"
    assert listed(list("abcdef"), 2) == "a, b and 4 more"


def test_findings_tell_the_graph():
    cpdag = random_cpdag(["a", "b", "c"], 3)
    result = make_result(cpdag)
    told = " ".join(findings(result, given_in(result)))
    assert "Of 3 pairs of variables, three were found to be directly related." in told
    assert "cannot be determined" in told
    assert groups(result) == [["a", "b", "c"]]


@pytest.mark.parametrize(
    ("pairs", "words"),
    [
        ([("a", "d")], "One other edge improved the score, but a test did not confirm it: a — d."),
        (
            [("a", "d"), ("b", "d")],
            "Two other edges improved the score, but a test did not confirm them: a — d and b — d.",
        ),
    ],
)
def test_findings_tell_edges_that_a_test_did_not_confirm(pairs, words):
    cpdag = CPDAG.from_dag(list("abcd"), np.diag([1, 1, 0], 1))
    document = make_document(cpdag) | {"separated": pairs, "conflicts": [], "cautions": []}
    result = Result.from_dict(json.loads(json.dumps(document)))
    told = findings(result, given_in(result))
    assert told[-2:] == [words, "No caveats were noted."]
    assert "contradict" not in report.render(result)


# --- knowledge -------------------------------------------------------------------------------------------


def classes_of(result):
    """The classes of each drawn edge, by its ends."""
    svg = ElementTree.fromstring(draw_graph(result, scale_of(result)))
    return {
        (edge.first, edge.second): set(group.get("class").split()) - {"edge"}
        for group in svg.iter("g")
        if (index := group.get("data-edge")) and (edge := result.edges[int(index)])
    }


def test_what_follows_from_knowledge_is_not_shown_as_data():
    chain = [[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    document = make_document(CPDAG.from_dag("abcd", chain, background=[("a", "b")]), n_sample=9)
    document |= {"knowledge": ["a is a root (no arrow points at it)."], "conflicts": [], "cautions": []}
    document["edges"][0]["background"] = True
    result = Result.from_dict(document)
    assert [(e.type, e.background) for e in result.edges] == [("->", True), ("->", False)]
    assert {"given"} < classes_of(result)["b", "c"]
    told = " ".join(findings(result, given_in(result)))
    assert "Knowledge, not the data, determines two directions: a → b and b → c." in told
    text = "".join(read(report.render(result)).text)
    assert "follows from knowledge" in text
    assert "An arrow with K" in text


def test_a_required_edge_that_the_data_do_not_show_has_no_confidence():
    """a -> b is required and makes a collider with c -> b; x -> z <- y comes from the data."""
    names = ["a", "b", "c", "x", "y", "z"]
    dag = np.zeros((6, 6), dtype=int)
    for cause, effect in ("ab", "cb", "xz", "yz"):
        dag[names.index(cause), names.index(effect)] = 1
    document = make_document(CPDAG.from_dag(names, dag), n_sample=9, resampled=True)
    conflict = {"variables": ["a", "b"], "problem": "The data show no edge a - b.", "action": "It was drawn."}
    document |= {"knowledge": ["a -> b is required."], "conflicts": [{"kind": "required_edge", **conflict}]}
    result = Result.from_dict(document)
    scale = scale_of(result)
    classes = classes_of(result)
    assert classes["a", "b"] == {"given", "required"}
    assert classes["c", "b"] == {"given", "firm"}
    assert classes["x", "z"] == classes["y", "z"] == {"arrow", "firm"}
    assert scale.strength(result.edges[0]) is None
    told = " ".join(findings(result, given_in(result)))
    assert (
        "three were found to be directly related. One edge is drawn only because knowledge requires it."
        in told
    )
    told_by = "The data, together with background knowledge, determine the direction of"
    assert f"{told_by} two of them: x → z and y → z." in told
    assert "Knowledge, not the data, determines two directions: a → b and c → b." in told
    assert "3 of 3 edges were found" in told
    html = report.render(result)
    assert ">the data contradict themselves<" not in html
    assert "Where the data contradict knowledge" in html
    rows = re.findall(r"<tr data-edge=.*?</tr>", html, flags=re.DOTALL)
    assert "required as knowledge" in rows[-1]
    assert "%" not in rows[-1]
    assert "88 %" in rows[0]


# --- the picture -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_the_picture_has_every_edge_between_its_nodes_and_no_boxes_overlap(seed):
    names = [f"variable {i}" for i in range(12)]
    result = make_result(random_cpdag(names, 14, seed), n_sample=2)
    svg = ElementTree.fromstring(draw_graph(result, scale_of(result)))
    boxes = {}
    for node in svg.iter("a"):
        rect = node.find("rect")
        boxes[node.find("title").text] = [float(rect.get(key)) for key in ("x", "y", "width", "height")]
    assert set(boxes) == set(names)
    placed = list(boxes.values())
    for index, (x, y, width, height) in enumerate(placed):
        for other_x, other_y, other_width, other_height in placed[:index]:
            apart_x = x >= other_x + other_width or other_x >= x + width
            assert apart_x or y >= other_y + other_height or other_y >= y + height
    edges = [group for group in svg.iter("g") if "edge" in group.get("class", "").split()]
    assert len(edges) == len(result.edges)
    for group in edges:
        edge = result.edges[int(group.get("data-edge"))]
        assert ("arrow" in group.get("class")) == (edge.type == "->")
        paths = {path.get("class"): path.get("d") for path in group.iter("path")}
        assert ("head" in paths) == (edge.type == "->")
        numbers = [float(number) for number in re.findall(r"-?[\d.]+", paths["way"])]
        ends = {_touched(boxes, *numbers[:2]), _touched(boxes, *numbers[-2:])}
        assert ends == {edge.first, edge.second}
        if edge.type == "->":
            assert (
                _touched(boxes, *[float(n) for n in re.findall(r"-?[\d.]+", paths["head"])][:2])
                == edge.second
            )


def _touched(boxes, x, y):
    """The box at whose border a point lies, apart from arrowheads."""
    near = [
        name
        for name, (left, top, width, height) in boxes.items()
        if left - 1 <= x <= left + width + 1 and top - 10 <= y <= top + height + 10
    ]
    assert len(near) == 1
    return near[0]


def test_confidence_is_by_resamples_where_there_are_any(result):
    by_pvalue = scale_of(result)
    assert by_pvalue.measure == "pvalue"
    for edge in result.edges:
        assert by_pvalue.strength(edge) == pytest.approx(-np.log10(edge.pvalue))
    resampled = make_result(random_cpdag(["a", "b", "c"], 2), n_sample=2, resampled=True)
    assert {scale_of(resampled).strength(edge) for edge in resampled.edges} == {0.875}
    steps = scale_of(resampled).slider_stops(resampled)
    assert steps[0] == (0.0, "all edges")
    assert steps[-1][0] == pytest.approx(0.85)


# --- the page --------------------------------------------------------------------------------------------


def test_the_page_is_whole_and_loads_nothing(result, tmp_path):
    report.write(result, tmp_path / "report.html")
    html = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert html == report.render(result)
    page = read(html)
    loading = {"src", "srcset", "action", "data", "poster", "style", "background", "xlink:href"}
    for name, key, value in page.attributes:
        assert key not in loading, (name, key)
        assert not key.startswith("on")
        assert key != "href" or value.startswith("#")
    assert not {"link", "iframe", "object", "embed", "img", "base", "form"} & set(page.seen)
    assert not re.search(r"url\(|@import|https?:", html)


def test_the_policy_knows_style_and_script_by_their_hash(result):
    html = report.render(result)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    policy = html_text.unescape(policy)
    assert policy.startswith("default-src 'none';")
    assert "unsafe" not in policy
    for element in ("style", "script"):
        (text,) = re.findall(rf"<{element}>(.*?)</{element}>", html, flags=re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
        assert f"{element}-src 'sha256-{digest}'" in policy


def test_everything_is_in_the_text(result):
    text = " ".join("".join(read(report.render(result)).text).split())
    for edge in result.edges:
        assert pvalue(edge.pvalue) in text
    for caution in result.cautions:
        assert caution.text in text
    for conflict in result.conflicts:
        assert f"{conflict.problem} {conflict.action}" in text
    assert result.data.fingerprint in text
    assert "RobustDCD().fit(table)" in text


def test_hostile_names_are_text():
    result = make_result(random_cpdag(HOSTILE, 18), levels={HOSTILE[1]: HOSTILE[:5]})
    html = report.render(result)
    assert html.count("<script>") == html.count("</script>") == 1
    page = read(html)
    assert "img" not in page.seen
    text = "".join(page.text)
    for name in HOSTILE:
        assert visible(name) in html_text.unescape(html)
    assert "<script>alert(1)</script>" in text
    html.encode("utf-8")


def test_half_a_surrogate_pair_can_be_written(tmp_path):
    report.write(make_result(random_cpdag(["half \ud800", "b", "c"], 2)), tmp_path / "odd.html")
    assert "half " in (tmp_path / "odd.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("n_variables", [2, 46])
def test_the_page_stays_small(n_variables):
    n_edges = 1 if n_variables == 2 else 2 * n_variables
    result = make_result(random_cpdag([f"variable {i}" for i in range(n_variables)], n_edges))
    assert len(report.render(result).encode("utf-8")) < 3_000_000


def test_no_edges_no_rows_no_views():
    document = make_document(random_cpdag(["a", "b", "c"], 1), n_sample=2)
    document |= {"edges": [], "colliders": [], "conflicts": [], "cautions": [], "sample": None}
    for boundary in document["boundaries"]:
        boundary |= {"members": [], "view": None}
    text = "".join(read(report.render(Result.from_dict(document))).text)
    assert "No two variables were found to be directly related." in text
    assert "without rows of the data" in text


def test_missing_values_and_levels_are_drawn():
    levels = {"b": ("low", "high"), "c": tuple(f"level {i}" for i in range(20))}
    document = make_document(random_cpdag(["a", "b", "c"], 3), levels=levels)
    document["sample"]["values"]["a"][:50] = [None] * 50
    document["sample"]["weights"]["b"][:60] = [None] * 60
    html = report.render(Result.from_dict(document))
    assert "nan" not in re.sub(r"<style>.*</style>|<script>.*</script>", "", html, flags=re.DOTALL).lower()
    document["sample"]["values"]["a"] = [None] * 300
    assert "No values in the sample." in report.render(Result.from_dict(document))


def test_dots_of_two_categories_lie_on_no_line():
    levels = ("low", "high")
    codes = np.zeros(300)
    axes = [Axis(Column(name, "nominal", "", 0, levels), codes) for name in "ab"]
    places = re.findall(r"M(\d+) (\d+)h0", draw_scatter(*axes, None, "a against b"))
    assert len(places) == 300
    across, down = np.array(places, dtype=float).T
    assert abs(np.corrcoef(across, down)[0, 1]) < 0.1
    sixths = [np.digitize(v, np.linspace(v.min(), v.max(), 7)[1:-1]) for v in (across, down)]
    assert len(set(zip(*sixths, strict=True))) == 36  # no part of the square is empty


def test_knowledge_and_columns_left_out_are_told():
    document = make_document(random_cpdag(["a", "b", "c"], 2), n_sample=20)
    document["knowledge"] = ["a comes before b"]
    document["data"]["dropped"] = {"copy of a": "the same as a"}
    text = "".join(read(report.render(Result.from_dict(document))).text)
    assert "a comes before b" in text
    assert "copy of a: the same as a" in text


def test_only_results_are_rendered():
    with pytest.raises(InputError, match="parameter 'result': must be a Result, got dict"):
        report.render({})


def test_a_member_without_an_edge_shares_an_effect_only_if_the_graph_says_so():
    rng = np.random.default_rng(0)
    a, b, e, f = rng.standard_normal((4, 800))
    frame = pd.DataFrame({"a": a, "b": b, "c": a + b + e, "d": f})
    model = dcd.RobustDCD(progress=False).fit(frame)
    assert model.markov_boundaries_["a"]["b"] == "spouse"
    result = dcd.summarise(model)
    assert "cause of a common effect" in dcd.report.render(result)
    document = result.to_dict()
    members = document["boundaries"][0]["members"]
    members.append({**members[0], "name": "d", "role": "spouse"})  # as after a conflict: no edge
    page = dcd.report.render(dcd.results.Result.from_dict(document))
    assert "no edge drawn" in page
    assert "but no edge was drawn" in page


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (
            "d",
            "Weights make the three variables around it independent of each other: their",
        ),
        ("a", "A test was repeated under weights that reduce the dependence among"),
    ],
)
def test_the_effect_of_weights_is_that_of_the_method(target, expected):
    """DCD decouples the variables around a target; Robust DCD those of a test, with the target among them."""
    view = View(("a", "b", "c"), 100, 60.0, "balanced", 4.0, 0.9, (0.0, 1.0), (100,))
    text = effect_of_weights(view, target)
    assert text.startswith(expected)
    assert "from 4.0 to 0.9 times the chance level" in text
    assert all(name in text for name in "abc") or target == "d"
    idle = effect_of_weights(structs.replace(view, dependence_before=0.9), target)
    assert "no more than chance" in idle
