"""Tables to resample, and an estimator that is quick."""

import numpy as np
import pandas as pd

from dcd import CPDAG
from dcd.estimators.base import Discovery


def chain_table(n=150, seed=0):
    """a -> b -> c, and d unrelated."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal(n)
    b = a + rng.standard_normal(n)
    c = b + rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": rng.standard_normal(n)})


class Correlated(Discovery):
    """A quick stand-in: an edge where the correlation is above a bound; it keeps its arguments."""

    def __init__(
        self,
        *,
        bound=0.3,
        kinds=None,
        missing="refuse",
        drop_degenerate=False,
        n_jobs=None,
        progress=True,
        random_state=None,
    ):
        self.bound = bound
        self.kinds, self.missing, self.drop_degenerate = kinds, missing, drop_degenerate
        self.n_jobs, self.progress, self.random_state = n_jobs, progress, random_state

    def _check_parameters(self):
        pass

    def fit(self, X, y=None, sample_weight=None):
        weights = np.ones(len(X)) if sample_weight is None else sample_weight
        covariance = np.cov(X.to_numpy().T, aweights=weights)
        scale = np.sqrt(np.diag(covariance))
        dag = np.triu(np.abs(covariance / np.outer(scale, scale)) > self.bound, k=1)
        self.cpdag_ = CPDAG.from_dag(list(X.columns), dag)
        return self


def rare_event_table(n=40):
    table = chain_table(n)
    table["event"] = 0.0
    table.loc[:1, "event"] = 1.0  # two rows of 40: about a quarter of the half samples have none
    return table
