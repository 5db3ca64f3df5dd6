"""Estimated remaining time: fits differ by a factor of a thousand, so counting rows is not enough."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from experiments.plan import Task
from experiments.store import SETTING_FIELDS, setting_key

_Cell = tuple[object, ...]


class Forecast:
    """Mean time of a (setting, method), or else of the method, times the number of missing tasks.

    Parameters
    ----------
    known : rows of earlier runs.
    missing : tasks to come.
    jobs : how many run at the same time.
    """

    def __init__(self, known: Iterable[dict[str, str]], missing: Sequence[Task], jobs: int) -> None:
        self.jobs = jobs
        self.waiting = Counter((setting_key(task.setting), task.method) for task in missing)
        self.seconds: dict[_Cell, list[float]] = defaultdict(list)
        for row in known:
            if row["seconds"]:
                setting = tuple(row[name] for name in SETTING_FIELDS)
                self.seconds[(setting, row["method"])].append(float(row["seconds"]))
                self.seconds[(row["method"],)].append(float(row["seconds"]))

    def finished(self, task: Task, seconds: float) -> None:
        """Learn from one task."""
        cell = (setting_key(task.setting), task.method)
        self.waiting[cell] -= 1
        self.seconds[cell].append(seconds)
        self.seconds[(task.method,)].append(seconds)

    def time_left(self) -> str:
        """In words; the time of a method is unknown before its first row."""
        total, unknown = 0.0, set()
        for cell, count in self.waiting.items():
            times = self.seconds.get(cell) or self.seconds.get((cell[1],))
            if count and not times:
                unknown.add(cell[1])
            elif count and times:
                total += count * sum(times) / len(times)
        left = f"about {_in_words(total / self.jobs)} left"
        return left + (f", and {len(unknown)} method(s) not timed yet" if unknown else "")


def _in_words(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 90 else f"{minutes / 60:.1f} h"
