"""Table 1 with data as the text of Section 4 describes them, which do not reproduce its numbers."""

from dcd.evaluation.baselines import METHODS
from experiments.plan import PAPER_METHODS, ROBUST_METHODS, Experiment, grid

EXPERIMENT = Experiment(
    title="Table 1 by the text: noise by its standard deviation, networks without biases",
    settings=grid(d=[5, 10, 20], mechanism=["func", "mlp"], noise_measure=["deviation"], biases=[False]),
    methods=tuple(name for name in (*PAPER_METHODS, *ROBUST_METHODS) if METHODS[name].cost == "low"),
)
