"""The architecture: twelve folders in order, each importing only from those above it, without cycles."""

import ast
from pathlib import Path

import pytest

import dcd

SOURCE = Path(dcd.__file__).parent
FOLDERS = [
    "runtime",
    "table",
    "features",
    "weights",
    "independence",
    "graph",
    "search",
    "estimators",
    "results",
    "interop",
    "evaluation",
    "cli",
]
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def imports_of(module):
    """The modules that a module imports, at the top, in a function or for types only."""
    package = module if MODULES[module].name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(MODULES[module].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import, in {package}"
            inner = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name if name in MODULES else node.module or "" for name in inner)


def folder_of(module):
    parts = module.split(".")
    return parts[1] if parts[0] == "dcd" and len(parts) > 1 else None


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_imports_from_folders_above_it(folder):
    allowed = FOLDERS[: FOLDERS.index(folder) + 1]
    wrong = [
        f"{module} imports {imported}"
        for module in MODULES
        if folder_of(module) == folder
        for imported in imports_of(module)
        if folder_of(imported) is not None and folder_of(imported) not in allowed
    ]
    assert not wrong


def test_calls_against_the_order_are_by_name_and_few():
    """Methods of a graph and of a fitted model that call functions of later folders."""
    named = {
        (module, node.args[0].value)
        for module, path in MODULES.items()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "resolve_name"
        if isinstance(node.args[0], ast.Constant)
    }
    assert named == {
        ("dcd.estimators.fitted_graph", "dcd.evaluation.metrics:compare"),
        ("dcd.estimators.fitted_graph", "dcd.interop:from_networkx"),
        ("dcd.estimators.fitted_graph", "dcd.results:summarise"),
        ("dcd.graph.cpdag", "dcd.interop:to_networkx"),
    }


def test_the_folders_are_the_floor_plan():
    assert sorted(path.name for path in SOURCE.iterdir() if path.name != "__pycache__") == sorted(
        [*FOLDERS, "__init__.py", "__main__.py", "py.typed"]
    )


def test_no_import_cycles():
    """Between modules, whether imported at the top, in a function or for types only."""
    graph = {module: {name for name in imports_of(module) if name in MODULES} for module in MODULES}
    for module in graph:
        graph[module].discard(module)
    while leaves := [module for module, needed in graph.items() if not needed]:
        for leaf in leaves:
            del graph[leaf]
        for needed in graph.values():
            needed.difference_update(leaves)
    assert not graph, f"on cycles or above one: {sorted(graph)}"


def test_one_module_knows_joblib_and_what_runs_it():
    """Where work runs is decided in one place."""
    for module in MODULES:
        roots = {name.partition(".")[0] for name in imports_of(module)}
        assert module == "dcd.runtime.parallel" or not {"joblib", "dask", "distributed", "ray"} & roots, (
            module
        )
        assert module == "dcd.runtime.threads" or "threadpoolctl" not in roots, module


# --- size ------------------------------------------------------------------------------------------------


def functions():
    for module, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                first = node.body[1] if ast.get_docstring(node) and len(node.body) > 1 else node.body[0]
                yield f"{module}.{node.name}", node.end_lineno - first.lineno + 1


def test_modules_and_functions_stay_small():
    assert {name: n for name in MODULES if (n := len(MODULES[name].read_text().splitlines())) > 400} == {}
    lengths = sorted(functions(), key=lambda item: item[1])
    assert [item for item in lengths if item[1] > 60] == []
    assert lengths[int(0.9 * len(lengths))][1] < 20
