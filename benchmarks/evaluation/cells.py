"""The cells of the evaluation: simulated graphs and published networks, each a table with its true graph.

Simulated cells take the protocol of `dcd.simulate` at its defaults: noise by its standard deviation, networks
without biases, as in the experiment `robust`. A seed determines graph and table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np
import pandas as pd

import dcd
from dcd.graph.adjacency import topological_order
from dcd.runtime.array_types import FloatArray
from experiments.settings import Network, Problem, Simulated

MOST_GRAPHS = 30
MOST_ROWS = 100_000
GROWING = (500, 2_000, 8_000, 32_000, MOST_ROWS)
NETWORKS = ("asia", "child", "insurance", "alarm", "hepar2", "ecoli70", "magic-niab")
NETWORK_SIZES = (500, 2_000)


Content = Literal["numbers", "categories", "mixed"]


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
        cpdag = dcd.CPDAG.from_dag(list(table.columns), dag)
        return Problem((table - table.mean()) / table.std(), cpdag, dag)


@dataclass(frozen=True)
class Mixed:
    """Tables in which every k-th variable is a category of two or three levels, k = `every`.

    A variable is a sum of smooth functions of its parents and normal noise; a category is such a sum cut at
    quantiles, and acts on its effects by its level.
    """

    d: int
    degree: int
    n: int
    every: int = 2

    discrete: ClassVar[bool] = False

    def draw(self, seed: int) -> Problem:
        """Graph and data from one generator."""
        rng = np.random.default_rng(seed)
        dag = dcd.simulate.random_dag(self.d, graph="erdos-renyi", degree=self.degree, random_state=rng)
        columns: dict[int, FloatArray] = {}
        levels = {v: int(rng.integers(2, 4)) for v in range(self.every - 1, self.d, self.every)}
        for v in topological_order(dag):
            value = rng.standard_normal(self.n)
            for parent in np.flatnonzero(dag[:, v]).tolist():
                strength = rng.uniform(0.8, 1.6) * rng.choice([-1.0, 1.0])
                smooth = np.tanh if rng.random() < 0.5 else np.sin
                value += strength * smooth(1.5 * columns[parent])
            if v in levels:
                cuts = np.quantile(value, np.arange(1, levels[v]) / levels[v])
                value = np.digitize(value, cuts).astype(float) - 0.5 * (levels[v] - 1)
            columns[v] = value
        table = pd.DataFrame({f"x{v}": columns[v] for v in range(self.d)})
        for v, count in levels.items():
            table[f"x{v}"] = np.array(list("pqr"))[(table[f"x{v}"] + 0.5 * (count - 1)).astype(int)]
        return Problem(table, dcd.CPDAG.from_dag(list(table.columns), dag))


def content_of(setting: Setting) -> Content:
    """What the columns of a setting are."""
    if isinstance(setting, Mixed):
        return "mixed"
    return "categories" if setting.discrete else "numbers"


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
    """A setting with its name in tables and the most graphs that are drawn from it."""

    title: str
    setting: Setting
    graphs: int = MOST_GRAPHS

    def draw(self, seed: int) -> Problem:
        """The problem as every method gets it: without the columns that are constant in this sample."""
        problem = self.setting.draw(seed)
        return replace(problem, table=problem.table.loc[:, problem.table.nunique() > 1])


def simulated(**options: Any) -> Simulated:
    """As in the text of Section 4: Func, d = 10, n = 800, scale-free, noise 2, except for `options`."""
    return Simulated(noise_measure="deviation", biases=False, **options)


def random_graph(degree: int, **options: Any) -> Simulated:
    return simulated(graph="erdos-renyi", degree=degree, **options)


def network_cells() -> dict[str, Cell]:
    """Samples of published networks."""
    pairs = [(name, n) for name in NETWORKS for n in NETWORK_SIZES]
    return {f"{name}-{n}": Cell(f"{name}, n = {n:,}", Network(name, n)) for name, n in pairs}


def mixed_cells() -> dict[str, Cell]:
    """Tables of numbers and categories."""
    shares = {2: "half of the columns categories", 4: "a fifth of the columns categories"}
    return {
        f"er{degree}-mixed-{every}": Cell(f"degree {degree}, {shares[every]}", Mixed(10, degree, 800, every))
        for degree, every in ((2, 2), (4, 4), (4, 2))
    }


def growing_cells(degree: int) -> dict[str, Cell]:
    """Error as n grows, with bounded mechanisms."""
    whole = random_graph(degree, mechanism="bounded", noise_std=1.0, n=MOST_ROWS)
    title = f"degree {degree}, bounded curves, noise 1, n = "
    return {f"er{degree}-bounded-n{n}": Cell(f"{title}{n:,}", FirstRows(whole, n)) for n in GROWING}


CELLS: dict[str, Cell] = {
    "er2-linear": Cell("degree 2, linear Gaussian", Linear(degree=2)),
    "er4-linear": Cell("degree 4, linear Gaussian", Linear()),
    "er4-linear-d20": Cell("degree 4, linear Gaussian, d = 20", Linear(d=20)),
    "er2-func": Cell("degree 2, curves, noise 2", random_graph(2)),
    "er4-func": Cell("degree 4, curves, noise 2", random_graph(4)),
    "er2-bounded": Cell(
        "degree 2, bounded curves, noise 1", random_graph(2, mechanism="bounded", noise_std=1.0)
    ),
    "er2-bounded-small": Cell(
        "degree 2, bounded curves, noise 1, d = 5, n = 200",
        random_graph(2, mechanism="bounded", noise_std=1.0, d=5, n=200),
    ),
    "er4-bounded": Cell(
        "degree 4, bounded curves, noise 1", random_graph(4, mechanism="bounded", noise_std=1.0)
    ),
    "er4-mlp": Cell("degree 4, neural networks, noise 1", random_graph(4, mechanism="mlp", noise_std=1.0)),
    "er4-mlp-d20": Cell(
        "degree 4, neural networks, noise 1, d = 20", random_graph(4, mechanism="mlp", noise_std=1.0, d=20)
    ),
    "er2-product": Cell("degree 2, products, noise 1", random_graph(2, mechanism="product", noise_std=1.0)),
    "er2-noise-inside": Cell(
        "degree 2, noise 1 inside the curves", random_graph(2, noise_std=1.0, noise_in_mechanism=True)
    ),
    "sf-func": Cell("scale-free, curves, noise 2", simulated()),
    "sf-func-noise.3": Cell("scale-free, curves, noise 0.3", simulated(noise_std=0.3)),
    "sf-func-d20": Cell("scale-free, curves, noise 2, d = 20", simulated(d=20)),
    "sf-mlp-d20": Cell("scale-free, neural networks, noise 2, d = 20", simulated(d=20, mechanism="mlp")),
    **mixed_cells(),
    "sachs": Cell("Sachs et al., 853 cells as measured", Network("sachs", 853), graphs=1),
    **network_cells(),
    **growing_cells(2),
    **growing_cells(4),
}
MIXED = list(mixed_cells())
SIMULATED = [name for name, cell in CELLS.items() if isinstance(cell.setting, Simulated | Linear)]
