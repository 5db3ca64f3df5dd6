"""Methods of other packages, with results as `CPDAG`.

>>> import dcd
>>> data = dcd.datasets.load_sachs()
>>> cpdag = dcd.baselines.run("pc-fisherz", data.frame)  # needs causal-learn
>>> dcd.metrics.compare(data.cpdag, cpdag).skeleton_shd < 17
True

The steps of one call:

    table -> `dcd.table.reading` -> separate process with a time limit -> adapter -> conversion -> CPDAG

`METHODS` lists the methods. An adapter module wraps one package and is imported only when used.
"""

from dcd.evaluation.baselines.isolation import Outcome, Worker, run
from dcd.evaluation.baselines.registry import METHODS, Method, installed

__all__ = ["METHODS", "Method", "Outcome", "Worker", "installed", "run"]
