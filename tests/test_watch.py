"""The regression watch: it detects regressions, and the library passes its short version."""

import importlib.util
import sys
import time
from pathlib import Path

import numpy as np
import pytest

WATCH = Path(__file__).parents[1] / "benchmarks" / "watch.py"


@pytest.fixture(scope="module")
def watch():
    spec = importlib.util.spec_from_file_location("watch", WATCH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["watch"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["watch"]


@pytest.mark.slow
def test_growth_is_within_its_limits(watch):
    """The short version of `make benchmark`: exponents of processor time, not seconds."""
    assert watch.main(["--quick"]) == 0


@pytest.mark.parametrize("power", [1.0, 2.0, 3.5])
def test_the_exponent_of_a_power_is_the_power(watch, power):
    sizes = np.array([100, 300, 1000])
    assert watch.exponent(sizes, 0.7 * sizes**power) == pytest.approx(power)


def test_work_that_grows_with_the_square_is_seen(watch):
    def busy(table):
        stop = time.process_time() + 1e-6 * len(table) ** 2
        while time.process_time() < stop:
            pass

    growth = watch.Growth(busy, np.zeros, (100, 400), (100, 400), limit=1.15)
    found = watch.time_exponent(growth, growth.sizes, repeats=2)
    assert found == pytest.approx(2.0, abs=0.2)
    watch.GROWTHS["busy"] = growth
    assert len(watch.too_steep({"busy": found})) == 1
    assert not watch.too_steep({"busy": 1.0})
    del watch.GROWTHS["busy"]


def test_what_got_slower_or_steeper_is_told(watch):
    last = {"ratios": {"fit": 10.0, "gone": 1.0}, "exponents": {"rows": 1.0}, "two_processes": 1.9}
    same = {"ratios": {"fit": 11.0}, "exponents": {"rows": 1.1}, "two_processes": 1.8}
    assert watch.got_worse(last, same) == []
    worse = {"ratios": {"fit": 20.0}, "exponents": {"rows": 1.5}, "two_processes": 1.0}
    assert [line.split(":")[0] for line in watch.got_worse(last, worse)] == ["fit", "rows", "two processes"]


def test_the_history_can_be_read(watch):
    for run in watch.history():
        assert set(run["exponents"]) <= {*watch.GROWTHS, "RobustDCD, memory over rows"}
        assert all(value > 0 for value in run["ratios"].values())
