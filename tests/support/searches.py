"""Identifiers and tests that know the graph, and the p-values of all pairs given a set."""

import numpy as np

from dcd.graph.separation import d_separated, oracle
from dcd.independence.adjustment import Adjustment
from dcd.independence.base import SearchTest
from dcd.independence.partial_pvalues import log_pvalues
from dcd.independence.residual_columns import ResidualColumns


def erring_identifier(dag, rate, rng):
    """An oracle that gets each member of each boundary wrong with some probability, reproducibly."""
    truth = oracle(dag)
    answers = {}

    def identify(target, others):
        key = (target, frozenset(others))
        if key not in answers:
            wrong = {other for other in others if rng.random() < rate}
            answers[key] = truth(target, others) ^ wrong
        return answers[key]

    return identify


class Oracle(SearchTest):
    """A test that knows the graph: p = 1 for independent, strong for dependent."""

    def __init__(self, dag):
        super().__init__(len(dag))
        self.dag = dag

    def log_pvalue(self, x, y, given):
        return 0.0 if d_separated(self.dag, x, y, given) else -50.0 - abs(x - y)


def adjusted_log_pvalues(scores, given):
    """Log p-values (d, d) of every two variables given a set; 0 on the diagonal and for the set."""
    adjustment = Adjustment(scores, given)
    outside = [v for v in range(scores.n_variables) if v not in given]
    result = np.zeros((scores.n_variables, scores.n_variables))
    columns = ResidualColumns(adjustment, outside)
    for index, v in enumerate(outside[:-1]):
        later = range(index + 1, len(outside))
        result[v, outside[index + 1 :]] = log_pvalues(columns, index, later)
    result += result.T
    np.fill_diagonal(result, 0.0)
    return result
