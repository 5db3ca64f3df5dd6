"""The speed part of the evaluation: Robust DCD, PC and FLOP on the same tables, in one run.

The tables are simulated dense and sparse ones, real ones, and large ones. A row for each table is written to
benchmarks/results/cost.csv, with the seconds of each method or the reason for having none.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
from sklearn import datasets

from benchmarks.evaluation.cells import CELLS, Linear, Setting, random_graph, simulated
from benchmarks.evaluation.methods import METHODS, timed, warm_up
from benchmarks.evaluation.tables import markdown
from experiments.timing import OutOfTimeError

ROWS = Path(__file__).parents[1] / "results" / "cost.csv"
COMPARED = ("Robust DCD", "Robust DCD, one graph", "PC", "FLOP")
Times = dict[str, float | str]  # a method's median seconds, or why there are none
TITLES = {
    "sparse-linear-d10": "degree 2, linear",
    "sparse-linear-d20": "degree 2, linear",
    "dense-linear-d10": "degree 4, linear",
    "dense-linear-d20": "degree 4, linear",
    "dense-mlp-d20": "degree 4, neural networks",
    "diabetes": "diabetes (scikit-learn)",
    "breast-cancer": "breast cancer (scikit-learn)",
    "randhie": "RAND health insurance (statsmodels)",
    "digits": "digits, the pixels that vary (scikit-learn)",
    "sf-func-d200": "scale-free, curves",
    "million-rows": "degree 2, neural networks",
}


def drawn(setting: Setting, seed: int) -> Callable[[], pd.DataFrame]:
    return lambda: setting.draw(seed).table


def bundled(load: Callable[..., object]) -> Callable[[], pd.DataFrame]:
    """The columns of a table of scikit-learn that vary."""

    def make() -> pd.DataFrame:
        table = pd.DataFrame(load(as_frame=True)["data"])  # type: ignore[index]
        return table.loc[:, table.nunique() > 1]

    return make


def randhie() -> pd.DataFrame:
    """The RAND health insurance experiment, as statsmodels ships it."""
    from statsmodels.datasets import randhie as source  # type: ignore[import-untyped]

    return pd.DataFrame(source.load_pandas().data).select_dtypes("number")


def tables(seed: int) -> dict[str, Callable[[], pd.DataFrame]]:
    """The tables by name, made when they are needed; dense graphs have degree 4, sparse ones 2."""
    return {
        "dense-linear-d10": drawn(CELLS["er4-linear"].setting, seed),
        "dense-linear-d20": drawn(CELLS["er4-linear-d20"].setting, seed),
        "dense-mlp-d20": drawn(random_graph(4, d=20, mechanism="mlp", noise_std=1.0), seed),
        "sparse-linear-d10": drawn(Linear(d=10, degree=2), seed),
        "sparse-linear-d20": drawn(Linear(d=20, degree=2), seed),
        "breast-cancer": bundled(datasets.load_breast_cancer),
        "diabetes": bundled(datasets.load_diabetes),
        "randhie": randhie,
        "digits": bundled(datasets.load_digits),
        "sf-func-d200": drawn(simulated(d=200, n=1000), seed),
        "million-rows": drawn(random_graph(2, d=20, mechanism="mlp", noise_std=1.0, n=10**6), seed),
    }


def measured(table: pd.DataFrame, methods: Sequence[str], repeats: int, limit: float) -> Times:
    """Median processor time of each method; the methods alternate."""
    seconds: dict[str, list[float]] = {method: [] for method in methods}
    failures: Times = {}
    for _ in range(repeats):
        for method in (name for name in methods if name not in failures):
            try:
                seconds[method].append(timed(METHODS[method], table, limit)[1])
            except (Exception, OutOfTimeError) as error:
                failures[method] = " ".join(str(error).split())[:80]
    return {name: failures.get(name) or statistics.median(seconds[name]) for name in methods}


def write(name: str, table: pd.DataFrame, times: Times, path: Path = ROWS) -> None:
    """Keep the times of a table, in place of earlier ones."""
    fresh = pd.DataFrame([{"table": name, "n": len(table), "d": table.shape[1], **times}])
    if path.exists():
        earlier = pd.read_csv(path)
        fresh = pd.concat([earlier[earlier["table"] != name], fresh], ignore_index=True)
    order = {title: at for at, title in enumerate(TITLES)}
    fresh.sort_values("table", key=lambda names: names.map(order)).to_csv(path, index=False)


def run(names: Sequence[str], *, seed: int, repeats: int, limit: float) -> None:
    """Measure and print the named tables, one after the other."""
    for method in COMPARED:
        warm_up(method, "numbers")
    for name in names:
        table = tables(seed)[name]()
        times = measured(table, COMPARED, repeats, limit)
        write(name, table, times)
        print(name, *(f"{method}: {shown(time)}" for method, time in times.items()), sep="  ", flush=True)


def shown(time: float | str) -> str:
    """Seconds with two or three digits; the reason if there are none."""
    try:
        seconds = float(time)
    except ValueError:
        return str(time)
    return f"{seconds:,.0f}" if seconds >= 10 else f"{seconds:.2f}" if seconds >= 0.1 else f"{seconds:.3f}"


def costs(rows: pd.DataFrame) -> str:
    """The seconds of each method on each table."""
    lines: list[Sequence[str]] = [
        [TITLES[row["table"]], f"{row['n']:,}", str(row["d"]), *(shown(row[method]) for method in COMPARED)]
        for row in rows.to_dict("records")
    ]
    return markdown(["table", "rows", "columns", *COMPARED], lines)
