"""Pictures of the report in a real browser: frames that scroll, legends and ticks."""

import io
import re
from itertools import combinations, pairwise

import numpy as np
import pytest
from PIL import Image
from support.browser import launched, visits_by_name, written
from support.made_results import add_posterior, make_document, random_cpdag, with_uncertain

from dcd.results import Result

LONG = (
    "-1234567",
    "0.00012345",
    "99999",
    "1e300",
    "-1e-300",
    "123456789012345",
    "-0.001",
    "12.5",
    "-99999.4",
)
SCHEMES = [("light", "screen"), ("dark", "screen"), ("light", "print")]


def with_values(ends):
    """Columns of numbers between two ends each, and columns of levels with long names."""
    names = [f"v{i}" for i in range(len(ends))] + ["few", "many"]
    levels = {"few": ["absolutely not", "perhaps"], "many": [f"number {i} of all" for i in range(9)]}
    document = make_document(random_cpdag(names, 3 * len(names), seed=2), n_sample=60, levels=levels)
    rng = np.random.default_rng(0)
    for name, (low, high) in zip(names, ends, strict=False):
        document["sample"]["values"][name] = [low, high, *rng.uniform(low, high, 58).tolist()]
    return Result.from_dict(document)


def with_all_kinds():
    """A result with every legend entry: arrows, lines, knowledge, grades and contradictions."""
    cpdag = with_uncertain(random_cpdag([f"v{i}" for i in range(9)], 12, seed=4), 2)
    document = make_document(cpdag, n_sample=5)
    arrows = [edge for edge in document["edges"] if edge["type"] == "->"]
    required, given = arrows[0], arrows[1]
    clash = {"action": "Knowledge went first.", "problem": "The data show no such edge."}
    document["knowledge"] = ["Something is required."]
    pair = [required["first"], required["second"]]
    document["conflicts"].append({"kind": "required_edge", "variables": pair, **clash})
    add_posterior(document)
    for at, edge in enumerate(document["edges"]):
        absent = (0.01, 0.12, 0.4)[at % 3]
        shares = {"forward": 0.9 - absent, "backward": 0.0, "undirected": 0.1, "absent": absent}
        if edge["uncertain"]:
            shares = {"forward": 0.5 - absent, "backward": 0.0, "undirected": 0.5, "absent": absent}
        edge["probabilities"] = shares
        document["posterior"]["pairs"][at]["probabilities"] = shares
    assert given
    return Result.from_dict(document)


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pictures")
    ends = [tuple(sorted(map(float, two))) for two in pairwise(LONG)]
    made = {
        "small": Result.from_dict(make_document(random_cpdag(["a", "b", "c", "d"], 4), n_sample=5)),
        "wide": Result.from_dict(
            make_document(random_cpdag([f"a long name {i}" for i in range(46)], 50), n_sample=5)
        ),
        "medium": Result.from_dict(
            make_document(random_cpdag([f"a longer name {i}" for i in range(8)], 14), n_sample=5)
        ),
        "numbers": with_values(ends),
        "kinds": with_all_kinds(),
    }
    return written(made, folder)


@pytest.fixture
def visit(browser, files):
    with visits_by_name(browser, files) as visit:
        yield visit


def pixels(locator):
    """(height, width, 3) a screenshot of an element."""
    return np.asarray(Image.open(io.BytesIO(locator.screenshot())).convert("RGB"), dtype=float)


# --- the frame of the graph ------------------------------------------------------------------------------

BEYOND = "canvas.scrollWidth > canvas.clientWidth + 1 || canvas.scrollHeight > canvas.clientHeight + 1"
FRAME = f"""canvas => {{
  const picture = canvas.querySelector("svg");
  return {{ beyond: {BEYOND}, width: canvas.clientWidth,
            scale: picture.getBoundingClientRect().width / picture.viewBox.baseVal.width }};
}}"""

HINTED = f"""() => {{
  const canvas = document.querySelector(".canvas");
  return document.querySelector(".hint").checkVisibility() === ({BEYOND});
}}"""


