"""The methods of the evaluation, all of `dcd.baselines`, and the processor time of one call.

All run in the process that measures them, on one thread, and get the same numbers. On discrete tables these
are codes, which the methods of this package treat as categories.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pandas as pd
from threadpoolctl import threadpool_limits

import dcd
from benchmarks.evaluation.cells import Setting
from dcd.runtime.array_types import IntArray
from experiments.settings import Network, Simulated
from experiments.timing import cpu_limit


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    name : in `dcd.baselines.METHODS`.
    options : of its adapter.
    continuous, discrete : the tables it is run on.
    most_variables, most_rows : it is left out of larger tables.
    control : uses no causal reasoning.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    continuous: bool = True
    discrete: bool = False
    most_variables: int = 1000
    most_rows: int = 1_000_000
    control: bool = False

    def takes(self, setting: Setting) -> bool:
        """Whether it is run on tables of that kind and size."""
        kind = self.discrete if setting.discrete else self.continuous
        return kind and setting.d <= self.most_variables and setting.n <= self.most_rows

    @property
    def package(self) -> str:
        """The package whose version goes into a row."""
        return next(iter(dcd.baselines.METHODS[self.name].packages), "dcd")

    def find(self, table: pd.DataFrame, discrete: bool = False) -> IntArray:
        """The graph, `[i, j] = 1` for `i -> j` and both 1 for `i - j`."""
        entry = dcd.baselines.METHODS[self.name]
        kinds = {"kinds": ["nominal"] * table.shape[1]} if discrete and entry.takes_kinds else {}
        return entry.load()(table.to_numpy(dtype="float64"), seed=0, **kinds, **self.options)


def _own(name: str, **options: Any) -> Method:
    return Method(name, options, discrete=True)


METHODS: dict[str, Method] = {
    "Robust DCD": _own("robust-dcd"),
    "Robust DCD, one graph": _own("robust-dcd", search=dcd.WholeGraph(chains=0)),  # without averaging
    "Robust DCD, no tests": _own("robust-dcd", search=dcd.WholeGraph(confirm=False)),
    "Robust DCD, equal weights": _own("robust-dcd-equal"),
    "Robust DCD, always weights": _own("robust-dcd-always"),
    "Robust DCD, weights alone": _own("robust-dcd-unadjusted"),
    "DCD": Method("dcd", most_variables=20, most_rows=2000),
    "FLOP": Method("flop"),
    "BOSS": Method("boss"),
    "GRaSP": Method("grasp", most_variables=20),
    "GES": Method("ges", {"penalty": 1.0}, most_variables=20),  # as FLOP and BOSS
    "GES, generalised score": Method("ges-general", most_variables=5, most_rows=200),
    "PC": Method("pc-fisherz"),
    "PC, our test": Method("pc-dcd", most_variables=10, most_rows=2000),
    "DAGMA": Method("dagma", most_variables=20),
    "DirectLiNGAM": Method("directlingam", most_variables=20),
    "GES, BDeu": Method("ges-bdeu", continuous=False, discrete=True, most_variables=40),
    "PC, G²": Method("pc-gsq", continuous=False, discrete=True),
    "No edges": Method("empty", discrete=True, control=True),
    "Spanning tree": Method("spanning-tree", discrete=True, control=True),
    "Sorted by variance": Method("sort-variance", control=True),
    "Sorted by R²": Method("sort-r2", control=True),
    "Sorted by falling R²": Method("sort-falling-r2", control=True),
}


def timed(
    method: Method, table: pd.DataFrame, limit: float, discrete: bool = False
) -> tuple[IntArray, float]:
    """The graph that a method finds, and its processor time in seconds."""
    with threadpool_limits(1), cpu_limit(limit):
        started = time.process_time()
        adjacency = method.find(table, discrete)
        return adjacency, time.process_time() - started


@cache
def warm_up(label: str, *, discrete: bool) -> None:
    """Run a method once in this process, so that loading on first use is not counted."""
    problem = (Network("asia", 500) if discrete else Simulated(d=4, n=100)).draw(0)
    METHODS[label].find(problem.table, discrete)
