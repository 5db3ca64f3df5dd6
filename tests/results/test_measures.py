"""Strengths against SciPy, and the fingerprint of a table."""

import hashlib

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy.stats import contingency, spearmanr

from dcd.estimators.strength import strength
from dcd.results import fingerprint

# --- measures --------------------------------------------------------------------------------------------


def test_strengths_agree_with_scipy():
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, 200))
    y += x
    equal = np.ones(200)
    assert strength(x, y, equal, (False, False)) == pytest.approx(spearmanr(x, y).statistic)
    a, b = rng.integers(0, 3, 200), rng.integers(0, 2, 200)
    a = np.where(rng.random(200) < 0.5, b, a)
    expected = contingency.association(contingency.crosstab(a, b).count, method="cramer")
    assert strength(a, b, equal, (True, True)) == pytest.approx(expected)
    # With two categories the correlation ratio is the correlation of the ranks with the category.
    ranks = pd.Series(x).rank()
    assert strength(b, x, equal, (True, False)) == pytest.approx(abs(np.corrcoef(b, ranks)[0, 1]))
    # A row of weight two counts as two rows.
    doubled = np.concatenate([np.arange(200), np.arange(100)])
    twice = np.where(np.arange(200) < 100, 2.0, 1.0)
    assert strength(a, b, twice, (True, True)) == pytest.approx(
        strength(a[doubled], b[doubled], np.ones(300), (True, True))
    )
    assert strength(np.zeros(200), x, equal, (False, False)) == 0.0


# --- fingerprint -----------------------------------------------------------------------------------------


def test_the_fingerprint_is_of_names_and_values_alone():
    frame = pd.DataFrame({"b": [1.5, 2.0, np.nan], "a": [1, 0, 1], "t": ["x", None, "y"]})
    same = fingerprint(frame)
    assert fingerprint(frame[["t", "a", "b"]]) == same
    assert fingerprint(polars.from_pandas(frame)) == same
    assert fingerprint(pyarrow.Table.from_pandas(frame)) == same
    assert fingerprint(frame.assign(a=[True, False, True])) == same
    assert fingerprint(frame.assign(t=pd.Categorical(frame["t"]))) == same
    others = [
        frame.rename(columns={"a": "A"}),
        frame.iloc[::-1],
        frame.assign(b=[1.5, 2.0, 0.0]),
        frame.assign(b=[1.5, np.nextafter(2.0, 3.0), np.nan]),
        frame.assign(t=["x", None, "z"]),
        frame.assign(a=["1", "0", "1"]),
    ]
    assert len({fingerprint(other) for other in others} | {same}) == len(others) + 1


def test_the_fingerprint_is_this_sha256():
    """Spelt out, so that another program can compute it."""
    text = b"a"
    expected = hashlib.sha256(
        (1).to_bytes(8, "little") + text + b"number" + (2).to_bytes(8, "little")
        + bytes([0b01000000]) + np.array([0.5, 0.0], dtype="<f8").tobytes()
    ).hexdigest()  # fmt: skip
    assert fingerprint(pd.DataFrame({"a": [0.5, np.nan]})) == expected


def test_names_cannot_pass_for_labels():
    one = pd.DataFrame({"ab": ["c", "c"], "d": [1, 2]})
    other = pd.DataFrame({"a": ["bc", "bc"], "d": [1, 2]})
    assert fingerprint(one) != fingerprint(other)
