"""Are the probabilities of Robust DCD calibrated? The share of right edges and arrows at each probability.

    python -m benchmarks.calibration --graphs 8 --jobs 2
    python -m benchmarks.calibration --graphs 0

Appends the pairs of every graph that are joined, or directed, with a probability of at least a half to
benchmarks/results/calibration.csv, skips graphs that are already there, and writes calibration.md and
docs/images/calibration.png; `--graphs 0` only writes. Seeds start at 8,000,000; no setting was chosen on
them.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from benchmarks.evaluation.cells import Linear, random_graph
from dcd.runtime.array_types import FloatArray, IntArray
from experiments.settings import Problem

ROWS = Path(__file__).parent / "results" / "calibration.csv"
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "calibration.png"
FIRST_SEED = 8_000_000
BINS = ((0.5, 0.8), (0.8, 0.95), (0.95, 1.0))
KEY = ["family", "degree", "n", "d", "seed"]
Task = tuple[str, int, int, int, int]
RowsOf = Callable[[Task], list[dict[str, Any]]]


@dataclass(frozen=True)
class Mixed:
    """Tables in which every other variable is a category of two or three levels.

    A variable is a sum of smooth functions of its parents and normal noise; a category is such a sum cut at
    quantiles, and acts on its effects by its level.
    """

    d: int
    degree: int
    n: int

    def draw(self, seed: int) -> Problem:
        """Graph and data from one generator."""
        rng = np.random.default_rng(seed)
        dag = dcd.simulate.random_dag(self.d, graph="erdos-renyi", degree=self.degree, random_state=rng)
        columns: dict[int, FloatArray] = {}
        levels = {v: int(rng.integers(2, 4)) for v in range(1, self.d, 2)}
        for v in topological_order(dag):
            value = rng.standard_normal(self.n)
            for parent in np.flatnonzero(dag[:, v]).tolist():
                strength = rng.uniform(0.8, 1.6) * rng.choice([-1.0, 1.0])
                smooth = np.tanh if rng.random() < 0.5 else np.sin
                value += strength * smooth(1.5 * columns[parent])
            if v in levels:
                cuts = np.quantile(value, np.arange(1, levels[v]) / levels[v])
                value = np.digitize(value, cuts).astype(float) - 0.5 * (levels[v] - 1)
            columns[v] = value
        table = pd.DataFrame({f"x{v}": columns[v] for v in range(self.d)})
        for v, count in levels.items():
            table[f"x{v}"] = np.array(list("pqr"))[(table[f"x{v}"] + 0.5 * (count - 1)).astype(int)]
        return Problem(table, dcd.CPDAG.from_dag(list(table.columns), dag))


def topological_order(dag: IntArray) -> list[int]:
    """The variables, causes first."""
    order: list[int] = []
    while len(order) < len(dag):
        order += [
            v for v in range(len(dag)) if v not in order and set(np.flatnonzero(dag[:, v])) <= set(order)
        ]
    return order


FAMILIES = {
    "curves": lambda degree, n, d: random_graph(degree, n=n, d=d),
    "bounded": lambda degree, n, d: random_graph(degree, n=n, d=d, mechanism="bounded", noise_std=1.0),
    "networks": lambda degree, n, d: random_graph(degree, n=n, d=d, mechanism="mlp", noise_std=1.0),
    "linear": lambda degree, n, d: Linear(d=d, degree=degree, n=n),
    "products": lambda degree, n, d: random_graph(degree, n=n, d=d, mechanism="product", noise_std=1.0),
    "noise inside": lambda degree, n, d: random_graph(
        degree, n=n, d=d, noise_std=1.0, noise_in_mechanism=True
    ),
    "mixed": lambda degree, n, d: Mixed(d, degree, n),
}
SIZES = [(300, 8), (800, 8), (5000, 8), (300, 20), (800, 20), (5000, 20)]


# --- rows -------------------------------------------------------------------------------------------------


def rows_of(task: Task) -> list[dict[str, Any]]:
    """The probabilities and the true type of each pair of one graph."""
    family, degree, n, d, seed = task
    warnings.simplefilter("ignore")
    problem = FAMILIES[family](degree, n, d).draw(seed)
    told = dcd.RobustDCD(progress=False).fit(problem.table).probabilities_
    assert told is not None
    truth = problem.cpdag
    key = dict(zip(KEY, task, strict=True))
    rows: list[dict[str, Any]] = [{**key, "what": "graph", "told": 1.0, "right": 1}]
    for first, second, *told_types in told.to_numpy().tolist():
        forward, backward, _, absent = map(float, told_types)
        for what, probability, right in (
            ("edge", 1.0 - absent, truth.role(first, second) is not None),
            ("arrow", forward, (first, second) in truth.directed_edges),
            ("arrow", backward, (second, first) in truth.directed_edges),
        ):
            if probability >= BINS[0][0]:
                rows.append({**key, "what": what, "told": round(probability, 4), "right": int(right)})
    return rows


def run(n_graphs: int, jobs: int) -> None:
    """Add the graphs that are missing."""
    seeds = range(FIRST_SEED, FIRST_SEED + n_graphs)
    tasks = [
        (family, degree, n, d, seed)
        for seed, (n, d), family, degree in product(seeds, SIZES, FAMILIES, (2, 4, 6))
        if d == 8 or seed < FIRST_SEED + n_graphs // 2  # half as many graphs of twenty variables
    ]
    add_rows(ROWS, tasks, rows_of, jobs)


def add_rows(path: Path, tasks: Sequence[Task], rows_of: RowsOf, jobs: int) -> None:
    """Append the rows of tasks that are not in a file yet, each as soon as it is done."""
    done: set[Task] = set()
    if path.exists():
        done = set(pd.read_csv(path)[KEY].drop_duplicates().itertuples(index=False, name=None))
    missing = [task for task in tasks if task not in done]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for index, future in enumerate(as_completed([pool.submit(rows_of, task) for task in missing]), 1):
            frame = pd.DataFrame(future.result())
            frame.to_csv(path, mode="a", header=not path.exists(), index=False, lineterminator="\n")
            print(f"{index}/{len(missing)}", *frame.loc[0, KEY], flush=True)


# --- tables -----------------------------------------------------------------------------------------------


def calibration_error(part: pd.DataFrame) -> float:
    """Mean distance between probability and share of right ones over ten bins, weighted by their size."""
    bins = np.minimum((part["told"] * 20).astype(int), 19)
    groups = part.groupby(bins)
    return float((groups.size() * (groups["told"].mean() - groups["right"].mean()).abs()).sum() / len(part))


def told_within(rows: pd.DataFrame, bounds: tuple[float, float]) -> pd.DataFrame:
    """The rows with a probability in one of the `BINS`; the last includes 1."""
    low, high = bounds
    return rows[(rows["told"] >= low) & ((rows["told"] < high) | (high == 1.0))]


def standard_error(part: pd.DataFrame) -> float:
    """The standard error of the gap between the share that is right and the probability.

    Pairs of one graph are right or wrong together, so graphs are the sample, not pairs.
    """
    gaps = part["right"] - part["told"]
    by_graph = (gaps - gaps.mean()).groupby([part[name] for name in KEY]).sum()
    if len(by_graph) < 2:
        return float("nan")
    return float(np.sqrt((by_graph**2).sum() * len(by_graph) / (len(by_graph) - 1)) / len(part))


def cell(part: pd.DataFrame) -> str:
    """The share that is right, its standard error, and the number of pairs and of graphs."""
    if part.empty:
        return "-"
    n_graphs, error = len(part[KEY].drop_duplicates()), standard_error(part)
    plus_minus = "" if np.isnan(error) else f" ± {error:.2f}"
    return f"{part['right'].mean():.2f}{plus_minus} ({len(part)}, {n_graphs})"


def summary(rows: pd.DataFrame) -> str:
    """A Markdown table for edges and one for arrows, a line for each family, degree and size."""
    lines = [
        "Right among those told at a probability, ± standard error over graphs (pairs, graphs).",
        "",
    ]
    for what in ("edge", "arrow"):
        lines += [
            f"| {what}s | 50 to 80 % | 80 to 95 % | over 95 % | expected calibration error |",
            "|---|---|---|---|---|",
        ]
        of_kind = rows[rows["what"] == what]
        parts = [
            (
                f"{family}, degree {degree}",
                of_kind[(of_kind["family"] == family) & (of_kind["degree"] == degree)],
            )
            for family, degree in product(FAMILIES, (2, 4, 6))
        ]
        parts += [(f"{family}, all degrees", of_kind[of_kind["family"] == family]) for family in FAMILIES]
        parts += [(f"n = {n}, d = {d}", of_kind[(of_kind["n"] == n) & (of_kind["d"] == d)]) for n, d in SIZES]
        for title, part in [*parts, ("all", of_kind)]:
            cells = [cell(told_within(part, bounds)) for bounds in BINS]
            error = f"{calibration_error(part):.3f}" if len(part) else "-"
            lines.append(f"| {title} | {' | '.join(cells)} | {error} |")
        lines.append("")
    for what in ("edge", "arrow"):
        where = ", ".join(too_sure(rows, what)) or "none"
        lines.append(f"Families with too few right {what}s, by two standard errors or more: {where}.")
    return "\n".join(lines) + "\n"


def in_short(rows: pd.DataFrame) -> str:
    """The table of all families together, and of arrows by degree and by family."""
    lines = ["| | graphs | 50 to 80 % | 80 to 95 % | over 95 % | expected calibration error |"]
    lines.append("|---" * 6 + "|")
    among = [("edges", rows), ("arrows", rows)]
    among += [(f"arrows, degree {degree}", part) for degree, part in rows.groupby("degree")]
    among += [(f"arrows, {family}", rows[rows["family"] == family]) for family in FAMILIES]
    for title, whole in among:
        part = whole[whole["what"] == ("edge" if title == "edges" else "arrow")]
        cells = [cell(told_within(part, bounds)) for bounds in BINS]
        n_graphs = len(whole[KEY].drop_duplicates())
        lines.append(f"| {title} | {n_graphs} | {' | '.join(cells)} | {calibration_error(part):.3f} |")
    return "\n".join(lines) + "\n"


def too_sure(rows: pd.DataFrame, what: str) -> list[str]:
    """The families and ranges of probabilities in which too few are right, by two standard errors or more."""
    found = []
    for family, bounds in product(FAMILIES, BINS):
        part = told_within(rows[(rows["what"] == what) & (rows["family"] == family)], bounds)
        if (part["told"] - part["right"]).mean() > 2.0 * standard_error(part):
            found.append(f"{family} from {bounds[0]:.2f}")
    return found


def draw(rows: pd.DataFrame) -> None:
    """The share of right ones against the probability, for each family."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), sharey=True)
    for axis, what in zip(axes, ("edge", "arrow"), strict=True):
        axis.plot([0.5, 1], [0.5, 1], color="0.7", linestyle="--")
        for family in FAMILIES:
            part = rows[(rows["what"] == what) & (rows["family"] == family)]
            groups = part.groupby(np.minimum((part["told"] * 10).astype(int), 9))
            axis.plot(groups["told"].mean(), groups["right"].mean(), marker="o", label=family)
        axis.set(title=f"{what}s", xlabel="probability", xlim=(0.48, 1.02), ylim=(0, 1.03))
    axes[0].set_ylabel("share that is right")
    axes[1].legend(frameon=False)
    figure.tight_layout()
    figure.savefig(FIGURE, dpi=110)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run missing tasks and write the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--graphs", type=int, default=8, help="graphs of each family, degree and size")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    chosen = parser.parse_args(arguments)
    run(chosen.graphs, chosen.jobs)
    rows = pd.read_csv(ROWS)
    ROWS.with_suffix(".md").write_text(summary(rows), encoding="utf-8")
    draw(rows)


if __name__ == "__main__":
    main()
