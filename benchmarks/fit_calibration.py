"""Fit the constants of `dcd.search.calibration` to simulated tables.

    python -m benchmarks.fit_calibration --graphs 6 --jobs 2
    python -m benchmarks.fit_calibration --graphs 0

Appends the pairs of every graph that more than a tenth of the sampled graphs join to
benchmarks/results/fit_calibration.csv; skips graphs that are already there; prints the constants of greatest
likelihood, with a weight for caution, and how well probabilities hold on tables that were left out. Seeds
start at 1,750,000, no two graphs share one, and they are separate from those of `benchmarks.calibration`.
"""

from __future__ import annotations

import argparse
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import expit, softmax

from benchmarks.calibration import (
    BINS,
    FAMILIES,
    KEY,
    LEAST_JOINED,
    TRAITS,
    TYPES,
    Task,
    add_rows,
    calibration_error,
    rows_of,
    told,
    told_within,
)
from dcd.runtime.array_types import BoolArray, FloatArray
from dcd.search.calibration import Constants, properties_of

ROWS = Path(__file__).parent / "results" / "fit_calibration.csv"
FIRST_SEED = 1_750_000
# Rows, variables and degree, and how many graphs, as a share of `--graphs`.
SETTINGS = {
    **{(n, 8, degree): 1.0 for n, degree in product((300, 800, 5000), (2, 4, 6))},
    **{(n, 20, degree): 0.5 for n, degree in product((300, 1500), (2, 4, 6))},
    **{(n, d, degree): 0.5 for n, (d, degree) in product((300, 800, 5000), ((4, 2), (5, 2), (6, 2), (6, 4)))},
    **{(5000, 20, degree): 0.2 for degree in (2, 4, 6)},
}
# Of the properties of a table. Density, number of rows and the density of categorical tables did not help to
# calibrate edges.
FOR_EDGES = np.array([True, False, False, True, True, True, True, False])
# Weight of edges and directions that are wrong. Kinds of tables differ in ways that traits do not show: with
# less, more kinds got too high a probability on tables left out of the fit (1 to 2 were tried).
CAUTION = 1.5
PRIOR = 3e-5  # weight of squared coefficients in the mean loss: none is large without a reason


# --- rows -------------------------------------------------------------------------------------------------


def tasks(n_graphs: int) -> list[Task]:
    """The tables: up to `n_graphs` of each kind, size and degree."""
    settings = list(product(SETTINGS.items(), FAMILIES))
    return [
        (family, degree, n, d, FIRST_SEED + index * len(settings) + number)
        for index, (number, (((n, d, degree), share), family)) in product(
            range(n_graphs), enumerate(settings)
        )
        if index < round(share * n_graphs)
    ]


# --- constants --------------------------------------------------------------------------------------------


def fit(rows: pd.DataFrame) -> Constants:
    """The constants under which the true types are most likely, with caution; settings have equal weight."""
    rows = rows[rows[TYPES].sum(axis=1) > LEAST_JOINED]
    slope, shift, least_absence = _fit_edges(rows)
    return Constants(slope, shift, least_absence, *_fit_directions(rows[rows["truth"] < 3]))


def _fit_edges(rows: pd.DataFrame) -> tuple[tuple[float, ...], tuple[float, ...], float]:
    joined, truth = np.minimum(rows[TYPES].sum(axis=1).to_numpy(), 1.0), rows["truth"].to_numpy() < 3
    properties, weights = properties_of(rows[TRAITS].to_numpy()), _weights(rows, (joined >= 0.5) & ~truth)
    width = properties.shape[1]

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        least = np.exp(values[-1])
        slope = np.exp(properties @ values[:width])
        scaled = slope * (np.log(joined) - np.log(1.0 - joined + least))
        log_odds = scaled + properties @ values[width:-1]
        error = weights * (expit(log_odds) - truth)
        by_least = -(error * slope) @ (least / (1.0 - joined + least))
        by_property = [FOR_EDGES * ((error * scaled) @ properties), FOR_EDGES * (error @ properties)]
        value = weights @ (np.logaddexp(0.0, log_odds) - truth * log_odds)
        return _with_prior(value, np.concatenate([*by_property, [by_least]]), values, 2 * width)

    start = np.array([*np.zeros(2 * width), np.log(0.002)])
    values = minimize(loss, start, jac=True, method="BFGS").x
    return _rounded(values[:width]), _rounded(values[width:-1]), _two_digits(values[-1])


