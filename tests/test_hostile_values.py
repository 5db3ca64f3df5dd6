"""Every public callable with hostile values: an `InputError` or a result, never another exception."""

import signal
import warnings
from collections import Counter

import pytest
from support import public_surface

import dcd

OURS = (dcd.InputError, dcd.errors.BaselineError, dcd.errors.TimeLimitError)
# Seconds for one call: a value that makes it longer needs a bound. On a busy machine, starting a process can
# take longer by the clock than any call takes to run.
LIMITS = {"ITIMER_PROF": 20, "ITIMER_REAL": 300}
# How messages name things that are not parameters to the reader.
SUBJECTS = {
    **dict.fromkeys(["X", "data", "table", "values"], "the table"),
    "document": "the result",
    "saved": "the saved stability",
    "statements": "knowledge",
}
# scikit-learn passes y to all estimators; `what` is only said in messages. Other values say no more than one.
NOT_READ = {("dcd.DCD.fit", "y"), ("dcd.RobustDCD.fit", "y"), ("dcd.graph.check_adjacency", "what")}

EXTREME = [10**9, 10**18, 10**30, 1e9, 1e308, 1e-308]


@pytest.fixture
def valid(tmp_path, monkeypatch):
    """Valid values of parameters."""
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = public_surface.quick_robust().fit(public_surface.TABLE)
        return public_surface.valid_values(fitted, tmp_path)


def test_every_parameter_is_checked_and_named(valid):
    """A bare object is not a valid value of any parameter."""
    odd = public_surface.Odd()
    failures, taken = [], set()
    for path, parameter, _, call in public_surface.calls(valid, lambda: [odd]):
        try:
            call()
        except dcd.errors.MissingLibraryError:
            continue
        except dcd.InputError as error:
            subject = error.subject
            if f"'{parameter}'" in subject or repr(odd) in subject or subject == SUBJECTS.get(parameter):
                continue
            failures.append(f"{path}({parameter}): {error}")
        else:
            taken.add((path, parameter))
    assert not failures, "\n".join(failures)
    assert taken == NOT_READ, "these are not checked, or are checked now"


def too_long(*_):
    raise TimeoutError("takes too long")


def failures_of(calls):
    """How often calls raised an exception that is not dcd's own, or took too long; and their number."""
    pyplot = pytest.importorskip("matplotlib.pyplot")
    failures, n_calls = Counter(), 0
    previous = {number: signal.signal(number, too_long) for number in (signal.SIGPROF, signal.SIGALRM)}
    try:
        for path, parameter, shown, call in calls:
            if path == "dcd.baselines.run" or (path, parameter) in NOT_READ:
                continue  # the former each in a process of its own: in make fuzz
            n_calls += 1
            for timer, seconds in LIMITS.items():
                signal.setitimer(getattr(signal, timer), seconds)
            try:
                call()
            except OURS:
                pass
            except Exception as foreign:
                failures[f"{path}({parameter}={shown}): {type(foreign).__name__}: {foreign}"] += 1
            finally:
                for timer in LIMITS:
                    signal.setitimer(getattr(signal, timer), 0)
            pyplot.close("all")
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
    return failures, n_calls


def some_of(calls, every):
    """One of so many calls for each parameter, which begin with the next value each."""
    n_parameters = 0
    for call in calls:
        shown = call[2]
        n_parameters += shown.number == 0
        if (shown.number + n_parameters) % every == 0:
            yield call


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs alarms")
@pytest.mark.parametrize("every", [3, pytest.param(1, marks=pytest.mark.slow)])
def test_hostile_values_are_refused_by_name(valid, every):
    """All values for all parameters, or a third of them."""
    failures, n_calls = failures_of(some_of(public_surface.calls(valid), every))
    assert n_calls * every > 25_000
    assert not failures, "\n".join(f"{count} {failure}" for failure, count in failures.most_common(20))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs alarms")
def test_extreme_numbers_are_refused_or_cost_nothing(valid):
    """Also in strategies, which are used in a fit."""
    failures, n_calls = failures_of(public_surface.calls(valid, lambda: EXTREME, used=True))
    assert n_calls > 500
    assert not failures, "\n".join(f"{count} {failure}" for failure, count in failures.most_common(20))
