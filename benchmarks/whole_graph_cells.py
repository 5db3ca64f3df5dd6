"""The cells of `whole_graph.py`: simulated graphs and published networks, each a table with its true graph.

Simulated cells take the protocol of `dcd.simulate` at its defaults: noise by its standard deviation, networks
without biases, as in the experiment `robust`. A seed decides graph and table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

import dcd
from experiments.settings import Network, Problem, Simulated

MOST_ROWS = 100_000
GROWING = (500, 2_000, 8_000, 32_000, MOST_ROWS)
NETWORK_SIZES = {"ecoli70": (500, 1000, 2000), "magic-niab": (1000,), "alarm": (500, 2000), "asia": (2000,)}


class Setting(Protocol):
    """Where the tables of a cell come from."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def d(self) -> int:
        """Number of variables."""

    @property
    def discrete(self) -> bool:
        """Whether the columns are categories."""

    def draw(self, seed: int) -> Problem:
        """Table and true CPDAG of a seed."""


@dataclass(frozen=True)
class Linear:
    """Linear Gaussian tables of Erdős-Rényi graphs, with standardised columns.

    Weights are uniform in ±[0.5, 1.5], the noise has variance 1.
    """

    d: int = 10
    degree: int = 4
    n: int = 800
    discrete: ClassVar[bool] = False

    def draw(self, seed: int) -> Problem:
        """X = E (I - W)⁻¹, with W[i, j] the weight of i -> j."""
        rng = np.random.default_rng(seed)
        dag = dcd.simulate.random_dag(self.d, graph="erdos-renyi", degree=self.degree, random_state=rng)
        weights = dag * rng.uniform(0.5, 1.5, dag.shape) * rng.choice([-1.0, 1.0], dag.shape)
        noise = rng.standard_normal((self.n, self.d))
        values = np.linalg.solve((np.eye(self.d) - weights).T, noise.T).T
        table = pd.DataFrame(values, columns=[f"x{index}" for index in range(self.d)])
        return Problem((table - table.mean()) / table.std(), dcd.CPDAG.from_dag(list(table.columns), dag))


@dataclass(frozen=True)
class FirstRows:
    """The first n rows of a larger table: graphs and mechanisms are the same for every n."""

    whole: Simulated
    n: int
    discrete: ClassVar[bool] = False

    @property
    def d(self) -> int:
        """Number of variables."""
        return self.whole.d

    def draw(self, seed: int) -> Problem:
        """See `Setting`."""
        problem = self.whole.draw(seed)
        return replace(problem, table=problem.table.head(self.n))


@dataclass(frozen=True)
class Cell:
    """A setting with its name in tables."""

    title: str
    setting: Setting

    def draw(self, seed: int) -> Problem:
        """The problem as every method gets it: categories as text, no constant columns."""
        problem = self.setting.draw(seed)
        table = problem.table.loc[:, problem.table.nunique() > 1]
        return replace(problem, table=table.astype(int).astype(str) if self.setting.discrete else table)


def simulated(**options: Any) -> Simulated:
    """The protocol to the letter; Func, d = 10, n = 800, scale-free, noise 2 but for `options`."""
    return Simulated(noise_measure="deviation", biases=False, **options)


def random_graph(degree: int, **options: Any) -> Simulated:
    return simulated(graph="erdos-renyi", degree=degree, **options)


def network_cells() -> dict[str, Cell]:
    """Samples of published networks."""
    pairs = [(name, n) for name, sizes in NETWORK_SIZES.items() for n in sizes]
    return {f"{name}-{n}": Cell(f"{name}, n = {n}", Network(name, n)) for name, n in pairs}


def growing_cells(degree: int) -> dict[str, Cell]:
    """Error as n grows, with bounded mechanisms."""
    whole = random_graph(degree, mechanism="mlp", noise_std=1.0, n=MOST_ROWS)
    title = f"Erdős-Rényi degree {degree}, MLP, noise 1, n = "
    return {f"er{degree}-mlp-n{n}": Cell(f"{title}{n:,}", FirstRows(whole, n)) for n in GROWING}


CELLS: dict[str, Cell] = {
    "er2-func": Cell("Erdős-Rényi degree 2, Func, noise 2", random_graph(2)),
    "er4-func": Cell("Erdős-Rényi degree 4, Func, noise 2", random_graph(4)),
    "er4-mlp": Cell("Erdős-Rényi degree 4, MLP, noise 1", random_graph(4, mechanism="mlp", noise_std=1.0)),
    "er4-linear": Cell("Erdős-Rényi degree 4, linear Gaussian", Linear()),
    "er4-linear-d20": Cell("Erdős-Rényi degree 4, linear Gaussian, d = 20", Linear(d=20)),
    "sf-func": Cell("scale-free, Func, noise 2", simulated()),
    "sf-func-d20": Cell("scale-free, Func, noise 2, d = 20", simulated(d=20)),
    "sf-mlp-d20": Cell("scale-free, MLP, noise 2, d = 20", simulated(d=20, mechanism="mlp")),
    "sf-func-noise.3": Cell("scale-free, Func, noise 0.3", simulated(noise_std=0.3)),
    "er2-noise-inside": Cell(
        "Erdős-Rényi degree 2, Func, noise 1 in the mechanism",
        random_graph(2, noise_std=1.0, noise_in_mechanism=True),
    ),
    "er2-product": Cell(
        "Erdős-Rényi degree 2, products, noise 1", random_graph(2, mechanism="product", noise_std=1.0)
    ),
    **network_cells(),
    **growing_cells(2),
    **growing_cells(4),
}
