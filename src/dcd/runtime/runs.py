"""A run in pieces: finished ones are kept, the remaining time is estimated, and a time limit is enforced.

A piece is the smallest work that is worth keeping (the test of one edge, one decoupled set). Pieces
can be done in any order and by any process; results never depend on it.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from threading import RLock
from typing import Any

from tqdm import tqdm

from dcd.runtime.checkpoint import Checkpoint, Key
from dcd.runtime.errors import LongRunWarning, TimeLimitError

_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"

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
            return list(results.values())
        pending_efforts = [1.0 if efforts is None else efforts[at] for at in pending]
        meter = _Meter(pending_efforts, self._at_once, label, then, self._clock)
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
        message = f"{work} will take about {duration(seconds)}{_before(then)}. {self.remedies}"
        self.remedies = None
        warnings.warn(message, LongRunWarning, stacklevel=2)

    def _check_time(self, meter: _Meter) -> None:
        if self._max_time is None or not meter.n_left:
            return
        elapsed, remaining = self._clock() - self._start, meter.time_left()
        estimate = None if remaining is None else elapsed + remaining
        if elapsed >= self._max_time:
            work = f"{meter.n_left} of {len(meter.efforts)} {meter.label}"
            message = f"stopped after {duration(elapsed)} with {work} remaining."
            if remaining is not None:
                message += f" These would take another {duration(remaining)} or so."
            if self.checkpoint is None:
                message += " Nothing is kept without a checkpoint."
            else:
                message += f" The same call with checkpoint {str(self.checkpoint.path)!r} resumes from there."
        elif self.checkpoint is None and estimate is not None and estimate > _FAR_BEYOND * self._max_time:
            message = (
                f"stopped early: judging by the first {meter.done} {meter.label}, the run would take about "
                f"{duration(estimate)}{_before(meter.then)}, and it may take {duration(self._max_time)}. "
                "Use more processes, fewer rows or columns, or a checkpoint, with which work can be resumed "
                "later."
            )
        else:
            return
        raise TimeLimitError(message, self._max_time, elapsed, estimate)


def _before(stage: str | None) -> str:
    return "" if stage is None else f", before {stage}"


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
        self.efforts, self.label, self.then, self.done = efforts, label, then, 0
        self.total_effort = self._effort_left = sum(efforts)
        self._at_once, self._effort_timed = at_once, 0.0
        self._clock, self._begun = clock, clock()
        self._start = self._begun

    def count(self, index: int) -> None:
        self.done += 1
        self._effort_left -= self.efforts[index]
        if self.done > self._at_once:
            self._effort_timed += self.efforts[index]
        elif self.done == self._at_once:
            self._start = self._clock()

    @property
    def n_left(self) -> int:
        return len(self.efforts) - self.done

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
        remaining = self.time_left()
        if remaining is None or not self.n_left:
            return ""
        then = "" if self.then is None else f", then {self.then}"
        return f"about {duration(remaining)} left{then}"


class ProgressBar(tqdm):
    """A bar with a lock of this process alone.

    tqdm's own lock is shared with forked processes; one that is killed while it holds it blocks all others.
    """

    _lock = RLock()


def progress_bar(label: str | None, total: int, done: int) -> Any:
    """A bar for `total` pieces of work, some of them `done`; hidden outside terminals and notebooks."""
    hidden = label is None or not _is_watched()
    return ProgressBar(total=total, initial=done, desc=label, disable=hidden, bar_format=_BAR)


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def duration(seconds: float) -> str:
    """A span of time in words, to two figures or so.

    >>> duration(42.3), duration(750), duration(5000), duration(200_000)
    ('42 s', '12 min', '83 min', '2.3 days')
    """
    if round(seconds) < 100:
        return f"{max(seconds, 0):.0f} s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.2g} min" if seconds < 600 else f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86_400:.1f} days"
