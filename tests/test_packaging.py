"""The files that a release needs agree with the package."""

import ctypes
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import yaml
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

import dcd
import hatch_build

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
    assert "{{ compiler('c') }}" in recipe
    assert "noarch" not in recipe


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
    assert set(jobs["publish"]["needs"]) == {"checks", "build", "try"}
    assert len(jobs["try"]["strategy"]["matrix"]["os"]) == len(hatch_build.TARGETS)  # each wheel on its own


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
    shutil.copytree(Path(dcd.__file__).parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
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


SMALL = """\
#include <math.h>
#ifdef _WIN32
__declspec(dllexport)
#else
__attribute__((visibility("default")))
#endif
double small(double x) { return exp(x); }
"""


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A package with one C file, and an environment that asks for nothing."""
    for name in ("CC", "CPPFLAGS", "CFLAGS", "LDFLAGS", "DCD_TARGET"):
        monkeypatch.delenv(name, raising=False)
    native = tmp_path / "project" / "src" / "dcd" / "search" / "native"
    native.mkdir(parents=True)
    for folder in (native, native.parent, native.parent.parent):
        (folder / "__init__.py").touch()
    (native / "small.c").write_text(SMALL, encoding="utf-8")
    (native / "small.h").touch()
    root = tmp_path / "project"
    for name in ("hatch_build.py", ".gitignore"):
        shutil.copy(ROOT / name, root)
    (root / "pyproject.toml").write_text(
        """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "small"
version = "1"
[tool.hatch.build.targets.wheel]
packages = ["src/dcd"]
exclude = ["*.c", "*.h"]
[tool.hatch.build.targets.wheel.hooks.custom]
""",
        encoding="utf-8",
    )
    return root


def hook(root=ROOT):
    return hatch_build.CustomBuildHook(str(root), {}, None, None, "", "wheel")


@pytest.fixture
def on_the_path(project, monkeypatch):
    """Which compilers there are, and which of them work."""

    def there_are(*names, broken=()):
        monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}" if name in names else None)
        monkeypatch.setattr(hatch_build, "works", lambda command: Path(command[0]).name not in broken)

    return there_are


def test_the_first_compiler_that_works_is_taken(on_the_path, monkeypatch):
    on_the_path("clang", "gcc", "cc")
    assert hatch_build.find_compiler() == ["/bin/cc"]
    on_the_path("clang", "gcc")
    assert hatch_build.find_compiler() == ["/bin/gcc"]
    on_the_path("clang", "gcc", "cc", broken={"cc", "gcc"})
    assert hatch_build.find_compiler() == ["/bin/clang"]
    on_the_path("cl")
    assert hatch_build.find_compiler() is None
    on_the_path("gcc", "my compiler")
    monkeypatch.setenv("CC", "ccache clang -m64")
    assert hatch_build.find_compiler() == ["ccache", "clang", "-m64"]
    monkeypatch.setenv("CC", "my compiler")  # a path may have spaces
    assert hatch_build.find_compiler() == ["my compiler"]


def test_a_compiler_is_fetched_only_where_there_is_none_or_for_another_platform(on_the_path, monkeypatch):
    on_the_path("gcc")
    assert hook().dependencies() == []
    on_the_path("gcc", broken={"gcc"})
    assert hook().dependencies() == [hatch_build.ZIGLANG]
    on_the_path()
    assert hook().dependencies() == [hatch_build.ZIGLANG]
    monkeypatch.setenv("CC", "mine")
    assert hook().dependencies() == []
    monkeypatch.setenv("DCD_TARGET", "x86_64-windows")
    assert hook().dependencies() == [hatch_build.ZIGLANG]


def test_a_compiler_without_headers_does_not_work(monkeypatch):
    assert not hatch_build.works(["no-such-compiler"])
    assert not hatch_build.works([sys.executable])


def test_the_message_of_a_compiler_is_shown_with_a_remedy(project, tmp_path):
    compiler = hatch_build.find_compiler()
    if compiler is None:
        pytest.skip("no compiler here")
    source = project / "src/dcd/search/native/small.c"
    source.write_text("int small(void) { return undeclared_thing; }\n", encoding="utf-8")
    with pytest.raises(RuntimeError, match="undeclared_thing") as raised:
        hatch_build.build([source], tmp_path / "library", compiler, hatch_build.platform())
    assert "small.c:1" in str(raised.value)
    assert "-std=c11" in str(raised.value)  # what was run
    assert "Set CC" in str(raised.value)
    with pytest.raises(RuntimeError, match=r"no-such-compiler(.|\n)*Set CC"):
        hatch_build.build([source], tmp_path / "library", ["no-such-compiler"], hatch_build.platform())


def test_a_wheel_has_the_library_and_a_source_archive_its_sources(project, tmp_path):
    if hatch_build.find_compiler() is None:
        pytest.skip("no compiler here")
    library = "_search" + hatch_build.platform().suffix
    one, data = hook(project), {"force_include": {}}
    one.initialize("editable", data)
    one.finalize("editable", data, "")
    assert not data["force_include"]
    built = project / "src/dcd/search/native" / library
    function = ctypes.CDLL(str(built)).small
    function.argtypes, function.restype = [ctypes.c_double], ctypes.c_double
    assert function(1.0) == pytest.approx(np.e)

    stale = built.with_suffix(".dll" if built.suffix == ".so" else ".so")
    stale.touch()  # left by a build for another platform
    (wheel,) = WheelBuilder(str(project)).build(directory=str(tmp_path), versions=["standard"])
    files = {name for name in zipfile.ZipFile(wheel).namelist() if "/native/" in name}
    assert files == {f"dcd/search/native/{name}" for name in ("__init__.py", library)}
    assert Path(wheel).name.startswith("small-1-py3-none-")
    assert not Path(wheel).stem.endswith("-any")

    (archive,) = SdistBuilder(str(project)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(archive) as opened:
        files = {Path(name).name for name in opened.getnames() if "/native/" in name}
    assert files == {"__init__.py", "small.c", "small.h"}


def test_the_source_archive_has_what_the_library_is_built_from(tmp_path):
    (archive,) = SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with tarfile.open(archive) as opened:
        files = {name.partition("/")[2] for name in opened.getnames()}
    sources = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / hatch_build.SOURCES).iterdir()
        if path.suffix in {".c", ".h"}
    }
    assert any(name.endswith(".c") for name in sources)
    assert sources | {"hatch_build.py", "pyproject.toml"} <= files
    assert not [name for name in files if "/_search." in name]


@pytest.mark.parametrize(
    ("target", "tag", "name"),
    [
        ("x86_64-linux", "manylinux_2_17_x86_64", "_search.so"),
        ("aarch64-linux", "manylinux_2_17_aarch64", "_search.so"),
        ("x86_64-macos", "macosx_11_0_x86_64", "_search.dylib"),
        ("aarch64-macos", "macosx_11_0_arm64", "_search.dylib"),
        ("x86_64-windows", "win_amd64", "_search.dll"),
    ],
)
def test_a_wheel_is_named_after_its_platform(project, tmp_path, monkeypatch, target, tag, name):
    def build(sources, library, compiler, where):
        assert [path.name for path in sources] == ["small.c"]
        assert compiler is None  # the compiler of this machine knows no other platform
        library.write_text(where.target, encoding="utf-8")

    monkeypatch.setenv("DCD_TARGET", target)
    monkeypatch.setattr(hatch_build, "build", build)
    data = {"force_include": {}}
    one = hook(project)
    one.initialize("standard", data)
    ((source, inside),) = data["force_include"].items()
    assert Path(source).read_text(encoding="utf-8").startswith(target)
    assert inside == f"dcd/search/native/{name}"
    assert data["tag"] == f"py3-none-{tag}"
    assert data["pure_python"] is False
    one.finalize("standard", data, "")
    assert not Path(source).exists()


def test_an_unknown_platform_is_refused(monkeypatch):
    monkeypatch.setenv("DCD_TARGET", "vax")
    with pytest.raises(ValueError, match=r"vax.*aarch64-linux"):
        hatch_build.platform()


def test_make_builds_wheels_for_all_platforms():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(r"for target in (.*); do", makefile)[1].split() == list(hatch_build.TARGETS)


@pytest.mark.slow
@pytest.mark.parametrize(
    "variables", [{"PATH": ""}, {"DCD_TARGET": "aarch64-linux"}], ids=["bare", "foreign"]
)
def test_pip_fetches_a_compiler(project, tmp_path, variables):
    """Needs the network."""
    run = subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", tmp_path, project],
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    (wheel,) = tmp_path.glob("*.whl")
    (library,) = (name for name in zipfile.ZipFile(wheel).namelist() if "/_search." in name)
    if "DCD_TARGET" in variables:
        content = zipfile.ZipFile(wheel).read(library)
        assert content[:4] == b"\x7fELF"
        assert content[18] == 183  # the number of this processor in such files
