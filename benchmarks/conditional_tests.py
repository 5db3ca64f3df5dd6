"""Level and power of conditional independence tests: 26 true nulls, 12 alternatives, three sample sizes.

A row of raw results is one test on one sample; `run` adds the rows that are missing, so that it can be
interrupted. `collect` aggregates raw rows into `benchmarks/results/conditional_tests.csv`, a row for each
case, n and test, and `show` makes `conditional_tests.md` of it. Samples depend only on the case, n and the
seed: every test gets the same ones. Settings of our test were chosen on seeds from 1,000,000 on, those of the
report are below 400. Processor time on one core, without the time to load a library.

    python benchmarks/conditional_tests.py run --tests fisherz kci --rows 200 800 --samples 100 --raw rows.csv
    python benchmarks/conditional_tests.py collect --raw rows.csv
    python benchmarks/conditional_tests.py show
"""

from __future__ import annotations

import argparse
import time
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import dcd
from dcd.runtime.array_types import FloatArray

RESULTS = Path(__file__).parent / "results"
Sample = tuple[FloatArray, FloatArray, FloatArray]  # x (n,), y (n,) and S (n, k)
Case = Callable[[int, np.random.Generator], Sample]
NOISES: dict[str, Callable[[np.random.Generator, int], FloatArray]] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "uniform": lambda rng, n: rng.uniform(-1.7, 1.7, n),
    "t3": lambda rng, n: rng.standard_t(3, n) / 1.7,
    "exponential": lambda rng, n: rng.exponential(size=n) - 1,
}


# --- true nulls: two effects of the same causes, given the causes -----------------------------------------


def effects(mean: Callable[..., FloatArray], k: int, noise: float = 1.0, *, of: str = "normal") -> Case:
    """Make x and y the same function of k causes, each with its own noise."""

    def make(n: int, rng: np.random.Generator) -> Sample:
        causes = rng.standard_normal((n, k))
        common = mean(*causes.T)
        return common + noise * NOISES[of](rng, n), common + noise * NOISES[of](rng, n), causes

    return make


def total(*causes: FloatArray) -> FloatArray:
    return np.sum(causes, axis=0)


def scale_mixture(n: int, rng: np.random.Generator) -> Sample:
    z = rng.standard_normal(n)
    return z * rng.standard_normal(n), z * rng.standard_normal(n), z[:, None]


def chain(n: int, rng: np.random.Generator) -> Sample:
    x = rng.standard_normal(n)
    z = np.sin(2 * x) + 0.5 * rng.standard_normal(n)
    return x, z**2 + 0.5 * rng.standard_normal(n), z[:, None]


def one_cause_of_five(n: int, rng: np.random.Generator) -> Sample:
    z = rng.standard_normal((n, 5))
    return z[:, 0] + rng.standard_normal(n), z[:, 0] + rng.standard_normal(n), z


def groups(n: int, rng: np.random.Generator) -> Sample:
    group = rng.integers(0, 4, n)
    mean = np.array([0.0, 2.0, -1.0, 1.0])[group]
    return mean + rng.standard_normal(n), mean + rng.standard_normal(n), group[:, None].astype(float)


def heavy_tails(n: int, rng: np.random.Generator) -> Sample:
    return rng.standard_t(2, n), np.exp(rng.standard_normal(n)), np.empty((n, 0))


NULLS: dict[str, Case] = {
    "z": effects(total, 1),
    "A + B": effects(total, 2),
    "A + B + C + D": effects(total, 4),
    "A + B, noise .3": effects(total, 2, 0.3),
    "A + B, noise t3": effects(total, 2, of="t3"),
    "A + B, noise uniform": effects(total, 2, of="uniform"),
    "A + B, noise exponential": effects(total, 2, of="exponential"),
    "z, four others in S": one_cause_of_five,
    "z²": effects(np.square, 1, 0.5),
    "|z|": effects(np.abs, 1, 0.5),
    "log|z|": effects(lambda z: np.log(np.abs(z)), 1, 0.5),
    "tanh 3z": effects(lambda z: np.tanh(3 * z), 1, 0.5),
    "exp z": effects(np.exp, 1, 0.5),
    "sin 3z": effects(lambda z: np.sin(3 * z), 1, 0.5),
    "A + B²": effects(lambda a, b: a + b**2, 2, 0.5),
    "AB, noise .5": effects(np.multiply, 2, 0.5),
    "AB": effects(np.multiply, 2),
    "(A + B)²": effects(lambda a, b: (a + b) ** 2, 2),
    "ABC": effects(lambda a, b, c: a * b * c, 3),
    "sin 2(A + B)": effects(lambda a, b: np.sin(2 * (a + b)), 2),
    "log|A + B|": effects(lambda a, b: np.log(np.abs(a + b)), 2, 0.5),
    "sign AB": effects(lambda a, b: np.sign(a * b), 2),
    "four groups": groups,
    "x = ze, y = ze'": scale_mixture,
    "x to z to y, curved": chain,
    "no S, heavy tails": heavy_tails,
}


