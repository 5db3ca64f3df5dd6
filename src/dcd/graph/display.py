"""The door from results to pictures: methods that graphs and models have, and other modules fulfil.

A graph shows itself in a notebook and a fitted model has a `plot`, yet neither the graph nor the stages know
of drawing: the modules that draw are looked up here when they are asked for, and only then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dcd.estimators.stability import Stability
    from dcd.graph.cpdag import CPDAG


class ShownInNotebooks:
    """A graph that draws itself in Jupyter; no library is needed for it."""

    def _repr_svg_(self: Any) -> str:
        from dcd.graph.svg import graph_svg

        return graph_svg(self)

    def _repr_html_(self: Any) -> str:
        from dcd.graph.svg import graph_html

        return graph_html(self)


class Plotted:
    """A model that draws the graph it found."""

    cpdag_: CPDAG

    def plot(
        self,
        ax: Axes | None = None,
        *,
        truth: CPDAG | None = None,
        stability: Stability | None = None,
        target: str | None = None,
    ) -> Axes:
        """Draw the graph found; see `dcd.plot.plot_cpdag`.

        Parameters
        ----------
        ax : axes to draw on; a new figure without it.
        truth : draw the edges in comparison with this graph.
        stability : draw edges by how often resamples have them.
        target : mark this variable and its Markov boundary.
        """
        from sklearn.utils.validation import check_is_fitted

        from dcd.results.plot import plot_cpdag

        check_is_fitted(self)
        return plot_cpdag(self.cpdag_, truth=truth, stability=stability, target=target, ax=ax)
