"""Independent networks: Sachs as measured, and samples of published networks."""

from experiments.plan import BRIDGES, PAPER_METHODS, ROBUST_METHODS, Experiment
from experiments.settings import Network

NAMES = ("ecoli70", "magic-niab", "asia", "child", "alarm")

EXPERIMENT = Experiment(
    title="Published networks",
    settings=(Network("sachs", 853), *(Network(name, n) for name in NAMES for n in (500, 2000))),
    methods=(*PAPER_METHODS, *ROBUST_METHODS, *BRIDGES, "pc-gsq", "ges-bdeu"),
    graphs={"low": (10, 10), "kernel": (3, 1), "network": (1, 1)},
    time_limit=300.0,
)
