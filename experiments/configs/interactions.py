"""Mechanisms that interact: products of parents, and networks of several parents."""

from experiments.plan import BRIDGES, PAPER_METHODS, ROBUST_METHODS, Experiment, grid

EXPERIMENT = Experiment(
    title="Performance where parents interact",
    settings=(
        *grid(mechanism=["product"], graph=["erdos-renyi"], degree=[2, 4], noise_std=[1.0]),
        *grid(mechanism=["mlp"], graph=["erdos-renyi"], degree=[4]),
    ),
    methods=(*PAPER_METHODS, *ROBUST_METHODS, *BRIDGES),
)
