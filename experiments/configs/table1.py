"""Section 4.1: performance across mechanisms and graph sizes."""

from experiments.plan import Experiment, grid

EXPERIMENT = Experiment(
    title="Performance under different mechanisms (Table 1)",
    settings=grid(d=[5, 10, 20], mechanism=["func", "mlp"]),
)
