"""Runs in tasks: order, estimates and limits on a simulated clock; progress bars in a terminal."""

import os
import re
import signal
from contextlib import suppress
from functools import partial
from itertools import count

import numpy as np
import pytest

import dcd
from dcd import InputError
from dcd.runtime.checkpoint import Checkpoint, Codec, Description
from dcd.runtime.errors import LongRunWarning, TimeLimitError
from dcd.runtime.runs import ProgressBar, Run, duration


class Clock:
    """A clock that stands still until it is advanced."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def pieces_of(clock, seconds, done, closed=None):
    """Tasks that take some seconds each, from last to first; records which were done."""

    def compute(pending):
        try:
            for index in reversed(range(len(pending))):
                clock.now += seconds
                done.append(pending[index])
                yield index, f"result {pending[index]}"
        finally:
            if closed is not None:
                closed.append(True)

    return compute


def test_results_come_in_the_order_of_the_keys():
    clock, done = Clock(), []
    run = Run(clock=clock)
    found = run.gather("stage", [(5,), (7,), (1,)], pieces_of(clock, 1, done), label="pieces")
    assert found == ["result 0", "result 1", "result 2"]
    assert done == [2, 1, 0]
    assert run.gather("stage", [], None, label="pieces") == []


def test_a_run_within_its_limit_ends():
    clock, done = Clock(), []
    run = Run(max_time=1000.0, clock=clock)
    assert len(run.gather("a", range(99), pieces_of(clock, 10, done), label="pieces")) == 99
    assert len(run.gather("b", range(1), pieces_of(clock, 10, done), label="pieces")) == 1


def test_a_run_that_would_take_far_too_long_ends_early():
    clock, done, closed = Clock(), [], []
    run = Run(max_time=480.0, clock=clock)
    with pytest.raises(
        TimeLimitError, match=r"first 5 targets, the run would take about 17 min, before pairs, "
    ):
        run.gather("a", range(100), pieces_of(clock, 10, done, closed), label="targets", then="pairs")
    assert len(done) == 5  # as soon as there is an estimate
    assert closed == [True]
    with pytest.raises(TimeLimitError) as caught:
        Run(max_time=480.0, clock=clock).gather("a", range(100), pieces_of(clock, 10, []), label="targets")
    assert caught.value.limit == 480
    assert caught.value.elapsed == 50
    assert caught.value.estimate == pytest.approx(1000)
    assert "the limit is 8 min. Use more processes, fewer rows or columns, or a checkpoint" in str(
        caught.value
    )


def test_processes_that_have_to_be_started_do_not_make_the_rest_seem_long():
    clock = Clock()

    def compute(pending):
        clock.now += 60  # two processes start; then each does a task in two seconds
        for index in range(len(pending)):
            clock.now += 2 * (index % 2 == 0)
            yield index, None

    Run(max_time=250.0, at_once=2, clock=clock).gather("a", range(100), compute, label="targets")
    with pytest.raises(TimeLimitError) as caught:
        Run(max_time=75.0, at_once=2, clock=clock).gather("a", range(100), compute, label="targets")
    assert caught.value.estimate == pytest.approx(160, rel=0.25)  # of 160
    assert caught.value.elapsed < 70


def test_pieces_of_known_effort_count_by_it():
    """The longest come first; an estimate by number alone would be ten times as long."""
    clock, efforts = Clock(), [100.0] * 6 + [1.0] * 94

    def compute(pending):
        for index in range(len(pending)):
            clock.now += efforts[index]
            yield index, None

    stage = ("a", range(100), compute)
    Run(max_time=700.0, clock=clock).gather(*stage, label="pairs", efforts=efforts)
    with pytest.raises(TimeLimitError):
        Run(max_time=700.0, clock=clock).gather(*stage, label="pairs")


def test_an_estimate_that_is_not_far_off_stops_nothing_before_its_time():
    clock, done = Clock(), []
    run = Run(max_time=800.0, clock=clock)
    with pytest.raises(
        TimeLimitError, match=r"stopped after 13 min with 20 of 100 targets remaining\. These would take "
    ):
        run.gather("a", range(100), pieces_of(clock, 10, done), label="targets")
    assert len(done) == 80


def test_with_a_checkpoint_all_of_the_time_is_used_and_nothing_is_lost(tmp_path):
    clock, done, path = Clock(), [], tmp_path / "run.dcd"
    codecs = {"a": Codec(str, lambda _, value: value)}
    attempts = 0
    for _ in range(10):
        attempts += 1
        with Checkpoint(path, Description("fit", {}, {}), codecs) as kept:
            run = Run(kept, max_time=35.0, clock=clock)
            try:
                found = run.gather("a", range(20), pieces_of(clock, 10, done), label="targets")
                break
            except TimeLimitError as error:
                assert f"The same call with checkpoint '{path}' resumes from there." in str(error)  # noqa: PT017
    assert attempts == 5
    assert found == [f"result {at}" for at in range(20)]
    assert sorted(done) == list(range(20))  # each once


def test_the_limit_counts_what_came_before_the_pieces():
    clock = Clock()
    run = Run(max_time=10.0, clock=clock)
    clock.now += 11
    with pytest.raises(
        TimeLimitError, match=r"stopped after 11 s with 3 of 3 pieces remaining\. Without a checkpoint"
    ):
        run.gather("a", range(3), pieces_of(clock, 1, []), label="pieces")


@pytest.mark.parametrize(
    ("model", "pieces"), [(dcd.DCD(), "Markov boundaries"), (dcd.RobustDCD(), "edges")], ids=["dcd", "robust"]
)
def test_fits_and_resamples_have_limits(model, pieces, tmp_path, monkeypatch):
    """On a clock that advances a second per reading, so that progress does not depend on the machine."""
    monkeypatch.setitem(Run.__init__.__kwdefaults__, "clock", partial(next, count()))
    frame = dcd.datasets.load_sachs().frame.iloc[:300]
    with pytest.raises(TimeLimitError, match=pieces):
        model.fit(frame, max_time=1)
    stops = 0
    while not hasattr(model, "cpdag_"):
        try:
            model.fit(frame, checkpoint=tmp_path / "run.dcd", max_time=20)
        except TimeLimitError:
            stops += 1
            assert stops < 60
    assert stops > 0
    assert model.cpdag_ == type(model)().fit(frame).cpdag_
    with pytest.raises(TimeLimitError, match="resamples"):
        dcd.stability(model, frame, max_time=1)
    for wrong in (0, -3, np.nan, "1h", True):
        with pytest.raises(InputError, match="'max_time'"):
            model.fit(frame, max_time=wrong)


# --- what is shown ----------------------------------------------------------------------------------------


@pytest.fixture
def watched(monkeypatch):
    """Show the progress bar, and update it after every task."""
    monkeypatch.setattr("dcd.runtime.runs._is_watched", lambda: True)
    monkeypatch.setattr("dcd.runtime.runs.ProgressBar", partial(ProgressBar, mininterval=0))


@pytest.mark.usefixtures("watched")
def test_the_bar_tells_the_time_left_with_what_comes_then(capsys):
    clock = Clock()
    run = Run(progress=True, clock=clock)
    seen = []

    def compute(pending):
        for item in pieces_of(clock, 30, [])(pending):
            yield item
            seen.append(capsys.readouterr().err)

    run.gather("a", range(10), compute, label="targets", then="pairs")
    shown = "".join(seen)
    assert "targets" in shown
    assert all("left" not in text for text in seen[:4])  # too little is known
    assert re.search(r"targets:  25%\|.* 5/10, about 7.5 min left\]", shown)  # pairs take as long
    assert "9/10, about 5.5 min left]" in shown
    run.gather("b", range(10), compute, label="pairs")
    shown = "".join(seen)
    assert re.search(r"pairs:  75%\|.* 5/10, about 2.5 min left\]", shown)
    assert "left" not in shown.split("10/10")[2]


@pytest.mark.usefixtures("watched")
def test_all_stages_and_phases_have_one_bar_that_only_goes_forward(capsys):
    clock = Clock()
    with Run(progress=True, clock=clock) as run:
        run.phase("search", 0.2, rounds=True)
        for n_pieces in (50, 3, 1):
            run.gather("edges", range(n_pieces), pieces_of(clock, 1, []), label="tests")
        run.phase("chains", 0.9)
        run.gather("chains", range(32), pieces_of(clock, 4, []), label="chains")
        run.phase("last", 1.0, rounds=True)
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    shares = [int(share) for share in re.findall(r"(\d+)%\|", shown)]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 100)
    assert "left" not in shown.split("100%")[1]
    labels = list(dict.fromkeys(re.findall(r"([a-z]+): +\d+%", shown)))
    assert labels == ["search", "tests", "chains", "last"]
    assert (
        "16/32, about 82 s left" in shown
    )  # 64 of the 128 s of the chains, and a seventh of these for the rest


@pytest.mark.usefixtures("watched")
def test_any_number_of_rounds_fits_in_a_phase(capsys):
    """Each round takes a share of the remainder, until rounding leaves none."""
    clock = Clock()
    with Run(progress=True, clock=clock) as run:
        run.phase("search", 0.2, rounds=True)
        for _ in range(60):
            assert len(run.gather("edges", range(8), pieces_of(clock, 1, []), label="tests")) == 8
    assert "days left" not in capsys.readouterr().err


@pytest.mark.usefixtures("watched")
def test_a_run_that_fails_does_not_look_complete(capsys):
    clock = Clock()
    with suppress(ZeroDivisionError), Run(progress=True, clock=clock) as run:
        run.phase("search", 0.2)
        run.gather("a", range(4), pieces_of(clock, 1, []), label="tests")
        raise ZeroDivisionError
    shares = [int(share) for share in re.findall(r"(\d+)%\|", capsys.readouterr().err)]
    assert max(shares) == 20


@pytest.mark.usefixtures("watched")
def test_what_is_kept_counts_as_done_but_not_for_the_estimate(tmp_path, capsys):
    clock, path = Clock(), tmp_path / "run.dcd"
    codecs = {"a": Codec(str, lambda _, value: value)}
    with Checkpoint(path, Description("fit", {}, {}), codecs) as kept:
        for key in range(90):
            kept.add("a", key, "x")
    with Checkpoint(path, Description("fit", {}, {}), codecs) as kept:
        run = Run(kept, progress=True, clock=clock)
        seen = []

        def compute(pending):
            for item in pieces_of(clock, 60, [])(pending):
                yield item
                seen.append(capsys.readouterr().err)

        run.gather("a", range(100), compute, label="targets")
    assert re.search(r" 50%\|.* 95/100, about 5 min left\]", "".join(seen))


def test_nothing_is_shown_where_nobody_watches(capsys):
    clock = Clock()
    Run(progress=True, clock=clock).gather("a", range(10), pieces_of(clock, 30, []), label="targets")
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (0.4, "0 s"),
        (59.6, "60 s"),
        (99.4, "99 s"),
        (100, "1.7 min"),
        (600, "10 min"),
        (5939, "99 min"),
        (7200, "2.0 h"),
        (172_799, "48.0 h"),
        (172_800, "2.0 days"),
    ],
)
def test_durations_in_words(seconds, words):
    assert duration(seconds) == words


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_killed_while_it_draws_a_bar_blocks_no_other():
    child = os.fork()
    if child == 0:
        ProgressBar.get_lock().acquire()
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(child, 0)
    assert ProgressBar.get_lock().acquire(timeout=10)
    ProgressBar.get_lock().release()


# --- a long run says so ----------------------------------------------------------------------------------


def test_a_long_stage_is_announced_after_its_first_piece():
    clock, done = Clock(), []
    run = Run(clock=clock, remedies="Take fewer.")
    with pytest.warns(
        LongRunWarning, match=r"^9 more pieces will take about 90 s, before more\. Take fewer\.$"
    ):
        run.gather("a", range(10), pieces_of(clock, 10, done), label="pieces", then="more")


@pytest.mark.filterwarnings("error")
def test_a_short_run_and_one_without_remedies_say_nothing():
    clock, done = Clock(), []
    Run(clock=clock, remedies="Take fewer.").gather("a", range(5), pieces_of(clock, 9, done), label="p")
    Run(clock=clock).gather("a", range(50), pieces_of(clock, 9, done), label="p")
    assert len(done) == 55


def test_the_pace_of_a_stage_tells_the_time_of_more_of_it():
    clock, done = Clock(), []
    run = Run(clock=clock, remedies="Take fewer.")
    assert run.forecast("a", 10.0) is None
    run.gather("a", range(4), pieces_of(clock, 2, done), label="p", efforts=[1.0, 3.0, 2.0, 2.0])
    assert run.forecast("a", 90.0) == pytest.approx(90.0)
    with pytest.warns(LongRunWarning, match=r"^90 sets will take about 90 s\. Take fewer\.$"):
        run.announce("90 sets", run.forecast("a", 90.0))
    run.announce("100 sets", 1e9)  # once is enough
