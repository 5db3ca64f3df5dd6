"""Progress bars, and durations in words."""

from __future__ import annotations

import sys
from threading import RLock
from typing import Any

from tqdm.auto import tqdm

_FORMAT = "{l_bar}{bar}| {n_fmt}/{total_fmt} [{elapsed}{postfix}]"


class ProgressBar(tqdm):
    """A bar with a lock of this process alone.

    tqdm's own lock is shared with forked processes; one that is killed while it holds it blocks all others.
    """

    _lock = RLock()


def progress_bar(label: str | None, total: int, done: int) -> Any:
    """A bar for `total` pieces of work, some of them `done`; hidden outside terminals and notebooks."""
    hidden = label is None or not _is_watched()
    return ProgressBar(total=total, initial=done, desc=label, disable=hidden, bar_format=_FORMAT)


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
