"""Adapters of the methods of this package."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from dcd.estimators.base import Discovery
from dcd.estimators.dcd import DCD
from dcd.estimators.robust import RobustDCD
from dcd.graph.knowledge import Knowledge
from dcd.independence.association import PartialAssociation, WeightedAssociation
from dcd.runtime.array_types import FloatArray, IntArray
from dcd.runtime.errors import InputError, SearchCutWarning
from dcd.table.columns import Kind

Kinds = Sequence[Kind] | None  # of the columns; None infers them
Arrows = Mapping[str, Sequence[tuple[int, int]]] | None  # "required" and "forbidden", by position


def dcd(
    values: FloatArray, *, seed: int, kinds: Kinds = None, knowledge: Arrows = None, **options: Any
) -> IntArray:
    """`DCD` at its default setting; `options` are its parameters."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SearchCutWarning)
        return _fitted(DCD, values, kinds, knowledge, {"random_state": seed, **options})


def robust(
    values: FloatArray, *, seed: int, kinds: Kinds = None, knowledge: Arrows = None, **options: Any
) -> IntArray:
    """`RobustDCD` at its default setting; `options` are its parameters."""
    return _fitted(RobustDCD, values, kinds, knowledge, {"random_state": seed, **options})


def robust_equal_weights(
    values: FloatArray, *, seed: int, kinds: Kinds = None, knowledge: Arrows = None
) -> IntArray:
    """`RobustDCD` without weights: adjustment alone."""
    return robust(
        values, seed=seed, kinds=kinds, knowledge=knowledge, test=PartialAssociation(decouple="never")
    )


def robust_always_weights(
    values: FloatArray, *, seed: int, kinds: Kinds = None, knowledge: Arrows = None
) -> IntArray:
    """`RobustDCD` with every set of two or more variables decoupled."""
    return robust(
        values, seed=seed, kinds=kinds, knowledge=knowledge, test=PartialAssociation(decouple="always")
    )


def robust_weights_only(
    values: FloatArray, *, seed: int, kinds: Kinds = None, knowledge: Arrows = None
) -> IntArray:
    """`RobustDCD` without adjustment: weights alone."""
    return robust(values, seed=seed, kinds=kinds, knowledge=knowledge, test=WeightedAssociation())


def _fitted(
    estimator: type[Discovery],
    values: FloatArray,
    kinds: Kinds,
    knowledge: Arrows,
    options: dict[str, Any],
) -> IntArray:
    unknown = set(options) - set(estimator().get_params())
    if unknown:
        name = estimator.__name__
        raise InputError(
            f"parameter {sorted(unknown)[0]!r}", f"is not a parameter of {name}", f"See help(dcd.{name})."
        )
    by_name = None if kinds is None else {f"x{index}": kind for index, kind in enumerate(kinds)}
    if knowledge is not None:
        named = {key: [(f"x{i}", f"x{j}") for i, j in pairs] for key, pairs in knowledge.items()}
        options = {"knowledge": Knowledge.from_dict(named), **options}
    model = estimator(**{"progress": False, "kinds": by_name, **options}).fit(values)
    return model.cpdag_.adjacency
