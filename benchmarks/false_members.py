"""How well `DCD` decouples: how often members and non-members are taken into a Markov boundary.

    python benchmarks/false_members.py

The target and x are effects of the same k causes; x is not in the boundary of the target. 100 tables a case,
seeds 500,000 on; the settings were chosen on seeds from 1,000,000 on. Writes `results/false_members.md`.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import dcd
from dcd.runtime.array_types import FloatArray
from dcd.weights import HSICDescent

RESULTS = Path(__file__).parent / "results"
FIRST_SEED, N_TABLES = 500_000, 100
CASES = (
    *(("linear", n, k) for n in (800, 200) for k in (2, 4)),
    *(("curved", 800, 2), ("curved", 800, 4), ("weak", 800, 4), ("strong", 800, 2)),
)
SETTINGS = {
    "default": HSICDescent(),
    "25 steps": HSICDescent(max_steps=25),
    "200 steps": HSICDescent(max_steps=200),
    "floor .2": HSICDescent(min_ess=0.2),
}


def linear(causes: FloatArray, noise: Callable[[], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """The target and x have at most as much noise as signal."""
    return _mean(causes) + noise(), causes.sum(axis=1) + noise()


def weak(causes: FloatArray, noise: Callable[[], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Twice as much noise as signal."""
    return _mean(causes) + 2 * noise(), _mean(causes) + 2 * noise()


def strong(causes: FloatArray, noise: Callable[[], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Hardly any noise: the causes almost determine x."""
    return _mean(causes) + 0.3 * noise(), _mean(causes) + 0.3 * noise()


def curved(causes: FloatArray, noise: Callable[[], FloatArray]) -> tuple[FloatArray, FloatArray]:
    """Increasing curves."""
    return _mean(np.tanh(2 * causes)) + 0.7 * noise(), _mean(causes**3 / 3 + causes) / 1.5 + noise()


def _mean(columns: FloatArray) -> FloatArray:
    """With the variance of one column."""
    scaled: FloatArray = columns.sum(axis=1) / np.sqrt(columns.shape[1])
    return scaled


EFFECTS = {"linear": linear, "weak": weak, "strong": strong, "curved": curved}


def row(case: str, n: int, k: int, setting: str) -> str:
    """A line of the table: shares with their standard errors."""
    false, true, ess, steps = (np.empty(N_TABLES) for _ in range(4))
    started = time.process_time()
    for index in range(N_TABLES):
        rng = np.random.default_rng(FIRST_SEED + index)
        causes = rng.standard_normal((n, k))
        x, target = EFFECTS[case](causes, lambda rng=rng: rng.standard_normal(n))  # type: ignore[misc]
        model = dcd.MarkovBoundary(k + 1, method="published", weights=SETTINGS[setting])
        model.fit(np.column_stack([causes, x, target]))
        false[index], true[index] = model.support_[k], model.support_[:k].mean()
        ess[index], steps[index] = model.effective_sample_size_ / n, model.decoupling_.n_steps
    seconds = (time.process_time() - started) / N_TABLES
    error = false.std() / np.sqrt(N_TABLES)
    return (
        f"| {case} | {n} | {k} | {setting} | {false.mean():.2f} ± {error:.2f} | {true.mean():.2f} "
        f"| {ess.mean():.2f} | {steps.mean():.0f} | {1000 * seconds:.0f} |"
    )


def main() -> None:
    """Measure all cases."""
    warnings.simplefilter("ignore")
    lines = [
        "| relations | n | causes | setting | false member | true members | ESS / n | steps | ms |",
        "|---|---|---|---|---|---|---|---|---|",
        *(row(*case, setting) for setting in SETTINGS for case in CASES),
    ]
    (RESULTS / "false_members.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
