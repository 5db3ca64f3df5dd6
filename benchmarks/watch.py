"""The regression watch: how time and memory grow, and how long a fit takes against a yardstick.

Seconds depend on the machine and its load. Two quantities hardly do:

* a growth exponent: the slope of log time (or memory) over log size;
* a ratio: the time of a fit over that of a fixed piece of NumPy work, measured in turns in one run.

Each run adds a line to `results/history.jsonl` and reports regressions since the last one. Its exit code is 1
if an exponent is above its limit. `--quick`, which the tests run, measures only the exponents, at smaller
sizes, and adds no line.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

import dcd

HISTORY = Path(__file__).parent / "results" / "history.jsonl"
QUIET = 1.5  # load above which the clock is unreliable; one is this process
SLOWER, STEEPER = (
    1.25,
    0.15,
)  # from the last run: the factor for a ratio, the difference for an exponent


@dataclass(frozen=True)
class Growth:
    """A quantity that grows with the size of a table, and its largest exponent.

    Attributes
    ----------
    fit : takes a table and fits it.
    table : makes the table of one size.
    sizes, quick_sizes : of the tables, from small to large.
    limit : the largest acceptable exponent.
    """

    fit: Callable[[Any], object]
    table: Callable[[int], Any]
    sizes: Sequence[int]
    quick_sizes: Sequence[int]
    limit: float


def simulated(d: int, n: int, seed: int = 0) -> Any:
    """Data of the paper's protocol; random networks, whose values stay bounded at any n."""
    dag = dcd.simulate.random_dag(d, random_state=seed)
    return dcd.simulate.sample(dag, n, mechanism="mlp", random_state=seed)


def pairs_of_causes(n: int) -> Any:
    """Four causes with an effect each, detected by all tests at any n, so all sizes do the same work."""
    rng = np.random.default_rng(0)
    causes, noise = rng.standard_normal((2, n, 4))
    return np.column_stack([causes, causes + noise])


def robust(table: Any) -> object:
    """The whole graph."""
    return dcd.RobustDCD(progress=False).fit(table)


def published(table: Any) -> object:
    """One boundary, as published."""
    return dcd.MarkovBoundary(target=0, method="published").fit(table)


GROWTHS = {
    # Above the crossover to blocks time is proportional to rows; the search on a sample is a constant.
    "RobustDCD, rows": Growth(robust, pairs_of_causes, (50_000, 100_000, 200_000), (50_000, 150_000), 1.15),
    "MarkovBoundary, rows": Growth(
        published, lambda n: simulated(6, n), (50_000, 100_000, 200_000), (50_000, 150_000), 1.15
    ),
    # Each variable is screened once for each member of each boundary, so d² if boundaries stay small.
    "RobustDCD, variables": Growth(robust, lambda d: simulated(d, 500), (20, 40, 80), (15, 45), 2.4),
}

RATIOS: Mapping[str, tuple[Callable[[Any], object], int, int]] = {
    "RobustDCD, d = 20, n = 1000": (robust, 20, 1000),
    "DCD, d = 10, n = 800": (lambda table: dcd.DCD(progress=False).fit(table), 10, 800),
    "MarkovBoundary, d = 10, n = 50,000": (published, 10, 50_000),
}


def yardstick() -> None:
    """A fixed computation similar to the work of fits."""
    rng = np.random.default_rng(0)
    square = rng.standard_normal((400, 400))
    for _ in range(20):
        square = np.tanh(square @ square.T / 400)
        np.argsort(square, axis=None)


def cpu_seconds(action: Callable[[], object]) -> float:
    """Processor time of an action, which other processes hardly change."""
    started = time.process_time()
    action()
    return time.process_time() - started


