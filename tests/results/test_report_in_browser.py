"""The report in a real browser: what it loads, clicks and keys, accessibility."""

import re
from itertools import pairwise

import numpy as np
import pytest
from support.browser import DISPLAYED, launched, visits_by_name, written
from support.made_results import HOSTILE, make_document, make_result, random_cpdag

from dcd import CPDAG
from dcd.results import Result
from dcd.results.report.confidence import scale_of

NAMES = [f"v{i}" for i in range(9)]


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture(scope="module")
def result():
    return make_result(random_cpdag(NAMES, 11, seed=1))


@pytest.fixture(scope="module")
def files(tmp_path_factory, result):
    folder = tmp_path_factory.mktemp("reports")
    made = {
        "plain": result,
        "hostile": make_result(
            random_cpdag(HOSTILE, 18),
            resampled=True,
            levels={HOSTILE[1]: HOSTILE[:5], HOSTILE[4]: HOSTILE[3:]},
        ),
        "large": make_result(random_cpdag([f"a long name {i}" for i in range(46)], 50), n_sample=60),
    }
    dag = np.zeros((4, 4), dtype=int)
    dag[0, 2] = dag[1, 2] = 1
    document = make_document(CPDAG.from_dag(RIGHT_TO_LEFT, dag), n_sample=20)
    first, second, third, _ = RIGHT_TO_LEFT
    text = f"Be careful with {first} → {third} ← {second}."
    document["cautions"] = [{"kind": "few-rows", "variables": [first, third, second], "text": text}]
    made["right to left"] = Result.from_dict(document)
    return written(made, folder)


@pytest.fixture
def visit(browser, files):
    with visits_by_name(browser, files) as visit:
        yield visit


def shown(page, selector):
    """How many elements are displayed."""
    return page.eval_on_selector_all(selector, DISPLAYED)


# --- choosing and filtering ------------------------------------------------------------------------------


def test_a_click_shows_the_variable_and_marks_its_edges(visit, result):
    page = visit("plain")
    assert shown(page, ".variable") == 1
    for index in (4, 2):
        page.click(f".node[data-variable='{index}']")
        assert shown(page, ".variable") == 1
        assert page.is_visible(f"#v{index}")
        assert page.text_content(f"#v{index} h3") == NAMES[index]
        assert page.eval_on_selector(".node.selected", "node => node.dataset.variable") == str(index)
        marked = page.eval_on_selector_all(
            "svg.graph .edge:not(.faint)", "all => all.map(e => +e.dataset.edge)"
        )
        own = [i for i, edge in enumerate(result.edges) if NAMES[index] in (edge.first, edge.second)]
        assert sorted(marked) == own
        near = page.eval_on_selector_all(".node.near", "all => all.map(node => +node.dataset.variable)")
        assert len(near) == len(own)
    assert page.url.endswith("#v2")


def test_scatters_come_in_pairs_with_the_weights(visit, result):
    page = visit("plain")
    index = next(i for i, boundary in enumerate(result.boundaries) if len(boundary.members) > 1)
    page.click(f".node[data-variable='{index}']")
    boundary = result.boundaries[index]
    assert shown(page, f"#v{index} .pair") == len(boundary.members)
    assert shown(page, f"#v{index} .scatter") == 2 * len(boundary.members)
    titles = page.eval_on_selector_all(f"#v{index} .panel-title", "all => all.map(e => e.textContent)")
    assert re.match(r"As measured.?\d\.\d\d", titles[0])
    assert re.match(r"Weighted.?\d\.\d\d", titles[1])
    widths = page.eval_on_selector_all(
        f"#v{index} .pair:first-child .dots", "all => all.map(e => +e.getAttribute('stroke-width'))"
    )
    assert len(set(widths)) > 4
    assert "260 rows" in page.text_content(f"#v{index} .histogram")


