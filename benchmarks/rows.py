"""Many rows: the cost of `MarkovBoundary` at 10^4, 10^5 and 10^6 rows, and the effect of blocks.

1. Time and peak memory of a fit on 20 variables, each size in a process of its own.
2. The same fit in blocks and single precision against all features at once in double precision.

Writes `benchmarks/results/rows.json`. Set OMP_NUM_THREADS to the number of threads.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import dcd
from dcd.features import kernel_blocks

RESULTS = Path(__file__).parent / "results"
N_VARIABLES = 20


def fitted(n: int, seed: int) -> tuple[dcd.MarkovBoundary, dict[str, Any]]:
    """The boundary of the variable with the most neighbours, with time and memory."""
    dag = dcd.simulate.random_dag(N_VARIABLES, random_state=seed)
    table = dcd.simulate.sample(dag, n, random_state=seed)
    target = int((dag + dag.T).sum(axis=0).argmax())
    started, cpu = time.perf_counter(), time.process_time()
    model = dcd.MarkovBoundary(target=target, method="published").fit(table)
    children = dag[target] == 1
    members = (dag[:, target] == 1) | children | dag[:, children].any(axis=1)
    truth = {int(member) for member in np.flatnonzero(members)} - {target}
    found = {int(member) for member in np.flatnonzero(model.support_)}
    return model, {
        "n": n,
        "seed": seed,
        "wall_s": time.perf_counter() - started,
        "cpu_s": time.process_time() - cpu,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "steps": model.decoupling_.n_steps,
        "dependence_before": model.decoupling_.dependence_before,
        "dependence": model.decoupling_.dependence,
        "ess_share": model.effective_sample_size_ / n,
        "true": len(truth),
        "found": len(found & truth),
        "false": len(found - truth),
    }


def change(n: int, seed: int) -> dict[str, Any]:
    """The difference between blocks in single precision and all features at once in double."""
    short, _ = fitted(n, seed)
    usual = kernel_blocks.DENSE_ROWS
    kernel_blocks.DENSE_ROWS = n  # type: ignore[misc]
    exact, took = fitted(n, seed)
    kernel_blocks.DENSE_ROWS = usual  # type: ignore[misc]
    paths = short.decoupling_.loss_path, exact.decoupling_.loss_path
    steps = min(len(path) for path in paths)
    error = 1 / np.sqrt(exact.effective_sample_size_)
    return {
        "n": n,
        "seed": seed,
        "cpu_s_at_once": took["cpu_s"],
        "steps": [len(path) - 1 for path in paths],
        "loss_of_first": float(np.abs(paths[0][:steps] - paths[1][:steps]).max() / paths[1][0]),
        "ess": short.effective_sample_size_ / exact.effective_sample_size_ - 1,
        "weights": float(np.linalg.norm(short.weights_ - exact.weights_) / np.linalg.norm(exact.weights_)),
        "correlations_in_errors": float(np.nanmax(np.abs(short.statistics_ - exact.statistics_)) / error),
        "pvalues": float(np.nanmax(np.abs(short.pvalues_ - exact.pvalues_))),
        "same_boundary": short.boundary_ == exact.boundary_,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, nargs="*", default=[10**4, 10**5, 10**6])
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--change", type=int, help="only compare blocks with all at once, with so many rows")
    parser.add_argument("--one", action="store_true", help="fit here and print, rather than in processes")
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(fitted(arguments.rows[0], arguments.seeds[0])[1]))
        return
    if arguments.change:
        for seed in arguments.seeds:
            print(json.dumps(change(arguments.change, seed)), flush=True)
        return
    results = []
    for seed in arguments.seeds:
        for n in arguments.rows:
            command = [sys.executable, __file__, "--one", "--rows", str(n), "--seeds", str(seed)]
            results.append(json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout))
            print(json.dumps(results[-1]), flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "rows.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