def exponent(sizes: Sequence[int], amounts: Sequence[float]) -> float:
    """Slope of the straight line through the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(amounts), 1)[0])


def time_exponent(growth: Growth, sizes: Sequence[int], repeats: int) -> float:
    """How processor time grows: the fastest of some runs for each size, sizes alternating."""
    tables = [growth.table(size) for size in sizes]
    growth.fit(tables[0])  # loading on first use is not counted
    runs = [[cpu_seconds(lambda t=t: growth.fit(t)) for t in tables] for _ in range(repeats)]
    return exponent(sizes, [min(times) for times in zip(*runs, strict=True)])


def memory_exponent(sizes: Sequence[int]) -> float:
    """How the peak memory of `RobustDCD().fit` grows with rows, beyond that of a small table."""
    least = peak_memory(1_000)
    return exponent(sizes, [max(peak_memory(n) - least, 1.0) for n in sizes])


def peak_memory(n: int) -> float:
    """Of a process that fits a table of n rows."""
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from watch import robust, simulated;"
        "robust(simulated(8, int(sys.argv[2])));"
        # Not getrusage, which starts from the memory of the parent process.
        "print([line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')][0])"
    )
    arguments = [sys.executable, "-W", "ignore", "-c", code, str(Path(__file__).parent), str(n)]
    return float(subprocess.run(arguments, check=True, capture_output=True, text=True).stdout)


def ratio(fit: Callable[[Any], object], d: int, n: int, repeats: int = 5) -> float:
    """Time of a fit over that of the yardstick, measured in turns; the median."""
    table = simulated(d, n)
    fit(table)
    return statistics.median(cpu_seconds(lambda: fit(table)) / cpu_seconds(yardstick) for _ in range(repeats))


def speed_of_two() -> float:
    """Speed-up of two processes over one, d = 20: wall time, on an idle machine."""
    table = simulated(20, 4000)
    seconds = {}
    for n_jobs in (1, 2):
        model = dcd.RobustDCD(progress=False, n_jobs=n_jobs)
        model.fit(table)  # the processes are started
        times = []
        for _ in range(3):
            started = time.perf_counter()
            model.fit(table)
            times.append(time.perf_counter() - started)
        seconds[n_jobs] = min(times)
    return seconds[1] / seconds[2]


def measured(*, quick: bool) -> dict[str, Any]:
    """All figures of one run."""
    exponents: dict[str, float] = {}
    for name, growth in GROWTHS.items():
        sizes = growth.quick_sizes if quick else growth.sizes
        exponents[name] = time_exponent(growth, sizes, repeats=2)
        print(f"{name}: exponent {exponents[name]:.2f} (limit {growth.limit})", flush=True)
    if quick:
        return {"exponents": exponents}
    exponents["RobustDCD, memory over rows"] = memory_exponent((100_000, 200_000, 400_000))
    print(
        f"memory over rows: exponent {exponents['RobustDCD, memory over rows']:.2f} (limit 1.1)", flush=True
    )
    ratios = {}
    for name, fit_and_sizes in RATIOS.items():
        ratios[name] = ratio(*fit_and_sizes)
        print(f"{name}: {ratios[name]:.2f} yardsticks", flush=True)
    found: dict[str, Any] = {"exponents": exponents, "ratios": ratios}
    if os.getloadavg()[0] < QUIET:
        found["two_processes"] = speed_of_two()
        print(f"two processes: {found['two_processes']:.2f} times as fast as one", flush=True)
    else:
        print("two processes: not measured, the machine has other work", flush=True)
    return found


def too_steep(exponents: Mapping[str, float]) -> list[str]:
    """The exponents above their limits, in words."""
    limits = {name: growth.limit for name, growth in GROWTHS.items()} | {"RobustDCD, memory over rows": 1.1}
    return [
        f"{name}: grows with exponent {found:.2f}, at most {limits[name]} is right"
        for name, found in exponents.items()
        if not found <= limits[name]
    ]


def got_worse(last: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """The regressions since the last run, in words."""
    worse = [
        f"{name}: {now['ratios'][name]:.2f} yardsticks, was {before:.2f}"
        for name, before in last.get("ratios", {}).items()
        if name in now["ratios"] and now["ratios"][name] > SLOWER * before
    ]
    worse += [
        f"{name}: exponent {now['exponents'][name]:.2f}, was {before:.2f}"
        for name, before in last.get("exponents", {}).items()
        if name in now["exponents"] and now["exponents"][name] > before + STEEPER
    ]
    before = last.get("two_processes", -math.inf)
    if now.get("two_processes", math.inf) < before / SLOWER:
        worse.append(f"two processes: {now['two_processes']:.2f} times as fast as one, was {before:.2f}")
    return worse


def history(path: Path = HISTORY) -> list[dict[str, Any]]:
    """The runs so far, the oldest first."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, compare, store; returns 1 if an exponent is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="exponents at small sizes, nothing is kept")
    quick = parser.parse_args(arguments).quick
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        now = measured(quick=quick)
    if not quick:
        runs = history()
        worse = got_worse(runs[-1], now) if runs else []
        print("\n".join(["Worse than in the last run:", *worse] if worse else ["Nothing got worse."]))
        line = {
            "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
            "dcd": dcd.__version__,
            "numpy": np.__version__,
            "machine": platform.machine(),
            **now,
        }
        with HISTORY.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
    steep = too_steep(now["exponents"])
    print("\n".join(steep))
    return 1 if steep else 0


if __name__ == "__main__":
    sys.exit(main())
