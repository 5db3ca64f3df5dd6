"""The cost model of `RobustDCD`: the time of a fit, predicted from n, d and boundary size, and measured.

The model has two constants, `PER_ROW` and `PER_ENTRY`: screening v variables given a set, on n rows with p
columns adjusted for, takes n v (PER_ROW + PER_ENTRY p). They are measured first. The rest is counting
(docs/guides/scale.md). Each fit runs in a process of its own, for its memory. Writes `results/cost.md`, which
the guide shows.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from math import comb
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import dcd
from dcd.features.rank_scores import make_scores
from dcd.independence.adjustment import Adjustment
from dcd.independence.partial_pvalues import log_pvalues
from dcd.independence.residual_columns import ResidualColumns
from dcd.runtime.rows import MANY_ROWS, SAMPLE_ROWS

RESULTS = Path(__file__).parent / "results"
CASES = [(1_000, 20), (1_000, 100), (1_000, 200), (10_000, 20), (100_000, 20), (1_000_000, 20)]


def look_seconds(n: int, p_variables: int, v: int) -> tuple[float, int]:
    """Processor time of screening v variables given a set, and the number of columns adjusted for."""
    scores = make_scores(np.random.default_rng(0).standard_normal((n, p_variables + v + 1)))
    given = range(v + 1, v + 1 + p_variables)
    best = np.inf
    for _ in range(3):
        started = time.process_time()
        adjustment = Adjustment(scores, given)
        log_pvalues(ResidualColumns(adjustment, range(v + 1)), 0, range(1, v + 1))
        best = min(best, time.process_time() - started)
    return best, adjustment.n_columns


def constants(n: int) -> tuple[float, float]:
    """PER_ROW and PER_ENTRY at some number of rows, by least squares over sets of one to six variables."""
    rows = [(look_seconds(n, size, v), v) for size in (1, 3, 6) for v in (2, 16)]
    design = np.array([[n * v, n * v * p] for (_, p), v in rows])
    times = np.array([seconds for (seconds, _), _ in rows])
    scale = 1.0 / times  # relative errors count
    found = np.linalg.lstsq(design * scale[:, None], np.ones(len(times)), rcond=None)[0]
    return float(max(found[0], 0.0)), float(max(found[1], 0.0))


def predicted_seconds(n: int, d: int, m: float, at: dict[int, tuple[float, float]]) -> float:
    """Processor time of a fit with boundaries of m members."""
    per_row, per_entry = at[min(at, key=lambda rows: abs(np.log(rows / min(n, SAMPLE_ROWS))))]

    def look(rows: int, variables: float, size: float) -> float:
        columns = size * min(20.0, max(np.sqrt(rows) / max(size, 1.0), 5.0))
        return rows * variables * (per_row + per_entry * columns)

    rows = n if n <= MANY_ROWS else SAMPLE_ROWS
    grow = sum(d * look(rows, d, size) for size in range(round(m) + 1))
    pairs = d * m * (m + 1) / 2 + d * m / 2 * sum(comb(max(round(m) - 1, 0), size) for size in range(4))
    seconds = grow + pairs * look(rows, 2, m)
    if n > MANY_ROWS:  # the last screening of each target, and separating tests, use all rows
        per_row, per_entry = at[max(at)]
        seconds += d * look(n, d, m) + d * m * look(n, 2, m)
    return float(seconds)


def measured(n: int, d: int) -> dict[str, float]:
    """Time, memory and boundaries of one fit, in a process of its own."""
    code = """
import json, resource, sys, time, dcd
n, d = int(sys.argv[1]), int(sys.argv[2])
table = dcd.simulate.sample(dcd.simulate.random_dag(d, random_state=3), n, random_state=4)
before = time.process_time()
model = dcd.RobustDCD(progress=False).fit(table)
sizes = [len(search.boundary) for search in model.diagnostics_.searches]
print(json.dumps({
    "seconds": time.process_time() - before,
    "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    "boundary": sum(sizes) / len(sizes),
}))
"""
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, str(n), str(d)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> None:
    """Measure the constants, predict, measure, write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--most-rows", type=int, default=10**6)
    most = parser.parse_args().most_rows
    with threadpool_limits(1):
        at = {n: constants(n) for n in (1_000, 10_000, 100_000)}
    for n, (per_row, per_entry) in at.items():
        print(f"n = {n}: {1e9 * per_row:.0f} ns a row, {1e9 * per_entry:.2f} ns an entry", flush=True)
    lines = [
        "| n | d | mean boundary | predicted, s | measured, s | memory, GiB |",
        "|---|---|---|---|---|---|",
    ]
    for n, d in (case for case in CASES if case[0] <= most):
        found = measured(n, d)
        seconds = predicted_seconds(n, d, found["boundary"], at)
        lines.append(
            f"| {n:,} | {d} | {found['boundary']:.1f} | {seconds:.0f} | {found['seconds']:.0f} "
            f"| {found['gigabytes']:.1f} |"
        )
        print(lines[-1], flush=True)
    for m in (2, 5):
        lines.append(f"| 10,000,000 | 1,000 | {m} | {predicted_seconds(10**7, 1000, m, at):,.0f} | | |")
        print(lines[-1], flush=True)
    (RESULTS / "cost.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"dcd {dcd.__version__}")


if __name__ == "__main__":
    main()