# --- alternatives -----------------------------------------------------------------------------------------


def effect(of_x: Callable[..., FloatArray], k: int = 1, *, spread: float = 0.0) -> Case:
    """Make y a function of x and of k causes of x, with normal noise, of scale exp(spread x)."""

    def make(n: int, rng: np.random.Generator) -> Sample:
        causes = rng.standard_normal((n, k))
        x = 0.5 * causes.sum(axis=1) + rng.standard_normal(n)
        return x, of_x(x, *causes.T) + np.exp(spread * x) * rng.standard_normal(n), causes

    return make


def collider(n: int, rng: np.random.Generator) -> Sample:
    x, y = rng.standard_normal((2, n))
    return x, y, (x + y + rng.standard_normal(n))[:, None]


ALTERNATIVES: dict[str, Case] = {
    "z + .15x": effect(lambda x, z: z + 0.15 * x),
    "sum of four + .15x": effect(lambda x, *causes: total(*causes) + 0.15 * x, 4),
    "collider x to z from y": collider,
    "AB + .3x": effect(lambda x, a, b: a * b + 0.3 * x, 2),
    "z + .3x²": effect(lambda x, z: z + 0.3 * x**2),
    "z + .5|x|": effect(lambda x, z: z + 0.5 * np.abs(x)),
    "z + .6 sin 2x": effect(lambda x, z: z + 0.6 * np.sin(2 * x)),
    "sign xz": effect(lambda x, z: np.sign(x * z)),
    "sign(x) z": effect(lambda x, z: np.sign(x) * z),
    "cos 2(x + z)": effect(lambda x, z: np.cos(2 * (x + z))),
    ".4xz": effect(lambda x, z: 0.4 * x * z),
    "z + noise exp(.4x)": effect(lambda x, z: z, spread=0.4),  # noqa: ARG005
}
CASES = NULLS | ALTERNATIVES


def sample(case: str, n: int, seed: int) -> FloatArray:
    """x, y and S side by side, (n, 2 + k)."""
    x, y, given = CASES[case](n, np.random.default_rng([seed, n, zlib.crc32(case.encode())]))
    return np.column_stack([x, y, given])


# --- tests ------------------------------------------------------------------------------------------------


def causal_learn(name: str) -> Callable[[FloatArray], float]:
    """A test of causal-learn at its defaults."""
    from causallearn.utils.cit import CIT

    return lambda values: float(CIT(values, name)(0, 1, list(range(2, values.shape[1]))))


def ours(**options: Any) -> Callable[[FloatArray], float]:
    """Our test at its defaults but for `options`."""

    def pvalue(values: FloatArray) -> float:
        test = dcd.IndependenceTest(values, test=dcd.PartialAssociation(**options))
        return test(0, 1, range(2, values.shape[1]))

    return pvalue


TESTS: dict[str, Callable[[], Callable[[FloatArray], float]]] = {
    "dcd": ours,
    "kci": lambda: causal_learn("kci"),
    "rcit": lambda: causal_learn("rcit"),
    "fisherz": lambda: causal_learn("fisherz"),
}
TITLES = {"dcd": "dcd", "kci": "KCI", "rcit": "RCIT", "fisherz": "Fisher z"}


def run(tests: list[str], sizes: list[int], n_samples: int, cases: list[str], raw: Path) -> None:
    """Add the rows that are missing to the file of raw rows."""
    columns = ["case", "n", "seed", "test", "pvalue", "seconds"]
    done = pd.read_csv(raw) if raw.exists() else pd.DataFrame(columns=columns)
    known = set(zip(done["case"], done["n"], done["seed"], done["test"], strict=True))
    if not raw.exists():
        raw.write_text(",".join(columns) + "\n", encoding="utf-8")
    for name in tests:
        test = TESTS[name]()
        for n in sizes:
            for case in cases:
                for seed in range(n_samples):
                    if (case, n, seed, name) not in known:
                        row = one_row(test, case, n, seed, name)
                        pd.DataFrame([row], columns=columns).to_csv(raw, mode="a", header=False, index=False)


