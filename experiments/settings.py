"""Where the data of a task come from: a simulated graph, or a published network."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

import dcd
from dcd.runtime.array_types import IntArray
from experiments import networks


@dataclass(frozen=True)
class Problem:
    """A table, the CPDAG that a perfect method would return, and the DAG behind the table if there is one."""

    table: pd.DataFrame
    cpdag: dcd.CPDAG
    dag: IntArray | None = None


@dataclass(frozen=True)
class Simulated:
    """Section 4 of the paper; the defaults are its Func, d = 10, in agreement with its Table 1.

    `noise_measure="deviation", biases=False` follows the text of Section 4. The README of this folder
    explains why the defaults differ.
    """

    d: int = 10
    mechanism: str = "func"
    graph: str = "scale-free"
    degree: int = 2
    n: int = 800
    noise_std: float = 2.0
    noise_in_mechanism: bool = False
    noise_measure: str = "scale"
    biases: bool = True

    discrete: ClassVar[bool] = False
    max_draws: ClassVar[int | None] = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise_std", float(self.noise_std))  # 2 and 2.0 are the same setting

    def draw(self, seed: int) -> Problem:
        """Graph and data from one generator."""
        rng = np.random.default_rng(seed)
        dag = dcd.simulate.random_dag(self.d, graph=self.graph, degree=self.degree, random_state=rng)
        values = dcd.simulate.sample(
            dag,
            self.n,
            mechanism=self.mechanism,
            noise_std=self.noise_std,
            noise_measure=self.noise_measure,
            biases=self.biases,
            noise_in_mechanism=self.noise_in_mechanism,
            random_state=rng,
        )
        table = pd.DataFrame(values, columns=[f"x{index}" for index in range(self.d)])
        return Problem(table, dcd.CPDAG.from_dag(list(table.columns), dag), dag)


@dataclass(frozen=True)
class Network:
    """Samples from a published network, or the one table of Sachs."""

    network: str
    n: int

    @cached_property
    def discrete(self) -> bool:
        """Whether its columns are categories."""
        return self.network in networks.DISCRETE

    @cached_property
    def d(self) -> int:
        """Number of variables."""
        return networks.SIZES[self.network]

    @property
    def max_draws(self) -> int | None:
        """Measured data exist only once."""
        return 1 if self.network == "sachs" else None

    def draw(self, seed: int) -> Problem:
        """A sample with that seed."""
        if self.network == "sachs":
            data = dcd.datasets.load_sachs()
            return Problem(data.frame, data.cpdag)
        model = networks.load(self.network)
        table = model.sample(self.n, np.random.default_rng(seed))
        dag = model.dag.to_numpy(dtype=np.int8)
        return Problem(table, dcd.CPDAG.from_dag(list(table.columns), dag), dag)


Setting = Simulated | Network
