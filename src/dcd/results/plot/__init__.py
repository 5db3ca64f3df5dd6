"""Pictures with matplotlib, of graphs, of weights and of Markov boundaries; no graphviz is needed."""

from dcd.graph.layout import layered_positions
from dcd.results.plot.graphs import plot_cpdag
from dcd.results.plot.weights import plot_boundary, plot_weights

__all__ = ["layered_positions", "plot_boundary", "plot_cpdag", "plot_weights"]
