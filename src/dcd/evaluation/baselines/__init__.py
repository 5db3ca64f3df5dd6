"""Other people's methods on your data, answers in the one CPDAG type.

>>> import dcd
>>> data = dcd.datasets.load_sachs()
>>> found = dcd.baselines.run("pc-fisherz", data.frame)  # needs causal-learn
>>> dcd.metrics.compare(data.cpdag, found).skeleton_shd < 17
True

The way of one call:

    table -> `dcd.table.reading` -> a process of its own, with a time limit -> adapter -> conversion -> CPDAG

`METHODS` lists what there is. An adapter file wraps one outside library and is imported only when used.
"""

from dcd.evaluation.baselines.isolation import Outcome, Worker, run
from dcd.evaluation.baselines.registry import METHODS, Method, installed

__all__ = [
    "METHODS",
    "Method",
    "Outcome",
    "Worker",
    "installed",
    "run",
]
