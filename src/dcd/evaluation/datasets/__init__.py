"""Real data sets with their published graphs."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.resources import files

import numpy as np
import pandas as pd

from dcd.graph.cpdag import CPDAG
from dcd.runtime.errors import check_flag

_SACHS = """Flow cytometry of 11 phosphorylated proteins and phospholipids in 853 human T cells, without
intervention: Sachs et al., "Causal protein-signaling networks derived from multiparameter single-cell data",
Science 308 (2005). Values as in the package cdt 0.6.0 (MIT licence), the first 853 rows of its
cyto_full_data.csv. Truth: the network of 17 edges commonly used, as in sachs.bif of pgmpy 1.1.2 (MIT
licence). Its CPDAG has no directed edge, so it evaluates the skeleton only; about half of the edges show no
partial correlation."""


@dataclass(frozen=True)
class ExampleData:
    """A table with its published graph.

    Attributes
    ----------
    frame : the measurements.
    dag : the published graph as a labelled adjacency matrix, `[i, j] = 1` for `i -> j`.
    cpdag : its CPDAG, the most that observational data can identify.
    description : the source.
    """

    frame: pd.DataFrame = field(repr=False)
    dag: pd.DataFrame = field(repr=False)
    cpdag: CPDAG
    description: str = field(repr=False)


def load_sachs(*, log: bool = True) -> ExampleData:
    """Protein signalling in T cells, 853 × 11, with the network of 17 edges.

    Parameters
    ----------
    log : take natural logarithms of the intensities, as is usual for these strongly skewed values.
    """
    check_flag("log", log)
    folder = files(__package__)
    with (folder / "sachs.csv").open(encoding="utf-8") as file:
        frame = pd.read_csv(file).astype(float)
    with (folder / "sachs_edges.csv").open(encoding="utf-8") as file:
        edges = pd.read_csv(file)
    dag = pd.DataFrame(0, index=frame.columns, columns=frame.columns)
    for source, target in zip(edges["source"], edges["target"], strict=True):
        dag.loc[source, target] = 1
    cpdag = CPDAG.from_dag(list(frame.columns), dag)
    return ExampleData(frame.apply(np.log) if log else frame, dag, cpdag, _SACHS)
