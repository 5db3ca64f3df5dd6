"""A test and a weighting as a user would write them, in a file of their own."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dcd.weights import measured


@dataclass(frozen=True)
class FisherZ:
    def bind(self, scores, level):
        return BoundFisherZ(scores.values)


class BoundFisherZ:
    def __init__(self, values):
        self.values = values

    def log_pvalue(self, x, y, given):
        precision = np.linalg.inv(np.corrcoef(self.values[:, [x, y, *given]].T))
        r = -precision[0, 1] / np.sqrt(precision[0, 0] * precision[1, 1])
        return np.log(2) + stats.norm.logsf(np.sqrt(len(self.values) - len(given) - 3) * np.arctanh(abs(r)))


@dataclass(frozen=True)
class EqualWeights:
    def learn(self, scores, variables):
        return measured(np.ones(scores.n_samples), scores, variables)
