"""The tables of the pages agree with the rows."""

from functools import cache

import pytest

pytest.importorskip("benchmarks.evaluation", reason="in the repository only")
from benchmarks import evidence

MARKED = [
    (page, match["name"])
    for page in evidence.PAGES
    for match in evidence.BLOCK.finditer(page.read_text("utf-8"))
]


@cache  # some tables are on several pages
def made(name):
    return evidence.BLOCKS[name]().strip()


@pytest.mark.parametrize(("page", "name"), MARKED, ids=[f"{page.stem}-{name}" for page, name in MARKED])
def test_a_block_shows_what_the_rows_say(page, name):
    shown = {match["name"]: match["text"] for match in evidence.BLOCK.finditer(page.read_text("utf-8"))}
    assert shown[name].strip() == made(name), "make evidence"


def test_every_table_that_can_be_made_is_shown():
    assert {name for _, name in MARKED} == set(evidence.BLOCKS)


def test_every_marker_is_part_of_a_block():
    for page in evidence.PAGES:
        text = page.read_text("utf-8")
        n_blocks = len(evidence.BLOCK.findall(text))
        assert text.count("<!-- evidence:") == text.count("<!-- /evidence -->") == n_blocks, page


def test_a_changed_number_is_found_and_mended(tmp_path):
    page = tmp_path / "page.md"
    table = evidence.BLOCKS["complexity"]().strip()
    block = "Before.\n<!-- evidence: complexity -->\n{}\n<!-- /evidence -->\nAfter.\n"
    page.write_text(block.format(table), "utf-8")
    assert evidence.stale([page]) == {}
    page.write_text(block.format(table.replace("0.30", "0.29", 1)), "utf-8")
    assert evidence.stale([page]) == {page: block.format(table)}


def test_an_unknown_name_says_what_there_is(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- evidence: speeed -->\n<!-- /evidence -->\n", "utf-8")
    with pytest.raises(KeyError, match=r"page\.md: unknown evidence 'speeed' \(choose from .*speed"):
        evidence.stale([page])
