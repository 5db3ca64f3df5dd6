"""Robust DCD beside its ablations and bridges, on data as the text of Section 4 describes them."""

from experiments.plan import BRIDGES, ROBUST_METHODS, Experiment, grid

_LETTER: dict[str, list[object]] = {"noise_measure": ["deviation"], "biases": [False]}

EXPERIMENT = Experiment(
    title="Robust DCD: what each part does (noise by its standard deviation, networks without biases)",
    settings=(
        *grid(d=[5, 10, 20], mechanism=["func", "mlp"], **_LETTER),
        *grid(noise_std=[0.3], **_LETTER),
        *grid(graph=["erdos-renyi"], degree=[2, 4], **_LETTER),
    ),
    methods=("dcd", "pc-fisherz", "ges", *ROBUST_METHODS, *BRIDGES),
)
