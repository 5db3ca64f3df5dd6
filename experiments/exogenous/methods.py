"""The methods that are compared: from a table to a graph.

Other packages take numbers only. Categories enter them as codes 0, 1, ... in their order, or in the order of
their names if they have none; one column for each category is not possible, because these would have to stay
together. Arrows are counted as a method draws them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

import dcd
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.table.columns import Kind

ALPHA = 0.05  # of PC


@dataclass(frozen=True)
class Found:
    """A graph (`[i, j] = 1` is i -> j, both 1 is i - j), with probabilities if the fit has them.

    Attributes
    ----------
    adjacency : the graph, with all of its arrows.
    probabilities : of the types of all pairs.
    drawn : the graph with uncertain arrows as lines.
    """

    adjacency: IntArray
    probabilities: pd.DataFrame | None = None
    drawn: IntArray | None = None


@dataclass(frozen=True)
class Method:
    """One method.

    Attributes
    ----------
    label : its name in tables.
    find : from a table, the kinds of its columns and the names of its roots to a graph.
    packages : whose versions go into a row.
    takes_roots : whether it accepts columns that have no causes in the table.
    """

    label: str
    find: Callable[[pd.DataFrame, Mapping[str, Kind], Sequence[str]], Found]
    packages: tuple[str, ...] = ()
    takes_roots: bool = False


def as_numbers(table: pd.DataFrame) -> FloatArray:
    """The table with codes for categories."""
    columns = [
        table[name]
        if pd.api.types.is_numeric_dtype(table[name])
        else table[name].astype("category").cat.codes
        for name in table
    ]
    return np.column_stack([column.to_numpy(dtype=np.float64) for column in columns])


def robust(table: pd.DataFrame, kinds: Mapping[str, Kind], roots: Sequence[str]) -> Found:
    """`RobustDCD` at its defaults."""
    knowledge = dcd.Knowledge(roots=roots) if roots else None
    model = dcd.RobustDCD(kinds=dict(kinds) or None, knowledge=knowledge, progress=False, random_state=0)
    model.fit(table)
    cpdag = model.cpdag_.reorder([str(name) for name in table])
    return Found(cpdag.adjacency, model.probabilities_, cpdag.drawn)


def baseline(
    name: str, **options: float
) -> Callable[[pd.DataFrame, Mapping[str, Kind], Sequence[str]], Found]:
    """A method of `dcd.baselines`, called in this process."""

    def find(table: pd.DataFrame, _: Mapping[str, Kind], __: Sequence[str]) -> Found:
        return Found(dcd.baselines.METHODS[name].load()(as_numbers(table), seed=0, **options))

    return find


def pc(table: pd.DataFrame, _: Mapping[str, Kind], roots: Sequence[str]) -> Found:
    """PC with Fisher's z test."""
    from causallearn.graph.GraphNode import GraphNode
    from causallearn.search.ConstraintBased.PC import pc as causal_learn_pc
    from causallearn.utils.PCUtils.BackgroundKnowledge import BackgroundKnowledge

    from dcd.evaluation.baselines.causal_learn_methods import from_causal_learn

    knowledge = BackgroundKnowledge()
    for root in roots:
        for other in (name for name in table if name != root):
            knowledge.add_forbidden_by_node(GraphNode(other), GraphNode(root))
    graph = causal_learn_pc(
        as_numbers(table),
        ALPHA,
        "fisherz",
        background_knowledge=knowledge if roots else None,
        show_progress=False,
        node_names=list(table),
    ).G.graph
    return Found(from_causal_learn(graph))


METHODS: dict[str, Method] = {
    "robust-dcd": Method("Robust DCD", robust, takes_roots=True),
    "flop": Method("FLOP", baseline("flop"), ("flopsearch",)),
    "pc": Method("PC (FisherZ)", pc, ("causal-learn",), takes_roots=True),
    "ges": Method("GES", baseline("ges"), ("causal-learn",)),
    "boss": Method("BOSS", baseline("boss", penalty=2.0), ("causal-learn",)),
}


@cache
def warm_up(method: str) -> None:
    """Run a method once in this process, so that loading on first use is not timed."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.standard_normal((100, 3)), columns=["a", "b", "c"])
    table = table.assign(a=table.sum(axis=1), d=rng.permuted(["x", "y"] * 50))
    METHODS[method].find(table, {}, ())
