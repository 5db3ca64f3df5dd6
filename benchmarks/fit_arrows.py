"""Fit the constants of `dcd.search.arrow_calibration` to simulated tables.

    python -m benchmarks.fit_arrows --graphs 6 --jobs 2
    python -m benchmarks.fit_arrows --graphs 0

Appends the pairs of every graph that are joined, or that at least half of the sampled graphs join, to
benchmarks/results/fit_arrows.csv; skips graphs that are already there; prints the constants of greatest
likelihood, and their effect on families of tables that were left out. Seeds start at 1,700,000, separate from
those of `benchmarks.calibration`.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import logsumexp

import dcd
from benchmarks.calibration import BINS, FAMILIES, KEY, Task, add_rows, calibration_error, told_within
from dcd.runtime.array_types import FloatArray
from dcd.search.arrow_calibration import Constants, Traits, calibrated

ROWS = Path(__file__).parent / "results" / "fit_arrows.csv"
FIRST_SEED = 1_700_000
SIZES = [(300, 8), (800, 8), (5000, 8), (300, 20), (1500, 20)]
SMALL = list(product((300, 800, 5000), (4, 5, 6)))  # of degree 2 alone
TRAITS = list(Traits._fields)
TYPES = ["forward", "backward", "undirected"]


# --- rows -------------------------------------------------------------------------------------------------


def rows_of(task: Task) -> list[dict[str, Any]]:
    """How often the graphs that were sampled for one table have each type of each pair, and the true type."""
    family, degree, n, d, seed = task
    warnings.simplefilter("ignore")
    problem = FAMILIES[family](degree, n, d).draw(seed)
    posterior = dcd.RobustDCD(progress=False).fit(problem.table).posterior_
    assert posterior is not None
    assert posterior.confirmed is not None
    key = {**dict(zip(KEY, task, strict=True)), **posterior.traits._asdict()}
    rows: list[dict[str, Any]] = []
    for i, j in zip(*np.triu_indices(d, k=1), strict=True):
        truth = true_type(problem.cpdag, posterior.names[i], posterior.names[j])
        shares = posterior.sampled[:3, i, j].round(4).tolist()
        confirmed = posterior.confirmed[i, j], posterior.confirmed[j, i]
        if truth < 3 or sum(shares) >= BINS[0][0] or not rows:
            tested = {"confirmed": int(confirmed[int(shares[1] > shares[0])])}
            rows.append({**key, **dict(zip(TYPES, shares, strict=True)), **tested, "truth": truth})
    return rows


def true_type(cpdag: dcd.CPDAG, first: str, second: str) -> int:
    """0 for first -> second, 1 for second -> first, 2 for an undirected edge, 3 for none."""
    if cpdag.role(first, second) is None:
        return 3
    arrows = [(first, second) in cpdag.directed_edges, (second, first) in cpdag.directed_edges, True]
    return arrows.index(True)


def run(n_graphs: int, jobs: int) -> None:
    """Add the graphs that are missing; half as many of twenty variables, more of a few."""
    tasks = [
        (family, degree, n, d, FIRST_SEED + index)
        for index, (n, d), family, degree in product(range(n_graphs), SIZES, FAMILIES, (2, 4, 6))
        if d == 8 or index < (n_graphs + 1) // 2
    ]
    tasks += [
        (family, 2, n, d, FIRST_SEED + index)
        for index, (n, d), family in product(range(n_graphs + 2 if n_graphs else 0), SMALL, FAMILIES)
    ]
    add_rows(ROWS, tasks, rows_of, jobs)


# --- constants --------------------------------------------------------------------------------------------


def constants_of(values: FloatArray) -> Constants:
    """Constants from free numbers, rounded."""
    rounded = values.round(2).tolist()
    return Constants(tuple(rounded[:5]), rounded[5], *np.exp(values[6:]).round(4).tolist())


def calibrated_shares(rows: pd.DataFrame, constants: Constants) -> FloatArray:
    """(n, 3) the shares of the types of each pair."""
    shares = np.zeros((len(rows), 3))
    for traits, part in rows.reset_index(drop=True).groupby(TRAITS):
        types = part[TYPES].to_numpy().T[:, :, None]
        sampled = np.concatenate([types, 1.0 - types.sum(axis=0, keepdims=True)])
        confirmed = part["confirmed"].to_numpy(dtype=bool)[:, None]
        found = calibrated(sampled, Traits(*traits), np.zeros_like(confirmed), confirmed, constants)
        shares[part.index] = (found[:3] / np.maximum(found[:3].sum(axis=0), 1e-9))[:, :, 0].T
    return shares


def fit(rows: pd.DataFrame) -> Constants:
    """The maximum-likelihood constants for the true types of edges; all settings have equal weight."""
    edges = rows[(rows["truth"] < 3) & (rows[TYPES].sum(axis=1) > 0.1)]
    types = edges[TYPES].to_numpy()
    shares = types / types.sum(axis=1, keepdims=True)
    terms = np.column_stack([np.ones(len(edges)), edges[TRAITS]])
    confirmed = edges["confirmed"].to_numpy(dtype=bool)
    truth = edges["truth"].to_numpy()
    weights = 1.0 / edges.groupby(KEY[:4])["truth"].transform("size").to_numpy()
    weights /= weights.sum()

    def loss(values: FloatArray) -> float:
        beta = 1.0 / (1.0 + np.exp(-terms @ values[:5]))
        least = np.exp(np.where(confirmed, values[6], values[7]))
        logs = beta[:, None] * np.log(shares + least[:, None])
        logs[:, 2] += values[5]
        likelihood = logs[np.arange(len(truth)), truth] - logsumexp(logs, axis=1)
        return float(-weights @ likelihood + 1e-5 * (values[:6] @ values[:6]))  # a weak prior: none is large

    start = np.array([1.0, *(0.0 for _ in range(5)), np.log(0.003), np.log(0.003)])
    return constants_of(minimize(loss, start, method="BFGS").x)


def told(rows: pd.DataFrame, shares: FloatArray) -> pd.DataFrame:
    """The probabilities of arrows of a half or more, and whether they are right."""
    joined = rows[TYPES].sum(axis=1).to_numpy()
    parts = [
        pd.DataFrame({"told": joined * shares[:, arrow], "right": (rows["truth"] == arrow).to_numpy()})
        for arrow in (0, 1)
    ]
    whole = pd.concat(parts)
    return whole[whole["told"] >= BINS[0][0]]


def line(title: str, rows: pd.DataFrame, shares: FloatArray) -> str:
    """The share that is right in each bin, with the number of arrows."""
    arrows = told(rows, shares)
    cells = []
    for bounds in BINS:
        part = told_within(arrows, bounds)
        cells.append(f"{part['right'].mean():.2f} ({len(part)})" if len(part) else "-")
    return f"{title:24} {'  '.join(cells)}  {calibration_error(arrows):.3f}"


def show(rows: pd.DataFrame) -> None:
    """Print the constants and their effect, also on families left out of the fit."""
    raw = rows[TYPES].to_numpy() / np.maximum(rows[TYPES].sum(axis=1).to_numpy(), 1e-9)[:, None]
    constants = fit(rows)
    print(constants)
    print(line("as sampled", rows, raw))
    print(line("calibrated", rows, calibrated_shares(rows, constants)))
    for column in ("degree", "n", "d"):
        for value, part in rows.groupby(column):
            print(line(f"{column} {value}", part, calibrated_shares(part, constants)))
    for family in FAMILIES:
        inside = rows["family"] == family
        part = rows[inside]
        print(line(f"{family}, left out", part, calibrated_shares(part, fit(rows[~inside]))))


def main() -> None:
    """Make rows and fit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graphs", type=int, default=6, help="graphs of each kind, size and degree")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    run(options.graphs, options.jobs)
    show(pd.read_csv(ROWS))


if __name__ == "__main__":
    main()
