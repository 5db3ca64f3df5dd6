"""Speed on one thread, as ratios measured in one run.

1. A step of weight learning against the direct reading of the paper (`direct.py`), with the same weights.
2. `DCD().fit` against PC with the kernel test (KCIT) of causal-learn on the same data.
3. How the time of a fit grows with the rows and with the variables.

Writes `benchmarks/results/speed.json` and `speed.md`.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import dcd
from dcd.features.kernels import kernel_features
from dcd.weights.descent import DirectDescent
from dcd.weights.hsic_descent import HSICDescent, descend
from dcd.weights.objective import choose_objective

RESULTS = Path(__file__).parent / "results"
N = 800


def simulated(d: int, n: int, seed: int) -> np.ndarray[Any, np.dtype[np.float64]]:
    rng = np.random.default_rng(seed)
    return dcd.simulate.sample(dcd.simulate.random_dag(d, random_state=rng), n, random_state=rng)


def seconds(action: Callable[[], object], repeats: int) -> float:
    """Median time of an action."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


def steps(sizes: tuple[int, ...]) -> list[dict[str, float]]:
    """Time of a step in both ways, and the difference of the weights after a hundred."""
    from direct import DirectLearner

    rows = []
    for d in sizes:
        table = simulated(d, N, seed=d)
        features = [kernel_features(column) for column in table.T]
        start = (np.zeros(N), HSICDescent.learning_rate / (d * (d - 1)), np.full(N, 1 / N))
        descent = DirectDescent(choose_objective(features), *start)

        def our_step(descent=descent) -> None:
            descent.propose()
            descent.accept()

        direct = DirectLearner(table)
        # Alternately, so that both see the same load.
        ours, theirs = [], []
        for _ in range(15):
            theirs.append(seconds(direct.step, 1))
            ours.append(seconds(our_step, 40))
        for _ in range(85):
            direct.step()
        probabilities, _, _ = descend(DirectDescent(choose_objective(features), *start), 100, 0.0)
        rows.append(
            {
                "d": d,
                "direct_ms": 1e3 * statistics.median(theirs),
                "dcd_ms": 1e3 * statistics.median(ours),
                "ratio": statistics.median(theirs) / statistics.median(ours),
                "largest_weight_difference": float(np.abs(N * probabilities - direct.weights).max()),
            }
        )
        print("step", rows[-1], flush=True)
    return rows


def against_kernel_pc(seeds: range) -> list[dict[str, float]]:
    """Time of `DCD().fit` and of PC (KCIT) on the same data, d = 10, n = 800."""
    from causallearn.search.ConstraintBased.PC import pc

    rows = []
    for seed in seeds:
        table = simulated(10, N, seed)
        ours = seconds(lambda table=table: dcd.DCD(progress=False).fit(table), 3)
        theirs = seconds(lambda table=table: pc(table, 0.05, "kci", show_progress=False, verbose=False), 1)
        rows.append({"seed": seed, "pc_kcit_s": theirs, "dcd_s": ours, "ratio": theirs / ours})
        print("fit", rows[-1], flush=True)
    return rows


def growth() -> list[dict[str, float]]:
    """Time of a fit over rows at d = 10 and over variables at n = 800; median over three graphs."""
    rows = []
    for d, n in [(10, n) for n in (200, 400, 800, 1600, 3200, 6400)] + [(d, N) for d in (5, 20, 40)]:
        fits = []
        for seed in range(3):
            table = simulated(d, n, seed)
            started = time.perf_counter()
            model = dcd.DCD(progress=False).fit(table)
            fits.append((time.perf_counter() - started, len(model.diagnostics_.sets)))
        rows.append(
            {
                "d": d,
                "n": n,
                "seconds": statistics.median(fit[0] for fit in fits),
                "sets": statistics.median(fit[1] for fit in fits),
            }
        )
        print("growth", rows[-1], flush=True)
    return rows


def report(results: dict[str, Any]) -> str:
    """The results as Markdown."""
    lines = [
        "One thread. Ratios compare times taken in turns in one run.",
        "",
        "A step of weight learning, n = 800:",
    ]
    lines += ["", "| d | direct, ms | dcd, ms | ratio | largest difference of weights after 100 steps |"]
    lines += ["|---|---|---|---|---|"]
    lines += [
        f"| {r['d']} | {r['direct_ms']:.0f} | {r['dcd_ms']:.2f} | {r['ratio']:.0f}x "
        f"| {r['largest_weight_difference']:.0e} |"
        for r in results["steps"]
    ]
    lines += ["", "`DCD().fit` and PC (KCIT) of causal-learn, d = 10, n = 800:", ""]
    lines += ["| data seed | PC (KCIT), s | dcd, s | ratio |", "|---|---|---|---|"]
    lines += [
        f"| {r['seed']} | {r['pc_kcit_s']:.0f} | {r['dcd_s']:.2f} | {r['ratio']:.0f}x |"
        for r in results["against_kernel_pc"]
    ]
    lines += ["", "Growth of `DCD().fit`, median of three graphs:", ""]
    lines += ["| d | n | seconds | sets decoupled |", "|---|---|---|---|"]
    lines += [f"| {r['d']} | {r['n']} | {r['seconds']:.2f} | {r['sets']:.0f} |" for r in results["growth"]]
    return "\n".join(lines) + "\n"


def in_words(results: dict[str, Any]) -> str:
    """A sentence for the README."""
    fits, steps = results["against_kernel_pc"], {row["d"]: row for row in results["steps"]}
    ratios = [row["ratio"] for row in fits]
    seconds_a_fit = statistics.median(row["dcd_s"] for row in fits)
    apart = max(row["largest_weight_difference"] for row in steps.values())
    return (
        f"A fit of `DCD` with 10 variables and {N} rows takes {seconds_a_fit:.1f} s on one thread (median of "
        f"{len(fits)} data sets), {min(ratios):.0f} to {max(ratios):.0f} times as fast as PC with the kernel "
        f"test (KCIT) of causal-learn; a step of weight learning is {steps[10]['ratio']:.0f} times (10 "
        f"variables) and {steps[20]['ratio']:.0f} times (20) as fast as a direct reading of the paper in "
        f"PyTorch, with the same weights to {apart:.0e}.\n"
    )


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pc-seeds", type=int, default=3, help="data sets for the comparison with PC")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # causal-learn and SciPy warn of each other's deprecations
    torch.set_num_threads(1)
    with threadpool_limits(1):
        results = {
            "versions": {"dcd": dcd.__version__, "numpy": np.__version__, "torch": torch.__version__},
            "machine": platform.machine(),
            "steps": steps((5, 10, 20)),
            "against_kernel_pc": against_kernel_pc(range(arguments.pc_seeds)),
            "growth": growth(),
        }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "speed.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    (RESULTS / "speed.md").write_text(report(results), encoding="utf-8")
    print(report(results))


if __name__ == "__main__":
    main()
