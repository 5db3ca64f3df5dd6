"""Identifiers, tests and scores of known graphs."""

import numpy as np

from dcd.graph.separation import d_separated, oracle
from dcd.independence.base import SearchTest


def erring_identifier(dag, rate, rng):
    """An oracle that gets each member of each boundary wrong with some probability, always the same way."""
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


def likelihood_of(dag, likelihood):
    return sum(likelihood(v, tuple(np.flatnonzero(dag[:, v]).tolist())) for v in range(len(dag)))
