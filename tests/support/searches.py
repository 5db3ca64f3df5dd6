"""Identifiers, tests and scores of known graphs."""

import numpy as np

from dcd.graph.knowledge import bind_knowledge
from dcd.graph.separation import d_separated, oracle
from dcd.independence.association import Record
from dcd.search.base import SearchTask


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


class Oracle:
    """A test that knows the graph: p = 1 for independent, strong for dependent."""

    def __init__(self, dag):
        self.dag, self.record = dag, Record()

    def log_pvalue(self, x, y, given):
        return 0.0 if d_separated(self.dag, x, y, given) else -50.0 - abs(x - y)

    def looks(self, target, given):
        others = [v for v in range(len(self.dag)) if v != target and v not in given]
        found = np.zeros(len(self.dag))
        found[others] = [self.log_pvalue(v, target, given) for v in others]
        yield found


def searches_with(strategy, test, names, level, knowledge=None):
    """What a strategy finds about each variable."""
    known = bind_knowledge(None, names) if knowledge is None else knowledge
    return strategy.find(SearchTask(names=names, test=test, level=level, knowledge=known)).searches


def likelihood_of(dag, likelihood):
    return sum(likelihood(v, tuple(np.flatnonzero(dag[:, v]).tolist())) for v in range(len(dag)))