def test_the_slider_hides_edges_below_it_and_says_how_many_remain(visit, result):
    page = visit("plain")
    strengths = [scale_of(result).strength(edge) for edge in result.edges]
    steps = scale_of(result).slider_stops(result)
    slider = page.locator("#confidence")
    slider.focus()
    remaining = []
    for least, words in steps:
        expected = sum(strength >= least for strength in strengths)
        assert page.text_content("#shown").lower() == f"{words}: {expected} of {len(strengths)} shown"
        assert (
            slider.get_attribute("aria-valuetext") == f"{words}, {expected} of {len(strengths)} edges shown"
        )
        assert shown(page, "svg.graph .edge") == shown(page, "#edges tbody tr") == expected
        remaining.append(expected)
        page.keyboard.press("ArrowRight")
    assert remaining == sorted(remaining, reverse=True)
    assert 0 < remaining[-1] < remaining[0]
    page.keyboard.press("Home")
    assert shown(page, "svg.graph .edge") == len(strengths)


def test_the_keyboard_does_what_the_mouse_does(visit):
    page = visit("plain")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    passed = []
    for _ in range(40):
        page.keyboard.press("Tab")
        passed.append(page.evaluate("document.activeElement.textContent"))
        if page.evaluate("document.activeElement.dataset?.variable") == "5":
            break
    assert "Skip the picture" in passed
    page.keyboard.press("Enter")
    assert page.is_visible("#v5")
    assert page.evaluate("document.activeElement.id") == "v5-name"
    page.select_option("#variable", "3")
    assert page.is_visible("#v3")
    assert shown(page, ".variable") == 1
    page.focus("#all")
    page.keyboard.press("Enter")
    assert shown(page, ".variable") == len(NAMES)
    assert page.get_attribute("#all", "aria-pressed") == "true"


def test_the_list_leads_to_a_variable_among_all(visit):
    page = visit("plain", reduced_motion="reduce")
    page.click("#all")
    page.focus("#variable")
    for index in (8, 0):
        page.select_option("#variable", str(index))
        box = page.locator(f"#v{index}").bounding_box()
        assert -5 <= box["y"] < 600
        assert page.evaluate("document.activeElement.id") == "variable"


def test_the_picture_is_skipped_to_what_comes_next_and_all_that_scrolls_has_the_keyboard(visit):
    page = visit("plain")
    assert page.get_attribute("#graph .skip", "href") == "#variables"
    page.click("#all")
    assert page.locator(".scroll").count() > len(NAMES)
    assert page.locator(".scroll:not([tabindex='0'][role='region'][aria-label])").count() == 0


@pytest.mark.parametrize("width", [320, 340, 481, 1280])
def test_labels_of_scatters_can_be_read(visit, width):
    page = visit("plain", width)
    page.click("#all")
    heights = page.eval_on_selector_all(
        ".scatter", "all => all.map(e => 25 * e.getBoundingClientRect().width / e.viewBox.baseVal.width)"
    )
    assert min(heights) >= 10


def test_a_link_to_a_variable_opens_it(visit, files):
    page = visit("plain")
    page.evaluate("location.hash = '#v7'")
    page.wait_for_selector("#v7", state="visible")
    assert shown(page, ".variable") == 1
    link = page.locator("#data tbody a").nth(1)
    link.click()
    assert page.is_visible("#v1")
    page.evaluate("location.hash = '#v99'")
    assert shown(page, ".variable") == 1


# --- hostile names ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [360, 1280])
def test_hostile_names_are_shown_as_text(visit, width):
    page = visit("hostile", width)
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    for index, name in enumerate(HOSTILE):
        page.select_option("#variable", str(index))
        heading = page.text_content(f"#v{index}-name")
        expected = re.sub("[\u0000\u202e]", "\ufffd", name) if name.strip() else "(no name)"
        assert heading == expected
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


LABELS = """all => all.map(label => {
  const rect = label.closest(".node").querySelector("rect");
  const [text, box] = [label, rect].map(element => element.getBoundingClientRect());
  return {inside: box.left < text.left && text.right < box.right && text.bottom <= box.bottom + 1,
          whole: label.scrollWidth <= label.clientWidth};
})"""
FONTS = [
    "sans-serif",
    "serif",
    "monospace; letter-spacing: .5em",
    "sans-serif; font-weight: 900; font-size: 22px",
]


