"""Fits to interrupt, and a comparison of two fits."""

import dataclasses
import os

import numpy as np
import pandas as pd
import pytest

import dcd
from dcd import DCD, PartialAssociation, RobustDCD

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")


def interacting_table(seed=0, n=250):
    """A few variables of which some interact, so that sets are decoupled."""
    rng = np.random.default_rng(seed)
    c, d, e = rng.standard_normal((3, n))
    a, b = c + 0.7 * rng.standard_normal(n), np.tanh(c) + d + 0.5 * rng.standard_normal(n)
    t = a + b + a * b + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"a": a, "b": b, "c": c, "d": d, "e": e, "t": t})


def with_gaps(seed=0):
    table = interacting_table(seed)
    holes = np.random.default_rng(seed + 100).random(table.shape) < 0.04
    return table.mask(holes)


MODELS = {
    "published": DCD(),
    "robust": RobustDCD(),
    "always": RobustDCD(test=PartialAssociation(decouple="always")),
    "weights": RobustDCD(test=dcd.WeightedAssociation()),
    "gaps": RobustDCD(test=PartialAssociation(decouple="always"), missing="testwise"),
}


def table_for(name, seed=0):
    return with_gaps(seed) if name == "gaps" else interacting_table(seed)


def fresh(name, **parameters):
    from sklearn.base import clone

    return clone(MODELS[name]).set_params(progress=False, **parameters)


def assert_same_result(first, second):
    """To the last bit, including diagnostics."""
    assert first.cpdag_ == second.cpdag_
    assert first.markov_boundaries_ == second.markov_boundaries_
    assert first.conflicts_ == second.conflicts_
    assert_same(first.diagnostics_, second.diagnostics_)
    assert_same(first.account_, second.account_)


def assert_same(first, second):
    if isinstance(first, np.ndarray):
        np.testing.assert_array_equal(first, second)
    elif isinstance(first, dict):
        assert list(first) == list(second)
        assert_same(tuple(first.values()), tuple(second.values()))
    elif isinstance(first, tuple):
        assert len(first) == len(second)
        for one, other in zip(first, second, strict=True):
            assert_same(one, other)
    elif dataclasses.is_dataclass(first):
        assert type(first) is type(second)
        assert_same(tuple(vars(first).values()), tuple(vars(second).values()))
    else:
        assert first == second
        assert type(first) is type(second)
