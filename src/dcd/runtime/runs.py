"""A run in tasks: finished ones are stored, the remaining time is estimated, and a time limit is enforced.

A task is the smallest unit of work worth storing (the test of one edge, one decoupled set). Tasks can be
done in any order and by any process; results never depend on it.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from threading import RLock
from typing import Any, Self

from tqdm import tqdm

from dcd.runtime.checkpoint import Checkpoint, Key
from dcd.runtime.errors import LongRunWarning, TimeLimitError

_BAR = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"
_WHOLE_BAR = "{desc}: {percentage:3.0f}%|{bar}| [{elapsed}{postfix}]"
_ROUND = 0.8  # share of the rest of a phase that its next round takes; the first round is by far the longest
_LEAST_PART = 0.005  # share of a run; the pace of a shorter stage does not predict the rest
_WITH_NEXT = 0.5  # share of a run for a stage, if the size of the next one is not known yet

Compute = Callable[[list[int]], Generator[tuple[int, Any], None, None]]

_ENOUGH = 4  # tasks, after the first of each process, for an estimate
LONG = 60.0  # seconds from which a run issues a warning
_FAR_BEYOND = 2  # times the limit: an estimate above this stops a run without a checkpoint


class Run:
    """One run: its checkpoint, if any, its progress and its time limit.

    Parameters
    ----------
    checkpoint : where finished tasks are stored.
    progress : show a progress bar for the whole run in a terminal or notebook.
    max_time : time limit in seconds, checked after each task. With a checkpoint the run uses all of it.
        Without one, it stops early if the estimate far exceeds the limit.
    at_once : number of tasks done at the same time.
    remedies : how to shorten the run; if set, a `LongRunWarning` is issued if the estimate exceeds a minute.
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
        self._max_time, self._at_once = max_time, at_once
        self._clock, self._start = clock, clock()
        self._whole = _Whole(progress)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._whole.close(complete=kind is None)

    def phase(self, label: str, until: float, *, rounds: bool = False) -> None:
        """Begin a part of the run that ends at this share of the whole; its stages may come in `rounds`."""
        self._whole.phase(label, until, rounds)

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
        """The results of all tasks of a stage, in the order of their keys.

        `compute` takes the positions (in `keys`) of the tasks to do and generates `(i, result)` for the i-th
        of these as soon as it is done. `label` names the tasks and `then` the next stage; `efforts` is the
        relative amount of work of each, equal by default.
        """
        kept = {} if self.checkpoint is None else self.checkpoint.done
        results = {at: kept[stage, key] for at, key in enumerate(keys) if (stage, key) in kept}
        pending = [at for at in range(len(keys)) if at not in results]
        part = self._whole.next_part(has_next=then is not None)
        if not pending:
            return list(results.values())
        pending_efforts = [1.0 if efforts is None else efforts[at] for at in pending]
        meter = _Meter(pending_efforts, self._at_once, label, then, self._clock)
        self._check_time(meter)
        started = self._clock()
        self._whole.show(part[0], label, f"{len(results)}/{len(keys)}")
        with closing(compute(pending)) as done:
            for index, result in done:
                at = pending[index]
                results[at] = result
                if self.checkpoint is not None:
                    self.checkpoint.add(stage, keys[at], result)
                meter.count(index)
                share, remark = meter.progress(*part)
                self._whole.show(share, label, f"{len(results)}/{len(keys)}{remark}")
                self._check_time(meter)
                self.announce(f"{meter.n_left} more {label}", meter.rough_time_left(), then)
        self._paces[stage] = (self._clock() - started) / meter.total_effort
        return [results[at] for at in range(len(keys))]

    def forecast(self, stage: str, effort: float) -> float | None:
        """Estimated seconds for more tasks of a stage, from those already done; None if there are none."""
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
                message += " Without a checkpoint, no work is saved."
            else:
                message += f" The same call with checkpoint {str(self.checkpoint.path)!r} resumes from there."
        elif self.checkpoint is None and estimate is not None and estimate > _FAR_BEYOND * self._max_time:
            message = (
                f"stopped early: judging by the first {meter.done} {meter.label}, the run would take about "
                f"{duration(estimate)}{_before(meter.then)}, but the limit is {duration(self._max_time)}. "
                "Use more processes, fewer rows or columns, or a checkpoint, which lets you resume later."
            )
        else:
            return
        raise TimeLimitError(message, self._max_time, elapsed, estimate)


def _before(stage: str | None) -> str:
    return "" if stage is None else f", before {stage}"


class _Meter:
    """The remaining tasks of a stage, and their estimated time.

    Time is measured once every process has finished its first task, so that starting the processes does not
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
        """The same from the first tasks, if necessary including the time to start processes."""
        if (exact := self.time_left()) is not None or self.done < self._at_once:
            return exact
        done = self.total_effort - self._effort_left
        return (self._clock() - self._begun) * self._effort_left / done if done else None

    def progress(self, start: float, end: float) -> tuple[float, str]:
        """How much of the run is done if this stage is the part from `start` to `end`, and the time left."""
        done = 1.0 - self._effort_left / self.total_effort if self.total_effort else 1.0
        share, remaining = start + (end - start) * done, self.time_left()
        if remaining is None or share >= 1.0 or end - start < _LEAST_PART:
            return share, ""
        if self.n_left:  # then the rest of the run, at the same pace
            remaining *= (1.0 - share) / max(end - share, 1e-9)
        else:
            remaining = (self._clock() - self._begun) * (1.0 - end) / (end - start)
        return share, f", about {duration(remaining)} left"


class _Whole:
    """The bar of a whole run, of which phases and stages are parts; hidden if nobody is watching."""

    def __init__(self, progress: bool) -> None:
        self._progress = progress
        self._bar: Any = None
        self._reached, self._until, self._rounds = 0.0, 1.0, False

    def phase(self, label: str, until: float, rounds: bool) -> None:
        self._until, self._rounds = until, rounds
        self.show(self._reached, label)

    def next_part(self, *, has_next: bool) -> tuple[float, float]:
        """Where the next stage begins and ends, as shares of the whole."""
        start = self._reached
        of_rest = _WITH_NEXT if has_next else _ROUND if self._rounds else 1.0
        self._reached = start + of_rest * (self._until - start)
        return start, self._reached

    def show(self, share: float, label: str, remark: str = "") -> None:
        if self._bar is None:
            hidden = not (self._progress and _is_watched())
            options = {"desc": label, "disable": hidden, "bar_format": _WHOLE_BAR, "miniters": 0}
            self._bar = ProgressBar(total=1.0, **options)
        self._bar.set_description_str(label, refresh=False)
        self._bar.set_postfix_str(remark, refresh=False)
        self._bar.update(max(share - self._bar.n, 0.0))
        if share >= 1.0:
            self.close(complete=True)

    def close(self, *, complete: bool) -> None:
        if self._bar is None:
            return
        if complete:
            self._bar.set_postfix_str("", refresh=False)
            self._bar.update(1.0 - self._bar.n)
        self._bar.close()


class ProgressBar(tqdm):
    """A bar with a lock of this process alone.

    tqdm's own lock is shared with forked processes; one that is killed while holding it blocks all others.
    """

    _lock = RLock()


def progress_bar(label: str | None, total: int, done: int) -> Any:
    """A bar for `total` tasks, some of them `done`; hidden outside terminals and notebooks."""
    hidden = label is None or not _is_watched()
    return ProgressBar(total=total, initial=done, desc=label, disable=hidden, bar_format=_BAR)


def _is_watched() -> bool:
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def duration(seconds: float) -> str:
    """A span of time in words, to about two digits.

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
