"""Counts for the complexity appendix of the paper: Markov boundary identifications of DCD, tests of PC.

    python benchmarks/complexity.py

Writes `benchmarks/results/complexity.csv` and its table, `complexity.md`. Each method gets the same graphs
and tables (simulated as in Section 4, seeds from 20,000 on). Processor time on one core.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from dcd.runtime.array_types import FloatArray

RESULTS = Path(__file__).parent / "results"
FIRST_SEED = 20_000
GRAPHS = {"scale-free, degree 2": ("scale-free", 2), "Erdős-Rényi, degree 4": ("erdos-renyi", 4)}
N_VARIABLES = 10
ROWS = (100, 200, 800, 3200)
KERNEL_ROWS = (100, 200)  # a kernel test takes time in proportion to n³
N_GRAPHS, N_KERNEL_GRAPHS = 3, 1

Row = dict[str, Any]


def published(table: FloatArray) -> Row:
    """Number of identifications, the number by the formula, and decoupled sets of variables."""
    diagnostics = dcd.DCD(progress=False).fit(table).diagnostics_
    sizes = [len(search.boundary) for search in diagnostics.searches]
    return {
        "steps": diagnostics.n_identified,
        "formula": len(sizes) + sum(2**size - 2 for size in sizes if size),
        "sets": len(diagnostics.sets),
        "largest": max(sizes),
    }


def pc_with(test: str) -> Callable[[FloatArray], Row]:
    """PC of causal-learn at its defaults, with its tests counted; cached p-values do not count."""

    def run(table: FloatArray) -> Row:
        from causallearn.search.ConstraintBased.PC import pc

        cache = pc(table, 0.05, test, show_progress=False).test.pvalue_cache
        return {"steps": sum(";" in key for key in cache)}  # the other keys describe the data

    return run


METHODS = {"DCD": published, "PC (FisherZ)": pc_with("fisherz"), "PC (KCI)": pc_with("kci")}


def rows() -> Iterator[Row]:
    """One for each method, graph and number of rows."""
    for n in ROWS:
        for graph, (kind, degree) in GRAPHS.items():
            for seed in range(FIRST_SEED, FIRST_SEED + N_GRAPHS):
                rng = np.random.default_rng(seed)
                dag = dcd.simulate.random_dag(N_VARIABLES, graph=kind, degree=degree, random_state=rng)
                table = dcd.simulate.sample(dag, n, noise_std=2.0, random_state=rng)
                for method, run in METHODS.items():
                    if method == "PC (KCI)" and (
                        n not in KERNEL_ROWS or seed >= FIRST_SEED + N_KERNEL_GRAPHS
                    ):
                        continue
                    started = time.process_time()
                    counted = run(table)
                    seconds = round(time.process_time() - started, 3)
                    yield {
                        "graph": graph,
                        "n": n,
                        "seed": seed,
                        "method": method,
                        **counted,
                        "seconds": seconds,
                    }


def table_of(frame: pd.DataFrame) -> str:
    """Means over the graphs, in Markdown."""
    lines = [
        "| graph | n | method | graphs | identifications or tests | sets decoupled | seconds | ms for each |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for (graph, n, method), part in frame.groupby(["graph", "n", "method"], sort=False):
        sets = "\N{EN DASH}" if part["sets"].isna().all() else f"{part['sets'].mean():.1f}"
        each = 1000 * part["seconds"].sum() / part["steps"].sum()
        lines.append(
            f"| {graph} | {n} | {method} | {len(part)} | {part['steps'].mean():.1f} | {sets} "
            f"| {part['seconds'].mean():.2f} | {each:.1f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run everything and write both files."""
    frame = pd.DataFrame(rows())
    counted = frame.dropna(subset="formula")
    assert (counted["steps"] == counted["formula"]).all()
    frame.to_csv(RESULTS / "complexity.csv", index=False)
    (RESULTS / "complexity.md").write_text(table_of(frame), encoding="utf-8")


if __name__ == "__main__":
    main()
