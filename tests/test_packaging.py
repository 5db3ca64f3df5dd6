"""The files that a release needs agree with the package."""

import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml

import dcd

ROOT = Path(__file__).parent.parent
PACKAGING = ROOT / "packaging"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]


def test_the_version_is_the_same_everywhere():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    recipe = (PACKAGING / "conda" / "meta.yaml").read_text(encoding="utf-8")
    module = json.loads((PACKAGING / "benchpress" / "dcd_robust" / "info.json").read_text(encoding="utf-8"))
    assert citation["version"] == module["version"] == dcd.__version__
    assert f'version = "{dcd.__version__}"' in recipe
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == dcd.__version__


def test_the_conda_recipe_has_the_dependencies_of_the_package():
    recipe = (PACKAGING / "conda" / "meta.yaml").read_text(encoding="utf-8")
    listed = re.findall(r"^    - (\S+ >=\S+)$", recipe, re.MULTILINE)
    expected = [
        "python " + PROJECT["requires-python"],
        *(one.replace(">=", " >=") for one in PROJECT["dependencies"]),
    ]
    assert sorted(listed) == sorted(expected)
    host = re.search(r"host: \[(.*)\]", recipe)[1].split(", ")
    assert {expected[0], PYPROJECT["build-system"]["requires"][0].replace(">=", " >=")} <= set(host)
    ((command, function),) = PROJECT["scripts"].items()
    assert f"- {command} = {function}" in recipe
    assert f"license: {PROJECT['license']}" in recipe


def test_the_workflow_tests_every_version_of_python_that_is_stated():
    workflow = yaml.safe_load((ROOT / ".github/workflows/checks.yml").read_text(encoding="utf-8"))
    tested = workflow["jobs"]["tests"]["strategy"]["matrix"]["python"]
    stated = [
        line.removeprefix("Programming Language :: Python :: ")
        for line in PROJECT["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert stated == tested[: len(stated)]  # a newer one is stated once its tests have passed
    assert PROJECT["requires-python"] == f">={stated[0]}"


def test_the_lowest_versions_are_those_of_the_package():
    printed = subprocess.run(
        [sys.executable, PACKAGING / "lowest.py"], capture_output=True, text=True, check=True
    ).stdout.split()
    extras = PROJECT["optional-dependencies"]
    expected = PROJECT["dependencies"] + extras["parquet"] + extras["plot"]
    assert printed == [one.replace(">=", "==") for one in expected]


def test_hints_name_the_distribution():
    """`dcd` on PyPI is another project."""
    assert PROJECT["name"] == "causal-dcd"
    hint = re.compile(r"pip install ['\"]?dcd\b")
    files = [
        path
        for folder in ("src", "docs", "examples", "experiments", "benchmarks")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".md", ".j2", ".ipynb"}
    ]
    assert len(files) > 100
    for path in [*files, ROOT / "README.md"]:
        assert not hint.search(path.read_text(encoding="utf-8")), path


@pytest.mark.parametrize("path", sorted((ROOT / ".github").rglob("*.yml")), ids=lambda path: path.name)
def test_workflows_and_templates_can_be_read(path):
    content = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert isinstance(content, dict)
    for job in content.get("jobs", {}).values():
        if "uses" in job:  # another workflow, which says that it can be called
            called = yaml.safe_load((ROOT / job["uses"]).read_text(encoding="utf-8"))
            assert "workflow_call" in called[True]  # YAML reads the key "on" as a truth value
            continue
        for step in job["steps"]:
            assert "uses" in step or "run" in step


def test_nothing_is_published_before_all_checks_have_passed():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["checks"]["uses"] == "./.github/workflows/checks.yml"
    assert set(jobs["publish"]["needs"]) == {"checks", "build"}


def test_targets_that_workflows_call_exist():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for target in re.findall(r"run: make (\S+)", path.read_text(encoding="utf-8")):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), (path.name, target)


def test_the_benchpress_module_writes_a_graph(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 400))
    table = pd.DataFrame({"x": x, "y": y, "z": x + y + 0.5 * rng.standard_normal(400)})
    table.to_csv(tmp_path / "data.csv", index=False)
    monkeypatch.setattr(sys, "path", [*sys.path])
    snakemake = SimpleNamespace(
        wildcards={"alpha": "0.05", "replicate": "1", "timeout": "None"},
        input={"data": str(tmp_path / "data.csv")},
        output={name: str(tmp_path / name) for name in ("adjmat", "time", "ntests")},
    )
    runpy.run_path(
        str(PACKAGING / "benchpress" / "dcd_robust" / "script.py"), init_globals={"snakemake": snakemake}
    )
    graph = pd.read_csv(tmp_path / "adjmat")
    assert list(graph.columns) == ["x", "y", "z"]
    assert graph.loc[[0, 1], "z"].tolist() == [1, 1]
    assert graph.loc[2].tolist() == [0, 0, 0]
    assert float((tmp_path / "time").read_text()) > 0
    assert (tmp_path / "ntests").read_text() == "None"


def test_another_package_of_the_same_name_is_noticed(tmp_path):
    """The other project's `__init__.py` in place of ours."""
    folder = tmp_path / "dcd"
    shutil.copytree(Path(dcd.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__", "*.nb?"))
    (folder / "__init__.py").write_text('__version__ = "3.1"\n', encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-m", "dcd", "discover", "table.csv"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert run.returncode == 2
    assert "pip uninstall dcd" in run.stderr
    assert "causal-dcd" in run.stderr
    assert "Traceback" not in run.stderr
