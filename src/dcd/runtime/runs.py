"""A run in pieces: finished ones are kept, the remaining time is estimated, and a time limit is enforced.

A piece is the smallest work that is worth keeping (the test of one edge, one decoupled set). Pieces
can be done in any order and by any process; results never depend on it.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from typing import Any

from dcd.runtime.checkpoint import Checkpoint, Key
from dcd.runtime.errors import LongRunWarning, TimeLimitError
from dcd.runtime.progress import duration, progress_bar

Compute = Callable[[list[int]], Generator[tuple[int, Any], None, None]]

_ENOUGH = 4  # pieces, after the first of each process, for an estimate
LONG = 60.0  # seconds from which on a run that was not expected to take so long is announced
_FAR_BEYOND = 2  # times the limit: an estimate above this stops a run without a checkpoint


class Run:
    """One run: its checkpoint, if it has one, its progress and its limit on time.

    Parameters
    ----------
    checkpoint : where finished pieces are kept.
    progress : show progress bars in a terminal or notebook.
    max_time : seconds that the run may take; checked whenever a piece is done. With a checkpoint all of them
        are used. Without one, a run stops early if the estimate far exceeds the limit.
    at_once : pieces that are worked on at the same time.
    remedies : how to make it shorter; with it, a `LongRunWarning` is given if the estimate exceeds a minute.
    clock : a clock in seconds.
    """

    def __init__(
        self,
        checkpoint: Checkpoint | None = None,
        *,
        progress: bool = False,
        max_time: float | None = None,
        at_once: int = 1,
        remedies: str | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.checkpoint, self.remedies = checkpoint, remedies
        self._paces: dict[str, float] = {}
        self._progress, self._max_time, self._at_once = progress, max_time, at_once
        self._clock, self._start = clock, clock()

    def gather(
        self,
        stage: str,
        keys: Sequence[Key],
        compute: Compute,
        *,
        label: str,
        then: str | None = None,
        efforts: Sequence[float] | None = None,
    ) -> list[Any]:
        """The results of all pieces of a stage, in the order of their keys.

        `compute` takes the positions (in `keys`) of the pieces to do and generates `(i, result)` for the i-th
        of these as soon as it is done. `label` names the pieces and `then` the next stage; `efforts` is the
        relative amount of work of each, equal by default.
        """
        kept = {} if self.checkpoint is None else self.checkpoint.done
        results = {at: kept[stage, key] for at, key in enumerate(keys) if (stage, key) in kept}
        pending = [at for at in range(len(keys)) if at not in results]
        if not pending:
            return [results[at] for at in range(len(keys))]
        meter = _Meter(
            [1.0 if efforts is None else efforts[at] for at in pending],
            self._at_once,
            label,
            then,
            self._clock,
        )
        self._check_time(meter)
        started = self._clock()
        shown = label if self._progress else None
        with progress_bar(shown, len(keys), len(results)) as bar, closing(compute(pending)) as done:
            for index, result in done:
                at = pending[index]
                results[at] = result
                if self.checkpoint is not None:
                    self.checkpoint.add(stage, keys[at], result)
                meter.count(index)
                bar.set_postfix_str(meter.remark(), refresh=False)
                bar.update()
                self._check_time(meter)
                self.announce(f"{meter.n_left} more {label}", meter.rough_time_left(), then)
        self._paces[stage] = (self._clock() - started) / meter.total_effort
        return [results[at] for at in range(len(keys))]

    def forecast(self, stage: str, effort: float) -> float | None:
        """Seconds that more pieces of a stage will take, by those done before; None if there were none."""
        pace = self._paces.get(stage)
        return None if pace is None else pace * effort

    def announce(self, work: str, seconds: float | None, then: str | None = None) -> None:
        """Warn, once in a run, if some work will take long."""
        if self.remedies is None or seconds is None or seconds <= LONG:
            return
        before = "" if then is None else f", before {then}"
        message = f"{work} will take about {duration(seconds)}{before}. {self.remedies}"
        self.remedies = None
        warnings.warn(message, LongRunWarning, stacklevel=2)

    def _check_time(self, meter: _Meter) -> None:
        if self._max_time is None or not meter.n_left:
            return
        elapsed, remaining = self._clock() - self._start, meter.time_left()
        estimate = None if remaining is None else elapsed + remaining
        if elapsed >= self._max_time:
            raise TimeLimitError(self._out_of_time(meter, elapsed), self._max_time, elapsed, estimate)
        if self.checkpoint is None and estimate is not None and estimate > _FAR_BEYOND * self._max_time:
            raise TimeLimitError(self._too_long(meter, estimate), self._max_time, elapsed, estimate)

    def _out_of_time(self, meter: _Meter, elapsed: float) -> str:
        remaining = meter.time_left()
        more = "" if remaining is None else f" These would take another {duration(remaining)} or so."
        ways = (
            "Nothing is kept without a checkpoint."
            if self.checkpoint is None
            else f"The same call with checkpoint {str(self.checkpoint.path)!r} resumes from there."
        )
        work = f"{meter.n_left} of {meter.n_pieces} {meter.label}"
        return f"stopped after {duration(elapsed)} with {work} remaining.{more} {ways}"

    def _too_long(self, meter: _Meter, estimate: float) -> str:
        then = "" if meter.then is None else f", before {meter.then}"
        return (
            f"stopped early: judging by the first {meter.done} {meter.label}, the run would take about "
            f"{duration(estimate)}{then}, and it may take {duration(self._max_time or 0)}. Use more "
            f"processes, fewer rows or columns, or a checkpoint, with which work can be resumed later."
        )


class _Meter:
    """The pieces of a stage that remain, and the time that they take.

    Time is measured once every process has finished its first piece, so that starting the processes does not
    inflate the estimate.
    """

    def __init__(
        self,
        efforts: Sequence[float],
        at_once: int,
        label: str,
        then: str | None,
        clock: Callable[[], float],
    ) -> None:
        self.label, self.then, self.n_pieces, self.done = label, then, len(efforts), 0
        self._efforts, self._at_once = efforts, at_once
        self.total_effort = self._effort_left = sum(efforts)
        self._effort_timed = 0.0
        self._clock, self._start = clock, clock()
        self._begun = self._start

    def count(self, index: int) -> None:
        """One more is done."""
        self.done += 1
        self._effort_left -= self._efforts[index]
        if self.done > self._at_once:
            self._effort_timed += self._efforts[index]
        elif self.done == self._at_once:
            self._start = self._clock()

    @property
    def n_left(self) -> int:
        """Pieces that remain."""
        return self.n_pieces - self.done

    def time_left(self) -> float | None:
        """Seconds for the rest of the stage; None while too little is done for an estimate."""
        if self.done - self._at_once < _ENOUGH or not self._effort_timed:
            return None
        return (self._clock() - self._start) * self._effort_left / self._effort_timed

    def rough_time_left(self) -> float | None:
        """The same by the first pieces, and with the time that processes took to start, if need be."""
        if (exact := self.time_left()) is not None or self.done < self._at_once:
            return exact
        done = self.total_effort - self._effort_left
        return (self._clock() - self._begun) * self._effort_left / done if done else None

    def remark(self) -> str:
        """The time left, in words."""
        remaining = self.time_left()
        if remaining is None or not self.n_left:
            return ""
        then = "" if self.then is None else f", then {self.then}"
        return f"about {duration(remaining)} left{then}"
