"""Published Bayesian networks, with the parameters that pgmpy 1.1.2 ships.

ecoli70 (gene expression; Schäfer and Strimmer 2005) and magic-niab (wheat genetics; Scutari et al. 2014) are
linear Gaussian; asia (Lauritzen and Spiegelhalter 1988), child (Spiegelhalter and Cowell 1992), insurance
(Binder et al. 1997), alarm (Beinlich et al. 1989) and hepar2 (Onisko 2003) are discrete, and their states
become the numbers 0, 1, ... in the published order.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import FloatArray

GAUSSIAN = ("ecoli70", "magic-niab")
DISCRETE = ("asia", "child", "insurance", "alarm", "hepar2")
SIZES = {
    "sachs": 11,
    "ecoli70": 46,
    "magic-niab": 44,
    "asia": 8,
    "child": 20,
    "insurance": 27,
    "alarm": 37,
    "hepar2": 70,
}

# (values of the parents (n, k), generator) -> values (n,)
Mechanism = Callable[[FloatArray, np.random.Generator], FloatArray]


@dataclass(frozen=True)
class NetworkModel:
    """A DAG, `dag[i, j] = 1` for `i -> j`, and for each node its parents in the order its mechanism wants."""

    dag: pd.DataFrame
    parents: dict[str, list[str]]
    mechanisms: dict[str, Mechanism]

    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Forward sampling: every node after its parents."""
        names = list(self.dag.columns)
        values: dict[str, FloatArray] = {}
        for node in topological_order(self.dag):
            name = names[node]
            given = np.array([values[parent] for parent in self.parents[name]]).reshape(-1, n).T
            values[name] = self.mechanisms[name](given, rng)
        return pd.DataFrame(values)[names]


@cache
def load(name: str) -> NetworkModel:
    """A network by name."""
    try:
        folder = files("pgmpy") / "utils" / "example_models"
    except ModuleNotFoundError as error:
        raise ImportError("networks need pgmpy: pip install --group experiments") from error
    if name in GAUSSIAN:
        return _gaussian((folder / f"{name}.json").read_text(encoding="utf-8"))
    return _discrete(gzip.decompress((folder / f"{name}.bif.gz").read_bytes()).decode())


def _gaussian(text: str) -> NetworkModel:
    model = json.loads(text)
    parents = {name: list(cpd["parents"] or []) for name, cpd in model["cpds"].items()}
    mechanisms = {name: _linear(cpd, parents[name]) for name, cpd in model["cpds"].items()}
    return NetworkModel(_dag(model["nodes"], parents), parents, mechanisms)


def _linear(cpd: dict[str, Any], parents: list[str]) -> Mechanism:
    coefficients = np.array([cpd["coefficients"][parent][0] for parent in parents])
    intercept, deviation = cpd["coefficients"]["(Intercept)"][0], np.sqrt(cpd["variance"][0])

    def mechanism(given: FloatArray, rng: np.random.Generator) -> FloatArray:
        return intercept + given @ coefficients + deviation * rng.standard_normal(len(given))

    return mechanism


def _discrete(text: str) -> NetworkModel:
    from pgmpy.readwrite import BIFReader

    cpds = BIFReader(string=text).get_model().get_cpds()
    parents = {cpd.variable: list(cpd.variables[1:]) for cpd in cpds}
    mechanisms = {cpd.variable: _table(np.asarray(cpd.values, dtype=np.float64)) for cpd in cpds}
    return NetworkModel(_dag([cpd.variable for cpd in cpds], parents), parents, mechanisms)


def _table(probabilities: FloatArray) -> Mechanism:
    """`probabilities[state, *states of the parents]`, by inversion of the cumulative sums."""
    cumulative = probabilities.cumsum(axis=0)

    def mechanism(given: FloatArray, rng: np.random.Generator) -> FloatArray:
        states = tuple(given.astype(int).T)
        upper = cumulative[(slice(None), *states)].reshape(len(cumulative), -1)
        drawn = rng.random(len(given)) * upper[-1]
        return (drawn >= upper[:-1]).sum(axis=0).astype(np.float64)

    return mechanism


def _dag(names: list[str], parents: dict[str, list[str]]) -> pd.DataFrame:
    dag = pd.DataFrame(0, index=sorted(names), columns=sorted(names))
    for child, of_child in parents.items():
        dag.loc[of_child, child] = 1
    return dag
