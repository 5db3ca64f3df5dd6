"""The contracts of searches: user-defined searches, and bad input."""

import numpy as np
import pytest
from support.tables import linear

import dcd
from dcd.search.base import GraphOutcome, TestedEdge

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]])


class AssociationGraph:
    """A user-defined search: variables are joined if they are associated, directly or not."""

    def find(self, task):
        d = len(task.names)
        pvalues = {(i, j): task.test.log_pvalue(i, j, ()) for i in range(d) for j in range(i + 1, d)}
        edges = tuple(TestedEdge(pair, (), p) for pair, p in pvalues.items() if p < np.log(task.level))
        dag = np.zeros((d, d), dtype=np.int8)
        for edge in edges:
            dag[edge.pair] = 1
        return GraphOutcome(dag, edges, task.level)


class AssociatedVariables:
    """The same for the boundary of one target."""

    def boundary(self, test, target, n_variables, level, required=()):
        others = (v for v in range(n_variables) if v != target)
        near = [v for v in others if test.log_pvalue(v, target, ()) < np.log(level)]
        return sorted({*near, *required})


def test_a_graph_search_of_ones_own():
    table = linear(CHAIN, 0, n=500)
    model = dcd.RobustDCD(search=AssociationGraph(), progress=False).fit(table)
    assert {frozenset(edge) for edge in model.cpdag_.undirected_edges} == {
        frozenset(pair) for pair in (("x0", "x1"), ("x1", "x2"), ("x0", "x2"))
    }
    neighbours = model.diagnostics_.searches[0].neighbours
    assert set(neighbours) == {"x1", "x2"}
    assert max(neighbours.values()) < 0.05
    assert dcd.RobustDCD(progress=False).fit(table).cpdag_ != model.cpdag_


def test_a_boundary_search_of_ones_own():
    table = linear(CHAIN, 0, n=500)
    boundary = dcd.MarkovBoundary(target="x0", search=AssociatedVariables()).fit(table)
    assert list(boundary.boundary_) == ["x1", "x2"]
    assert list(dcd.MarkovBoundary(target="x0", search=dcd.GrowShrink()).fit(table).boundary_) == ["x1"]


@pytest.mark.parametrize("search", [3, AssociatedVariables(), dcd.WholeGraph, dcd.GrowShrink()])
def test_no_search_for_a_graph(search):
    with pytest.raises(dcd.InputError, match=r"'search'.*find\(\), got.*Try dcd.WholeGraph\(\)"):
        dcd.RobustDCD(search=search).fit(linear(CHAIN, 0, n=200))


@pytest.mark.parametrize("search", [3, AssociationGraph(), dcd.GrowShrink, dcd.WholeGraph()])
def test_no_search_for_a_boundary(search):
    with pytest.raises(dcd.InputError, match=r"'search'.*boundary\(\), got.*Try dcd.GrowShrink\(\)"):
        dcd.MarkovBoundary(target="x0", search=search).fit(linear(CHAIN, 0, n=200))