@pytest.mark.parametrize("font", FONTS)
@pytest.mark.parametrize(
    "name",
    ["hostile", pytest.param("plain", marks=pytest.mark.slow), pytest.param("large", marks=pytest.mark.slow)],
)
def test_labels_stay_in_their_boxes_with_any_font(visit, name, font):
    page = visit(name, bypass_csp=True)
    assert all(label["inside"] for label in page.eval_on_selector_all(".node .label", LABELS))
    page.add_style_tag(content=f".node .label {{ font-family: {font} }}")
    assert all(label["inside"] for label in page.eval_on_selector_all(".node .label", LABELS))


@pytest.mark.parametrize("name", ["plain", "large"])
def test_labels_that_need_no_cut_are_whole(visit, name):
    labels = visit(name).eval_on_selector_all(".node .label", LABELS)
    assert labels
    assert all(label["whole"] for label in labels)


RIGHT_TO_LEFT = [
    "\u05d2\u05d9\u05dc",
    "\u05d2\u05d5\u05d1\u05d4",
    "\u05de\u05e9\u05e7\u05dc",
    "\u05de\u05d9\u05df",
]
PLACES = """(element, parts) => {
  const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
  const found = parts.map(() => null);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    let from = 0;
    parts.forEach((part, index) => {
      const at = node.data.indexOf(part, from);
      if (at < 0 || found[index] !== null) return;
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, at + part.length);
      found[index] = range.getBoundingClientRect().left;
      from = at + part.length;
    });
  }
  return found;
}"""


def test_arrows_point_from_cause_to_effect_whatever_way_names_are_written(visit):
    page = visit("right to left", 1900)
    first, second, third, _ = RIGHT_TO_LEFT
    sentences = page.locator(".findings li").all()
    told = next(sentence for sentence in sentences if "→" in sentence.text_content())
    places = told.evaluate(PLACES, [first, "→", third, second, "→", third])
    assert places == sorted(places)
    weak = page.locator(".cautions li").filter(has_text="←")
    places = weak.evaluate(PLACES, [first, "→", third, "←", second])
    assert places == sorted(places)


# --- without JavaScript, on paper, on small screens ------------------------------------------------------


def test_without_javascript_all_is_there(visit, result):
    page = visit("plain", java_script_enabled=False)
    for boundary, index in zip(result.boundaries, range(len(NAMES)), strict=True):
        assert page.is_visible(f"#v{index}")
        assert page.locator(f"#v{index} .pair").count() == len(boundary.members)
    assert page.locator("#edges tbody tr:visible").count() == len(result.edges)
    assert page.locator(".controls:visible").count() == 0
    page.click(".node[data-variable='6']")
    assert page.url.endswith("#v6")


def test_on_paper_every_variable_is_there_and_no_control(visit):
    page = visit("plain")
    page.emulate_media(media="print")
    assert shown(page, ".variable") == len(NAMES)
    assert shown(page, ".controls") == shown(page, "nav") == 0


def test_on_paper_every_edge_is_there_wherever_the_slider_is(visit, result):
    page = visit("plain")
    page.focus("#confidence")
    page.keyboard.press("End")
    assert shown(page, "svg.graph .edge") == shown(page, "#edges tbody tr") < len(result.edges)
    page.emulate_media(media="print")
    assert shown(page, "svg.graph .edge") == shown(page, "#edges tbody tr") == len(result.edges)


