"""PC, GES, BOSS and GRaSP of causal-learn.

In causal-learn `graph[i, j] = -1, graph[j, i] = 1` is `i -> j`, both -1 is `i - j`, and both 1 is `i <-> j`,
which is read as undirected.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from causallearn.graph.GraphNode import GraphNode
from causallearn.search.ConstraintBased.PC import pc
from causallearn.search.PermutationBased.BOSS import boss as causal_learn_boss
from causallearn.search.PermutationBased.GRaSP import grasp as causal_learn_grasp
from causallearn.search.ScoreBased.GES import ges as causal_learn_ges
from causallearn.utils.cit import CIT, CIT_Base, register_ci_test
from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

from dcd.evaluation.baselines.ensemble import EnsembleTest, Test, n_parts
from dcd.evaluation.baselines.kernel_test import KernelTest
from dcd.independence.pvalues import IndependenceTest
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError, check_number

_OUR_TEST = "a test of dcd"
Arrows = Mapping[str, Sequence[tuple[int, int]]] | None  # "required" and "forbidden", by position


def pc_fisherz(values: FloatArray, *, seed: int, alpha: float = 0.05, knowledge: Arrows = None) -> IntArray:
    """PC with Fisher's z test of partial correlation."""
    _check_rows(len(values), values.shape[1])
    return _pc(values, CIT(values, "fisherz"), alpha, knowledge)


def pc_ensemble_fisherz(
    values: FloatArray,
    *,
    seed: int,
    alpha: float = 0.05,
    stable_index: float = 2.0,
    knowledge: Arrows = None,
) -> IntArray:
    """PC with Fisher's z test on parts of the sample."""
    _check_rows(len(values) // n_parts(len(values)), values.shape[1], " in each part")
    test = EnsembleTest(lambda part: CIT(part, "fisherz"), values, seed=seed, stable_index=stable_index)
    return _pc(values, test, alpha, knowledge)


def pc_kcit(
    values: FloatArray,
    *,
    seed: int,
    alpha: float = 0.05,
    original: bool = False,
    knowledge: Arrows = None,
) -> IntArray:
    """PC with the kernel test; `original` uses causal-learn's implementation, with the same p-values."""
    return _pc(values, CIT(values, "kci") if original else KernelTest(values), alpha, knowledge)


def pc_ensemble_kcit(
    values: FloatArray,
    *,
    seed: int,
    alpha: float = 0.05,
    stable_index: float = 2.0,
    knowledge: Arrows = None,
) -> IntArray:
    """PC with the kernel test on parts of the sample."""
    return _pc(
        values, EnsembleTest(KernelTest, values, seed=seed, stable_index=stable_index), alpha, knowledge
    )


def pc_dcd(values: FloatArray, *, seed: int, alpha: float = 0.05, knowledge: Arrows = None) -> IntArray:
    """PC with the decoupling test, `dcd.IndependenceTest`."""
    return _pc(values, IndependenceTest(values, level=alpha), alpha, knowledge)


def pc_gsq(values: FloatArray, *, seed: int, alpha: float = 0.05, knowledge: Arrows = None) -> IntArray:
    """PC with the G² test, for columns of categories."""
    return _pc(values, CIT(_categories(values), "gsq"), alpha, knowledge)


def ges(values: FloatArray, *, seed: int, penalty: float = 0.5) -> IntArray:
    """GES with the Gaussian BIC score; `penalty` times log n per parameter, as for `boss`."""
    check_number("penalty", penalty, above=0, suggestion=0.5)
    _check_rows(len(values), values.shape[1])
    found = causal_learn_ges(values, "local_score_BIC", lambda_value=penalty)
    return from_causal_learn(found["G"].graph)


def ges_bdeu(values: FloatArray, *, seed: int) -> IntArray:
    """GES with the BDeu score, for columns of categories."""
    return from_causal_learn(causal_learn_ges(_categories(values), "local_score_BDeu")["G"].graph)


def ges_general(values: FloatArray, *, seed: int) -> IntArray:
    """GES with a generalised score, the marginal likelihood of kernel regressions (Huang et al., 2018)."""
    return from_causal_learn(causal_learn_ges(values, "local_score_marginal_general")["G"].graph)


def boss(values: FloatArray, *, seed: int, penalty: float = 1.0) -> IntArray:
    """BOSS with a Gaussian score, log-likelihood minus `penalty` times log n per parameter; BIC has 1/2.

    The default is that of FLOP and of the authors' Tetrad, where it is called 2. That of causal-learn is
    twice as large and gives fewer edges. BOSS uses the global random generator.
    """
    return _by_orders(causal_learn_boss, values, seed, penalty)


def grasp(values: FloatArray, *, seed: int, penalty: float = 1.0) -> IntArray:
    """GRaSP with the score of `boss`."""
    return _by_orders(causal_learn_grasp, values, seed, penalty)


def _by_orders(search: Callable[..., Any], values: FloatArray, seed: int, penalty: float) -> IntArray:
    check_number("penalty", penalty, above=0, suggestion=1.0)
    _check_rows(len(values), values.shape[1])
    random.seed(seed)
    parameters = {"lambda_value": penalty}
    found = search(values, "local_score_BIC_from_cov", parameters=parameters, verbose=False)
    return from_causal_learn(found.graph)


class _OurTest(CIT_Base):
    """Adapter of our tests to causal-learn's PC."""

    def __init__(self, data: FloatArray, test: Test, **_: Any) -> None:
        super().__init__(data)
        self.method = _OUR_TEST  # read by the search
        self.test = test

    def __call__(self, X: int, Y: int, condition_set: Sequence[int] | None = None) -> float:
        return self.test(int(X), int(Y), [int(column) for column in condition_set or ()])


register_ci_test(_OUR_TEST, _OurTest)


def _pc(values: FloatArray, test: Test, alpha: float, knowledge: Arrows) -> IntArray:
    check_number("alpha", alpha, above=0, below=1, suggestion=0.05)
    names = [f"X{index + 1}" for index in range(values.shape[1])]
    known = _background(knowledge, names)
    options = {"test": test, "show_progress": False, "node_names": names, "background_knowledge": known}
    return from_causal_learn(pc(values, alpha, _OUR_TEST, **options).G.graph)


def _background(knowledge: Arrows, names: Sequence[str]) -> BackgroundKnowledge | None:
    """Knowledge for PC, which draws no forbidden arrow but may miss a required edge."""
    if knowledge is None:
        return None
    nodes, known = [GraphNode(name) for name in names], BackgroundKnowledge()
    for i, j in knowledge["forbidden"]:
        known.add_forbidden_by_node(nodes[i], nodes[j])
    for i, j in knowledge["required"]:
        known.add_required_by_node(nodes[i], nodes[j])
    return known


def from_causal_learn(graph: Any) -> IntArray:
    """`[i, j] = 1` for any edge but `j -> i`."""
    marks = np.asarray(graph)
    edge, arrow_into_row = marks != 0, marks == 1
    points_back = arrow_into_row & ~arrow_into_row.T
    return (edge & ~points_back).astype(np.int8)


def _categories(values: FloatArray) -> IntArray:
    """Each column as codes 0, 1, ...."""
    return np.column_stack([np.unique(column, return_inverse=True)[1] for column in values.T])


def _check_rows(n_rows: int, n_variables: int, where: str = "") -> None:
    if n_rows <= n_variables + 3:
        problem = f"has {n_rows} rows{where} for {n_variables} variables"
        raise InputError("the table", problem, f"This method needs at least {n_variables + 4}.")
