"""The public surface: the names of `dcd`, and what `help(dcd)` shows first."""

import ast
import importlib
import inspect
import pydoc
import subprocess
import sys
from pathlib import Path

import pytest

import dcd

NAMES = [
    "CPDAG",
    "ConvexWeights",
    "DCD",
    "GrowShrink",
    "IndependenceTest",
    "InputError",
    "Knowledge",
    "MarkovBoundary",
    "PartialAssociation",
    "RobustDCD",
    "WeightedAssociation",
    "WholeGraph",
    "audit",
    "effect",
    "falsify",
    "load_result",
    "stability",
    "summarise",
]
NAMESPACES = [
    "baselines",
    "datasets",
    "errors",
    "graph",
    "interop",
    "metrics",
    "plot",
    "report",
    "results",
    "search",
    "simulate",
    "weights",
]


def test_dir_shows_the_public_names_and_nothing_else():
    assert dir(dcd) == sorted([*NAMES, *NAMESPACES, "__version__"])
    assert sorted(dcd.__all__) == dir(dcd)


def test_type_checkers_see_the_same_names():
    tree = ast.parse(Path(dcd.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert sorted(alias.asname for node in block.body for alias in node.names) == dir(dcd)
    for node in block.body:
        for alias in node.names:
            module = importlib.import_module(node.module)
            assert getattr(dcd, alias.name) is getattr(module, alias.name), alias.name


@pytest.mark.slow
def test_no_namespace_depends_on_another_being_used_before():
    script = """
import importlib, sys
for name in sys.argv[1:]:
    for module in [m for m in sys.modules if m.partition(".")[0] == "dcd"]:
        del sys.modules[module]
    assert getattr(importlib.import_module("dcd"), name).__name__.startswith("dcd."), name
"""
    subprocess.run([sys.executable, "-c", script, *NAMESPACES], check=True)


def test_namespaces_hold_what_left_the_top():
    assert callable(dcd.weights.decoupling_weights)
    assert callable(dcd.weights.convex_weights)
    assert callable(dcd.graph.dag_to_cpdag)
    assert callable(dcd.search.construct_cpdag)
    for name in ("Result", "Stability", "Audit", "TableSummary"):
        assert inspect.isclass(getattr(dcd.results, name))
    with pytest.raises(AttributeError):
        dcd.bootstrap  # noqa: B018


def test_every_exception_and_warning_is_in_errors():
    """Except those of the command line, which belong to the package click."""
    source = Path(dcd.__file__).parent
    for path in source.rglob("*.py"):
        if path.is_relative_to(source / "cli") or path == source / "runtime" / "errors.py":
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                assert not node.name.endswith(("Error", "Warning", "Exception")), f"{path}: {node.name}"


def test_help_shows_the_recommended_estimator_first():
    text = pydoc.plain(pydoc.render_doc(dcd))
    assert 0 < text.index("`RobustDCD` is the recommended estimator") < text.index("`DCD`")
    example = [line for line in text.splitlines() if line.strip().startswith(">>>")][:4]
    assert "dcd.RobustDCD().fit(" in example[2]
