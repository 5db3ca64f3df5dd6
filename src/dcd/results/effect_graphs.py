"""The graphs of a saved result, from which `dcd.effect` answers as its model would."""

from __future__ import annotations

from typing import Any

from dcd.estimators.effect_cautions import cautions_of_dependence
from dcd.estimators.effects import FittedGraphs
from dcd.results.consistency import knowledge_of
from dcd.results.sampled import unpacked
from dcd.search.conflicts import is_with_knowledge


def fitted_graphs_of(result: Any) -> FittedGraphs:
    """The graphs of the fit of a `Result`; the chains that they come from are not saved."""
    sampled = None if result.posterior is None else result.posterior.graphs
    parameters = result.reproduction.parameters
    notes = [(one.variables, one.text) for one in result.cautions if one.kind == "dependent-rows"]
    return FittedGraphs(
        result.cpdag,
        None if sampled is None else unpacked(sampled, result.names),
        knowledge_of(parameters),
        {column.name: column.kind for column in result.data.columns},
        cautions_of_dependence(notes, in_groups=result.data.n_groups is not None),
        n_complete=result.data.n_rows_used if parameters.get("missing") == "complete-rows" else None,
        n_against_knowledge=sum(map(is_with_knowledge, result.conflicts)),
        drift=None if result.posterior is None else result.posterior.drift,
    )
