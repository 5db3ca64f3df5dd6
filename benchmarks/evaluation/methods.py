"""The methods of the evaluation, all of `dcd.baselines`, and the processor time of one call.

All run in the process that measures them, on one thread, and get the same numbers. For categories these are
codes; methods that take the kinds of columns are told which they are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import cache
from typing import Any, get_args

import pandas as pd
from pandas.api.types import is_numeric_dtype
from threadpoolctl import threadpool_limits

import dcd
from benchmarks.evaluation.cells import Content, Mixed, Setting, content_of
from dcd.runtime.array_types import IntArray
from experiments.exogenous.methods import as_numbers
from experiments.settings import Network, Simulated
from experiments.timing import cpu_limit


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    name : in `dcd.baselines.METHODS`.
    options : of its adapter.
    tables : what the columns of the tables it is run on are.
    most_variables, most_rows : it is left out of larger tables.
    control : uses no causal reasoning.
    """

    name: str
    options: dict[str, Any] = field(default_factory=dict)
    tables: tuple[Content, ...] = ("numbers",)
    most_variables: int = 1000
    most_rows: int = 1_000_000
    control: bool = False

    def takes(self, setting: Setting) -> bool:
        """Whether it is run on tables of that kind and size."""
        small_enough = setting.d <= self.most_variables and setting.n <= self.most_rows
        return small_enough and content_of(setting) in self.tables

    @property
    def package(self) -> str:
        """The package whose version goes into a row."""
        return next(iter(dcd.baselines.METHODS[self.name].packages), "dcd")

    def find(self, table: pd.DataFrame, content: Content = "numbers") -> IntArray:
        """The graph, `[i, j] = 1` for `i -> j` and both 1 for `i - j`."""
        entry = dcd.baselines.METHODS[self.name]
        kinds: dict[str, Any] = {}
        if content != "numbers" and entry.takes_kinds:
            is_number = [content == "mixed" and is_numeric_dtype(table[name]) for name in table]
            kinds = {"kinds": ["continuous" if number else "nominal" for number in is_number]}
        return entry.load()(as_numbers(table), seed=0, **kinds, **self.options)


def _own(name: str, **options: Any) -> Method:
    return Method(name, options, _ANY)


_ANY: tuple[Content, ...] = get_args(Content)
# Methods for numbers get the codes of categories, which are in their order in mixed tables.
_NUMBERS_AND_CODES: tuple[Content, ...] = ("numbers", "mixed")

METHODS: dict[str, Method] = {
    "Robust DCD": _own("robust-dcd"),
    "Robust DCD, one graph": _own("robust-dcd", search=dcd.WholeGraph(chains=0)),  # without averaging
    "Robust DCD, no tests": _own("robust-dcd", search=dcd.WholeGraph(confirm=False)),
    "Robust DCD, equal weights": _own("robust-dcd-equal"),
    "Robust DCD, always weights": _own("robust-dcd-always"),
    "Robust DCD, weights alone": _own("robust-dcd-unadjusted"),
    "DCD": Method("dcd", tables=_NUMBERS_AND_CODES, most_variables=20, most_rows=2000),
    "FLOP": Method("flop", tables=_NUMBERS_AND_CODES),
    "BOSS": Method("boss", tables=_NUMBERS_AND_CODES),
    "GRaSP": Method("grasp", tables=_NUMBERS_AND_CODES, most_variables=20),
    "GES": Method("ges", {"penalty": 1.0}, _NUMBERS_AND_CODES, most_variables=20),  # as FLOP and BOSS
    "GES, generalised score": Method("ges-general", most_variables=5, most_rows=200),
    "PC": Method("pc-fisherz", tables=_NUMBERS_AND_CODES),
    "PC, our test": Method("pc-dcd", tables=_NUMBERS_AND_CODES, most_variables=10, most_rows=2000),
    "DAGMA": Method("dagma", most_variables=20),
    "DirectLiNGAM": Method("directlingam", most_variables=20),
    "GES, conditional Gaussian": Method("ges-cg", tables=("mixed",)),
    "GES, BDeu": Method("ges-bdeu", tables=("categories",), most_variables=40),
    "PC, G²": Method("pc-gsq", tables=("categories",)),
    "No edges": Method("empty", tables=_ANY, control=True),
    "Spanning tree": Method("spanning-tree", tables=_ANY, control=True),
    "Sorted by variance": Method("sort-variance", control=True),
    "Sorted by R²": Method("sort-r2", control=True),
    "Sorted by falling R²": Method("sort-falling-r2", control=True),
}


def timed(
    method: Method, table: pd.DataFrame, limit: float, content: Content = "numbers"
) -> tuple[IntArray, float]:
    """The graph that a method finds, and its processor time in seconds."""
    with threadpool_limits(1), cpu_limit(limit):
        started = time.process_time()
        adjacency = method.find(table, content)
        return adjacency, time.process_time() - started


@cache
def warm_up(label: str, content: Content) -> None:
    """Run a method once in this process, so that loading on first use is not counted."""
    settings: dict[Content, Setting] = {
        "numbers": Simulated(d=4, n=100), "categories": Network("asia", 500), "mixed": Mixed(4, 2, 200),
    }  # fmt: skip
    METHODS[label].find(settings[content].draw(0).table, content)
