"""Fits, their results and a document, made once."""

import numpy as np
import pandas as pd
import pytest
from support.made_results import make_document, random_cpdag

from dcd import RobustDCD, summarise


@pytest.fixture(scope="session")
def table():
    rng = np.random.default_rng(0)
    first, second = rng.standard_normal((2, 400))
    third = first + second + 0.5 * rng.standard_normal(400)
    fourth = third + 0.5 * rng.standard_normal(400)
    return pd.DataFrame(
        {"first": first, "second": second, "third": third, "fourth": fourth, "alone": rng.random(400)}
    )


@pytest.fixture(scope="session")
def robust(table):
    return RobustDCD(random_state=7).fit(table)


@pytest.fixture(scope="session")
def result(robust, table):
    return summarise(robust, title="A test")


@pytest.fixture
def document():
    return make_document(random_cpdag([f"v{i}" for i in range(6)], 7), n_sample=5, resampled=True)


@pytest.fixture(scope="session")
def interacting():
    """T = A + B + A·B with C behind both: tests are repeated under weights."""
    rng = np.random.default_rng(0)
    c, e = rng.standard_normal((2, 500))
    a, b = c + 0.6 * rng.standard_normal(500), (c**2 - 1) / 1.4 + 0.5 * rng.standard_normal(500)
    t = (a + b + a * b) / 2 + 0.5 * rng.standard_normal(500)
    return pd.DataFrame({"a": a, "b": b, "c": c, "t": t, "e": e})


@pytest.fixture(scope="session")
def mixed(table):
    """Columns of every kind, a degenerate one, and missing values."""
    rng = np.random.default_rng(2)
    labels = np.where(table["third"] + rng.standard_normal(400) > 0, "high", "low").astype(object)
    labels[3] = None
    grade = pd.Categorical.from_codes(
        np.digitize(table["second"], [-0.5, 0.5]), ["small", "middle", "big"], ordered=True
    )
    return table.assign(label=labels, grade=grade, flag=table["alone"] > 0.5, idle=1.0)
