"""Section 4.4: sample sizes."""

from experiments.plan import Experiment, grid

EXPERIMENT = Experiment(
    title="Performance under increasing sample sizes",
    settings=grid(n=[100, 200, 400, 800, 2000]),
    axis="n",
)
