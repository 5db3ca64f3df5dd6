"""Section 4.3: kinds of graphs and densities."""

from experiments.plan import Experiment, grid

EXPERIMENT = Experiment(
    title="Performance under different graph topologies and densities",
    settings=grid(graph=["scale-free", "erdos-renyi"], degree=[2, 4]),
    axis="graph",
    bars=True,
)