@pytest.mark.parametrize("name", ["plain", "hostile", "large"])
def test_the_page_never_scrolls_sideways(visit, name):
    page = visit(name)
    page.click("#all")
    for width in (320, 360, 768, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_wide_picture_can_be_fitted(visit):
    page = visit("large", 360)
    wide = "document.querySelector('.canvas').scrollWidth > document.querySelector('.canvas').clientWidth + 1"
    assert page.evaluate(wide)
    page.click("#fit")
    assert not page.evaluate(wide)


@pytest.mark.parametrize("index", [0, 20, 45])
def test_the_chosen_variable_is_in_view(visit, index):
    page = visit("large", 360)
    page.select_option("#variable", str(index))
    frame, box = page.locator(".canvas").bounding_box(), page.locator(".node.selected").bounding_box()
    assert frame["x"] - 1 <= box["x"]
    assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
    assert frame["y"] - 1 <= box["y"] <= frame["y"] + frame["height"]


# --- who can read it -------------------------------------------------------------------------------------

CONTRASTS = """() => {
  const parse = (text) => (text.match(/[\\d.]+/g) || []).map(Number);
  const linear = (v) => (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = parse(getComputedStyle(e).backgroundColor);
      if (colour.length === 3 || colour[3] > 0) return colour;
    }
    return [255, 255, 255];
  };
  const found = [];
  for (const element of document.querySelectorAll("body *:not(svg *):not(script)")) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !element.checkVisibility()) continue;
    const [a, b] = [light(parse(getComputedStyle(element).color)), light(behind(element))];
    found.push([(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), element.outerHTML.slice(0, 80)]);
  }
  return found;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast_is_enough_in_light_and_dark(visit, scheme):
    page = visit("plain", color_scheme=scheme)
    page.click("#all")
    found = page.evaluate(CONTRASTS)
    assert len(found) > 100
    assert min(found)[0] >= 4.5, min(found)
    background = [
        int(n) for n in re.findall(r"\d+", page.evaluate("getComputedStyle(document.body).backgroundColor"))
    ]
    assert all((value < 60) == (scheme == "dark") for value in background)


def test_the_selected_node_can_be_read_in_both_schemes(visit):
    for scheme in ("light", "dark"):
        page = visit("plain", color_scheme=scheme)
        text, box = (
            page.eval_on_selector(
                f".node.selected {part}", f"e => getComputedStyle(e).{style}.match(/\\d+/g).map(Number)"
            )
            for part, style in ((".label", "color"), ("rect", "fill"))
        )
        assert abs(luminance(text) - luminance(box)) > 0.3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_edges_that_are_not_of_the_chosen_variable_can_still_be_seen(visit, scheme):
    page = visit("plain", color_scheme=scheme)
    found = page.eval_on_selector_all(
        "svg.graph .edge.faint",
        """all => all.map((edge) => {
          const { stroke } = getComputedStyle(edge.querySelector(".way"));
          return [stroke.match(/\\d+/g).map(Number), Number(getComputedStyle(edge).opacity)];
        })""",
    )
    card = page.eval_on_selector(
        "#graph", "e => getComputedStyle(e).backgroundColor.match(/\\d+/g).map(Number)"
    )
    assert found
    for stroke, opacity in found:
        seen = [opacity * front + (1 - opacity) * back for front, back in zip(stroke, card, strict=True)]
        low, high = sorted((luminance(seen), luminance(card)))
        assert (high + 0.05) / (low + 0.05) >= 3


def luminance(colour):
    linear = [(v / 255) / 12.92 if v <= 10 else ((v / 255 + 0.055) / 1.055) ** 2.4 for v in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_screen_readers_find_their_way(visit):
    page = visit("plain")
    page.click("#all")
    ids = page.eval_on_selector_all("[id]", "all => all.map(e => e.id)")
    assert len(ids) == len(set(ids))
    levels = page.eval_on_selector_all("h1, h2, h3, h4", "all => all.map(e => Number(e.tagName[1]))")
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below - above <= 1 for above, below in pairwise(levels))
    for landmark in ("header", "nav[aria-label]", "main", "footer"):
        assert page.locator(landmark).count() == 1
    references = page.eval_on_selector_all(
        "[aria-labelledby], label[for]", "all => all.map(e => e.getAttribute('aria-labelledby') || e.htmlFor)"
    )
    assert references
    assert set(references) <= set(ids)
    links = page.eval_on_selector_all("a", "all => all.map(e => e.getAttribute('href').slice(1))")
    assert set(links) <= set(ids)
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, select, input, a, [role=img], [role=region], table")]
          .filter((e) => !(e.getAttribute("aria-label") || (e.labels && e.labels.length)
                           || e.querySelector("caption") || e.textContent.trim()))
          .map((e) => e.outerHTML)"""
    )
    assert unnamed == []
    assert page.get_attribute("html", "lang") == "en"


def test_targets_for_fingers_are_large_enough(visit):
    page = visit("plain", 360)
    for selector in (".node", "#all", "#variable", "#confidence"):
        for box in [element.bounding_box() for element in page.query_selector_all(selector)]:
            assert min(box["width"], box["height"]) >= 24
