"""Methods of a fitted model: the view in notebooks, `save`, `score`, and pgmpy's name for the graph.

`save` and `score` use packages that come later in the import order; they are imported when called.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from pkgutil import resolve_name
from typing import Any

from sklearn.utils.validation import check_is_fitted

from dcd.graph.adjacency import check_adjacency, is_acyclic, undirected_part
from dcd.graph.cpdag import CPDAG
from dcd.graph.drawing.svg import graph_svg, notebook_html
from dcd.graph.probabilities import edge_lines
from dcd.graph.stability import Stability
from dcd.runtime.errors import InputError, check_choice


class FittedGraph:
    """The methods of a model that has `cpdag_` and `probabilities_` once it is fitted."""

    cpdag_: CPDAG
    probabilities_: Any

    @property
    def causal_graph_(self) -> CPDAG:
        """`cpdag_` under pgmpy's name; `dcd.interop.to_pgmpy` converts it to a pgmpy graph."""
        return self.cpdag_

    def save(
        self,
        path: str | os.PathLike[str],
        *,
        stability: Stability | None = None,
        title: str | None = None,
        rows: bool = True,
    ) -> None:
        """Write the result of `dcd.summarise` as JSON; `dcd.load_result` reads it."""
        summarise = resolve_name("dcd.results:summarise")
        summarise(self, stability=stability, title=title, rows=rows).save(path)

    def score(self, *, true_graph: Any, metric: str = "shd_c") -> float:
        """How far the graph is from a true one.

        Parameters
        ----------
        true_graph : CPDAG, labelled or plain adjacency matrix, or networkx or pgmpy graph. A DAG is
            replaced by its CPDAG, which is all that data can determine; arrows of the model that only
            knowledge directs become undirected.
        metric : str, default="shd_c"
            "shd_c" (the number of pairs of variables on which the two differ), "precision", "recall" or "f1"
            of edges with their direction, or the same for the skeleton: "skeleton_shd",
            "skeleton_precision", "skeleton_recall", "skeleton_f1".
        """
        check_is_fitted(self)
        truth = _class_of(true_graph, self.cpdag_.names)
        found = self.cpdag_.without_background() if self.cpdag_.background else self.cpdag_
        scores = asdict(resolve_name("dcd.evaluation.metrics:compare")(truth, found))
        check_choice("metric", metric, tuple(scores))
        value: float = scores[metric]
        return value

    def _edge_lines(self) -> list[tuple[str, str]]:
        """The edges as text, each with its probabilities in words, or with an empty text."""
        return edge_lines(self.cpdag_, self.probabilities_)

    def _repr_html_(self) -> str:
        if not hasattr(self, "cpdag_"):
            return str(super()._repr_html_())  # type: ignore[misc]  # scikit-learn's
        found = self.cpdag_
        edges = self._edge_lines()
        has_words = any(words for _, words in edges)
        return notebook_html(
            type(self).__name__,
            picture=graph_svg(found.names, found.drawn, found.background),
            header=["edge", "probability"] if has_words else ["edge"],
            rows=edges if has_words else [(edge,) for edge, _ in edges],
            more="" if edges else "(no edges)",
        )

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(**options)  # type: ignore[misc]  # scikit-learn's
        if hasattr(self, "cpdag_") and "text/html" in bundle:
            bundle["text/html"] = self._repr_html_()
        return bundle


def _class_of(graph: Any, names: tuple[str, ...]) -> CPDAG:
    """A true graph of any form over the variables `names`, as the CPDAG of its class."""
    if hasattr(graph, "nodes") and hasattr(graph, "edges"):
        graph = resolve_name("dcd.interop:from_networkx")(graph)
    if not isinstance(graph, CPDAG):
        matrix = check_adjacency(graph, "true_graph")
        labels = list(getattr(graph, "columns", names if len(names) == len(matrix) else range(len(matrix))))
        is_dag = not undirected_part(matrix).any() and is_acyclic(matrix)
        graph = CPDAG.from_dag(labels, matrix) if is_dag else CPDAG(tuple(labels), matrix)
    if set(graph.names) != set(names):
        unshared = ", ".join(sorted(repr(name) for name in set(graph.names) ^ set(names)))
        problem = f"is not a graph of the model's variables ({unshared:.100} on one side only)"
        raise InputError("parameter 'true_graph'", problem, "Pass a graph over the same names.")
    return graph
