"""Section 4.2, upper panel: noise added to the signal, from weak to strong."""

from experiments.plan import Experiment, grid

EXPERIMENT = Experiment(
    title="Performance under increasing noise",
    settings=grid(noise_std=[0.1, 0.5, 1.0, 2.0, 3.0, 5.0]),
    axis="noise_std",
)
