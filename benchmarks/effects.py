"""Do confidence intervals of effects keep their level? Coverage in simulations with known effects.

    python benchmarks/effects.py                 the table of docs/guides/effects.md: 20 minutes of one core
    python benchmarks/effects.py --repetitions 200 --rows 300,1000

Each table has four variables to hold fixed, one of them a category. The seed is the number of the repetition.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd

from dcd import CPDAG, effect

NAMES = ["z1", "z2", "z3", "group", "treatment", "outcome"]
LEVELS = (0.90, 0.95)


def graph():
    """The four cause treatment and outcome, and the treatment causes the outcome."""
    dag = np.zeros((6, 6), dtype=int)
    dag[:4, 4:] = 1
    dag[4, 5] = 1
    return CPDAG.from_dag(
        NAMES, dag, [(name, "treatment") for name in NAMES[:4]] + [("treatment", "outcome")]
    )


def simulated(scenario, n, seed):
    """A table and the effect of treatment on outcome."""
    rng = np.random.default_rng(seed)
    z1, z2, z3, noise = rng.standard_normal((4, n))
    group = rng.integers(3, size=n)
    curved = np.sin(1.5 * z1) + 0.5 * z2**2 + 0.5 * z1 * z3 + 0.5 * (group == 1)
    lines = 0.8 * z1 - 0.5 * z2 + 0.3 * z3 + 0.5 * (group == 1)
    chance = 1 / (1 + np.exp(-(0.7 * z1 + 0.7 * np.cos(2 * z2) + 0.4 * (group == 2) - 0.4)))
    true = 0.5
    if scenario == "lines":
        treatment = lines + rng.standard_normal(n)
        outcome = true * treatment + lines + noise
    elif scenario == "curves":
        treatment = z1 + np.cos(2 * z2) + (z3 > 0) + rng.standard_normal(n)
        outcome = true * treatment + curved + noise
    elif scenario == "curves, noise that varies":
        treatment = z1 + np.cos(2 * z2) + (0.5 + np.abs(z1)) * rng.standard_normal(n)
        outcome = true * treatment + curved + np.exp(0.5 * z2) * noise
    elif scenario == "two levels":
        treatment = (rng.random(n) < chance).astype(float)
        outcome = true * treatment + curved + noise
    elif scenario == "two levels, effects that vary":
        treatment = (rng.random(n) < chance).astype(float)
        outcome = (true + 0.8 * z1) * treatment + curved + noise
    else:  # a risk difference
        treatment = (rng.random(n) < chance).astype(float)
        risk = 0.25 + 0.3 / (1 + np.exp(-2 * curved))
        true = 0.2
        outcome = (rng.random(n) < risk + true * treatment).astype(float)
    columns = [z1, z2, z3, np.array(["a", "b", "c"])[group], treatment, outcome]
    return pd.DataFrame(dict(zip(NAMES, columns, strict=True))), true


SCENARIOS = (
    "lines",
    "curves",
    "curves, noise that varies",
    "two levels",
    "two levels, effects that vary",
    "two levels, a risk",
)


def repeated(scenario, n, repetitions, estimator="flexible"):
    """(repetitions, 2) errors and standard errors."""
    rows = []
    for seed in range(repetitions):
        table, true = simulated(scenario, n, seed)
        answer = effect(graph(), table, "treatment", "outcome", estimator=estimator).answers[0]
        rows.append((answer.estimate - true, answer.standard_error))
    return np.array(rows)


def coverage(rows, level):
    """The share of intervals that contain the true effect."""
    from scipy.stats import norm

    return float((np.abs(rows[:, 0]) < norm.ppf(0.5 + level / 2) * rows[:, 1]).mean())


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=100)
    parser.add_argument("--rows", default="500")
    asked = parser.parse_args()
    print("| table | rows | bias | spread | standard error | 90 % | 95 % | least squares, 90 % |")
    print("|---|---|---|---|---|---|---|---|")
    for scenario in SCENARIOS:
        for n in map(int, asked.rows.split(",")):
            rows = repeated(scenario, n, asked.repetitions)
            linear = repeated(scenario, n, asked.repetitions, "linear")
            bias, spread, error = rows[:, 0].mean(), rows[:, 0].std(), rows[:, 1].mean()
            shares = [f"{coverage(rows, level):.0%}" for level in LEVELS]
            cells = [scenario, n, f"{bias:+.3f}", f"{spread:.3f}", f"{error:.3f}", *shares]
            print("|", *(f"{cell} |" for cell in [*cells, f"{coverage(linear, 0.9):.0%}"]), flush=True)


if __name__ == "__main__":
    main()
