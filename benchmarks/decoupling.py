"""Decoupling weights: level and power of tests under them, and whole graphs, each beside its ablations.

Writes `benchmarks/results/decoupling.csv`, a row for each case, sample size and method, and `decoupling.md`.
Nulls are two effects of the same causes given the causes, as in `conditional_tests.py`. A run adds the rows
that are missing. Samples depend on the case, n and the seed only; settings were chosen on seeds from
1,000,000 on. Processor time on one core.

    python benchmarks/decoupling.py run --methods none from-set --rows 500 --samples 200
    python benchmarks/decoupling.py graphs --samples 6
    python benchmarks/decoupling.py show
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from dcd.features.rank_scores import Scores, make_scores
from dcd.independence.weighted_correlation import weighted_association
from dcd.runtime.array_types import FloatArray
from dcd.weights import HSICDescent, SampleWeights, effective_sample_size, measured

RESULTS = Path(__file__).parent / "results"
COLUMNS = ["case", "n", "method", "samples", "rejected", "ess", "seconds"]
Sample = tuple[FloatArray, FloatArray, FloatArray]  # x (n,), y (n,) and S (n, k)


@dataclass(frozen=True)
class Case:
    """x and y are a function of k causes with noise of their own; y also has `effect` times x."""

    mean: Callable[..., FloatArray]
    k: int
    noise: float = 1.0
    effect: float = 0.0

    def sample(self, n: int, rng: np.random.Generator) -> Sample:
        """One sample of n rows."""
        causes = rng.standard_normal((n, self.k))
        common = self.mean(*causes.T)
        x = common + self.noise * rng.standard_normal(n)
        return x, common + self.effect * x + self.noise * rng.standard_normal(n), causes


def total(*causes: FloatArray) -> FloatArray:
    return np.sum(causes, axis=0)


def product(*causes: FloatArray) -> FloatArray:
    return np.prod(causes, axis=0)


CASES: dict[str, Case] = {
    "AB, noise .5": Case(product, 2, 0.5),
    "AB": Case(product, 2),
    "sign AB": Case(lambda a, b: np.sign(a * b), 2),
    "sin 2(A + B)": Case(lambda a, b: np.sin(2 * (a + b)), 2),
    "ABC": Case(product, 3),
    "A + B": Case(total, 2),
    "A + B + C + D": Case(total, 4),
    "log|z|, noise .5": Case(lambda z: np.log(np.abs(z)), 1, 0.5),
    "AB, y += .5 x": Case(product, 2, effect=0.5),
    "ABC, y += .3 x": Case(product, 3, effect=0.3),
    "A + B + C + D, y += .5 x": Case(total, 4, effect=0.5),
}


@dataclass(frozen=True)
class EqualWeights:
    """Equal weights, to measure the effect of adjustment alone."""

    def learn(self, scores: Scores, variables: Sequence[int]) -> SampleWeights:
        """See `dcd.weights.Weighting`."""
        return measured(scores.n_samples * scores.probabilities, scores, variables)


PAIRWISE = HSICDescent()
JOINT, FROM_SET = HSICDescent(objective="joint"), HSICDescent(objective="from-set")
Answer = tuple[float, float]  # p-value, effective sample size


def weights_alone(strategy: HSICDescent | None) -> Callable[[Sample], Answer]:
    """The published test of x and y under weights that decouple x and S."""

    def answer(sample: Sample) -> Answer:
        x, y, causes = sample
        weights = np.ones(len(x))
        if strategy is not None:
            scores = make_scores(np.column_stack([x, causes]))
            others = range(1, scores.n_variables)
            learned = strategy.learn_apart(scores, 0, others) if strategy.from_set else None
            weights = (learned or strategy.learn(scores, range(scores.n_variables))).weights
        pvalue = weighted_association([x[:, None]], [y[:, None]], weights)[1][0, 0]
        return float(pvalue), effective_sample_size(weights)

    return answer


def adjusted(decouple: Any, weights: Any) -> Callable[[Sample], Answer]:
    """The robust test, with every association tested again under weights, or never."""
    test = dcd.PartialAssociation(decouple=decouple, weights=weights or dcd.ConvexWeights())

    def answer(sample: Sample) -> Answer:
        x, y, causes = sample
        bound = test.bind(make_scores(np.column_stack([x, y, causes])), 0.05)
        return float(np.exp(bound.log_pvalue(0, 1, range(2, 2 + causes.shape[1])))), np.nan

    return answer


METHODS: dict[str, Callable[[Sample], Answer]] = {
    "none": weights_alone(None),
    "pairwise": weights_alone(PAIRWISE),
    "joint": weights_alone(JOINT),
    "from-set": weights_alone(FROM_SET),
    "adjusted, no weights": adjusted("never", None),
    "adjusted, equal weights": adjusted("always", EqualWeights()),
    "adjusted, pairwise": adjusted("always", PAIRWISE),
    "adjusted, joint": adjusted("always", JOINT),
    "adjusted, from-set": adjusted("always", FROM_SET),
}


def run(cases: list[str], sizes: list[int], methods: list[str], n_samples: int) -> None:
    path = RESULTS / "decoupling.csv"
    for n in sizes:
        for name in cases:
            seeds = [
                np.random.SeedSequence([zlib.crc32(name.encode()), n, seed]) for seed in range(n_samples)
            ]
            for method in methods:
                rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=COLUMNS)
                same = (rows["case"] == name) & (rows["n"] == n) & (rows["method"] == method)
                if (rows["samples"][same] >= n_samples).any():
                    continue
                start = time.process_time()
                answers = [
                    METHODS[method](CASES[name].sample(n, np.random.default_rng(seed))) for seed in seeds
                ]
                seconds = (time.process_time() - start) / n_samples
                pvalues, ess = np.array(answers).T
                row = (name, n, method, n_samples, int((pvalues < 0.05).sum()), ess.mean() / n, seconds)
                kept = [*rows[~same].itertuples(index=False, name=None), row]
                pd.DataFrame(kept, columns=COLUMNS).to_csv(path, index=False, float_format="%.4g")


# --- whole graphs ----------------------------------------------------------------------------------------

N_VARIABLES, N_ROWS, FIRST_SEED = 6, 500, 20_000
Draw = Callable[[np.random.Generator], tuple[Any, FloatArray]]  # an adjacency matrix and a table


def simulated(graph: str, mechanism: str, noise: float) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[Any, FloatArray]:
        dag = dcd.simulate.random_dag(N_VARIABLES, graph=graph, random_state=rng)
        values = dcd.simulate.sample(dag, N_ROWS, mechanism=mechanism, noise_std=noise, random_state=rng)
        return dag, values

    return draw


def two_effects(shared: Callable[..., FloatArray], n: int) -> Draw:
    """A and B cause x and y, which share a function of both causes."""

    def draw(rng: np.random.Generator) -> tuple[Any, FloatArray]:
        a, b = rng.standard_normal((2, n))
        x, y = 0.5 * (a + b) + shared(a, b) + 0.7 * rng.standard_normal((2, n))
        dag = np.array([[0, 0, 1, 1], [0, 0, 1, 1], [0, 0, 0, 0], [0, 0, 0, 0]])
        return dag, np.column_stack([a, b, x, y])

    return draw


GRAPHS: dict[str, Draw] = {
    "scale-free, Func, noise 2": simulated("scale-free", "func", 2.0),
    "random, degree 2, products, noise 1": simulated("erdos-renyi", "product", 1.0),
    "two effects of A + B + sign AB, n = 800": two_effects(lambda a, b: np.sign(a * b), 800),
    "two effects of A + B + log|A + B|, n = 800": two_effects(lambda a, b: np.log(np.abs(a + b)), 800),
}


def robust(decouple: Any, weights: Any = None) -> Callable[[], Any]:
    test = dcd.PartialAssociation(decouple=decouple, weights=weights or dcd.ConvexWeights())
    return lambda: dcd.RobustDCD(test=test, progress=False)


ESTIMATORS: dict[str, Callable[[], Any]] = {
    "RobustDCD, no weights": robust("never"),
    "RobustDCD, equal weights": robust("where-needed", EqualWeights()),
    "RobustDCD, convex": robust("where-needed"),
    "RobustDCD, pairwise": robust("where-needed", PAIRWISE),
    "RobustDCD, from-set (default)": robust("where-needed", FROM_SET),
    "DCD, pairwise": lambda: dcd.DCD(progress=False),
    "DCD, joint": lambda: dcd.DCD(objective="joint", progress=False),
    "DCD, from-set": lambda: dcd.DCD(objective="from-set", progress=False),
}


def graphs(kinds: list[str], estimators: list[str], n_graphs: int) -> None:
    """Writes `decoupling_graphs.csv`: a row for each kind of graph and estimator, on the same graphs."""
    path = RESULTS / "decoupling_graphs.csv"
    for kind in kinds:
        for estimator in estimators:
            shd, f1, start = [], [], time.process_time()
            for seed in range(FIRST_SEED, FIRST_SEED + n_graphs):
                dag, values = GRAPHS[kind](np.random.default_rng(seed))
                found = ESTIMATORS[estimator]().fit(values).cpdag_
                score = dcd.metrics.compare(dcd.graph.dag_to_cpdag(dag), found.adjacency)
                shd.append(score.shd_c)
                f1.append(score.f1)
            row = {
                "graph": kind, "estimator": estimator, "graphs": n_graphs, "shd_c": np.mean(shd),
                "shd_c_error": np.std(shd, ddof=1) / np.sqrt(n_graphs), "f1": np.mean(f1),
                "seconds": (time.process_time() - start) / n_graphs,
            }  # fmt: skip
            rows = pd.read_csv(path).to_dict("records") if path.exists() else []
            rows = [old for old in rows if (old["graph"], old["estimator"]) != (kind, estimator)]
            pd.DataFrame([*rows, row]).to_csv(path, index=False, float_format="%.3g")


# --- tables ----------------------------------------------------------------------------------------------


def show(estimators: Sequence[str] = tuple(ESTIMATORS)) -> str:
    """Both tables in Markdown, the second with some of the estimators."""
    rows = pd.read_csv(RESULTS / "decoupling.csv")
    lines = ["Rejected at .05, ± standard error (samples); effective sample size as a share of n.", ""]
    for n, part in rows.groupby("n"):
        methods = [method for method in METHODS if method in set(part["method"])]
        lines += [f"| n = {n} | " + " | ".join(methods) + " |", "|---" * (len(methods) + 1) + "|"]
        cells = {(row.case, row.method): _cell(row) for row in part.itertuples()}
        for case in [name for name in CASES if name in set(part["case"])]:
            shown = [cells.get((case, method), "") for method in methods]
            lines.append(f"| {_escaped(case)} | " + " | ".join(shown) + " |")
        lines.append("")
    path = RESULTS / "decoupling_graphs.csv"
    if path.exists():
        lines += ["| graphs | estimator | number | SHD_c | F1 | seconds |", "|---|---|---|---|---|---|"]
        lines += [
            f"| {_escaped(row.graph)} | {row.estimator} | {row.graphs} "
            f"| {row.shd_c:.1f} ± {row.shd_c_error:.1f} "
            f"| {row.f1:.2f} | {row.seconds:.1f} |"
            for row in pd.read_csv(path).itertuples()
            if row.estimator in estimators
        ]
    return "\n".join(lines) + "\n"


def _escaped(name: str) -> str:
    return name.replace("|", "\\|")


def _cell(row: Any) -> str:
    share = row.rejected / row.samples
    error = np.sqrt(share * (1 - share) / row.samples)
    kept = "" if np.isnan(row.ess) or row.ess == 1 else f"; {row.ess:.2f} n"
    return f"{share:.2f} ± {error:.2f} ({row.samples}){kept}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["run", "graphs", "show"])
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--rows", nargs="+", type=int, default=[500, 2000])
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    parser.add_argument("--estimators", nargs="+", default=list(ESTIMATORS), choices=list(ESTIMATORS))
    parser.add_argument("--graphs", nargs="+", default=list(GRAPHS), choices=list(GRAPHS))
    parser.add_argument("--samples", type=int, default=100)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.command == "run":
        run(options.cases, options.rows, options.methods, options.samples)
    elif options.command == "graphs":
        graphs(options.graphs, options.estimators, options.samples)
    (RESULTS / "decoupling.md").write_text(show(), encoding="utf-8")


if __name__ == "__main__":
    main()
