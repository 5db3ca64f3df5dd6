"""The notebooks of the documentation run, and show what they print."""

import ast
import json
import re
import runpy

import pytest
from support.pages import ROOT

FOLDER = ROOT / "docs" / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 300_000  # bytes: notebooks are stored in every version of the repository


def cells_of(path, kind):
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return [cell for cell in cells if cell["cell_type"] == kind]


def test_there_are_notebooks():
    assert len(NOTEBOOKS) >= 3


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_prints_what_is_stored_in_it(path):
    pytest.importorskip("nbclient", reason="pip install --group test")
    nbformat = pytest.importorskip("nbformat", reason="pip install --group test")
    functions = runpy.run_path(str(FOLDER / "execute.py"))
    stored = functions["texts"](nbformat.read(path, as_version=4))
    assert functions["texts"](functions["executed"](path)) == stored, "make notebooks"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_is_small_and_was_run_in_order(path):
    assert path.stat().st_size < LARGEST
    cells = cells_of(path, "code")
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1)), "make notebooks"
    for cell in cells:
        ast.parse("".join(cell["source"]))
        for output in cell["outputs"]:
            assert output["output_type"] in {"stream", "execute_result", "display_data"}
            assert output.get("name") != "stderr", output
            if "image/png" in output.get("data", {}):
                assert cell["metadata"]["alt"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_stored_notebook_does_not_tell_where_it_ran(path):
    text = re.sub(r'"image/png": "[^"]*"', "", path.read_text(encoding="utf-8"))
    assert not re.search(r"/(home|root|tmp|usr|Users|work|opt)/|[A-Z]:\\\\", text)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_somewhere(path):
    text = "\n".join("".join(cell["source"]) for cell in cells_of(path, "markdown"))
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text)
    assert links
    assert all((FOLDER / link).exists() for link in links if "://" not in link), links
