"""Graphs for DoWhy, and packages that are tested in environments of their own."""

import importlib
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from support.handover import CHAIN, COLLIDER
from support.known_graphs import all_dags

from dcd import CPDAG, InputError, interop
from dcd.graph.equivalence import dag_to_cpdag

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "hand-over.md"


@cache
def classes_of_four():
    """Every CPDAG on four nodes with the DAGs of its class."""
    classes = {}
    for dag in all_dags(4):
        classes.setdefault(dag_to_cpdag(dag).tobytes(), []).append(dag)
    return list(classes.values())


def effects(dags, covariance, x, y):
    """The effect of x on y by each DAG from one covariance, adjusting for the parents of x."""
    for dag in dags:
        causes = [x, *np.flatnonzero(dag[:, x])]
        given = covariance[np.ix_(causes, causes)]
        yield 0.0 if y in causes else float(np.linalg.solve(given, covariance[causes, y])[0])


@pytest.mark.parametrize("every", [6, pytest.param(1, marks=pytest.mark.slow)])
def test_an_effect_goes_to_dowhy_exactly_if_all_dags_of_the_class_agree_on_it(every):
    rng = np.random.default_rng(0)
    refused = 0
    for dags in classes_of_four()[::every]:
        weights = dags[0] * rng.uniform(0.5, 1.5, size=(4, 4))
        mixing = np.linalg.inv(np.eye(4) - weights)
        covariance = mixing.T @ mixing
        cpdag = CPDAG.from_dag("abcd", dags[0])
        for x, y in np.argwhere(~np.eye(4, dtype=bool)):
            found = list(effects(dags, covariance, x, y))
            agreed = np.ptp(found) < 1e-9
            asked = {"treatment": "abcd"[x], "outcome": "abcd"[y]}
            if agreed:
                assert interop.from_networkx(interop.to_dowhy(cpdag, **asked)) == cpdag
            else:
                refused += 1
                with pytest.raises(InputError, match=f"edges? '{'abcd'[x]}' - "):
                    interop.to_dowhy(cpdag, **asked)
    assert refused > 100 / every


def test_arbitrary_arrows_are_marked():
    #  a -> t <- b, t -> y, b - c
    dag = np.zeros((5, 5), dtype=int)
    dag[0, 1] = dag[2, 1] = dag[1, 3] = dag[2, 4] = 1
    graph = interop.to_dowhy(CPDAG.from_dag(["a", "t", "b", "y", "c"], dag), treatment="t", outcome="y")
    marked = [frozenset(edge) for edge in graph.edges if graph.edges[edge].get("arbitrary")]
    assert marked == [frozenset("bc")]


def test_an_uncertain_arrow_is_not_handed_over_as_certain():
    """As for bmi and target of scikit-learn's diabetes, where a single uncertain arrow empties the set."""
    dag = np.zeros((4, 4), dtype=int)  # b -> t -> c -> y, t -> y
    dag[0, 1] = dag[1, 2] = dag[2, 3] = dag[1, 3] = 1
    sure = CPDAG.from_dag("btcy", dag, [("b", "t"), ("t", "c"), ("c", "y")])
    interop.to_dowhy(sure, treatment="t", outcome="y")
    doubtful = CPDAG(sure.names, sure.adjacency, sure.background, uncertain=[("t", "c")])
    with pytest.raises(InputError, match=r"edge 't' - 'c': can .* dcd\.effect\(cpdag, table, 't', 'y'\)"):
        interop.to_dowhy(doubtful, treatment="t", outcome="y")
    dag[1, 3] = 0
    sure = CPDAG.from_dag("btcy", dag, [("b", "t"), ("t", "c"), ("c", "y")])
    behind = CPDAG(sure.names, sure.adjacency, sure.background, uncertain=[("c", "y")])
    with pytest.raises(InputError, match="edge 'c' - 'y': can have either direction"):
        interop.to_dowhy(behind, treatment="t", outcome="y")
    interop.to_dowhy(behind, treatment="t", outcome="c")


def test_dowhy_is_asked_with_names_of_the_graph():
    with pytest.raises(InputError, match="edge 'b' - 'a': can have either direction"):
        interop.to_dowhy(CHAIN, treatment="b", outcome="a")
    with pytest.raises(InputError, match="variable 'A': is not in the graph"):
        interop.to_dowhy(COLLIDER, treatment="A", outcome="b")
    with pytest.raises(InputError, match="is the treatment"):
        interop.to_dowhy(COLLIDER, treatment="a", outcome="a")
    with pytest.raises(InputError, match="must be a CPDAG, got ChosenDAG"):
        interop.to_dowhy(COLLIDER.to_dag(), treatment="a", outcome="b")


@pytest.mark.parametrize("checks", ["pywhy_roundtrip", "lingam_roundtrip", "dowhy_effect"])
def test_packages_that_need_an_environment_of_their_own(checks):
    found = vars(importlib.import_module(checks))  # skips where the package is missing
    ours = [check for name, check in found.items() if name.startswith("test_")]
    assert ours
    for check in ours:
        check()


def test_the_guide_runs_up_to_dowhy(capsys):
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), flags=re.DOTALL)
    without = [block for block in blocks if "dowhy" not in block]
    assert blocks[: len(without)] == without
    namespace = {}
    for block in without:
        exec(compile(block, str(GUIDE), "exec"), namespace)
    printed = capsys.readouterr().out
    assert "dose -> response" in printed
    assert "form a directed cycle" in printed
    assert "1 of 5 directions chosen arbitrarily" in printed