@pytest.mark.parametrize("width", [320, 360, 480, 600, 768, 1280, 1900])
@pytest.mark.parametrize("name", ["small", "numbers", "wide"])
def test_a_picture_fits_where_it_can_be_read_and_says_so_where_it_does_not(visit, name, width):
    page = visit(name, width)
    page.wait_for_function(HINTED)  # the page notices its size a moment after it has loaded
    frame = page.locator(".canvas").evaluate(FRAME)
    least = 0.4 if frame["width"] <= 480 else 0.72  # a finger enlarges the picture of a phone
    assert least - 0.002 <= frame["scale"] <= 1.001
    described = page.get_attribute(".canvas", "aria-describedby")
    assert described == ("canvas-hint" if frame["beyond"] else None)
    page.set_viewport_size({"width": 1900 if width < 1000 else 320, "height": 2000})
    page.wait_for_function(HINTED)


@pytest.mark.parametrize("javascript", [True, False])
def test_a_picture_of_a_few_variables_opens_whole_on_a_phone(visit, javascript):
    page = visit("medium", 400, java_script_enabled=javascript)
    assert 480 < int(page.locator("#graph svg.graph").get_attribute("width")) < 850
    assert not page.locator(".canvas").evaluate(FRAME)["beyond"]
    assert not page.is_visible(".hint")


def test_the_variable_beside_the_graph_is_as_tall_as_the_graph(visit):
    page = visit("numbers", 1280)
    graph, panel = (page.locator(selector).bounding_box() for selector in ("#graph", "#variables"))
    assert panel["height"] == pytest.approx(max(graph["height"], 600), abs=1)
    assert page.eval_on_selector("#variables", "panel => panel.scrollHeight > panel.clientHeight")
    page.eval_on_selector("#variables", "panel => { panel.scrollTop = 300; }")
    page.select_option("#variable", "3")
    assert page.eval_on_selector("#variables", "panel => panel.scrollTop") == 0
    page.click("#all")
    assert page.eval_on_selector("#variables", "panel => panel.scrollHeight <= panel.clientHeight + 1")


def test_a_table_that_is_cut_says_that_it_scrolls(visit):
    hint = "#edges .sideways"
    assert visit("kinds", 400).is_visible(hint)
    assert not visit("small", 1280).is_visible(hint)


@pytest.mark.parametrize("width", [320, 768, 1279])
@pytest.mark.parametrize("name", ["small", "wide"])
def test_no_section_lies_over_another(visit, name, width):
    page = visit(name, width)
    boxes = page.eval_on_selector_all(
        "header, main section",
        "all => all.map(one => one.getBoundingClientRect()).map(b => [b.top, b.bottom])",
    )
    beside = {"graph", "variables", "edges", "care", "meaning", "data", "again"} if width > 1080 else set()
    names = ["header", *page.eval_on_selector_all("main section", "all => all.map(one => one.id)")]
    for (one, (_, bottom)), (other, (top, _)) in pairwise(zip(names, boxes, strict=True)):
        if not {one, other} <= beside:
            assert top >= bottom - 1, f"{other} begins above the end of {one}"


def test_a_tall_graph_stays_in_view_with_its_end(visit):
    page = visit("wide", 1280, reduced_motion="reduce")
    page.set_viewport_size({"width": 1280, "height": 600})
    assert page.locator("#graph").bounding_box()["height"] > 600
    end = "document.querySelector('#variables').getBoundingClientRect().bottom"
    page.evaluate(f"window.scrollTo(0, {end} + scrollY - 620)")
    legend = page.locator("#graph .legend").last.bounding_box()
    assert 0 < legend["y"] + legend["height"] <= 600


def test_the_edge_beyond_which_there_is_more_is_shaded(visit):
    for scheme in ("light", "dark"):
        page = visit("wide", 360, color_scheme=scheme)
        canvas = page.locator(".canvas")
        shades = {}
        for end, left in (("start", 0), ("end", 100_000)):
            canvas.evaluate(f"canvas => {{ canvas.scrollTop = 0; canvas.scrollLeft = {left}; }}")
            picture = pixels(canvas)
            shades[end] = [np.median(picture[20:-20, columns]) for columns in (slice(1, 4), slice(-5, -2))]
        more = 1 if scheme == "light" else -1  # shaded areas are darker, or lighter in dark mode
        assert more * (shades["end"][1] - shades["start"][1]) > 25
        assert more * (shades["start"][0] - shades["end"][0]) > 25


