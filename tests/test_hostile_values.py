"""Every public callable with hostile values: an `InputError` or an answer, never a foreign exception."""

import signal
import warnings
from collections import Counter

import pytest
from support import public_surface

import dcd

OURS = (dcd.InputError, dcd.errors.BaselineError, dcd.errors.TimeLimitError)
SECONDS = 20  # for one call; a value that makes it longer needs a bound


def too_long(*_):
    raise TimeoutError("takes too long")


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no alarms")
def test_hostile_values_are_refused_by_name(tmp_path, monkeypatch):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = public_surface.quick_robust().fit(public_surface.TABLE)
    failures, n_calls = Counter(), 0
    previous = signal.signal(signal.SIGALRM, too_long)
    try:
        for described, call in public_surface.calls(public_surface.valid_values(fitted, tmp_path)):
            if described.startswith("dcd.baselines.run("):
                continue  # each in a process of its own: in make fuzz
            n_calls += 1
            signal.setitimer(signal.ITIMER_REAL, SECONDS)
            try:
                call()
            except OURS:
                pass
            except Exception as foreign:
                failures[f"{described}: {type(foreign).__name__}: {foreign}"] += 1
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            pyplot.close("all")
    finally:
        signal.signal(signal.SIGALRM, previous)
    assert n_calls > 10_000
    assert not failures, "\n".join(f"{count} {failure}" for failure, count in failures.most_common(20))
