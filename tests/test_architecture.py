"""The order of the house: a stage imports only from stages to its left, `graph` and `validation`."""

import ast
from pathlib import Path

import pytest

import dcd

SOURCE = Path(dcd.__file__).parent
STAGES = [
    "columns",
    "cells",
    "sources",
    "contents",
    "correlations",
    "preflight",
    "data",
    "reading",
    "kernels",
    "blocks",
    "scores",
    "feature_blocks",
    "objective",
    "descent",
    "decoupling",
    "balancing",
    "dependence",
    "steps",
    "adjustment",
    "statistic",
    "partial",
    "lines",
    "interactions",
    "association",
    "staging",
    "gaps",
    "boundary",
    "pieces",
    "binding",
    "knowledge",
    "search",
    "pruning",
    "growth",
    "orders",
    "orientation",
    "pattern",
    "conflicts",
    "construction",
    "description",
    "discovery",
    "robust",
]
SHARED = [
    "arrays",
    "validation",
    "graph",
    "files",
    "checkpoint",
    "progress",
    "runs",
    "display",
    "storage",
    "tables",
    "threads",
    "engine",
]


def imported_by(module):
    tree = ast.parse((SOURCE / f"{module}.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("dcd"):
            yield from [node.module.partition(".")[2]] if "." in node.module else [a.name for a in node.names]
        elif isinstance(node, ast.Import):
            yield from [a.name.partition(".")[2] for a in node.names if a.name.startswith("dcd.")]


@pytest.mark.parametrize("stage", STAGES)
def test_stages_import_from_the_left(stage):
    allowed = {*SHARED, *STAGES[: STAGES.index(stage)]}
    assert set(imported_by(stage)) <= allowed


def test_shared_modules_stand_alone():
    assert set(imported_by("validation")) == set()
    assert set(imported_by("runs")) <= {"checkpoint", "progress"}
    assert set(imported_by("checkpoint")) <= {"files", "validation"}
    assert set(imported_by("threads")) == set()
    assert set(imported_by("engine")) == {"threads"}
    assert set(imported_by("storage")) == {"validation"}
    assert set(imported_by("graph")) <= {"arrays", "validation", "display"}


def test_one_module_knows_joblib_and_what_runs_it():
    """Where work runs is decided in one place."""
    for path in SOURCE.rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = [
            name.partition(".")[0]
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        ]
        assert path.name == "engine.py" or not {"joblib", "dask", "distributed", "ray"} & set(names), path
        assert path.name == "threads.py" or "threadpoolctl" not in names, path


def test_the_door_to_pictures_loads_nothing_until_it_is_used():
    """Graphs and stages inherit `plot` and the like from `display`, which must not draw them into drawing."""
    tree = ast.parse((SOURCE / "display.py").read_text(encoding="utf-8"))
    at_import = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    assert {node.module for node in at_import} == {"__future__", "typing"}


def test_public_names_are_there_once():
    assert len(set(dcd.__all__)) == len(dcd.__all__)
    assert all(hasattr(dcd, name) for name in dcd.__all__)
