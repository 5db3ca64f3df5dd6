"""A limit on the processor time of a call that runs in this process."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SHORTEST_WAIT = 0.01  # seconds between two readings of the clock


class OutOfTimeError(BaseException):
    """A call has used up its processor time; not an `Exception`, which libraries catch."""


@contextmanager
def cpu_limit(seconds: float) -> Iterator[None]:
    """Raise `OutOfTimeError` after this much processor time; only in the main thread of a process.

    A timer of wall time that checks the processor time when it expires. While a timer of processor time
    (ITIMER_PROF) runs, Linux advances the clock of the process in ticks: FLOP took 0.0 ms instead of 2.0.
    Compiled code is interrupted when it returns.
    """
    end = time.process_time() + seconds

    def look(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        if time.process_time() >= end:
            raise OutOfTimeError(f"more than {seconds:g} s of processor time")
        signal.setitimer(signal.ITIMER_REAL, max(end - time.process_time(), SHORTEST_WAIT))

    before = signal.signal(signal.SIGALRM, look)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