def _fit_directions(rows: pd.DataFrame) -> tuple[tuple[float, ...], tuple[float, ...], float, float]:
    types, truth = rows[TYPES].to_numpy(), rows["truth"].to_numpy()
    wrong = (types.argmax(axis=1) < 2) & (types.argmax(axis=1) != truth)
    properties, weights = properties_of(rows[TRAITS].to_numpy()), _weights(rows, wrong)
    shares, right = types / types.sum(axis=1, keepdims=True), np.eye(3)[truth]
    more_frequent = np.column_stack([types[:, :2] > types[:, 1::-1], np.zeros(len(rows))])
    favoured = more_frequent * rows[["confirmed"]].to_numpy()
    width = properties.shape[1]

    def loss(values: FloatArray) -> tuple[float, FloatArray]:
        least, favour = np.exp(values[-2]), values[-1]
        logs = np.log(shares + least)
        power = expit(properties @ values[:width])
        scores = power[:, None] * logs + favour * favoured
        scores[:, 2] += properties @ values[width:-2]
        told = softmax(scores, axis=1)
        error = weights[:, None] * (told - right)
        by_power = (error * logs).sum(axis=1) * power * (1.0 - power)
        by_least = (error * power[:, None] * least / (shares + least)).sum()
        gradient = [by_power @ properties, error[:, 2] @ properties, [by_least, (error * favoured).sum()]]
        value = -weights @ np.log((told * right).sum(axis=1))
        return _with_prior(value, np.concatenate(gradient), values, 2 * width)

    start = np.array([1.0, *np.zeros(2 * width - 1), np.log(0.005), 0.0])
    values = minimize(loss, start, jac=True, method="BFGS").x
    return (
        _rounded(values[:width]),
        _rounded(values[width:-2]),
        _two_digits(values[-2]),
        float(values[-1].round(2)),
    )


def _weights(rows: pd.DataFrame, wrong: BoolArray) -> FloatArray:
    """The same total for each setting; within a setting, more for what is `wrong`."""
    weights = pd.Series(np.where(wrong, CAUTION, 1.0), index=rows.index)
    totals = weights.groupby([rows[name] for name in KEY[:4]]).transform("sum")
    return np.asarray(weights / totals / (weights / totals).sum())


def _with_prior(
    value: float, gradient: FloatArray, values: FloatArray, n_coefficients: int
) -> tuple[float, FloatArray]:
    coefficients = np.where(np.arange(len(values)) < n_coefficients, values, 0.0)
    return float(value + PRIOR * coefficients @ coefficients), gradient + 2.0 * PRIOR * coefficients


def _rounded(values: FloatArray) -> tuple[float, ...]:
    return tuple(values.round(2).tolist())


def _two_digits(log_value: float) -> float:
    return float(f"{np.exp(log_value):.1e}")


# --- how well they hold -----------------------------------------------------------------------------------


def line(title: str, rows: pd.DataFrame) -> str:
    """The share that is right in each bin, with the number of pairs."""
    cells = []
    for bounds in BINS:
        part = told_within(rows, bounds)
        cells.append(f"{part['right'].mean():.2f} ({len(part)})" if len(part) else "-")
    return f"{title:24} {'  '.join(cells)}  {calibration_error(rows):.3f}"


def show(rows: pd.DataFrame) -> None:
    """Print the constants, and how well they hold on graphs and on families left out of the fit."""
    print(fit(rows))
    folds = (rows["seed"] - FIRST_SEED) // (len(SETTINGS) * len(FAMILIES)) % 3
    left_out = pd.concat([told(rows[folds == fold], fit(rows[folds != fold])) for fold in range(3)])
    family = rows["family"]
    of_families = pd.concat([told(rows[family == one], fit(rows[family != one])) for one in FAMILIES])
    for what in ("edge", "arrow"):
        part = left_out[left_out["what"] == what]
        print(line(f"{what}s", part))
        for column in ("degree", "n", "d", "family"):
            for value, some in part.groupby(column):
                print(line(f"{what}s, {column} {value}", some))
        for one in FAMILIES:
            some = of_families[(of_families["what"] == what) & (of_families["family"] == one)]
            print(line(f"{what}s, {one} unseen", some))


def main() -> None:
    """Make rows and fit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--graphs", type=int, default=6, help="graphs of each kind, size and degree")
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    add_rows(ROWS, tasks(options.graphs), rows_of, options.jobs)
    show(pd.read_csv(ROWS))


if __name__ == "__main__":
    main()
