"""The code blocks of the README run as they stand, one after the other."""

import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import dcd
from dcd.baselines.worker import solve

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"
EXPERIMENTS = ROOT / "experiments" / "README.md"


def python_blocks(path):
    return re.findall(r"```python\n(.*?)```", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_runs(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    namespace = {}
    blocks = python_blocks(README)
    assert len(blocks) >= 3
    for block in blocks:
        exec(compile(block, str(README), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "Raf - Mek" in printed
    assert "shd_c" in printed
    assert (tmp_path / "graph.png").exists()


def test_the_example_of_a_new_method_runs(monkeypatch):
    """experiments/README.md: a file and a name, and a config."""
    method, entry, config = python_blocks(EXPERIMENTS)
    assert len(method.strip().splitlines()) <= 10
    module = types.ModuleType("dcd.baselines.mine")
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


@pytest.mark.parametrize("page", sorted((ROOT / "docs" / "robust").glob("*.md")), ids=lambda page: page.stem)
def test_the_pages_of_robust_dcd_run(page):
    blocks, namespace = python_blocks(page), {}
    assert bool(blocks) == (page.stem not in ("test", "search"))
    for block in blocks:
        exec(compile(block, str(page), "exec"), namespace)


@pytest.mark.parametrize(
    "page",
    [README, EXPERIMENTS, *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: f"{page.parent.name}-{page.stem}",
)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert all((page.parent / link).exists() for link in links if "://" not in link), links
