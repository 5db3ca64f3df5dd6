"""Probabilities in the page, in a real browser: the slider, widths and heads, labels, hostile names."""

from itertools import combinations

import pytest
from support.browser import DISPLAYED, launched, visits
from support.made_results import HOSTILE, add_posterior, make_document, random_cpdag, with_uncertain

from dcd.results import Result, report
from dcd.results.lines import reason_for_line
from dcd.runtime.text import percent

NAMES = [f"v{i}" for i in range(9)]


def with_probabilities(names, n_edges):
    cpdag = with_uncertain(random_cpdag(names, n_edges, seed=1), 2)
    return Result.from_dict(add_posterior(make_document(cpdag, n_sample=20)))


@pytest.fixture(scope="module")
def results():
    return {"plain": with_probabilities(NAMES, 11), "hostile": with_probabilities(HOSTILE, 18)}


@pytest.fixture(scope="module")
def browser():
    with launched() as browser:
        yield browser


@pytest.fixture
def visit(browser, results, tmp_path):
    with visits(browser) as open_page:

        def visit(name, width=1280):
            path = tmp_path / f"{name}.html"
            report.write(results[name], path)
            return open_page(path.as_uri(), width)

        yield visit


def test_the_slider_hides_edges_below_a_probability(visit, results):
    page, edges = visit("plain"), results["plain"].edges
    slider = page.locator("#confidence")
    slider.focus()
    remaining = []
    for step in range(21):
        least = step / 20
        expected = sum(edge.probabilities.edge >= least - 1e-9 for edge in edges)
        words = f"edge probability at least {round(100 * least)} %" if step else "all edges"
        if expected == 0:
            break
        assert page.text_content("#shown").lower() == f"{words}: {expected} of {len(edges)} shown"
        for selector in ("svg.graph .edge", "#edges tbody tr[data-edge]"):
            assert page.eval_on_selector_all(selector, DISPLAYED) == expected
        remaining.append(expected)
        page.keyboard.press("ArrowRight")
    assert len(set(remaining)) > 3


def test_widths_and_heads_grow_with_probability(visit, results):
    page, edges = visit("plain"), results["plain"].edges
    width = "all => all.map(e => parseFloat(getComputedStyle(e.querySelector('.way')).strokeWidth))"
    widths = page.eval_on_selector_all("svg.graph .edge", width)
    assert len(set(widths)) > 5
    by_probability = sorted(zip((edge.probabilities.edge for edge in edges), widths, strict=True))
    assert [width for _, width in by_probability] == sorted(widths)
    size = "all => all.map(e => [+e.dataset.edge, e.querySelector('.head')?.getBBox().width ?? 0])"
    sizes = dict(page.eval_on_selector_all("svg.graph .edge", size))
    arrows = [(edge.probabilities.forward, sizes[at]) for at, edge in enumerate(edges) if edge.type == "->"]
    assert [size for _, size in sorted(arrows)] == sorted(size for _, size in arrows)
    assert all(sizes[at] == 0 for at, edge in enumerate(edges) if edge.type == "-")


def test_numbers_are_at_the_edges_of_the_chosen_variable_and_under_the_pointer(visit, results):
    page, edges = visit("plain"), results["plain"].edges
    page.click(".node[data-variable='2']")
    shown = "all => all.filter(e => getComputedStyle(e.querySelector('.share')).display !== 'none')"
    own = [at for at, edge in enumerate(edges) if "v2" in (edge.first, edge.second)]
    assert page.eval_on_selector_all("svg.graph .edge", f"{shown}.map(e => +e.dataset.edge)") == own
    other = next(at for at in range(len(edges)) if at not in own)
    edge = page.locator(f"svg.graph .edge[data-edge='{other}']")
    assert not edge.locator(".share").is_visible()
    point = edge.locator(".way").evaluate(
        """way => {
          const at = way.getPointAtLength(way.getTotalLength() / 2).matrixTransform(way.getScreenCTM());
          return [at.x, at.y];
        }"""
    )
    page.mouse.move(*point)
    assert edge.locator(".share").is_visible()
    found, reason = edges[other], reason_for_line(results["plain"], edges[other])
    words = found.probabilities.words(found.first, found.second, reason, arrow="→")
    assert words in edge.locator("title").first.text_content()


