"""Accuracy with many variables: published networks and simulated graphs, against PC and GES.

    python -m benchmarks.many_variables [--samples 5] [--only TEXT] [--methods NAME ...] [--limit SECONDS]

Appends a row to benchmarks/results/many_variables.csv for each run as soon as it is done, skips those that
are already there, and writes many_variables.md. Seeds start at 9,000; settings were chosen on seeds below
200. Linear tables have Gaussian noise, "func" tables one of four noises a node. Noise has twice the signal's
deviation.
"""

from __future__ import annotations

import argparse
import csv
import time
import warnings
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

import dcd
from dcd.graph.adjacency import topological_order
from experiments import networks

RESULTS = Path(__file__).parent / "results"
FIRST_SEED = 9_000
COLUMNS = [
    "cell", "method", "seed", "shd_c", "f1", "missing", "extra", "turned", "seconds", "status",
]  # fmt: skip
NETWORKS = [f"{name}, n = {n}" for name, n in product(networks.GAUSSIAN, (500, 1000, 2000))]
SIMULATED = [
    f"{graph} {mechanism}, d = {d}, n = 1000"
    for d, graph, mechanism in product((100, 200), ("erdos-renyi", "scale-free"), ("linear", "func"))
]


def linear(dag, n_samples, rng, noise_std=2.0):
    """Sums of parents of variance 1, with Gaussian noise."""
    values = noise_std * rng.standard_normal((n_samples, len(dag)))
    for node in topological_order(dag):
        parents = np.flatnonzero(dag[:, node])
        if len(parents):
            weights = rng.uniform(0.5, 2.0, len(parents)) * rng.choice([-1.0, 1.0], len(parents))
            signal = values[:, parents] @ weights
            values[:, node] += (signal - signal.mean()) / signal.std()
    return values


def draw(cell, seed):
    """A table and the true DAG."""
    rng = np.random.default_rng(seed)
    if cell in NETWORKS:
        name, n_samples = cell.split(", n = ")
        model = networks.load(name)
        return model.sample(int(n_samples), rng), model.dag.to_numpy()
    kind, size, rows = cell.split(", ")
    graph, mechanism = kind.split()
    d, n_samples = int(size.removeprefix("d = ")), int(rows.removeprefix("n = "))
    dag = dcd.simulate.random_dag(d, graph=graph, degree=2, random_state=rng)
    if mechanism == "linear":
        values = linear(dag, n_samples, rng)
    else:
        values = dcd.simulate.sample(dag, n_samples, mechanism=mechanism, noise_std=2.0, random_state=rng)
    return pd.DataFrame(values, columns=[f"x{v:03d}" for v in range(d)]), dag


def robust(table, limit, search=None):  # noqa: ARG001
    return dcd.RobustDCD(progress=False, search=search).fit(table).cpdag_


def by_scores(table, limit):
    return robust(table, limit, dcd.WholeGraph(confirm=False))


def baseline(name):
    return lambda table, limit: dcd.baselines.run(name, table, time_limit=limit)


METHODS = {
    "Robust DCD": robust,
    "PC (FisherZ)": baseline("pc-fisherz"),
    "GES": baseline("ges"),
    "Robust DCD, by scores alone": by_scores,
}


def scored(dag, found, names):
    """The distance and its components."""
    order = [found.names.index(name) for name in names]
    estimated = np.asarray(found.adjacency)[np.ix_(order, order)]
    true = dcd.graph.dag_to_cpdag(dag)
    upper = np.triu_indices(len(true), 1)
    is_true, is_found = ((graph | graph.T)[upper].astype(bool) for graph in (true, estimated))
    comparison = dcd.metrics.compare(true, estimated)
    missing, extra = int((is_true & ~is_found).sum()), int((is_found & ~is_true).sum())
    return {
        "shd_c": comparison.shd_c,
        "f1": round(comparison.f1, 4),
        "missing": missing,
        "extra": extra,
        "turned": comparison.shd_c - missing - extra,
    }


def one_run(cell, method, seed, limit):
    table, dag = draw(cell, seed)
    started = time.perf_counter()
    row = {"cell": cell, "method": method, "seed": seed}
    try:
        found = METHODS[method](table, limit)
    except dcd.errors.BaselineError as error:
        return {**row, "status": error.outcome.reason}
    row["seconds"] = round(time.perf_counter() - started, 1)
    return {**row, **scored(dag, found, list(table.columns)), "status": "done"}


def summary(rows):
    """A Markdown table: SHD_c ± standard error / F1, and the components of the distance."""
    lines = [
        "SHD_c ± standard error / F1 (tables; of the distance: missing + extra + wrongly directed).",
        "",
        f"| | {' | '.join(METHODS)} |",
        "|---" * (len(METHODS) + 1) + "|",
    ]
    for cell in (cell for cell in [*NETWORKS, *SIMULATED] if (rows["cell"] == cell).any()):
        shown = []
        for method in METHODS:
            part = rows[(rows["cell"] == cell) & (rows["method"] == method)]
            done, late = part[part["status"] == "done"], int((part["status"] != "done").sum())
            text = f"{late} not in time" if late else ""
            if len(done):
                mean, error = done.mean(numeric_only=True), done["shd_c"].astype(float).sem()
                spread = f" ± {error:.1f}" if len(done) > 1 else ""
                text = (
                    f"{mean['shd_c']:.1f}{spread} / {mean['f1']:.2f} ({len(done)}; {mean['missing']:.1f} + "
                    f"{mean['extra']:.1f} + {mean['turned']:.1f}){', ' + text if late else ''}"
                )
            shown.append(text)
        lines.append(f"| {cell} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--samples", type=int, default=5)
    parser.add_argument("--only", default="", help="cells that have this text in their name")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--limit", type=float, default=1800.0, help="seconds for a run of PC or GES")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    path = RESULTS / "many_variables.csv"
    known = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
    done = set(zip(known["cell"], known["method"], known["seed"], strict=True))
    cells = [cell for cell in [*NETWORKS, *SIMULATED] if arguments.only in cell]
    for method, cell, index in product(arguments.methods, cells, range(arguments.samples)):
        task = (cell, method, FIRST_SEED + index)
        if task in done:
            continue
        row = one_run(*task, arguments.limit)
        print(row, flush=True)
        fresh = not path.exists()
        with path.open("a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if fresh:
                writer.writeheader()
            writer.writerow(row)
    if path.exists():
        table = summary(pd.read_csv(path))
        (RESULTS / "many_variables.md").write_text(table, encoding="utf-8")
        print(table)


if __name__ == "__main__":
    main()
