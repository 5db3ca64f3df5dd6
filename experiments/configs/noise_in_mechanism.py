"""Section 4.2, lower panel: noise inside the mechanism."""

from experiments.plan import Experiment, grid

EXPERIMENT = Experiment(
    title="Performance under increasing noise within the mechanism",
    settings=grid(noise_std=[0.1, 0.5, 1.0, 2.0, 3.0, 5.0], noise_in_mechanism=[True]),
    axis="noise_std",
)
