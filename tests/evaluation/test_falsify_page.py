"""The page of a tested graph: as text, and in a real browser."""

import base64
import hashlib
import html
import re

import numpy as np
import pandas as pd
import pytest
from support.browser import launched, visits
from support.made_results import HOSTILE

import dcd


def plain():
    """b and c are two effects of a; the graph has no edge to c, and an extra edge to e."""
    rng = np.random.default_rng(0)
    a, e = rng.standard_normal((2, 300))
    b, c = a**2 + rng.standard_normal(300), np.sin(2 * a) + 0.3 * rng.standard_normal(300)
    table = pd.DataFrame({"a": a, "b": b, "c": c, "e": e})
    graph = pd.DataFrame(0, index=table.columns, columns=table.columns)
    graph.loc["a", "b"] = graph.loc["b", "e"] = 1
    return dcd.falsify(graph, table, n_permutations=10, title="Two effects", progress=False)


def hostile():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((150, 12)).cumsum(axis=1), columns=list(HOSTILE))
    table[HOSTILE[1]] = rng.choice([*HOSTILE[:2], "c"], 150)
    graph = pd.DataFrame(0, index=table.columns, columns=table.columns)
    for at in range(0, 10, 2):
        graph.iloc[at, at + 2] = 1
    return dcd.falsify(graph, table, n_permutations=2, title=HOSTILE[0], progress=False)


@pytest.fixture(scope="module")
def checked():
    return {"plain": plain(), "hostile": hostile()}


def test_each_violation_has_its_words_and_its_pictures(checked):
    page = checked["plain"].to_html()
    n_panels = sum(1 + bool(one.given) for one in checked["plain"].violated)
    assert page.count('class="scatter"') == n_panels > 0
    words = re.sub(r"<[^>]+>", "", page)
    for one in checked["plain"].violated:
        assert f"{one}: violated" in words
    assert len(re.findall(r'class="edge [a-z ]*needless"', page)) >= len(checked["plain"].unneeded) == 1
    assert "do not support it" in words


def test_names_are_text_everywhere(checked):
    for text in (checked["hostile"].to_html(), checked["hostile"]._repr_html_()):
        assert "<script" not in text
        assert "<img" not in text
        text.encode("utf-8")
    assert "<bdi>&lt;script&gt;alert(1)&lt;/script&gt;</bdi></h1>" in checked["hostile"].to_html()


def test_the_policy_allows_the_one_style_and_nothing_else(checked):
    page = checked["hostile"].to_html()
    (style,) = re.findall(r"<style>(.*?)</style>", page, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode("utf-8")).digest()).decode("ascii")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert html.unescape(policy).startswith(f"default-src 'none'; style-src 'sha256-{digest}';")


# --- in a browser ----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_it_can_be_read_at_any_width_and_loads_nothing(name, width, browser, checked, tmp_path):
    file = tmp_path / "page.html"
    file.write_text(checked[name].to_html(), encoding="utf-8")
    with visits(browser) as visit:
        page = visit(file.as_uri(), width)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.locator("script, img, iframe").count() == 0
        assert page.locator("h1").text_content() == checked[name].title
        assert page.locator("svg.graph .node").count() == len(checked[name].names)
        assert page.locator("svg.graph .violated").count() > 0
        inside = """all => all.every(label => {
          const box = label.closest(".node").querySelector("rect").getBoundingClientRect();
          const text = label.getBoundingClientRect();
          return box.left < text.left && text.right < box.right; })"""
        assert page.eval_on_selector_all("svg.graph .label", inside)
        heights = page.eval_on_selector_all(
            ".scatter", "all => all.map(e => 25 * e.getBoundingClientRect().width / e.viewBox.baseVal.width)"
        )
        assert min(heights) >= 10
        for anchor in page.eval_on_selector_all("nav a", "all => all.map(e => e.getAttribute('href'))"):
            assert page.locator(anchor).count() == 1
        page.click("#all summary")
        assert page.locator("#all tbody tr").count() == len(checked[name].independences)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