def aggregated(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each case, n and test: replications, how many were rejected, mean seconds.

    Takes raw rows; aggregated ones are left unchanged.
    """
    if "pvalue" not in rows:
        return rows
    rows = rows.assign(rejected_05=rows["pvalue"] <= 0.05, rejected_001=rows["pvalue"] <= 0.001)
    cells = rows.groupby(["case", "n", "test"], sort=False)
    return cells.agg(
        replications=("pvalue", "size"),
        rejected_05=("rejected_05", "sum"),
        rejected_001=("rejected_001", "sum"),
        seconds=("seconds", lambda seconds: round(seconds.mean(), 4)),
    ).reset_index()


def collect(raw: list[Path]) -> None:
    """Aggregate files of raw rows into the CSV of results, in place of its rows of the same cells."""
    path = RESULTS / "conditional_tests.csv"
    tables = [aggregated(pd.read_csv(file)) for file in (path, *raw) if file.exists()]
    together = pd.concat(tables).drop_duplicates(["case", "n", "test"], keep="last")
    place = together["case"].map(list(CASES).index)
    together.assign(place=place).sort_values(["test", "n", "place"]).drop(columns="place").to_csv(
        path, index=False
    )


def show() -> str:
    """The table in Markdown: the share rejected at .05 by each test, at all sample sizes."""
    rows = aggregated(pd.read_csv(RESULTS / "conditional_tests.csv"))
    cells = {(row.case, row.n, row.test): row for row in rows.itertuples()}
    tests = [test for test in TESTS if test in set(rows["test"])]
    sizes = sorted({int(n) for n in rows["n"]})
    titles = " | ".join(TITLES[test] for test in tests)
    lines = [f"Share rejected at .05, n = {' / '.join(map(str, sizes))}.", ""]

    def add(title: str, values: Callable[[str, int], str]) -> None:
        shown = [" / ".join(values(test, n) for n in sizes) for test in tests]
        lines.append(f"| {title} | " + " | ".join(shown) + " |")

    for title, cases in (("true null", NULLS), ("alternative", ALTERNATIVES)):
        lines += [f"| {title} | {titles} |", "|---" * (1 + len(tests)) + "|"]
        for case in cases:
            add(case.replace("|", "\\|"), lambda test, n, case=case: _share(cells.get((case, n, test))))
        lines.append("")
    lines += [f"| all cases | {titles} |", "|---" * (1 + len(tests)) + "|"]
    means = rows.groupby(["test", "n"])[["seconds", "replications"]].mean()
    nulls = (
        rows[rows["case"].isin(list(NULLS))].groupby(["test", "n"])[["rejected_001", "replications"]].sum()
    )
    strict = nulls["rejected_001"] / nulls["replications"]
    add("seconds per test", lambda test, n: _number(means["seconds"], test, n, ".3f"))
    add("samples per case", lambda test, n: _number(means["replications"], test, n, ".0f"))
    add("all nulls, rejected at .001", lambda test, n: _number(strict, test, n, ".4f"))
    return "\n".join(lines) + "\n"


def _share(row: Any) -> str:
    return "–" if row is None else f"{row.rejected_05 / row.replications:.2f}"  # noqa: RUF001


def _number(values: Any, test: str, n: int, form: str) -> str:
    return format(values[test, n], form) if (test, n) in values.index else "–"  # noqa: RUF001


def one_row(test: Callable[[FloatArray], float], case: str, n: int, seed: int, name: str) -> tuple[Any, ...]:
    """One test on one sample."""
    values = sample(case, n, seed)
    np.random.seed(seed)  # noqa: NPY002 - RCIT draws its features from the global generator
    start = time.process_time()
    pvalue = test(values)
    return case, n, seed, name, pvalue, round(time.process_time() - start, 5)


def main() -> None:
    """Run or show."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["run", "collect", "show"])
    parser.add_argument("--tests", nargs="+", default=["dcd"], choices=TESTS)
    parser.add_argument("--rows", nargs="+", type=int, default=[200, 800, 3000])
    parser.add_argument("--samples", type=int, default=100)
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=CASES, metavar="CASE")
    parser.add_argument("--raw", nargs="+", type=Path, help="file of raw rows, or several to collect")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.command == "run":
        if not arguments.raw:
            parser.error("run needs --raw, a file for its rows outside the repository")
        run(arguments.tests, arguments.rows, arguments.samples, arguments.cases, arguments.raw[0])
    elif arguments.command == "collect":
        collect(arguments.raw or [])
    else:
        (RESULTS / "conditional_tests.md").write_text(show(), encoding="utf-8")


if __name__ == "__main__":
    main()
