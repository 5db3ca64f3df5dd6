"""The order in which files of tests are handed out to the processes that share the work."""

from pathlib import Path

FOLDER = Path(__file__).parent / "tests"
collect_ignore_glob = ["tests/*/conftest.py"]  # several have this name, and none has examples to run

# The first fit of a whole graph compiles the search, which takes half a minute. The first file does so; the
# next ones need no such fit, so that a second process has other work meanwhile. Then come the longest, so
# that none is left at the end.
FIRST = (
    "search/test_whole_graph.py",
    "independence/test_association.py",
    "weights/test_joint.py",
    "independence/test_many_rows.py",
    "features/test_kernel_blocks.py",
    "test_experiments.py",
    "evaluation/test_baselines.py",
    "search/test_algorithm1.py",
    "test_docs.py",
    "test_hostile_values.py",
    "test_watch.py",
    "results/test_report_in_browser.py",
    "cli/test_terminal.py",
    "runtime/test_checkpoint.py",
    "runtime/test_cluster.py",
)


def pytest_collection_modifyitems(items):
    """Sort the tests by file."""
    place = {FOLDER / name: at for at, name in enumerate(FIRST)}
    assert all(path.exists() for path in place)
    items.sort(key=lambda item: place.get(item.path, len(FIRST)))
