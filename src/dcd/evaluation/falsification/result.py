"""`Falsification`, the result of testing a graph, with its views."""

from __future__ import annotations

from dataclasses import dataclass

from dcd.evaluation.falsification.account import Account
from dcd.evaluation.falsification.page import notebook_html, page


@dataclass(frozen=True, eq=False)
class Falsification(Account):
    """A graph tested against a table, as returned by `dcd.falsify`.

    Attributes
    ----------
    names : the variables of the graph.
    adjacency : (d, d) the graph as given, `[i, j] = 1, [j, i] = 0` for `i -> j`, both 1 for `i - j`.
    dag : (d, d) the DAG whose statements were tested: the graph itself, or one of its class.
    independences : every statement that was tested.
    edges : every edge, tested given the other parents of its effect.
    alpha : upper bound on the probability of any violated statement if the graph is true.
    permuted : the number of violated statements of the same graph under each random relabelling.
    n_equivalent : relabellings that were left out: they imply the same independences as the graph.
    n_rows, n_rows_tested : rows of the table, and rows that tests used.
    ignored : columns of the table that are not in the graph.
    pictures : some rows behind violated statements.
    title : a heading.
    """

    def _repr_html_(self) -> str:
        return notebook_html(self)

    def to_html(self) -> str:
        """One self-contained page: the graph, each violated statement with its picture, and all tests."""
        return page(self)
