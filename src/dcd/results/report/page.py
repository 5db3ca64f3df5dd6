"""The page around the sections: one file, its own style and script inside, and nothing it may load."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources

from markupsafe import Markup

from dcd.results.model import Result
from dcd.results.report import closing, opening
from dcd.results.report.confidence import scale_of
from dcd.results.report.edges import edges
from dcd.results.report.markup import tag
from dcd.results.report.words import number

_PARTS = {
    "short": "In short",
    "graph": "Graph",
    "variables": "Variables",
    "edges": "Edges",
    "care": "Care",
    "meaning": "Meaning",
    "data": "Data",
    "again": "Reproduce",
}


@cache
def _packaged(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def page(result: Result) -> str:
    """The whole HTML file as text."""
    style, script = _packaged("report.css"), _packaged("report.js")
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", f"{result.title} | causal discovery"),
        Markup(f"<style>{style}</style>"),
    )
    return f"<!doctype html>\n{tag('html', head, _body(result, script), lang='en')}\n"


def _policy(style: str, script: str) -> str:
    """Nothing may load; the one style and the one script are known by their hash."""
    return (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; base-uri 'none'; "
        "form-action 'none'"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


def _body(result: Result, script: str) -> Markup:
    scale = scale_of(result)
    return tag(
        "body",
        tag("a", "Skip to the findings", href="#main", class_="skip"),
        _header(result),
        tag(
            "main",
            opening.in_short(result),
            tag("div", opening.graph(result, scale), opening.variables(result), class_="explore"),
            tag(
                "div",
                edges(result, scale),
                tag("div", closing.care(result), closing.meaning(result)),
                class_="abreast",
            ),
            tag("div", closing.data(result), closing.again(result), class_="abreast"),
            id="main",
        ),
        tag("footer", tag("p", "Made with dcd ", result.reproduction.versions.get("dcd", ""), ".")),
        Markup(f"<script>{script}</script>"),
    )


def _header(result: Result) -> Markup:
    links = [tag("li", tag("a", words, href=f"#{identity}")) for identity, words in _PARTS.items()]
    return tag(
        "header",
        tag("p", "Causal discovery", class_="eyebrow"),
        tag("h1", tag("bdi", result.title)),
        tag(
            "p",
            f"Which of these {number(len(result.names))} variables act directly on which others? An answer "
            f"from {number(result.data.n_rows_used)} rows of data, by {result.reproduction.estimator}.",
            class_="question",
        ),
        tag("nav", tag("ul", links), aria_label="Parts of this report"),
    )
