r"""Testing a graph: the independences that it implies, and whether a table contradicts them.

graph -> one DAG of its class -> `dcd.graph.implied`: statements -> p-values -> Holm's method -> account
                  \-> the same statements under shuffled names, to compare with
"""

from dcd.evaluation.falsification.account import EdgeTest, Independence
from dcd.evaluation.falsification.result import Falsification
from dcd.evaluation.falsification.testing import falsify

__all__ = ["EdgeTest", "Falsification", "Independence", "falsify"]
