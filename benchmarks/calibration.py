"""Are the probabilities of Robust DCD calibrated? The share of right edges and arrows at each probability.

    python -m benchmarks.calibration --graphs 5 --jobs 2
    python -m benchmarks.calibration --graphs 0

Appends how often the sampled graphs of each table have each type of a pair, and the true type, to
benchmarks/results/calibration.csv, skips tables that are already there, and writes calibration.md and
docs/images/calibration.png from the probabilities that follow; `--graphs 0` only writes. A new calibration
needs no new rows, since graphs do not depend on it. Seeds start at 9,000,000, and no two graphs share one. No
setting was chosen on them, except that they had been looked at when the density of categorical tables became
a property that the calibration uses.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from benchmarks.evaluation.cells import Linear, Mixed, random_graph
from dcd.runtime.errors import InputError
from dcd.search.calibration import CONSTANTS, Constants, Traits, direction_shares, edge_probability
from experiments.settings import Problem

ROWS = Path(__file__).parent / "results" / "calibration.csv"
FIGURE = Path(__file__).parent.parent / "docs" / "images" / "calibration.png"
FIRST_SEED = 9_000_000
BINS = ((0.5, 0.8), (0.8, 0.95), (0.95, 1.0))
KEY = ["family", "degree", "n", "d", "seed"]
TRAITS = list(Traits._fields)
TYPES = ["forward", "backward", "undirected"]
LEAST_JOINED = 0.1  # pairs joined in a smaller share of sampled graphs are left out
Task = tuple[str, int, int, int, int]
RowsOf = Callable[[Task], list[dict[str, Any]]]


FAMILIES: dict[str, Callable[[int, int, int], Any]] = {
    "curves": lambda degree, n, d: random_graph(degree, n=n, d=d),
    "bounded": lambda degree, n, d: random_graph(degree, n=n, d=d, mechanism="bounded", noise_std=1.0),
    "networks": lambda degree, n, d: random_graph(degree, n=n, d=d, mechanism="mlp", noise_std=1.0),
    "linear": lambda degree, n, d: Linear(d=d, degree=degree, n=n),
    "products": lambda degree, n, d: random_graph(degree, n=n, d=d, mechanism="product", noise_std=1.0),
    "noise inside": lambda degree, n, d: random_graph(
        degree, n=n, d=d, noise_std=1.0, noise_in_mechanism=True
    ),
    "few categories": lambda degree, n, d: Mixed(d, degree, n, every=4),
    "mixed": lambda degree, n, d: Mixed(d, degree, n),
    "categories": lambda degree, n, d: Mixed(d, degree, n, every=1),
}
SIZES = [(300, 8), (800, 8), (5000, 8), (300, 20), (800, 20), (5000, 20)]


# --- rows -------------------------------------------------------------------------------------------------


def rows_of(task: Task) -> list[dict[str, Any]]:
    """How often the graphs that were sampled for one table have each type of each pair, and the true type."""
    d = task[3]
    problem, model = drawn_and_fitted(task)
    if model is None:
        return []
    posterior = model.posterior_
    assert posterior is not None
    assert posterior.confirmed is not None
    key = dict(zip(KEY, task, strict=True))
    key |= {name: round(value, 4) for name, value in posterior.traits._asdict().items()}
    rows: list[dict[str, Any]] = []
    for i, j in zip(*np.triu_indices(d, k=1), strict=True):
        shares = posterior.sampled[:3, i, j].round(5).tolist()
        if sum(shares) > LEAST_JOINED or not rows:  # at least one row, so that the table counts as done
            one, other = (i, j) if shares[0] >= shares[1] else (j, i)
            confirmed = int(posterior.confirmed[one, other])
            truth = true_type(problem.cpdag, posterior.names[i], posterior.names[j])
            types = dict(zip(TYPES, shares, strict=True))
            rows.append({**key, **types, "confirmed": confirmed, "truth": truth})
    return rows


def true_type(cpdag: dcd.CPDAG, first: str, second: str) -> int:
    """0 for first -> second, 1 for second -> first, 2 for an undirected edge, 3 for none."""
    if cpdag.role(first, second) is None:
        return 3
    arrows = [(first, second) in cpdag.directed_edges, (second, first) in cpdag.directed_edges, True]
    return arrows.index(True)


def drawn_and_fitted(task: Task) -> tuple[Problem, dcd.RobustDCD | None]:
    """The problem of a task, and the model of its table."""
    family, degree, n, d, seed = task
    warnings.simplefilter("ignore")
    problem = FAMILIES[family](degree, n, d).draw(seed)
    return problem, fitted(problem.table)


def fitted(table: pd.DataFrame) -> dcd.RobustDCD | None:
    """A model of a table; None if the table is refused, because a column is a copy of another."""
    try:
        return dcd.RobustDCD(progress=False).fit(table)
    except InputError as error:
        print(f"left out: {error}", flush=True)
        return None


def tasks(n_graphs: int) -> list[Task]:
    """The tables: at most `n_graphs` of each family, degree and size."""
    settings = list(product(SIZES, FAMILIES, (2, 4, 6)))
    return [
        (family, degree, n, d, FIRST_SEED + index * len(settings) + number)
        for index, (number, ((n, d), family, degree)) in product(range(n_graphs), enumerate(settings))
        if d == 8 or index < n_graphs // 2  # half as many graphs of twenty variables
    ]


def add_rows(path: Path, tasks: Sequence[Task], rows_of: RowsOf, jobs: int) -> None:
    """Append the rows of tasks that are not in a file yet, each as soon as it is done."""
    done: set[Task] = set()
    if path.exists():
        done = set(pd.read_csv(path)[KEY].drop_duplicates().itertuples(index=False, name=None))
    missing = [task for task in tasks if task not in done]
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for index, future in enumerate(as_completed([pool.submit(rows_of, task) for task in missing]), 1):
            frame = pd.DataFrame(future.result())
            if frame.empty:
                continue
            frame.to_csv(path, mode="a", header=not path.exists(), index=False, lineterminator="\n")
            print(f"{index}/{len(missing)}", *frame.loc[0, KEY], flush=True)


# --- tables -----------------------------------------------------------------------------------------------


def told(rows: pd.DataFrame, constants: Constants = CONSTANTS) -> pd.DataFrame:
    """The probabilities of edges and of arrows of a half or more, and whether they are right.

    A line with `what` "graph" for each table counts those of which nothing is told.
    """
    tables = rows[KEY].drop_duplicates()
    rows = rows[rows[TYPES].sum(axis=1) > LEAST_JOINED]  # of rarer edges `unlikely_pairs` gives an account
    types, traits = rows[TYPES].to_numpy(), rows[TRAITS].to_numpy()
    joined = np.minimum(types.sum(axis=1), 1.0)
    edges = edge_probability(joined, traits, constants)
    shares = (types / np.maximum(joined, 1e-9)[:, None]).T
    arrows = edges * direction_shares(shares, traits, rows["confirmed"].to_numpy(dtype=bool), constants)
    parts = [tables.assign(what="graph", told=1.0, right=True)]
    parts.append(rows[KEY].assign(what="edge", told=edges, right=rows["truth"] < 3))
    parts += [rows[KEY].assign(what="arrow", told=arrows[at], right=rows["truth"] == at) for at in (0, 1)]
    whole = pd.concat(parts, ignore_index=True)
    return whole[whole["told"] >= BINS[0][0]]


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
    parser.add_argument("--graphs", type=int, default=5, help="graphs of each family, degree and size")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    chosen = parser.parse_args(arguments)
    add_rows(ROWS, tasks(chosen.graphs), rows_of, chosen.jobs)
    rows = told(pd.read_csv(ROWS))
    ROWS.with_suffix(".md").write_text(summary(rows), encoding="utf-8")
    draw(rows)


if __name__ == "__main__":
    main()
