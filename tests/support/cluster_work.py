"""Work for other processes in the tests of backends and clusters; they import it by name."""

import os
import signal
import time
from pathlib import Path

import numpy as np

arrivals = []  # of the array of `Counted` in this process
departures = []  # of `Counted` from this process


class Counted:
    """Data that count how often they were pickled and unpickled."""

    def __init__(self):
        self.numbers = np.arange(50_000.0)
        self.seen = []

    def __reduce__(self):
        departures.append(os.getpid())
        return unpacked, (self.numbers,)


def unpacked(numbers):
    if not any(numbers is known for known in arrivals):  # a thread of this process has it already
        arrivals.append(numbers)
    counted = Counted()
    counted.numbers = numbers
    return counted


def add_up(counted, item):
    """A result, the process, how often the data arrived there, and its earlier uses."""
    counted.seen.append(item)
    time.sleep(0.05)
    return counted.numbers[item], os.getpid(), len(arrivals), len(counted.seen)


def array_and_list(counted, item):
    time.sleep(0.05)
    counted.seen.append(item)
    return id(counted.numbers), id(counted.seen)


def die_once(folder, item):
    """Kill this process if it is the first to reach item 3."""
    if item == 3:
        try:
            Path(folder, "died").touch(exist_ok=False)
        except FileExistsError:
            pass
        else:
            os.kill(os.getpid(), signal.SIGKILL)
    return item * item


def die(folder, item):
    if item == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return item


def fail(folder, item):
    with Path(folder, "attempts").open("a") as file:
        file.write(f"{item}\n")
    raise ZeroDivisionError(item)