def test_the_hint_is_there_without_javascript_too(visit):
    page = visit("wide", 360, java_script_enabled=False)
    assert page.is_visible(".hint")
    assert not page.is_visible("#fit")
    assert not visit("small", 1280, java_script_enabled=False).is_visible(".hint")


def test_all_of_a_wide_picture_can_be_shown_and_back(visit):
    page = visit("wide", 360)
    page.click("#fit")
    assert not page.locator(".canvas").evaluate(FRAME)["beyond"]
    assert page.get_attribute("#fit", "aria-pressed") == "true"
    assert not page.is_visible("#canvas-hint")
    page.click("#fit")
    assert page.locator(".canvas").evaluate(FRAME)["beyond"]
    assert page.is_visible("#canvas-hint")


def test_the_arrow_keys_scroll_the_picture(visit):
    page = visit("wide", 360)
    page.focus(".canvas")
    page.evaluate("document.querySelector('.canvas').scrollLeft = 0")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('.canvas').scrollLeft > 0")
    assert page.evaluate("document.querySelector('.canvas').scrollLeft") > 0


# --- the legend ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("scheme", "medium"), SCHEMES)
def test_no_two_samples_of_the_legend_look_alike(visit, scheme, medium):
    page = visit("kinds", 1280, color_scheme=scheme)
    page.emulate_media(media=medium, color_scheme=scheme)
    entries = page.locator("#graph .legend li").all()
    words = [entry.text_content().strip() for entry in entries]
    assert len(words) == len(set(words)) >= 8
    samples = [pixels(entry.locator("svg, .swatch").first) for entry in entries]
    for (one, first), (other, second) in combinations(zip(words, samples, strict=True), 2):
        if first.shape == second.shape:
            differing = (np.abs(first - second).max(axis=2) > 60).sum()
            assert differing > 30, f"{one!r} and {other!r} differ in {differing} pixels"


# --- ticks of scatter plots ------------------------------------------------------------------------------

TICKS = """plots => plots.flatMap(plot => {
  const box = plot.getBoundingClientRect();
  return [...plot.querySelectorAll(".tick")].map(tick => {
    const text = tick.getBoundingClientRect();
    const outside = Math.max(
      box.left - text.left, text.right - box.right, box.top - text.top, text.bottom - box.bottom);
    return [tick.textContent, outside];
  });
})"""
OVERLAPS = """plots => plots.flatMap(plot => {
  const ticks = [...plot.querySelectorAll(".tick")];
  const boxes = ticks.map(tick => [tick.textContent, tick.getBoundingClientRect()]);
  const meet = (one, other) => one.left < other.right && other.left < one.right
    && one.top + 3 < other.bottom && other.top + 3 < one.bottom;
  return boxes.flatMap(([a, one], i) =>
    boxes.slice(i + 1).filter(([, other]) => meet(one, other)).map(([b]) => `${a} and ${b}`));
})"""


@pytest.mark.parametrize("width", [340, 1280])
@pytest.mark.parametrize("font", [None, "DejaVu Sans", "serif"])
def test_ticks_are_within_their_plot_and_apart(visit, width, font):
    page = visit("numbers", width, bypass_csp=True)
    page.click("#all")
    if font:
        page.add_style_tag(content=f".tick {{ font-family: {font} }}")
    ticks = page.eval_on_selector_all(".scatter", TICKS)
    texts = {text for text, _ in ticks}
    assert {"\u22121.2\u00d710⁶", "1.2\u00d710⁻⁴", "1\u00d710³⁰⁰", "12.5"} <= texts
    assert not [text for text in texts if re.search(r"\de[+-]?\d", text)]
    assert [tick for tick in ticks if tick[1] > 0.5] == []
    assert page.eval_on_selector_all(".scatter", OVERLAPS) == []
