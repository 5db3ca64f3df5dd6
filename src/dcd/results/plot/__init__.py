"""Plots with matplotlib: graphs, weights and Markov boundaries."""

from dcd.graph.drawing.cpdag_plot import plot_cpdag
from dcd.results.plot.decoupling_plots import plot_boundary, plot_weights

__all__ = ["plot_boundary", "plot_cpdag", "plot_weights"]
