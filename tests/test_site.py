"""The hooks of the documentation site. `make docs` builds the site itself, strictly."""

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

reason = "for the documentation: make docs"
griffe = pytest.importorskip("griffe", reason=reason)
exceptions = pytest.importorskip("mkdocs.exceptions", reason=reason)

DOCS = Path(__file__).parent.parent / "docs"


def hook(name):
    spec = importlib.util.spec_from_file_location(f"hook_{name}", DOCS / "hooks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        ("measurements.md", "[e](../experiments/README.md)", "[e](experiments/README.md)"),
        ("robust/bridges.md", "[e](../../experiments/README.md#rows)", "[e](../experiments/README.md#rows)"),
        ("robust/bridges.md", "[w](weights.md)", "[w](weights.md)"),
        ("CONTRIBUTING.md", "[a](docs/architecture.md)", "[a](architecture.md)"),
        ("experiments/README.md", "[t](results/table1.md)", "[t](results/table1.md)"),
        ("CONTRIBUTING.md", "[r](README.md)", "[r](index.md)"),
        ("faq.md", "[x](https://example.org/a.md)", "[x](https://example.org/a.md)"),
        ("faq.md", "[gone](../gone.md)", "[gone](../gone.md)"),
        ("index.md", "[n](notebooks/penguins.ipynb)", "[n](notebooks/penguins.md)"),
        ("notebooks/penguins.md", "[n](../../CHANGELOG.md)", "[n](../CHANGELOG.md)"),
        ("notebooks/penguins.md", "[n](diabetes.ipynb)", "[n](diabetes.md)"),
        ("faq.md", "`[e](../CHANGELOG.md)`", "`[e](../CHANGELOG.md)`"),
        ("faq.md", "```\n[e](../CHANGELOG.md)\n```", "```\n[e](../CHANGELOG.md)\n```"),
    ],
)
def test_links_by_paths_of_the_repository_become_links_of_the_site(page, text, expected):
    shown = SimpleNamespace(file=SimpleNamespace(src_uri=page))
    assert hook("repository").on_page_markdown(text, page=shown) == expected


def test_a_notebook_becomes_a_page_with_its_outputs():
    def code(source, *outputs):
        return {
            "cell_type": "code", "source": [source], "outputs": outputs, "metadata": {"alt": "A <graph>"},
        }  # fmt: skip

    def shown(**data):
        return {"output_type": "execute_result", "data": {k.replace("_", "/"): v for k, v in data.items()}}

    notebook = {
        "cells": [
            {"cell_type": "markdown", "source": ["# Title\n", "Words."]},
            code("print(1)\nprint(2)", {"output_type": "stream", "text": ["1\n", "2\n"]}),
            code("table", shown(text_plain="a table", text_html=["<table>", "</table>"])),
            code("plot()", shown(text_plain="<Figure>", image_png="iVBO\n")),
            code("3", shown(text_plain="3")),
        ]
    }
    assert hook("notebooks").page_of(notebook, "a.ipynb").split("\n\n") == [
        "# Title\nWords.",
        '<p><a href="a.ipynb" download>Download this notebook</a></p>',
        "```python\nprint(1)\nprint(2)\n```",
        "```text\n1\n2\n```",
        "```python\ntable\n```",
        '<div class="notebook-output">\n<table></table>\n</div>',
        "```python\nplot()\n```",
        '<div class="notebook-output">\n<img alt="A &lt;graph&gt;" src="data:image/png;base64,iVBO">\n</div>',
        "```python\n3\n```",
        "```text\n3\n```\n",
    ]


@pytest.mark.parametrize(
    ("name", "text", "fine"),
    [
        ("a.html", '<a href="https://example.org">a link</a> <img src="images/a.png">', True),
        ("a.html", '<link rel="canonical" href="http://127.0.0.1:8000/a.html">', True),
        ("a.html", '<img alt="" src="https://example.org/a.png">', False),
        ("a.html", "<script src=//example.org/a.js></script>", False),
        ("a.html", '<link rel="stylesheet" href="https://example.org/a.css">', False),
        ("a.html", '<pre class="mermaid">', False),
        ("a.css", "body { background: url(a.png) }", True),
        ("a.css", '@import "https://example.org/a.css";', False),
        ("a.css", "body { background: url('//example.org/a.png') }", False),
    ],
)
def test_a_page_that_loads_from_elsewhere_is_an_error(tmp_path, name, text, fine):
    (tmp_path / name).write_text(text)
    config = SimpleNamespace(site_dir=str(tmp_path), site_url="http://127.0.0.1:8000/")
    if fine:
        hook("offline").on_post_build(config)
    else:
        with pytest.raises(exceptions.PluginError, match=f"{name} loads from elsewhere"):
            hook("offline").on_post_build(config)


def test_words_in_the_place_of_a_type_are_the_meaning():
    code = '''
def keep(rows: bool = True, a: int = 0, b: str = "", level: float = 0.05) -> list[int]:
    """Some rows.

    Parameters
    ----------
    rows : keep some rows of the table, chosen by a seed and not by hand, as many
        as are asked for.
    a, b : as for `other`
        How to count.
    level : float, default=0.05
        How sure.

    Returns
    -------
    The rows that were kept.

    Examples
    --------
    >>> 1
    1
    """
'''
    with griffe.temporary_visited_module(code) as module:
        hook("docstrings").WordsAreNoTypes().on_object(obj=module["keep"])
        sections = module["keep"].docstring.parse("numpy")
    entries = {each.name: each for each in sections[1].value}
    assert {name: str(each.annotation) for name, each in entries.items()} == {
        "rows": "bool",
        "a": "int",
        "b": "str",
        "level": "float",
    }
    assert entries["rows"].description.startswith("Keep some rows of the table, chosen by a seed")
    assert entries["b"].description.split() == ["As", "for", "`other`.", "How", "to", "count."]
    assert entries["level"].description == "How sure."
    assert str(sections[2].value[0].annotation) == "list[int]"
    assert sections[2].value[0].description.strip() == "The rows that were kept."
    assert sections[3].kind is griffe.DocstringSectionKind.examples