def test_details_have_the_four_numbers_and_why_an_arrow_is_a_line(visit, results):
    page, edges = visit("plain"), results["plain"].edges
    uncertain = next(edge for edge in edges if edge.uncertain)
    page.click(f".node[data-variable='{NAMES.index(uncertain.first)}']")
    rows = page.locator(f"#v{NAMES.index(uncertain.first)} tr.more").filter(has_text="below the limit")
    text = rows.first.text_content().replace("\u00a0", " ")
    found = [
        round(100 * share) for share in (uncertain.probabilities.forward, uncertain.probabilities.absent)
    ]
    assert f"{uncertain.second} → {uncertain.first} 0 %, ← {found[0]} %, — " in text
    assert f"none {found[1]} %" in text
    assert f"Drawn as a line: its direction has probability {found[0]} %, below the limit of 75 %." in text


def test_the_first_colour_of_a_bar_is_the_direction_from_the_variable_of_its_row(visit, results):
    page, edges = visit("plain"), results["plain"].edges
    edge = max(edges, key=lambda edge: edge.probabilities.forward)
    widths = {}
    for target in (edge.first, edge.second):
        page.click(f".node[data-variable='{NAMES.index(target)}']")
        section = page.locator(f"#v{NAMES.index(target)}")
        assert f"variable of the row → {target}" in section.locator(".bars").inner_text()
        other = edge.second if target == edge.first else edge.first
        link = section.locator("th a").filter(has_text=other)
        bar = link.locator("xpath=ancestor::tr/following-sibling::tr[1]").locator(".bar")
        kinds = ("forward", "backward")
        widths[target] = [float(bar.locator(f".{kind}").get_attribute("width")) for kind in kinds]
    assert widths[edge.first] == widths[edge.second][::-1]
    assert widths[edge.second][0] == pytest.approx(120 * edge.probabilities.forward, abs=0.1)


CELLS = """rows => rows.map(row =>
  [...row.cells].map(cell => cell.textContent.trim().replaceAll("\u00a0", " ")))"""


def test_edges_and_arrows_have_a_column_each_and_no_number_is_there_twice(visit, results):
    page, edges = visit("plain"), results["plain"].edges
    heads, *rows = page.eval_on_selector_all("#edges > .scroll tr", CELLS)
    assert heads == ["Edge", "Probability of an edge", "Probability of the arrow", "Direction", "p-value"]
    found = {row[0]: row[1:] for row in rows}
    assert len(found) == len(edges)
    for edge in edges:
        share, sign = edge.probabilities, "→" if edge.type == "->" else "—"
        of_edge, of_arrow, direction, _ = found[f"{edge.first} {sign} {edge.second}"]
        assert of_edge == percent(share.edge)
        opposite, undirected = share.backward, share.undirected
        if edge.type == "->":
            tests = "confirmed by tests" if edge.confirmed else "not confirmed by tests"
            assert (of_arrow, direction.split(";")[0]) == (percent(share.forward), tests)
        elif edge.uncertain:
            assert of_arrow == f"{edge.first} → {edge.second} {percent(share.forward)}"
            assert direction.startswith("uncertain: below the required 75 %; ")
        else:
            assert of_arrow.endswith(f" {percent(max(share.forward, share.backward))}")
            assert direction.startswith("undirected: either direction fits the graph; ")
            opposite = min(share.forward, share.backward)
        assert direction.endswith(f"; the opposite {percent(opposite)}, undirected {percent(undirected)}")
    missed = page.eval_on_selector_all("#edges details tbody tr", CELLS)
    assert [row[1:] for row in missed] == [["43 %", f"{missed_arrow(edges)} 20 %", MISSED_OTHERS]]


MISSED_OTHERS = "the opposite 10 %, undirected 12 %"


def missed_arrow(edges):
    """The arrow of the near miss that `add_posterior` makes: between the first pair without an edge."""
    joined = [{edge.first, edge.second} for edge in edges]
    first, second = next(pair for pair in combinations(NAMES, 2) if set(pair) not in joined)
    return f"{second} → {first}"


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("name", ["plain", "hostile"])
def test_nothing_is_wider_than_the_screen_and_names_are_text(visit, name, width):
    page = visit(name, width)
    page.click("#all")
    page.click("#edges summary")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert page.locator("script").count() == 1
    assert page.locator("img").count() == 0
    assert page.locator(".more").count() > 10
