"""The code on the pages runs, and links are valid."""

import re
import sys
import types

import matplotlib.pyplot as plt
import numpy as np
import pytest
from support.pages import PAGES, README, ROOT, MissingPackageError, blocks_of, run_page

import dcd
from dcd.evaluation.baselines.worker import solve

EXPERIMENTS = ROOT / "experiments" / "README.md"
LONG = (
    "docs/gallery",
    "docs/guides/command-line",
    "docs/guides/confidence",
    "docs/guides/effects",
    "docs/guides/plots",
    "docs/guides/report",
    "docs/guides/scale",
    "docs/robust/bridges",
    "docs/robust/trust",
    "docs/tutorial",
)
ELSEWHERE = {
    "dowhy": "DoWhy holds back SciPy: make test-dowhy runs this page in full",
    "ray": "Ray is large: make test-ray runs this page in full",
}


def python_blocks(path):
    return [block.code for block in blocks_of(path) if block.language == "python"]


def name_of(page):
    return str(page.relative_to(ROOT).with_suffix(""))


def named(page):
    """A page as a parameter; pages with many fits are marked slow."""
    return pytest.param(page, id=name_of(page), marks=[pytest.mark.slow] * (name_of(page) in LONG))


@pytest.mark.parametrize("page", [named(page) for page in PAGES if page != README])
def test_the_page_runs(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    try:
        run_page(page, optional=ELSEWHERE)
        if page.stem == "gallery":  # its pictures are made by its own code
            shown = re.findall(r"images/gallery/([^)]+)", page.read_text(encoding="utf-8"))
            assert sorted(shown) == sorted(path.name for path in tmp_path.iterdir())
    except MissingPackageError as missing:
        pytest.skip(f"ran up to the import of {missing}; {ELSEWHERE[str(missing)]}")
    finally:
        plt.close("all")


def test_the_readme_runs(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    plt.switch_backend("Agg")
    assert len(python_blocks(README)) == 1
    _, printed = run_page(README)
    plt.close("all")
    assert "Raf - Mek" in printed
    assert (tmp_path / "report.html").exists()


def test_the_example_of_a_new_method_runs(monkeypatch):
    """experiments/README.md: a file, an entry and a config."""
    method, entry, config = python_blocks(EXPERIMENTS)
    assert len(method.strip().splitlines()) <= 10
    module = types.ModuleType("dcd.evaluation.baselines.mine")
    exec(compile(method, "mine.py", "exec"), module.__dict__)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    name, entry = eval(f"[*{{{entry}}}.items()][0]", {"Method": dcd.baselines.Method})
    monkeypatch.setitem(dcd.baselines.METHODS, name, entry)
    table = np.random.default_rng(0).standard_normal((100, 3)).cumsum(axis=1)
    answer = solve({"method": name, "seed": 0, "options": {"threshold": 0.2}}, table)
    assert answer["status"] == "ok"
    assert np.sum(answer["adjacency"]) > 0

    namespace = {}
    exec(compile(config, "config.py", "exec"), namespace)
    assert len(namespace["EXPERIMENT"].settings) == 4


@pytest.mark.parametrize(
    "page", [*PAGES, EXPERIMENTS, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"], ids=name_of
)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    assert all((page.parent / link).exists() for link in links if "://" not in link), links
