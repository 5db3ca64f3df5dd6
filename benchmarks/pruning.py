"""Pruned subsets against all subsets: queries to a perfect identifier, and accuracy on data.

Writes `benchmarks/results/pruning.md`. Data: the protocol of the paper's Table 1 and Erdős–Rényi graphs of
degree 2, n = 800. The sets of the pruned search are among those of the full one, which continues from them:
its time is that of both. Processor time on one core. The seeds start at 20,000; which rules prune was chosen
on graphs with seeds 500 to 519.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import dcd
from dcd.graph.separation import oracle
from dcd.search.algorithm1 import Subsets, construct
from dcd.search.decoupled_boundaries import BoundaryIdentifier
from dcd.table.dataset import TableOptions
from dcd.table.reading import read_table
from dcd.weights.hsic_descent import HSICDescent

RESULTS = Path(__file__).parent / "results"
FIRST_SEED = 20_000
SUBSETS: tuple[Subsets, ...] = ("all", "pruned")
CELLS = [
    ("func", "scale-free", 10),
    ("mlp", "scale-free", 10),
    ("func", "erdos-renyi", 10),
    ("mlp", "erdos-renyi", 10),
    ("func", "scale-free", 20),
]


def questions(n_variables: int, degree: float, seed: int) -> dict[str, object]:
    """Sets passed to a perfect identifier, beyond those of the boundaries."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(n_variables)
    above = np.triu(rng.random((n_variables, n_variables)) < degree / (n_variables - 1), k=1)
    dag = above[np.ix_(order, order)].astype(np.int8)
    row: dict[str, object] = {"degree": degree}
    for subsets in SUBSETS:
        asked: set[frozenset[str]] = set()
        identify = oracle(dag)

        def recorded(target: str, others: Collection[str], asked: set[frozenset[str]] = asked) -> set[str]:
            asked.add(frozenset(others))
            return identify(target, others)  # noqa: B023

        found = construct(range(n_variables), recorded, None, None, subsets=subsets)  # type: ignore[arg-type]
        assert np.array_equal(found.cpdag.adjacency, dcd.graph.dag_to_cpdag(dag))
        row[subsets] = len(asked) - n_variables
    return row


def on_data(mechanism: str, graph: str, d: int, seed: int) -> dict[str, object]:
    """Both searches on one table."""
    rng = np.random.default_rng(seed)
    dag = dcd.simulate.random_dag(d, graph=graph, random_state=rng)
    table = dcd.simulate.sample(dag, 800, mechanism=mechanism, random_state=rng)
    row: dict[str, object] = {"mechanism": mechanism, "graph": graph, "d": d, "seed": seed}
    dataset = read_table(table, options=TableOptions(), sample_weight=None).in_canonical_order()
    started = time.process_time()
    identifier = BoundaryIdentifier(dataset, alpha=0.05, options=HSICDescent())
    for subsets in reversed(SUBSETS):
        found = construct(dataset.names, identifier, identifier.pvalue, 256, subsets=subsets)
        row[f"{subsets} seconds"] = time.process_time() - started
        row[f"{subsets} sets"] = len(identifier.decoupled_sets)
        names = [f"x{index}" for index in range(d)]
        score = dcd.metrics.compare(dcd.graph.dag_to_cpdag(dag), found.cpdag.reorder(names).adjacency)
        row[f"{subsets} shd"], row[f"{subsets} f1"] = score.shd_c, score.f1
    return row


def count_table(rows: Sequence[dict[str, object]]) -> str:
    """Means over the graphs of a density."""
    lines = ["| degree | sets, all | sets, pruned | all / pruned |", "|---|---|---|---|"]
    for degree, cell in pd.DataFrame(rows).groupby("degree"):
        full, pruned = cell["all"].mean(), cell["pruned"].mean()
        lines.append(f"| {degree:g} | {full:.1f} | {pruned:.1f} | {full / max(pruned, 1e-9):.1f} |")
    return "\n".join(lines)


def accuracy_table(rows: Sequence[dict[str, object]]) -> str:
    """Mean ± standard error; differences are paired by graph."""
    lines = [
        "| data | d | graphs | SHD_c, all | SHD_c, pruned | difference | F1, all | F1, pruned "
        "| sets, all | sets, pruned | time, all / pruned |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for (mechanism, graph, d), cell in pd.DataFrame(rows).groupby(["mechanism", "graph", "d"], sort=False):
        mean, error = cell.mean(numeric_only=True), cell.sem(numeric_only=True)
        gap = cell["pruned shd"] - cell["all shd"]
        lines.append(
            f"| {mechanism}, {graph} | {d} | {len(cell)} "
            f"| {mean['all shd']:.2f} ± {error['all shd']:.2f} "
            f"| {mean['pruned shd']:.2f} ± {error['pruned shd']:.2f} | {gap.mean():+.2f} ± {gap.sem():.2f} "
            f"| {mean['all f1']:.3f} | {mean['pruned f1']:.3f} "
            f"| {mean['all sets']:.0f} | {mean['pruned sets']:.0f} "
            f"| {mean['all seconds'] / mean['pruned seconds']:.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--graphs", type=int, default=24, help="graphs a cell; half of them at d = 20")
    n_graphs = parser.parse_args().graphs
    counts = [questions(9, degree, seed) for degree in (1, 2, 3, 4, 5, 6) for seed in range(n_graphs)]
    print(count_table(counts), flush=True)
    rows = []
    for mechanism, graph, d in CELLS:
        for index in range(n_graphs if d <= 10 else n_graphs // 2):
            rows.append(on_data(mechanism, graph, d, FIRST_SEED + index))
        print(accuracy_table(rows[-1 - index :]), flush=True)
    text = f"{count_table(counts)}\n\n{accuracy_table(rows)}\n"
    RESULTS.joinpath("pruning.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
