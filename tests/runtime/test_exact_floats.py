"""Floats survive a CSV file bit by bit, without a warning of the installed pandas."""

import io
import warnings

import numpy as np
import pandas as pd
import pytest

from dcd.runtime.exact_floats import exact_floats


@pytest.mark.parametrize("version", ["1.5.3", "2.3.3", "3.0.6", "3.0.0rc1"])
def test_releases_that_need_the_option(version):
    assert exact_floats(version) == {"float_precision": "round_trip"}


@pytest.mark.parametrize("version", ["3.1.0", "3.1.1", "3.10.0.dev0+12", "4.0"])
def test_releases_that_are_exact_by_default(version):
    assert exact_floats(version) == {}


def test_every_float_is_read_exactly():
    numbers = np.random.default_rng().integers(0, 2**64, 20_000, dtype=np.uint64).view(np.float64)
    numbers = numbers[np.isfinite(numbers)]
    text = "a\n" + "".join(f"{number!r}\n" for number in numbers.tolist())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = pd.read_csv(io.StringIO(text), **exact_floats(pd.__version__))
    assert np.array_equal(found["a"].to_numpy(), numbers)
