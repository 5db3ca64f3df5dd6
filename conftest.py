"""The order in which files of tests are handed out to the processes that share the work."""

from pathlib import Path

FOLDER = Path(__file__).parent / "tests"
collect_ignore_glob = ["tests/*/conftest.py"]  # several have this name, and none has examples to run

# The longest come first, so that none is left at the end.
FIRST = (
    "test_experiments.py",
    "evaluation/test_baselines.py",
    "test_hostile_values.py",
    "test_docs.py",
    "runtime/test_checkpoint.py",
    "cli/test_terminal.py",
    "results/test_pictures_in_browser.py",
    "results/test_report_in_browser.py",
    "estimators/test_effects.py",
    "cli/test_compare_page.py",
    "estimators/test_groups.py",
    "estimators/test_robust.py",
    "test_watch.py",
    "runtime/test_cluster.py",
)

# The same for long tests alone.
FIRST_OF_LONG = (
    "test_notebooks.py",
    "test_docs.py",
    "evaluation/test_falsify.py",
    "evaluation/test_baselines.py",
    "table/test_out_of_core.py",
    "estimators/test_effect_estimates.py",
    "test_experiments.py",
    "independence/test_many_rows.py",
    "test_watch.py",
    "cli/test_terminal.py",
    "estimators/test_stability.py",
    "graph/test_adjustment_sets.py",
    "runtime/test_cluster.py",
    "runtime/test_lost_in_transit.py",
    "search/test_algorithm1.py",
)


def pytest_collection_modifyitems(config, items):
    """Sort the tests by file."""
    first = FIRST_OF_LONG if config.option.markexpr == "slow" else FIRST
    place = {FOLDER / name: at for at, name in enumerate(first)}
    assert all(path.exists() for path in place)
    items.sort(key=lambda item: place.get(item.path, len(first)))
