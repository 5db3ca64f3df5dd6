"""How many pairs that few sampled graphs join, or that a test separates, are edges of the true graph.

    python -m benchmarks.unlikely_pairs --graphs 2 --jobs 2
    python -m benchmarks.unlikely_pairs --graphs 0

Appends the numbers of such pairs, and of edges among them, to benchmarks/results/unlikely_pairs.csv, for
tables of `benchmarks.fit_calibration` and of `benchmarks.calibration`; skips tables that are already there;
prints the constants of `dcd.search.calibration` of greatest likelihood on the former, and what they tell of
the latter.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit

from benchmarks import calibration, fit_calibration
from benchmarks.calibration import KEY, TRAITS, Task, add_rows, drawn_and_fitted
from dcd.runtime.array_types import FloatArray
from dcd.search.calibration import RARE, properties_of_unlikely, unlikely_edges

ROWS = Path(__file__).parent / "results" / "unlikely_pairs.csv"
SEPARATED = "separated"
BINS = ((0.0, 0.02), (0.02, 0.05), (0.05, 0.1), (0.1, 0.2), (0.2, 0.5), (0.5, 1.0))
PRIOR = 1.0  # weight of squared constants


# --- rows -------------------------------------------------------------------------------------------------


def rows_of(task: Task) -> list[dict[str, Any]]:
    """Pairs, and edges among them: those that a test separates, and others by their share of graphs."""
    d = task[3]
    problem, model = drawn_and_fitted(task)
    if model is None:
        return []
    posterior = model.posterior_
    assert posterior is not None
    separated = {frozenset(pair) for pair in model.diagnostics_.separated}
    pairs = []
    for i, j in zip(*np.triu_indices(d, k=1), strict=True):
        names = posterior.names[i], posterior.names[j]
        joined = float(posterior.sampled[:3, i, j].sum())
        if joined <= RARE:
            kind = SEPARATED if frozenset(names) in separated else f"{np.ceil(50 * joined) / 50:.2f}"
            pairs.append((kind, joined, problem.cpdag.role(*names) is not None))
    by_kind = pd.DataFrame(pairs, columns=["kind", "joined", "edge"]).groupby("kind")
    counts = by_kind.agg(joined=("joined", "mean"), pairs=("edge", "size"), edges=("edge", "sum"))
    key = {**dict(zip(KEY, task, strict=True)), **posterior.traits._asdict()}
    nothing = {"kind": SEPARATED, "joined": 0.0, "pairs": 0, "edges": 0}  # so that the table counts as done
    return [{**key, **row} for row in counts.round(4).reset_index().to_dict("records") or [nothing]]


def read(path: Path = ROWS) -> pd.DataFrame:
    """The rows, with the density of the sampled graphs."""
    rows = pd.read_csv(path, dtype={"kind": str})
    rows = rows[rows["pairs"] > 0]
    return rows.assign(density=np.sqrt(rows["shared"] / (rows["d"] - 2)))


# --- constants --------------------------------------------------------------------------------------------


def fit(rows: pd.DataFrame) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """The constants `rare` and `separated` under which the edges are most likely.

    Settings have weights in proportion to the roots of their numbers of pairs, so that large graphs count
    more, but not by their many pairs.
    """
    setting = [rows[name] for name in KEY[:4]]
    rows = rows.assign(weight=1.0 / np.sqrt(rows["pairs"].groupby(setting).transform("sum")))
    rows["weight"] *= len(rows) / rows["weight"].sum()
    apart = rows["kind"] == SEPARATED
    kinds = [properties_of_unlikely(*_arguments(part)) for part in (rows[~apart], rows[apart])]
    return _likeliest(kinds[0][0], rows[~apart]), _likeliest(kinds[1][1], rows[apart])


def _arguments(rows: pd.DataFrame) -> tuple[FloatArray, FloatArray, FloatArray]:
    return rows["joined"].to_numpy(), rows["density"].to_numpy(), rows[TRAITS].to_numpy()


def _likeliest(properties: FloatArray, rows: pd.DataFrame) -> tuple[float, ...]:
    """The coefficients of a logistic regression of edges among pairs."""
    weight = rows["weight"].to_numpy()
    edges, pairs = weight * rows["edges"].to_numpy(), weight * rows["pairs"].to_numpy()

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        log_odds = properties @ values
        value = pairs @ np.logaddexp(0.0, log_odds) - edges @ log_odds + 0.5 * PRIOR * values @ values
        return value, properties.T @ (pairs * expit(log_odds) - edges) + PRIOR * values

    values = minimize(loss, np.zeros(properties.shape[1]), jac=True, method="BFGS").x
    return tuple(values.round(2).tolist())


# --- how well they hold -----------------------------------------------------------------------------------


def told(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the probability that the library tells."""
    joined, density, traits = _arguments(rows)
    apart = (rows["kind"] == SEPARATED).to_numpy()
    return rows.assign(told=unlikely_edges(joined, apart, density, traits))


def show() -> str:
    """How many pairs of the report are edges, by their probability, and among separated ones."""
    rows = told(read())
    report = rows[rows["seed"] >= calibration.FIRST_SEED]
    parts = [
        (f"{100 * low:.0f} to {100 * high:.0f} %", report[(report["told"] >= low) & (report["told"] < high)])
        for low, high in BINS
    ]
    parts.append(("separated by a test", report[report["kind"] == SEPARATED]))
    lines = ["| probability of an edge | mean | share of edges | pairs | graphs |", "|---|---|---|---|---|"]
    for title, part in parts:
        n_pairs, mean = part["pairs"].sum(), np.average(part["told"], weights=part["pairs"])
        gaps = part["edges"] - part["told"] * part["pairs"]
        by_graph = (gaps - gaps.sum() / n_pairs * part["pairs"]).groupby(part["seed"]).sum()
        error = np.sqrt((by_graph**2).sum() * len(by_graph) / (len(by_graph) - 1)) / n_pairs
        share = part["edges"].sum() / n_pairs
        lines.append(f"| {title} | {mean:.3f} | {share:.3f} ± {error:.3f} | {n_pairs:,} | {len(by_graph)} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Make rows, fit and show."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--graphs", type=int, default=2, help="graphs of each kind, size and degree")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    add_rows(ROWS, fit_calibration.tasks(options.graphs), rows_of, options.jobs)
    add_rows(ROWS, calibration.tasks(options.graphs), rows_of, options.jobs)
    rows = read()
    print(*fit(rows[rows["seed"] < calibration.FIRST_SEED]), show(), sep="\n")


if __name__ == "__main__":
    main()
