"""Effects that DoWhy estimates from our graphs, checked in an environment of its own: `make test-dowhy`.

DoWhy 0.14 pins SciPy to 1.15, which would constrain the other packages of the tests. The main suite imports
these checks if DoWhy is installed; otherwise it skips them with the reason.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from support.pages import ROOT, run_page

from dcd import CPDAG, InputError, effect, interop
from dcd.evaluation.simulate import random_dag

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    dowhy = pytest.importorskip("dowhy", reason="DoWhy holds back SciPy: make test-dowhy")


def simulated(dag, seed, n=4000):
    """A linear table of a DAG, and the matrix of total effects."""
    rng = np.random.default_rng(seed)
    d = len(dag)
    weights = dag * rng.uniform(0.4, 1.0, size=(d, d)) * rng.choice([-1, 1], size=(d, d))
    total = np.linalg.inv(np.eye(d) - weights)
    table = rng.standard_normal((n, d)) @ total
    return pd.DataFrame(table, columns=[f"v{i}" for i in range(d)]), total


def estimate(table, graph, treatment, outcome):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # DoWhy's own, of pandas and NumPy
        model = dowhy.CausalModel(table, treatment=treatment, outcome=outcome, graph=graph)
        return model.estimate_effect(model.identify_effect(), method_name="backdoor.linear_regression").value


def test_known_effects_are_estimated_from_the_class_alone():
    estimated = refused = 0
    for seed in range(4):
        dag = random_dag(6, graph="erdos-renyi", degree=2, random_state=seed)
        table, total = simulated(dag, seed)
        cpdag = CPDAG.from_dag(table.columns, dag)
        for x, y in np.argwhere(total - np.eye(6)):
            treatment, outcome = f"v{x}", f"v{y}"
            try:
                graph = interop.to_dowhy(cpdag, treatment=treatment, outcome=outcome)
            except InputError:
                refused += 1
                continue
            estimated += 1
            value = estimate(table, graph, treatment, outcome)
            assert value == pytest.approx(total[x, y], abs=0.12)
            ours = effect(cpdag, table, treatment, outcome, estimator="linear")
            assert ours.low == ours.high == pytest.approx(value, abs=0.05)  # perhaps by another valid set
    assert estimated >= 5
    assert refused >= 5


def test_odd_names_reach_dowhy():
    names = ['say "hi"', "a b", "c\\d", "e&f"]
    dag = np.zeros((4, 4), dtype=int)
    dag[0, 1] = dag[2, 1] = dag[1, 3] = dag[0, 3] = 1
    table, total = simulated(dag, 0)
    table.columns = names
    graph = interop.to_dowhy(CPDAG.from_dag(names, dag), treatment=names[1], outcome=names[3])
    assert estimate(table, graph, names[1], names[3]) == pytest.approx(total[1, 3], abs=0.1)


@pytest.mark.parametrize("page", ["guides/hand-over", "tutorial"])
def test_the_page_runs_in_full(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # DoWhy's own
        namespace, printed = run_page(ROOT / "docs" / f"{page}.md")
    low, high = {"guides/hand-over": (0.62, 0.78), "tutorial": (0.58, 0.70)}[page]
    assert low < namespace["estimate"].value < high
    assert "can have either direction" in printed
